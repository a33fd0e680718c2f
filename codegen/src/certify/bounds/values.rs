//! The values of a program's expressions, as polynomials and conditions.
//!
//! Comes in: expressions, in the order a thread computes them. Integers are those of the program,
//! which do not wrap. A quotient or remainder is known to be one only where its operands are shown
//! to be what the thread program demands: not negative, and a positive divisor; elsewhere nothing
//! is known of it.

use std::rc::Rc;

use super::poly::{Poly, Range, TermId};
use super::prove::{ORDINARY, PATIENT};
use super::terms::{Cond, Known, Term, Value};
use crate::ir::thread::program::{BinOp, CmpOp, Expr, IntType, Special};

impl Known<'_> {
    /// The value of an expression.
    pub(super) fn value(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Int(value, IntType::I1) => Value::Pred(Rc::new(Cond::Constant(*value != 0))),
            Expr::Int(value, _) => Value::Int(Poly::constant(i128::from(*value))),
            Expr::Var(var) => match self.vars.get(var) {
                Some(Value::Int(poly)) => Value::Int(self.settled(poly)),
                Some(value) => value.clone(),
                None => Value::Int(self.unknown(Range::ALL)),
            },
            Expr::Param(param) => {
                Value::Int(self.term(Term::Param(param.0), Range::ALL, Vec::new()))
            }
            Expr::Special(special) => Value::Int(self.special(*special)),
            Expr::Smem => Value::Int(self.unknown(Range::NATURAL)),
            Expr::Convert(IntType::I32, inner) => {
                let inner = self.int(inner);
                let range = self.range(&inner);
                let fits = range.lo >= i128::from(i32::MIN) && range.hi <= i128::from(i32::MAX);
                Value::Int(if fits {
                    inner
                } else {
                    self.unknown(Range::ALL)
                })
            }
            Expr::Convert(_, inner) => self.value(inner),
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.int(a), self.int(b));
                Value::Pred(Rc::new(self.compared(*op, &a, &b)))
            }
            Expr::Select(cond, a, b) => {
                let cond = self.cond(cond);
                match (self.value(a), self.value(b)) {
                    (Value::Int(a), Value::Int(b)) => Value::Int(self.select(cond, a, b)),
                    _ => Value::Pred(self.open()),
                }
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
        }
    }

    /// The greater of two that is greater than one of them can be is the other.
    pub(super) fn told_by_own_range(&self, term: TermId) -> Option<Poly> {
        let entry = &self.terms[term as usize];
        let Term::Max(a, b) = &entry.term else {
            return None;
        };
        let least = entry.range.lo;
        let value = match (self.range(a).hi < least, self.range(b).hi < least) {
            (false, true) => a,
            (true, false) => b,
            _ => return None,
        };
        let fact = value.plus(-1, &Poly::term(term));
        (!self.facts.contains(&fact)).then_some(fact)
    }

    /// A number that is far to follow, by choices, and bounded on both sides: from there on some
    /// number within these bounds.
    pub(super) fn bounded(&mut self, value: Value) -> Value {
        let meaning = |known: &Self, term: TermId| known.terms[term as usize].term.clone();
        let Value::Int(poly) = &value else {
            return value;
        };
        let of = |known: &Self, poly: &Poly| poly.as_term().map(|term| meaning(known, term));
        let (inner, least) = match of(self, poly) {
            Some(Term::Max(inner, least)) => (inner, Some(least)),
            _ => (poly.clone(), None),
        };
        let Some(Term::Min(number, most)) = of(self, &inner) else {
            return value;
        };
        // Bounded below last is as good where the most is no less than the least.
        let is_less = |least: &Poly| self.range(&most.plus(-1, least)).lo < 0;
        if least.as_ref().is_some_and(is_less) {
            return value;
        }
        let is_choice = |term: TermId| matches!(meaning(self, term), Term::Select(..));
        let is_far = number.terms().any(|term| match meaning(self, term) {
            Term::Max(x, _) => x.terms().any(is_choice),
            _ => is_choice(term),
        });
        let range = self.range(poly);
        if !is_far || range.lo < 0 {
            return value;
        }
        let own = self.unknown(range);
        self.learn(most.plus(-1, &own));
        Value::Int(own)
    }

    /// The same with choices made that the conditions passed have made since.
    pub(super) fn settled(&self, poly: &Poly) -> Poly {
        let mut poly = poly.clone();
        let chosen = |term: TermId| match &self.terms[term as usize].term {
            Term::Select(cond, a, b) if self.holds(cond) => Some((term, a)),
            Term::Select(cond, _, b) if self.holds(&cond.negated()) => Some((term, b)),
            _ => None,
        };
        loop {
            let choice = poly.terms().find_map(chosen);
            match choice.and_then(|(term, value)| poly.with(term, value)) {
                Some(settled) => poly = settled,
                None => return poly,
            }
        }
    }

    /// Whether a condition is one of those passed.
    fn holds(&self, cond: &Cond) -> bool {
        match cond {
            Cond::Natural(poly) => self.facts.contains(poly),
            _ => false,
        }
    }

    pub(super) fn int(&mut self, expr: &Expr) -> Poly {
        match self.value(expr) {
            Value::Int(poly) => poly,
            Value::Pred(_) => self.unknown(Range::new(0, 1)),
        }
    }

    pub(super) fn cond(&mut self, expr: &Expr) -> Rc<Cond> {
        match self.value(expr) {
            Value::Pred(cond) => cond,
            Value::Int(_) => self.open(),
        }
    }

    fn special(&mut self, special: Special) -> Poly {
        if let (Special::NctaidX, Some(grid)) = (special, &self.grid) {
            return grid.clone();
        }
        let range = match special {
            Special::TidX => Range::new(0, i128::from(self.program.threads) - 1),
            Special::CtaidX | Special::CtaidY | Special::CtaidZ => Range::NATURAL,
            Special::NctaidX => Range::new(1, Range::ALL.hi),
        };
        self.term(Term::Special(special), range, Vec::new())
    }

    fn compared(&self, op: CmpOp, a: &Poly, b: &Poly) -> Cond {
        let apart = b.plus(-1, a);
        match op {
            CmpOp::Lt => self.decided(Cond::Natural(apart.plus_constant(-1))),
            CmpOp::Le => self.decided(Cond::Natural(apart)),
            CmpOp::Eq => self.decided(Cond::Zero(apart)),
            CmpOp::Ne => self.decided(Cond::Zero(apart)).negated(),
        }
    }

    /// The condition, or a constant where ranges decide it.
    fn decided(&self, cond: Cond) -> Cond {
        match &cond {
            Cond::Natural(poly) => match self.range(poly) {
                Range { lo, .. } if lo >= 0 => Cond::Constant(true),
                Range { hi, .. } if hi < 0 => Cond::Constant(false),
                _ => cond,
            },
            Cond::Zero(poly) => match self.range(poly) {
                Range { lo: 0, hi: 0 } => Cond::Constant(true),
                Range { lo, hi } if lo > 0 || hi < 0 => Cond::Constant(false),
                _ => cond,
            },
            _ => cond,
        }
    }

    fn select(&mut self, cond: Rc<Cond>, a: Poly, b: Poly) -> Poly {
        match (cond.as_ref(), a == b) {
            (Cond::Constant(true), _) | (_, true) => a,
            (Cond::Constant(false), _) => b,
            _ => {
                let term = Term::Select(cond, a, b);
                let range = self.natural(&term);
                let own = self.term(term, range, Vec::new());
                self.not_negative(own)
            }
        }
    }

    /// Looks once whether a new term is not negative, where its parts do not tell.
    fn not_negative(&mut self, own: Poly) -> Poly {
        let is_open = |range: Range| range.lo < 0 && range.hi > 0;
        if let Some(term) = own.as_term()
            && is_open(self.terms[term as usize].range)
            && self.proves(&own, ORDINARY)
        {
            self.narrow(term, Range::NATURAL);
        }
        own
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr) -> Value {
        if op == BinOp::Add
            && let Some(ceiling) = self.rounded_up(a, b)
        {
            return Value::Int(ceiling);
        }
        let (a, b) = match (self.value(a), self.value(b)) {
            (Value::Int(a), Value::Int(b)) => (a, b),
            (Value::Pred(a), Value::Pred(b)) => {
                return Value::Pred(match op {
                    BinOp::And => Rc::new(Cond::And(a, b)),
                    BinOp::Or => Rc::new(Cond::Or(a, b)),
                    _ => self.open(),
                });
            }
            _ => return Value::Int(self.unknown(Range::ALL)),
        };
        Value::Int(match op {
            BinOp::Add => a.plus(1, &b),
            BinOp::Sub => a.plus(-1, &b),
            BinOp::Mul => self.product(&a, &b),
            BinOp::Shl => match b.as_constant() {
                Some(bits @ 0..=62) => a.scaled(1 << bits),
                _ => self.unknown(Range::ALL),
            },
            BinOp::Div => self.quotient(&a, &b),
            BinOp::Rem => self.remainder(&a, &b),
            BinOp::Min => self.least(a, b),
            BinOp::Max => self.most(a, b),
            BinOp::And | BinOp::Or | BinOp::Xor => {
                let term = Term::Bits(op, a, b);
                let range = self.natural(&term);
                self.term(term, range, Vec::new())
            }
        })
    }

    fn product(&mut self, a: &Poly, b: &Poly) -> Poly {
        match a.times(b) {
            Some(product) => product,
            None => {
                let range = self.range(a).times(self.range(b));
                self.unknown(range)
            }
        }
    }

    pub(super) fn least(&mut self, a: Poly, b: Poly) -> Poly {
        let apart = self.range(&b.plus(-1, &a));
        match apart {
            Range { lo, .. } if lo >= 0 => a,
            Range { hi, .. } if hi <= 0 => b,
            _ => {
                let term = Term::Min(a.clone(), b.clone());
                let range = self.natural(&term);
                let id = Poly::term(self.terms.len() as TermId);
                let laws = vec![a.plus(-1, &id), b.plus(-1, &id)];
                let own = self.term(term, range, laws);
                self.not_negative(own)
            }
        }
    }

    fn most(&mut self, a: Poly, b: Poly) -> Poly {
        let apart = self.range(&a.plus(-1, &b));
        match apart {
            Range { lo, .. } if lo >= 0 => a,
            Range { hi, .. } if hi <= 0 => b,
            _ => {
                let term = Term::Max(a.clone(), b.clone());
                let range = self.natural(&term);
                let id = Poly::term(self.terms.len() as TermId);
                let laws = vec![id.plus(-1, &a), id.plus(-1, &b)];
                self.term(term, range, laws)
            }
        }
    }

    /// `q + (q * y < x ? 1 : 0)` for `q = x / y`.
    fn rounded_up(&mut self, a: &Expr, b: &Expr) -> Option<Poly> {
        let Expr::Select(cut, one, none) = b else {
            return None;
        };
        if !matches!(
            (one.as_ref(), none.as_ref()),
            (Expr::Int(1, _), Expr::Int(0, _))
        ) {
            return None;
        }
        let quotient = self.int(a);
        let Term::Quotient(x, y) = self.terms[quotient.as_term()? as usize].term.clone() else {
            return None;
        };
        let by = y.as_constant()?;
        let cut_off = x.plus(-by, &quotient).plus_constant(-1);
        (*self.cond(cut) == Cond::Natural(cut_off)).then(|| self.ceiling(&x, by))
    }

    /// `x / by`, rounded up, of an `x` that is not negative.
    pub(super) fn ceiling(&mut self, x: &Poly, by: i128) -> Poly {
        let term = Term::Ceiling(x.clone(), Poly::constant(by));
        let range = self.natural(&term);
        let id = Poly::term(self.terms.len() as TermId);
        let laws = vec![
            x.scaled(-1).plus(by, &id),
            x.plus(-by, &id).plus_constant(by - 1),
        ];
        self.term(term, range, laws)
    }

    /// `x / y`, where it is known to be one.
    pub(super) fn quotient(&mut self, x: &Poly, y: &Poly) -> Poly {
        if let Some(by) = y.as_constant() {
            if by == 1 {
                return x.clone();
            }
            if let Some(exact) = x.divided(by) {
                return exact;
            }
            let inner = x
                .as_term()
                .map(|term| self.terms[term as usize].term.clone());
            if let Some(Term::Quotient(x, inner)) = inner
                && let Some(inner) = inner.as_constant()
                && by > 0
            {
                return self.quotient(&x, &Poly::constant(by * inner));
            }
        }
        if !self.proves(&y.plus_constant(-1), PATIENT) || !self.proves(x, PATIENT) {
            return self.unknown(Range::ALL);
        }
        if y.as_constant().is_some_and(|by| self.range(x).hi < by) {
            return Poly::default();
        }
        let term = Term::Quotient(x.clone(), y.clone());
        let range = self.natural(&term);
        let id = Poly::term(self.terms.len() as TermId);
        let Some(part) = id.times(y) else {
            return self.unknown(range);
        };
        let short = x.plus(-1, &part);
        let laws = vec![short.clone(), y.plus(-1, &short).plus_constant(-1)];
        self.term(term, range, laws)
    }

    /// `x % y`, where it is known to be one.
    pub(super) fn remainder(&mut self, x: &Poly, y: &Poly) -> Poly {
        if let Some(by) = y.as_constant() {
            if by == 1 || (by > 0 && x.divided(by).is_some()) {
                return Poly::default();
            }
            let inner = x
                .as_term()
                .map(|term| self.terms[term as usize].term.clone());
            if let Some(Term::Remainder(x, inner)) = inner
                && let Some(inner) = inner.as_constant()
                && by > 0
                && inner % by == 0
            {
                return self.remainder(&x, y);
            }
        }
        if !self.proves(&y.plus_constant(-1), PATIENT) || !self.proves(x, PATIENT) {
            return self.unknown(Range::ALL);
        }
        if y.as_constant().is_some_and(|by| self.range(x).hi < by) {
            return x.clone();
        }
        let quotient = self.quotient(x, y);
        let term = Term::Remainder(x.clone(), y.clone());
        let range = self.natural(&term);
        let id = Poly::term(self.terms.len() as TermId);
        let mut laws = vec![y.plus(-1, &id).plus_constant(-1), x.plus(-1, &id)];
        if let Some(part) = quotient.times(y) {
            let sum = part.plus(1, &id);
            laws.extend([x.plus(-1, &sum), sum.plus(-1, x)]);
        }
        self.term(term, range, laws)
    }
}
