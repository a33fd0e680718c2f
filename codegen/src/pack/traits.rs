//! How a kernel cuts its problem, as its manifest entry says.

use tilewright_bundle::Traits;

use crate::plan::data::model::Plan;
use crate::plan::work_tiles::SUMMED;

/// The traits of a plan.
pub(super) fn of(plan: &Plan) -> Traits {
    let passes = plan.flow.as_ref().and_then(|flow| flow.passes.as_ref());
    let summed = plan.mma.as_ref().map(|_| SUMMED);
    let stepped = summed.or(passes.map(|passes| passes.over));
    let mut traits = Traits {
        outer: plan.work.outer(),
        stages: plan.stages,
        persistent: plan.work.is_persistent(),
        ..Traits::default()
    };
    for (at, (mode, extent)) in plan.modes.iter().zip(&plan.cta_tile).enumerate() {
        let list = match Some(at) == stepped {
            true => &mut traits.step,
            false => &mut traits.tile,
        };
        list.insert(mode.clone(), *extent);
    }
    traits
}
