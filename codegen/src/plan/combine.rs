//! How values are combined with what an output holds: each thread folds those that it has of an
//! element, the lanes of a warp put theirs together, and one of them combines the result with what
//! is in memory, whoever else does so at the same time.
//!
//! Operations are such that the order makes no difference: the larger and the smaller of numbers.

use std::fmt;

use tilewright_formula::functions::Fold;
use tilewright_formula::syntax::Combine;

use crate::arch::WARP;
use crate::atoms::model::Reduction;
use crate::dtype::DType;
use crate::error::Result;
use crate::plan::choose::Chooser;
use crate::plan::code::{combine, computed};
use crate::plan::flow::Flow;
use crate::plan::fold::Combination;
use crate::plan::model::Step;
use crate::plan::partition;

/// How values are combined with what an output holds.
#[derive(Clone, Debug)]
pub struct Combining {
    /// How two of them become one.
    pub how: Combination,
    /// The output.
    pub operand: String,
    /// Bits in which the indices of lanes differ that have parts of one element.
    pub lanes: i64,
    /// The modes of the tile that values are the same along, of which the first thread's count.
    pub repeats: [bool; 2],
}

/// The fold that does what a sign does, and what is done in memory; none where the order of values
/// would make a difference, or nothing is combined.
pub fn in_any_order(combine: Combine) -> Option<(Fold, Reduction)> {
    match combine {
        Combine::Max => Some((Fold::Max, Reduction::Max)),
        Combine::Min => Some((Fold::Min, Reduction::Min)),
        Combine::Add | Combine::Set => None,
    }
}

impl Combining {
    /// What is done in memory to elements of which type.
    pub(super) fn in_memory(&self) -> Option<(Reduction, DType)> {
        let combine = match self.how.fold {
            Fold::Max => Combine::Max,
            Fold::Min => Combine::Min,
            Fold::Sum | Fold::Mean | Fold::Argmax => return None,
        };
        Some((in_any_order(combine)?.1, self.how.dtype))
    }
}

/// Decides how a node that is combined with an output is folded, which that step moves.
pub(super) fn plan(
    chooser: &mut Chooser<'_>,
    flow: &mut Flow,
    number: usize,
    (node, step, threads): (usize, &Step, u32),
) -> Result<()> {
    let has = flow.nodes.get(node).map_or([true; 2], |node| node.keeps);
    let Some(combining) = flow.combinings.get_mut(number) else {
        return Ok(());
    };
    let packing = computed(combining.how.dtype);
    combining.how.code = combine(chooser, combining.how.op(), packing);
    combining.lanes = lanes(step, has, i64::from(threads))?;
    combining.repeats = has.map(|has| !has);
    Ok(())
}

/// The bits in which lanes may differ that have parts of the same elements of the output, where
/// values have elements along those modes: threads that have the same values are told apart.
fn lanes(step: &Step, has: [bool; 2], threads: i64) -> Result<i64> {
    let warp = i64::from(WARP);
    if threads % warp != 0 {
        return Ok(0);
    }
    let keeps = step.keeps();
    let apart = [0, 1].map(|mode| keeps[mode] || !has[mode]);
    let part = partition::whole_of_step(step)?.dst.kept(apart);
    let bits = (0..).map(|bit| 1 << bit).take_while(|bit| *bit < warp);
    let same = |bit: &i64| (0..threads).all(|one| part.base(one) == part.base(one ^ bit));
    Ok(bits.filter(same).sum())
}

impl fmt::Display for Combining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.how.op().row().name;
        let lanes = 1 << self.lanes.count_ones();
        write!(f, "{name} of {lanes} lanes and what is there")
    }
}
