//! How values are combined with what an output holds: each thread folds those that it has of an
//! element, the lanes of a warp put theirs together, and one of them combines the result with what
//! is in memory, whoever else does so at the same time.
//!
//! So it is with operations whose order makes no difference: the larger and the smaller of numbers,
//! sums of integers. Sums of others come together in a fixed order (`deterministic_sums`).

use crate::arch::{REGISTER_BITS, WARP};
use crate::error::{Result, message};
use crate::plan::copies::partition;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Hop, Step};
use crate::plan::data::values::Flow;
use crate::plan::instructions::arithmetic::{combine, computed};
use crate::plan::instructions::choose::Chooser;
use crate::plan::values::deterministic_sums;
use crate::spec::keys::paths;

/// Decides how a node that is combined with an output is folded, which that step moves.
pub(in crate::plan) fn plan(
    chooser: &mut Chooser<'_>,
    flow: &mut Flow,
    number: usize,
    (node, step, plan): (usize, &Step, &Plan),
) -> Result<()> {
    let threads = i64::from(plan.threads);
    let has = flow.nodes.get(node).map_or([true; 2], |node| node.keeps);
    let Some(combining) = flow.combinings.get_mut(number) else {
        return Ok(());
    };
    let packing = computed(combining.how.dtype);
    combining.how.code = combine(chooser, combining.how.op(), packing);
    combining.lanes = lanes(step, has, threads)?;
    combining.repeats = has.map(|has| !has);
    if combining.in_memory().is_some() {
        return Ok(());
    }
    let operand = plan.operand(combining.operand);
    let has_outer = |mode: &String| operand.all_axes().any(|axis| axis.mode == *mode);
    let outer = plan.work.outer().iter().map(has_outer).collect();
    let ctas = i64::from(plan.work.shared_by.max(1));
    combining.in_order = deterministic_sums::plan(chooser, step, has, outer, [threads, ctas])?;
    if combining.in_order.is_none() {
        let message = message!(
            "{}: warps share the elements of {} that `+=` adds values to in no order of theirs: \
             use as many {} as a power of two",
            paths::COMPUTE,
            operand.name,
            paths::THREADS
        );
        chooser.violate("sum-order", message);
    }
    Ok(())
}

/// Registers of a thread that hold what it has folded of outputs that values are combined with.
pub(in crate::plan) fn registers(plan: &Plan, flow: &Flow) -> i64 {
    let combined = flow.nodes.iter().filter(|node| node.combined.is_some());
    let held = combined.filter_map(|node| {
        let step = plan.step(node.stored?, Hop::R2g)?;
        let part = partition::of_step(step).ok()?.src;
        Some(part.values.len() as i64 * i64::from(node.dtype.bits()) / REGISTER_BITS)
    });
    held.sum()
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
