//! Proofs that a polynomial is not negative.
//!
//! A coordinate is at least 0 and less than its extent, an extent in use is at least 1. A proof
//! takes these, and at most one of the conditions around.

use super::Checker;
use crate::affine::{Poly, Symbol};
use crate::formula::Extent;
use crate::functions::Op;
use crate::syntax::{Node, NodeKind};

impl Checker<'_> {
    /// Whether it is at least 0 wherever this place is reached.
    pub(super) fn is_not_negative(&self, poly: &Poly) -> bool {
        if self.holds(poly) {
            return true;
        }
        let rest = |fact: &Poly| poly.plus(fact, -1);
        self.facts
            .iter()
            .filter_map(rest)
            .any(|rest| self.holds(&rest))
    }

    /// Whether it is at least 0 by the ranges of coordinates and extents alone.
    fn holds(&self, poly: &Poly) -> bool {
        let Some(least) = self.least(poly) else {
            return false;
        };
        least.terms().all(|(factors, c)| match factors {
            [] => true,
            [Symbol::Size(_)] => c >= 0,
            _ => false,
        }) && {
            // Of extents, which are at least 1, one of each.
            let sizes = least.terms().map(|(_, c)| c);
            sizes.fold(0i64, i64::saturating_add) >= 0
        }
    }

    /// The least value over its coordinates, in terms of extents that are no constants.
    fn least(&self, poly: &Poly) -> Option<Poly> {
        let mut least = Poly::default();
        for (factors, c) in poly.terms() {
            let term = match factors {
                [Symbol::Mode(_)] if c >= 0 => Poly::default(),
                [Symbol::Mode(mode)] => self.size(*mode).plus(&Poly::constant(1), -1)?,
                [Symbol::Size(mode)] => self.size(*mode),
                [] => Poly::constant(1),
                _ => return None,
            };
            least = least.plus(&term, c)?;
        }
        Some(least)
    }

    /// The extent of a mode.
    pub(super) fn size(&self, mode: usize) -> Poly {
        match self.extent(mode) {
            Extent::Constant(extent) => Poly::constant(extent),
            _ => Poly::symbol(Symbol::Size(mode)),
        }
    }

    /// What is at least 0 where a condition is `truth`.
    pub(super) fn facts_of(&self, condition: &Node, truth: bool, facts: &mut Vec<Poly>) {
        let NodeKind::Operation { op, operands } = &condition.kind else {
            return;
        };
        let both = |facts: &mut Vec<Poly>| {
            let parts = operands.iter();
            parts.for_each(|part| self.facts_of(part, truth, facts));
        };
        match (op, truth) {
            (Op::And, true) | (Op::Or, false) => both(facts),
            (Op::Not, _) => {
                let parts = operands.iter();
                parts.for_each(|part| self.facts_of(part, !truth, facts));
            }
            _ => self.fact_of(*op, operands, truth, facts),
        }
    }

    fn fact_of(&self, op: Op, operands: &[Node], truth: bool, facts: &mut Vec<Poly>) {
        let [Ok(left), Ok(right)] = [0, 1].map(|at| match operands.get(at) {
            Some(node) => self.poly(node),
            None => Err(()),
        }) else {
            return;
        };
        // `a - b - less` is at least 0.
        let mut fact = |a: &Poly, b: &Poly, less: i64| {
            let difference = a
                .plus(b, -1)
                .and_then(|d| d.plus(&Poly::constant(less), -1));
            facts.extend(difference);
        };
        match (op, truth) {
            (Op::Lt, true) | (Op::Ge, false) => fact(&right, &left, 1),
            (Op::Le, true) | (Op::Gt, false) => fact(&right, &left, 0),
            (Op::Gt, true) | (Op::Le, false) => fact(&left, &right, 1),
            (Op::Ge, true) | (Op::Lt, false) => fact(&left, &right, 0),
            (Op::Eq, true) | (Op::Ne, false) => {
                fact(&left, &right, 0);
                fact(&right, &left, 0);
            }
            _ => {}
        }
    }
}
