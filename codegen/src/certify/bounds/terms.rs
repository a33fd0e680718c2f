//! What is known at a point of a program: terms with their ranges, and facts.
//!
//! A fact is a polynomial that is not negative. What a scope learns, a branch or a trip of a loop
//! or one case of a proof, is forgotten at its end.

use std::collections::HashMap;
use std::rc::Rc;

use super::poly::{INFINITE, Mono, Poly, Range, TermId};
use crate::ir::thread::program::{BinOp, Program, Special, VarId};

/// What a term stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Term {
    Param(u32),
    Special(Special),
    /// Anything in its range.
    Unknown(u32),
    Quotient(Poly, Poly),
    Remainder(Poly, Poly),
    /// Rounded up.
    Ceiling(Poly, Poly),
    Min(Poly, Poly),
    Max(Poly, Poly),
    Select(Rc<Cond>, Poly, Poly),
    Bits(BinOp, Poly, Poly),
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cond {
    Constant(bool),
    /// The polynomial is not negative.
    Natural(Poly),
    Zero(Poly),
    NotZero(Poly),
    And(Rc<Cond>, Rc<Cond>),
    Or(Rc<Cond>, Rc<Cond>),
    /// One that nothing is known of, not even whether it is another one.
    Unknown(u32),
}

impl Cond {
    pub(super) fn negated(&self) -> Cond {
        match self {
            Cond::Constant(truth) => Cond::Constant(!truth),
            Cond::Natural(poly) => Cond::Natural(poly.scaled(-1).plus_constant(-1)),
            Cond::Zero(poly) => Cond::NotZero(poly.clone()),
            Cond::NotZero(poly) => Cond::Zero(poly.clone()),
            Cond::And(a, b) => Cond::Or(Rc::new(a.negated()), Rc::new(b.negated())),
            Cond::Or(a, b) => Cond::And(Rc::new(a.negated()), Rc::new(b.negated())),
            Cond::Unknown(number) => Cond::Unknown(!number),
        }
    }
}

/// What a variable holds.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(Poly),
    Pred(Rc<Cond>),
}

/// What is known of a term.
pub(super) struct Entry {
    pub term: Term,
    pub range: Range,
    /// Polynomials that are not negative because of what it is.
    pub laws: Vec<Poly>,
    /// Terms that are made of it.
    pub users: Vec<TermId>,
}

/// How far the known went when a scope began.
pub(super) struct Scope {
    terms: usize,
    facts: usize,
    choices: usize,
    undo: usize,
    impossible: bool,
}

/// Everything known at a point of the program.
pub(super) struct Known<'p> {
    pub program: &'p Program,
    pub terms: Vec<Entry>,
    index: Vec<HashMap<Term, TermId>>,
    /// Polynomials that are not negative, by the conditions passed.
    pub facts: Vec<Poly>,
    /// Conditions of which one holds.
    pub choices: Vec<[Rc<Cond>; 2]>,
    /// Whether no thread comes here.
    pub impossible: bool,
    pub vars: HashMap<VarId, Value>,
    /// CTAs of the grid.
    pub grid: Option<Poly>,
    /// Goals that the proof at hand may still look at.
    pub budget: usize,
    undo: Vec<(TermId, Range)>,
    unknowns: u32,
}

/// Ranges that one fact may tighten, one after the other.
const MAX_TIGHTENED: usize = 64;

impl<'p> Known<'p> {
    pub(super) fn new(program: &'p Program) -> Known<'p> {
        Known {
            program,
            terms: Vec::new(),
            index: vec![HashMap::new()],
            facts: Vec::new(),
            choices: Vec::new(),
            impossible: false,
            vars: HashMap::new(),
            grid: None,
            budget: 0,
            undo: Vec::new(),
            unknowns: 0,
        }
    }

    pub(super) fn enter(&mut self) -> Scope {
        self.index.push(HashMap::new());
        Scope {
            terms: self.terms.len(),
            facts: self.facts.len(),
            choices: self.choices.len(),
            undo: self.undo.len(),
            impossible: self.impossible,
        }
    }

    /// Forgets everything learnt since.
    pub(super) fn leave(&mut self, scope: Scope) {
        for (term, range) in self.undo.drain(scope.undo..).rev() {
            if let Some(entry) = self.terms.get_mut(term as usize) {
                entry.range = range;
            }
        }
        self.terms.truncate(scope.terms);
        for entry in &mut self.terms {
            while (entry.users.last()).is_some_and(|user| *user as usize >= scope.terms) {
                entry.users.pop();
            }
        }
        self.facts.truncate(scope.facts);
        self.choices.truncate(scope.choices);
        self.impossible = scope.impossible;
        self.index.pop();
    }

    /// The term of that meaning, with what is known of it by its nature alone.
    pub(super) fn term(&mut self, term: Term, range: Range, laws: Vec<Poly>) -> Poly {
        if let Some(id) = self.index.iter().rev().find_map(|frame| frame.get(&term)) {
            return Poly::term(*id);
        }
        let id = self.terms.len() as TermId;
        for part in parts(&term) {
            for user in part.terms() {
                let users = &mut self.terms[user as usize].users;
                if users.last() != Some(&id) {
                    users.push(id);
                }
            }
        }
        let entry = Entry {
            term: term.clone(),
            range,
            laws,
            users: Vec::new(),
        };
        self.terms.push(entry);
        if let Some(frame) = self.index.last_mut() {
            frame.insert(term, id);
        }
        Poly::term(id)
    }

    /// Some integer of that range.
    pub(super) fn unknown(&mut self, range: Range) -> Poly {
        self.unknowns += 1;
        self.term(Term::Unknown(self.unknowns), range, Vec::new())
    }

    /// Some condition.
    pub(super) fn open(&mut self) -> Rc<Cond> {
        self.unknowns += 1;
        Rc::new(Cond::Unknown(self.unknowns))
    }

    pub(super) fn range(&self, poly: &Poly) -> Range {
        let mut sum = Range::new(0, 0);
        for (mono, coefficient) in &poly.0 {
            let mut product = Range::new(*coefficient, *coefficient);
            for term in mono.terms() {
                product = product.times(self.terms[*term as usize].range);
            }
            sum = sum.plus(product);
        }
        sum
    }

    /// From here on the polynomial is known not to be negative.
    pub(super) fn learn(&mut self, fact: Poly) {
        let against = |other: &Poly| other.against(&fact).is_some_and(|sum| sum < 0);
        if self.range(&fact).hi < 0 || self.facts.iter().any(against) {
            self.impossible = true;
        }
        let mut queue = self.tighten(&fact);
        self.facts.push(fact);
        let mut at = 0;
        while at < queue.len().min(MAX_TIGHTENED) {
            let changed = queue[at] as usize;
            at += 1;
            let mut involved = vec![changed];
            involved.extend(self.terms[changed].users.iter().map(|user| *user as usize));
            for term in involved {
                if term != changed {
                    let natural = self.natural(&self.terms[term].term);
                    queue.extend(self.narrow(term as TermId, natural));
                    let settled = self.settled_by_ranges(term as TermId);
                    self.facts.extend(settled);
                }
                self.facts.extend(self.told_by_own_range(term as TermId));
                for law in self.terms[term].laws.clone() {
                    queue.extend(self.tighten(&law));
                }
            }
        }
    }

    /// What is known of the lesser or greater of two once their ranges tell which it is.
    fn settled_by_ranges(&self, term: TermId) -> Option<Poly> {
        let own = Poly::term(term);
        let (is, a, b) = match &self.terms[term as usize].term {
            Term::Min(a, b) => (1, a, b),
            Term::Max(a, b) => (-1, a, b),
            _ => return None,
        };
        let apart = self.range(&b.plus(-1, a).scaled(is));
        let value = match apart {
            Range { lo, .. } if lo >= 0 => a,
            Range { hi, .. } if hi <= 0 => b,
            _ => return None,
        };
        let fact = own.plus(-1, value).scaled(is);
        (!self.facts.contains(&fact)).then_some(fact)
    }

    /// Narrows the range of each term that stands alone in what is not negative.
    fn tighten(&mut self, fact: &Poly) -> Vec<TermId> {
        let most = |mono: &Mono, coefficient: &i128| {
            let own = Range::new(*coefficient, *coefficient);
            let terms = mono.terms().iter();
            let product =
                |product: Range, term: &TermId| product.times(self.terms[*term as usize].range);
            terms.fold(own, product).hi
        };
        let all: Vec<(Mono, i128, i128)> = (fact.0.iter())
            .map(|(mono, coefficient)| (*mono, *coefficient, most(mono, coefficient)))
            .collect();
        let mut changed = Vec::new();
        for (at, (mono, coefficient, _)) in all.iter().enumerate() {
            let [term] = mono.terms() else { continue };
            let others = all.iter().enumerate().filter(|(other, _)| *other != at);
            let others = others.map(|(_, (_, _, most))| *most);
            let most = others.fold(0, |sum: i128, most| match sum.max(most) >= INFINITE {
                true => INFINITE,
                false => (sum + most).min(INFINITE),
            });
            if most >= INFINITE {
                continue;
            }
            // coefficient * term >= -most
            let bound = match *coefficient > 0 {
                true => Range::new(-most.div_euclid(*coefficient), INFINITE),
                false => Range::new(-INFINITE, most.div_euclid(-coefficient)),
            };
            changed.extend(self.narrow(*term, bound));
        }
        changed
    }

    pub(super) fn narrow(&mut self, term: TermId, to: Range) -> Option<TermId> {
        let old = self.terms[term as usize].range;
        let new = old.both(to);
        if new == old {
            return None;
        }
        self.undo.push((term, old));
        self.terms[term as usize].range = new;
        if new.lo > new.hi {
            self.impossible = true;
        }
        Some(term)
    }

    /// The range that follows from what a term is made of.
    pub(super) fn natural(&self, term: &Term) -> Range {
        match term {
            Term::Param(_) | Term::Special(_) | Term::Unknown(_) => Range::ALL,
            Term::Quotient(x, y) => match y.as_constant() {
                Some(by) if by > 0 => {
                    let Range { lo, hi } = self.range(x);
                    Range::new(lo.max(0) / by, up_to(hi, |hi| hi.max(0) / by))
                }
                _ => Range::new(0, self.range(x).hi),
            },
            Term::Ceiling(x, y) => {
                let Range { lo, hi } = self.range(x);
                let by = y.as_constant().unwrap_or(1).max(1);
                let up = |value: i128| (value.max(0) + by - 1) / by;
                Range::new(up(lo), up_to(hi, up))
            }
            Term::Remainder(x, y) => {
                let most = self.range(y).hi.saturating_sub(1);
                Range::new(0, most.min(self.range(x).hi))
            }
            Term::Min(a, b) => {
                let (a, b) = (self.range(a), self.range(b));
                Range::new(a.lo.min(b.lo), a.hi.min(b.hi))
            }
            Term::Max(a, b) => {
                let (a, b) = (self.range(a), self.range(b));
                Range::new(a.lo.max(b.lo), a.hi.max(b.hi))
            }
            Term::Select(_, a, b) => self.range(a).either(self.range(b)),
            Term::Bits(op, a, b) => bits(*op, self.range(a), self.range(b)),
        }
    }

    /// Whether the value may differ between threads of a warp. Warps are 32 threads in a row, so
    /// that a quotient of the thread index by a multiple of 32 does not.
    pub(super) fn varies(&self, poly: &Poly) -> bool {
        poly.terms()
            .any(|term| match &self.terms[term as usize].term {
                Term::Special(special) => *special == Special::TidX,
                Term::Param(_) => false,
                Term::Unknown(_) | Term::Select(..) => true,
                Term::Quotient(x, y) => {
                    let index = x.as_term().map(|term| &self.terms[term as usize].term);
                    let of_index = index == Some(&Term::Special(Special::TidX));
                    let of_warp = y.as_constant().is_some_and(|by| by % 32 == 0);
                    !(of_index && of_warp) && (self.varies(x) || self.varies(y))
                }
                Term::Remainder(a, b)
                | Term::Ceiling(a, b)
                | Term::Min(a, b)
                | Term::Max(a, b)
                | Term::Bits(_, a, b) => self.varies(a) || self.varies(b),
            })
    }
}

/// What a term is made of.
fn parts(term: &Term) -> Vec<&Poly> {
    match term {
        Term::Param(_) | Term::Special(_) | Term::Unknown(_) => Vec::new(),
        Term::Quotient(a, b)
        | Term::Remainder(a, b)
        | Term::Ceiling(a, b)
        | Term::Min(a, b)
        | Term::Max(a, b)
        | Term::Select(_, a, b)
        | Term::Bits(_, a, b) => vec![a, b],
    }
}

fn up_to(most: i128, of: impl Fn(i128) -> i128) -> i128 {
    match most >= INFINITE {
        true => INFINITE,
        false => of(most),
    }
}

/// Bits of values that are not negative.
fn bits(op: BinOp, a: Range, b: Range) -> Range {
    let natural = a.lo >= 0 && b.lo >= 0;
    let all_bits = |most: i128| match most >= INFINITE {
        true => INFINITE,
        false => (most + 1).unsigned_abs().next_power_of_two() as i128 - 1,
    };
    match op {
        BinOp::And if natural => Range::new(0, a.hi.min(b.hi)),
        BinOp::And if a.lo >= 0 => Range::new(0, a.hi),
        BinOp::And if b.lo >= 0 => Range::new(0, b.hi),
        BinOp::Or | BinOp::Xor if natural => Range::new(0, all_bits(a.hi.max(b.hi))),
        _ => Range::ALL,
    }
}
