//! The map of a CTA's shared memory: what lies where.
//!
//! Comes in: a plan. Goes out: regions in the order of their offsets, without overlaps, which cover
//! all that a CTA of the architecture may ask for; what nobody uses is a region as well.

use serde::Serialize;

use crate::plan::data::model::Plan;
use crate::plan::data::moves::SmemTile;
use crate::plan::data::values::Every;
use crate::plan::data::warp_roles::{BARRIER_BYTES, LoadPipe, Roles};

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
    let mut regions = slots(plan);
    if let Some(roles) = &plan.roles {
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

/// Tiles in the slots of the pipes of a plan with roles, else in its stages.
fn slots(plan: &Plan) -> Vec<Region> {
    let of_tile = |tile: &SmemTile| -> Vec<Region> {
        let pipe = plan
            .roles
            .as_ref()
            .map(|roles| roles.pipe_of(&tile.operand));
        let (purpose, word, stages, apart) = match pipe {
            None => (Use::Ring, "stage", plan.stages, plan.stage_bytes),
            Some(Some(LoadPipe { every, ring, .. })) => {
                let (purpose, word) = match every {
                    Every::Trip => (Use::Ring, "slot"),
                    Every::WorkTile => (Use::EpilogueLoads, "ahead"),
                };
                (purpose, word, ring.stages, ring.slot_bytes)
            }
            // The tile of results is no part of a pipe that is filled by boxes.
            Some(None) => return Vec::new(),
        };
        let name = plan.tile_name(&tile.operand, tile.plane);
        let region = |slot: u32| Region {
            offset_bytes: slot * apart + tile.offset_bytes,
            bytes: tile.size_bytes,
            purpose,
            name: format!("{word} {slot} {name}"),
            slot: (purpose == Use::Ring).then_some(slot),
        };
        (0..stages).map(region).collect()
    };
    plan.smem.iter().flat_map(of_tile).collect()
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
    let mut add = |offset_bytes: u32, count: u32, name: &str| {
        regions.push(Region {
            offset_bytes,
            bytes: count * BARRIER_BYTES,
            purpose: Use::Barriers,
            name: format!("{count} {name} barriers"),
            slot: None,
        });
    };
    for LoadPipe { every, ring, .. } in &roles.pipes {
        match every {
            Every::Trip => {
                add(ring.full_at(), ring.stages, "full");
                add(ring.empty_at(), ring.stages, "empty");
            }
            Every::WorkTile => {
                let name = "full and empty, of what is loaded ahead,";
                add(ring.full_at(), 2 * ring.stages, name);
            }
        }
    }
    if let Some(at) = roles.turns_at {
        add(at, roles.consumers, "turn");
    }
}
