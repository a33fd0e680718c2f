//! How a kernel cuts its problem, as its manifest entry says.

use tilewright_bundle::Traits;

use crate::plan::data::model::Plan;
use crate::plan::work_tiles::{Fate, ModeFate};

/// The traits of a plan.
pub(super) fn of(plan: &Plan) -> Traits {
    let mut traits = Traits {
        stages: plan.stages,
        persistent: plan.work.is_persistent(),
        split: plan.work.parts().map(|parts| parts.ctas),
        ..Traits::default()
    };
    for ModeFate { mode, fate } in plan.work.fates() {
        match fate {
            Fate::Looped(extent) => {
                traits.step.insert(mode, extent);
            }
            Fate::Tiled(extent) | Fate::Whole(extent) => {
                traits.tile.insert(mode, extent);
            }
            Fate::One => traits.outer.push(mode),
            Fate::Unrolled(_) => {}
        }
    }
    traits
}
