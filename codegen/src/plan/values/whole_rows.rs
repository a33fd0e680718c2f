//! What folds demand of the tile: how two values become one, and that it has all that is folded.

use crate::error::message;
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::folds::FoldPlan;
use crate::plan::data::model::Plan;
use crate::plan::instructions::arithmetic::{self, computed};
use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::paths;

/// Chooses the code that combines two values of a fold, which go from thread to thread.
pub(in crate::plan) fn combined(chooser: &mut Chooser<'_>, fold: &mut FoldPlan) {
    let dtype = fold.how.dtype;
    let packing = computed(dtype);
    fold.how.code = arithmetic::combine(chooser, fold.how.op(), packing);
    if packing.ty.bits() != 32 {
        let message = message!(
            "{}: {} of {dtype} goes from thread to thread in 32 bits: compute it in f32",
            paths::COMPUTE,
            fold.how.fold.name()
        );
        chooser.violate("fold-type", message);
    }
}

/// Notes that launches have no more of a mode of the tile than the tile, and why; otherwise the way
/// out is that.
pub(in crate::plan) fn held(
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    (over, most): (usize, i64),
    (why, otherwise): (&str, &str),
) {
    let mode = plan.mode(over).unwrap_or_default().to_owned();
    let extent = plan.computes.formula.constant_of(&mode);
    let whole = Assumption::ExtentMost {
        reason: format!("a CTA holds all of {mode}, which {why}"),
        mode: mode.clone(),
        most,
    };
    if plan.assumptions.contains(&whole) {
        return;
    }
    if let Some(extent) = extent
        && extent > most
    {
        let message = message!(
            "{} holds {most} of {mode}, which {why} and {extent} in every launch: use {} or more \
             along {mode}, or {otherwise}",
            paths::CTA_TILE,
            extent.unsigned_abs().next_power_of_two()
        );
        chooser.violate("whole-mode", message);
    }
    plan.assumptions.push(whole);
}
