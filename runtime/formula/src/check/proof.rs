//! Proofs that a polynomial is not negative.
//!
//! A coordinate is at least 0 and less than its extent, an extent in use is at least 1. A proof
//! takes these, and at most one of the conditions around. A condition of a quotient is taken as one
//! of what is divided, one of a remainder as a bound of that remainder.

use super::Checker;
use crate::affine::{Poly, Symbol};
use crate::formula::Extent;
use crate::functions::Op;
use crate::syntax::{Node, NodeKind};

/// What a condition around a place says there.
#[derive(Debug, Clone)]
pub(super) enum Fact {
    /// A polynomial that is at least 0.
    NotNegative(Poly),
    /// What the remainder of `of` by `by` is at most.
    Remainder { of: Poly, by: i64, most: Poly },
}

/// A side of a comparison.
enum Side {
    /// A polynomial.
    Whole(Poly),
    /// A polynomial divided by a power of two. A value's `/` is none of integers, and binary floats
    /// divide and compare so without a rounding that changes which is less.
    Quotient(Poly, i64),
    /// The remainder of a polynomial by a number above zero.
    Remainder(Poly, i64),
}

impl Checker<'_> {
    /// Whether it is at least 0 wherever this place is reached.
    pub(super) fn is_not_negative(&self, poly: &Poly) -> bool {
        if self.holds(poly) {
            return true;
        }
        let rest = |fact: &Fact| match fact {
            Fact::NotNegative(fact) => poly.plus(fact, -1),
            Fact::Remainder { .. } => None,
        };
        self.facts
            .iter()
            .filter_map(rest)
            .any(|rest| self.holds(&rest))
    }

    /// Whether a condition around keeps a remainder below an extent.
    pub(super) fn is_below(&self, (of, by): (&Poly, i64), extent: &Poly) -> bool {
        let below = |most: &Poly| {
            let room = extent.plus(most, -1);
            let room = room.and_then(|room| room.plus(&Poly::constant(1), -1));
            room.is_some_and(|room| self.holds(&room))
        };
        self.facts.iter().any(|fact| match fact {
            Fact::Remainder {
                of: known,
                by: divisor,
                most,
            } => (known, *divisor) == (of, by) && below(most),
            Fact::NotNegative(_) => false,
        })
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
    pub(super) fn facts_of(&self, condition: &Node, truth: bool, facts: &mut Vec<Fact>) {
        let NodeKind::Operation { op, operands } = &condition.kind else {
            return;
        };
        let both = |facts: &mut Vec<Fact>| {
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

    fn fact_of(&self, op: Op, operands: &[Node], truth: bool, facts: &mut Vec<Fact>) {
        let side = |at: usize| operands.get(at).and_then(|node| self.side(node));
        let (Some(left), Some(right)) = (side(0), side(1)) else {
            return;
        };
        let mut at_most = |low: &Side, high: &Side, less: i64| facts.extend(fact(low, high, less));
        match (op, truth) {
            (Op::Lt, true) | (Op::Ge, false) => at_most(&left, &right, 1),
            (Op::Le, true) | (Op::Gt, false) => at_most(&left, &right, 0),
            (Op::Gt, true) | (Op::Le, false) => at_most(&right, &left, 1),
            (Op::Ge, true) | (Op::Lt, false) => at_most(&right, &left, 0),
            (Op::Eq, true) | (Op::Ne, false) => {
                at_most(&left, &right, 0);
                at_most(&right, &left, 0);
            }
            _ => {}
        }
    }

    /// A side of a comparison; none where nothing is known of it.
    fn side(&self, node: &Node) -> Option<Side> {
        if let Ok(poly) = self.poly(node) {
            return Some(Side::Whole(poly));
        }
        let NodeKind::Operation { op, operands } = &node.kind else {
            return None;
        };
        let [of, by] = &operands[..] else { return None };
        let (of, by) = (self.poly(of).ok()?, self.poly(by).ok()?.as_constant()?);
        match op {
            Op::Div if by > 0 && by.count_ones() == 1 => Some(Side::Quotient(of, by)),
            Op::Rem if by > 0 => Some(Side::Remainder(of, by)),
            _ => None,
        }
    }
}

/// What follows of `low + less <= high`. Of a quotient only what holds however large its parts are:
/// floats that are close to one another round to one, so that `<=` says nothing of them.
fn fact(low: &Side, high: &Side, less: i64) -> Option<Fact> {
    let difference = |high: &Poly, low: &Poly, less: i64| {
        let difference = high.plus(low, -1)?;
        difference.plus(&Poly::constant(less), -1)
    };
    let times = |poly: &Poly, by: i64| Poly::default().plus(poly, by);
    Some(match (low, high) {
        (Side::Whole(low), Side::Whole(high)) => Fact::NotNegative(difference(high, low, less)?),
        (Side::Quotient(of, by), Side::Whole(high)) if less == 1 => {
            Fact::NotNegative(difference(&times(high, *by)?, of, 1)?)
        }
        (Side::Whole(low), Side::Quotient(of, by)) if low.as_constant() == Some(0) => {
            Fact::NotNegative(difference(of, &times(low, *by)?, less)?)
        }
        (Side::Remainder(of, by), Side::Whole(high)) => Fact::Remainder {
            of: of.clone(),
            by: *by,
            most: high.plus(&Poly::constant(less), -1)?,
        },
        _ => return None,
    })
}
