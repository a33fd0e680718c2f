//! Gives everything that a plan keeps in shared memory its place.
//!
//! Comes in: a plan whose tiles, pipes, staging buffers, folds and sums are decided. Goes out: its
//! arena. Slots come first, as boxes begin at multiples of their swizzle's pattern.

use crate::plan::data::arena::{Arena, Holds};
use crate::plan::data::combining::TERM_BYTES;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::SmemTile;
use crate::plan::data::warp_roles::{BARRIER_BYTES, Roles};

/// Bytes to a multiple of which what warps hand on of a fold is rounded up.
const FOLD_ALIGN: u32 = 16;

/// Places all that there is.
pub(in crate::plan) fn place(plan: &mut Plan) {
    plan.arena = beside(plan, &[], plan.stages);
}

/// The arena of a plan with so many stages of its tiles and some more.
pub(in crate::plan) fn beside(plan: &Plan, more: &[SmemTile], stages: u32) -> Arena {
    let mut arena = Arena::default();
    match &plan.roles {
        None => {
            let ends = more.iter().map(SmemTile::end);
            let slot = plan.slot_bytes(Holds::Slots(0));
            let slot = ends.max().map_or(slot, |end| slot.max(end));
            arena.put(Holds::Slots(0), stages.max(1), slot);
        }
        Some(roles) => of_roles(plan, roles, &mut arena),
    }
    for (number, fold) in plan.folds().enumerate() {
        let bytes = fold
            .scratch
            .as_ref()
            .map_or(0, |scratch| scratch.size_bytes);
        let bytes = bytes.checked_next_multiple_of(FOLD_ALIGN);
        arena.put(Holds::Fold(number), 1, bytes.unwrap_or(u32::MAX));
    }
    // All that comes before them ends at a multiple of their bytes.
    let sets = plan.roles.as_ref().map_or(1, Roles::staging_sets);
    for (number, combining) in plan.combinings().enumerate() {
        let Some(sums) = &combining.in_order else {
            continue;
        };
        let bytes = sums.parts() * sums.elements(plan.tile()) * TERM_BYTES;
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        arena.put(Holds::Sums(number), sets, bytes);
    }
    arena
}

/// Slots, staging buffers, barriers.
fn of_roles(plan: &Plan, roles: &Roles, arena: &mut Arena) {
    let slots = || roles.pipes.iter().map(|pipe| pipe.ring.stages).enumerate();
    for (number, stages) in slots() {
        let holds = Holds::Slots(number);
        arena.put(holds, stages, plan.slot_bytes(holds));
    }
    let set = plan.slot_bytes(Holds::Staging);
    arena.put(Holds::Staging, roles.staging_sets(), set);
    let partials = plan.work.parts().and_then(|_| plan.work.partial_bytes());
    let partials = partials.map_or(0, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    arena.put(Holds::Partials, 1, partials);
    for (number, stages) in slots() {
        for holds in [Holds::Full(number), Holds::Empty(number)] {
            arena.put(holds, stages, BARRIER_BYTES);
        }
    }
    if roles.takes_turns() {
        arena.put(Holds::Turns, roles.consumers(), BARRIER_BYTES);
    }
}
