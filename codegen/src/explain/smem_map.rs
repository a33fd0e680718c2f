//! The map of a CTA's shared memory: what lies where.
//!
//! Comes in: a plan. Goes out: regions in the order of their offsets, without overlaps, which cover
//! all that a CTA of the architecture may ask for; what nobody uses is a region as well.

use serde::Serialize;

use crate::plan::data::model::Plan;
use crate::plan::data::warp_roles::{BARRIER_BYTES, Roles};

/// What a region is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// An operand's tile in a slot or stage of the ring.
    Ring,
    /// An operand's tile that is loaded for the epilogue.
    EpilogueLoads,
    /// Staging buffers of results.
    Staging,
    /// What warps hand on to one another of folds and sums.
    Scratch,
    /// Barriers.
    Barriers,
    /// Asked for by the kernel, and nothing lies there.
    Gap,
    /// Not asked for.
    Unused,
}

/// Neighbouring bytes with one purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// First byte.
    pub offset_bytes: u32,
    /// How many.
    pub bytes: u32,
    /// What for.
    pub purpose: Use,
    /// What it is called: `slot 0 a`.
    pub name: String,
    /// Slot of the ring, for [`Use::Ring`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
}

/// The regions of a plan's shared memory.
pub fn regions(plan: &Plan) -> Vec<Region> {
    let mut regions = ring(plan);
    if let Some(roles) = &plan.roles {
        epilogue_loads(plan, roles, &mut regions);
        staging(plan, roles, &mut regions);
        barriers(roles, &mut regions);
    }
    scratch(plan, &mut regions);
    regions.sort_by_key(|region| region.offset_bytes);
    let mut all = Vec::new();
    let mut end = 0;
    let purposes = [
        (plan.smem_bytes, Use::Gap, "nothing"),
        (plan.arch.smem_max_bytes, Use::Unused, "not asked for"),
    ];
    for region in regions {
        fill(&mut all, &mut end, region.offset_bytes, purposes[0]);
        end = region.offset_bytes + region.bytes;
        all.push(region);
    }
    for purpose in purposes {
        fill(&mut all, &mut end, purpose.0, purpose);
    }
    all
}

/// A region up to that byte, when there is something left before it.
fn fill(all: &mut Vec<Region>, end: &mut u32, to: u32, (_, purpose, name): (u32, Use, &str)) {
    if to > *end {
        all.push(Region {
            offset_bytes: *end,
            bytes: to - *end,
            purpose,
            name: name.to_owned(),
            slot: None,
        });
        *end = to;
    }
}

fn ring(plan: &Plan) -> Vec<Region> {
    let word = if plan.roles.is_some() {
        "slot"
    } else {
        "stage"
    };
    // The tile of results is no part of the ring.
    let output = plan.output_tile().map(|tile| &tile.operand);
    let tiles = plan
        .smem
        .iter()
        .filter(|tile| plan.roles.is_none() || Some(&tile.operand) != output)
        .filter(|tile| {
            !plan
                .roles
                .as_ref()
                .is_some_and(|roles| roles.is_epilogue_load(&tile.operand))
        });
    let of_tile = |tile: &crate::plan::data::moves::SmemTile| {
        let name = plan.tile_name(&tile.operand, tile.plane);
        let (offset, bytes) = (tile.offset_bytes, tile.size_bytes);
        (0..plan.stages).map(move |slot| Region {
            offset_bytes: slot * plan.stage_bytes + offset,
            bytes,
            purpose: Use::Ring,
            name: format!("{word} {slot} {name}"),
            slot: Some(slot),
        })
    };
    tiles.flat_map(of_tile).collect()
}

fn epilogue_loads(plan: &Plan, roles: &Roles, regions: &mut Vec<Region>) {
    let Some(epilogue_loads) = &roles.epilogue_loads else {
        return;
    };
    let tiles = plan.smem.iter();
    for tile in tiles.filter(|tile| roles.is_epilogue_load(&tile.operand)) {
        regions.extend((0..epilogue_loads.ring.stages).map(|slot| Region {
            offset_bytes: tile.offset_bytes + slot * epilogue_loads.slot_bytes,
            bytes: tile.size_bytes,
            purpose: Use::EpilogueLoads,
            name: format!("ahead {slot} {}", tile.operand),
            slot: None,
        }));
    }
}

fn staging(plan: &Plan, roles: &Roles, regions: &mut Vec<Region>) {
    let (Some(store), Some(tile)) = (&roles.store, plan.output_tile()) else {
        return;
    };
    let each = store.box_bytes() as u32;
    let buffers = roles.staging.buffers as u32;
    let warpgroups = tile.size_bytes * roles.staging_sets() / (each * buffers).max(1);
    for warpgroup in 0..warpgroups {
        for buffer in 0..buffers {
            regions.push(Region {
                offset_bytes: roles.staging.offset_bytes + (warpgroup * buffers + buffer) * each,
                bytes: each,
                purpose: Use::Staging,
                name: format!("staging of consumer {warpgroup}, buffer {buffer}"),
                slot: None,
            });
        }
    }
}

fn scratch(plan: &Plan, regions: &mut Vec<Region>) {
    let folds = plan.folds().enumerate();
    let folds = folds.filter_map(|(number, fold)| {
        let scratch = fold.scratch.as_ref()?;
        Some((scratch, 1, format!("values of fold {number}")))
    });
    let sets = plan.roles.as_ref().map_or(1, Roles::staging_sets);
    let sums = plan.in_order();
    let sums = sums.map(|(name, sums)| (&sums.scratch, sets, format!("parts of {name}")));
    for (scratch, sets, name) in folds.chain(sums) {
        let all = (0..sets).filter(|_| scratch.size_bytes > 0);
        regions.extend(all.map(|set| Region {
            offset_bytes: scratch.offset_bytes + set * scratch.size_bytes,
            bytes: scratch.size_bytes,
            purpose: Use::Scratch,
            name: match sets {
                1 => name.clone(),
                _ => format!("{name}, consumer {set}"),
            },
            slot: None,
        }));
    }
}

fn barriers(roles: &Roles, regions: &mut Vec<Region>) {
    let ring = &roles.ring;
    let mut add = |offset_bytes: u32, count: u32, name: &str| {
        regions.push(Region {
            offset_bytes,
            bytes: count * BARRIER_BYTES,
            purpose: Use::Barriers,
            name: format!("{count} {name} barriers"),
            slot: None,
        });
    };
    add(ring.full_at(), ring.stages, "full");
    add(ring.empty_at(), ring.stages, "empty");
    if let Some(at) = roles.turns_at {
        add(at, roles.consumers, "turn");
    }
    if let Some(epilogue_loads) = &roles.epilogue_loads {
        let count = 2 * epilogue_loads.ring.stages;
        add(
            epilogue_loads.ring.full_at(),
            count,
            "full and empty, of what is loaded ahead,",
        );
    }
}
