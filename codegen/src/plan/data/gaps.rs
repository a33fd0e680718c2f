//! What extents must be where operands lie without gaps: what a plan assumes of strides, said of
//! the extents whose product such a stride then is.

use std::collections::BTreeMap;
use std::fmt;

use tilewright_formula::ModeExtent;

use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::spec::keys::model::{Operand, Stride};

/// A product of extents that must be a multiple of some number: `n % 4 == 0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExtentsMultiple {
    /// The modes, ascending. None where constants alone are no multiple, so that strides without
    /// gaps are always refused.
    pub modes: Vec<String>,
    /// Elements.
    pub multiple: i64,
}

impl ExtentsMultiple {
    /// Whether the other one holds wherever this one does.
    fn implies(&self, other: &ExtentsMultiple) -> bool {
        let has_all = self.modes.iter().all(|mode| other.modes.contains(mode));
        has_all && self.multiple % other.multiple == 0
    }
}

impl fmt::Display for ExtentsMultiple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.modes.as_slice() {
            [] => f.write_str("no extents"),
            modes => write!(f, "{} % {} == 0", modes.join(" * "), self.multiple),
        }
    }
}

/// A product of extents of modes and a constant.
#[derive(Clone, Debug)]
struct Product {
    modes: Vec<String>,
    constant: i64,
}

impl Plan {
    /// What extents must be for a launch whose operands lie without gaps: `n % 4 == 0` where rows
    /// of n elements lie `ldx` apart, and `ldx % 4 == 0` is assumed. What follows from another is
    /// left out.
    pub fn without_gaps(&self) -> Vec<ExtentsMultiple> {
        let plans = [self].into_iter();
        let plans = plans.chain(self.copies.iter().map(|one| &*one.copy));
        let all: Vec<ExtentsMultiple> = plans.flat_map(Plan::own_without_gaps).collect();
        let needed = all.iter().enumerate().filter(|(at, one)| {
            !all.iter().enumerate().any(|(other_at, other)| {
                let comes_first = !one.implies(other) || other_at < *at;
                other_at != *at && other.implies(one) && comes_first
            })
        });
        let mut needed: Vec<ExtentsMultiple> = needed.map(|(_, one)| one.clone()).collect();
        needed.sort();
        needed
    }

    /// That of its own strides, not those of copies before and behind it.
    fn own_without_gaps(&self) -> Vec<ExtentsMultiple> {
        let given = self.operands.iter();
        let given: Vec<&Operand> = given
            .filter(|one| !one.packed && self.realigned(one.id).is_none())
            .collect();
        let of = |stride: &str, multiple: i64| {
            let tight = given.iter().find_map(|one| tight_stride(one, stride))?;
            self.multiple_of(tight, multiple)
        };
        let asked = self.asks().filter_map(|one| match one {
            Assumption::StrideMultiple {
                stride, multiple, ..
            } => of(stride, *multiple),
            _ => None,
        });
        asked.collect()
    }

    /// What extents must be for that product to be a multiple; none where it always is one.
    fn multiple_of(&self, product: Product, multiple: i64) -> Option<ExtentsMultiple> {
        let modes = self.computes.formula.signature.modes.iter();
        let constants: BTreeMap<&str, i64> = modes
            .filter_map(|mode| match &mode.extent {
                ModeExtent::Constant(extent) => Some((mode.name.as_str(), *extent)),
                ModeExtent::Ragged(_) => None,
            })
            .collect();
        let constant_of = |mode: &String| constants.get(mode.as_str());
        let known = product.modes.iter().filter_map(constant_of);
        let constant = known.fold(product.constant, |all, one| all.saturating_mul(*one));
        let mut modes = product.modes.clone();
        modes.retain(|mode| constant_of(mode).is_none());
        modes.sort();
        let multiple = multiple / gcd(multiple, constant);
        (multiple > 1).then_some(ExtentsMultiple { modes, multiple })
    }
}

/// What a stride of that name is where the elements of the operand lie without gaps, its last axis
/// innermost where no stride is constant, as launches have it that give none. None where the
/// operand has no such stride, or a product of several extents, to which an inner one leads.
fn tight_stride(operand: &Operand, name: &str) -> Option<Product> {
    let axes = operand.formula_axes();
    let fixed = axes.iter().filter_map(|axis| match axis.stride {
        Stride::Const(stride) if stride > 0 => Some((axis, stride)),
        _ => None,
    });
    let widest = fixed.max_by_key(|(_, stride)| *stride);
    let mut span = widest.map(|(axis, constant)| Product {
        modes: vec![axis.mode.clone()],
        constant,
    });
    let open = axes.iter().rev();
    for axis in open.filter(|axis| axis.stride.name().is_some()) {
        if axis.stride.name() == Some(name) {
            return match &axis.stride {
                Stride::Product { value, .. } => value.single_word().map(|mode| Product {
                    modes: vec![mode.to_owned()],
                    constant: 1,
                }),
                Stride::Const(_) | Stride::Named(_) => span,
            };
        }
        let inside = span.get_or_insert(Product {
            modes: Vec::new(),
            constant: 1,
        });
        inside.modes.push(axis.mode.clone());
    }
    None
}

fn gcd(a: i64, b: i64) -> i64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}
