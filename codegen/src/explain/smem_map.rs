//! The map of a CTA's shared memory: what lies where.
//!
//! Comes in: a plan. Goes out: regions in the order of their offsets, without overlaps, which cover
//! all that a CTA of the architecture may ask for; what nobody uses is a region as well.

use serde::Serialize;

use crate::plan::data::arena::{Holds, Place};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::SmemTile;
use crate::plan::data::values::Every;

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
    let places = plan.arena.places().iter();
    let mut regions: Vec<Region> = places.flat_map(|place| of_place(plan, place)).collect();
    regions.sort_by_key(|region| region.offset_bytes);
    let mut all = Vec::new();
    let mut end = 0;
    let purposes = [
        (plan.arena.bytes(), Use::Gap, "nothing"),
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

/// The regions of a place.
fn of_place(plan: &Plan, place: &Place) -> Vec<Region> {
    let whole = |purpose: Use, name: String| {
        vec![Region {
            offset_bytes: place.at,
            bytes: place.end() - place.at,
            purpose,
            name,
            slot: None,
        }]
    };
    let barriers = |name: &str| whole(Use::Barriers, format!("{} {name} barriers", place.count));
    let ahead = |pipe| matches!(every(plan, pipe), Some(Every::WorkTile));
    match place.holds {
        Holds::Slots(pipe) => slots(plan, place, every(plan, pipe)),
        Holds::Staging => staging(plan, place),
        Holds::Full(pipe) if ahead(pipe) => barriers("full, of what is loaded ahead,"),
        Holds::Full(_) => barriers("full"),
        Holds::Empty(pipe) if ahead(pipe) => barriers("empty, of what is loaded ahead,"),
        Holds::Empty(_) => barriers("empty"),
        Holds::Turns => barriers("turn"),
        Holds::Partials => whole(Use::Scratch, "partial sums".to_owned()),
        Holds::Fold(number) => whole(Use::Scratch, format!("values of fold {number}")),
        Holds::Sums(number) => {
            let output = plan.combinings().nth(number);
            let name = output.map_or("sums", |one| &plan.operand(one.operand).name);
            sets(place, Use::Scratch, |set| match place.count {
                1 => format!("parts of {name}"),
                _ => format!("parts of {name}, consumer {set}"),
            })
        }
    }
}

/// What a slot of the pipe of that number is filled for; none where warps have no roles.
fn every(plan: &Plan, pipe: usize) -> Option<Every> {
    let pipe = plan.roles.as_ref()?.pipes.get(pipe)?;
    Some(pipe.every)
}

/// A region for each slot or set of a place.
fn sets(place: &Place, purpose: Use, name: impl Fn(u32) -> String) -> Vec<Region> {
    let region = |number: u32| Region {
        offset_bytes: place.of(number),
        bytes: place.each,
        purpose,
        name: name(number),
        slot: None,
    };
    (0..place.count).map(region).collect()
}

/// Tiles in the slots of a pipe.
fn slots(plan: &Plan, place: &Place, every: Option<Every>) -> Vec<Region> {
    let (purpose, word) = match every {
        None => (Use::Ring, "stage"),
        Some(Every::Trip) => (Use::Ring, "slot"),
        Some(Every::WorkTile) => (Use::EpilogueLoads, "ahead"),
    };
    let own = plan.smem.iter().filter(|tile| tile.within == place.holds);
    let of_tile = |tile: &SmemTile| {
        let name = plan.tile_name(tile.operand, tile.plane);
        let (start, bytes) = (tile.offset_bytes, tile.size_bytes);
        let region = move |slot: u32| Region {
            offset_bytes: place.of(slot) + start,
            bytes,
            purpose,
            name: format!("{word} {slot} {name}"),
            slot: (purpose == Use::Ring).then_some(slot),
        };
        (0..place.count).map(region)
    };
    own.flat_map(of_tile).collect()
}

/// The buffers of each consumer.
fn staging(plan: &Plan, place: &Place) -> Vec<Region> {
    let Some((roles, store)) =
        (plan.roles.as_ref()).and_then(|roles| Some((roles, roles.store.as_ref()?)))
    else {
        return Vec::new();
    };
    let buffers = (roles.staging_buffers as u32).max(1);
    let each = store.box_bytes() as u32;
    let count = (place.end() - place.at) / each.max(1);
    let all = Place {
        each,
        count,
        ..*place
    };
    sets(&all, Use::Staging, |number| {
        let (consumer, buffer) = (number / buffers, number % buffers);
        format!("staging of consumer {consumer}, buffer {buffer}")
    })
}
