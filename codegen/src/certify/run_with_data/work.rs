//! The work tiles of each CTA on a problem.
//!
//! They are those that the device reckons, by the same functions: of a grid of a tile each, of one
//! cluster that makes all, and where tiles are cut along k of so many CTAs that parts begin, go on
//! and end a tile.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::super::pipeline::{Chunks, Edge, WorkTile};
use super::sizes::{Extents, GRANULE};
use crate::ir::tile::Kernel;
use crate::plan::data::model::Plan;
use crate::plan::work_tiles::arith::AsItIs;
use crate::plan::work_tiles::{Coords, Sizes, Source, Work};

/// Where a work tile lies.
#[derive(Clone, Debug)]
pub(super) struct Portion {
    /// Its first element along the output's modes.
    pub start: [i64; 2],
    /// Its coordinates along outer modes.
    pub outer: Vec<i64>,
    /// Its first tile along k.
    pub first: i64,
}

/// What the CTAs of a launch have to do, those of a cluster next to one another.
pub(super) struct Course {
    /// What decides which operations run, by CTA.
    pub tiles: Vec<Vec<WorkTile>>,
    /// Where these tiles lie.
    pub portions: Vec<Vec<Portion>>,
}

/// The work of a problem.
struct Tiling<'k> {
    work: &'k Work,
    sizes: Sizes<i64>,
    tiles: [i64; 2],
}

impl Tiling<'_> {
    /// That of a problem of those extents.
    fn of<'k>(plan: &Plan, work: &'k Work, extents: &Extents) -> Tiling<'k> {
        let at_one = work.at_one();
        let at_one = at_one.iter().map(String::as_str).zip(&extents.at_one);
        let tile = plan.modes().zip(&extents.tile);
        let named: Vec<(&str, &i64)> = tile.chain(at_one).collect();
        let of = |mode: &str| {
            let found = named.iter().find(|(name, _)| *name == mode);
            found.map_or(1, |(_, extent)| **extent)
        };
        let sizes = work.known_sizes(of);
        let tiles = work.tiles(&sizes, &mut AsItIs);
        Tiling { work, sizes, tiles }
    }

    /// Clusters that the problem is run by.
    fn clusters(&self) -> i64 {
        let [tiles, steps] = self.work.all(&self.sizes);
        match self.work.source {
            Source::Grid => tiles,
            Source::Strided => 1,
            Source::Parts(rule) => tiles * i64::from(rule.ctas),
            // The fewest by which most kinds of parts occur.
            Source::Spans(_) => (1..=tiles * steps)
                .max_by_key(|clusters| (self.kinds(*clusters), Reverse(*clusters)))
                .unwrap_or(1),
        }
    }

    /// How many kinds of work tiles there are where so many clusters make them: those that begin or
    /// continue a tile, end it or do not, and whole ones behind others.
    fn kinds(&self, clusters: i64) -> usize {
        let [_, steps] = self.work.all(&self.sizes);
        let mut kinds = BTreeSet::new();
        for number in 0..clusters {
            for (at, piece) in
                (self.work.pieces(&self.sizes, [number, clusters]).iter()).enumerate()
            {
                let ends = piece.from + piece.trips == steps;
                let is_behind = at > 0 && piece.trips == steps;
                kinds.insert((piece.from > 0, ends, is_behind));
            }
        }
        kinds.len()
    }

    /// Where a tile of the cluster's of that number lies, of the CTA of that rank.
    fn place(&self, number: i64, rank: u32) -> Coords<i64> {
        let place = self.work.cluster().place(rank).map(i64::from);
        (self.work).coords(number, &self.tiles, &self.sizes, &place, &mut AsItIs)
    }
}

impl Course {
    /// What is to be done on a problem of those extents.
    pub fn of(plan: &Plan, kernel: &Kernel, sizes: &Extents) -> Course {
        let tiling = Tiling::of(plan, &kernel.work, sizes);
        let tile = |mode: usize| kernel.work.extent(mode);
        let extent = |mode: usize| sizes.tile.get(mode).copied().unwrap_or(1);
        let over = kernel.work.chunked();
        let chunks = over.map_or([1, 1], |over| [extent(over), tile(over)]);
        let bytes = plan.output().map_or(1, |output| output.dtype.bytes());
        let granule = (GRANULE / i64::from(bytes)).max(1);
        let stored = plan.stored_along();
        let by_vectors = vectors(plan, &sizes.tile);
        let beside = by_vectors || !plan.boxes_mind_vectors();
        let size = kernel.work.cluster().size();
        let mut course = Course {
            tiles: Vec::new(),
            portions: Vec::new(),
        };
        let clusters = tiling.clusters();
        for (number, rank) in (0..clusters).flat_map(|at| (0..size).map(move |rank| (at, rank))) {
            let mut own = (Vec::new(), Vec::new());
            for piece in kernel.work.pieces(&tiling.sizes, [number, clusters]) {
                let Coords { tile: at, outer } = tiling.place(piece.tile, rank);
                let start = [0, 1].map(|mode| at[mode] * tile(mode));
                let inside =
                    |mode: usize| over == Some(mode) || start[mode] + tile(mode) <= extent(mode);
                let givers = piece
                    .givers
                    .iter()
                    .map(|giver| giver * i64::from(size) + i64::from(rank));
                own.0.push(WorkTile {
                    trips: piece.trips as u32,
                    continues: piece.from > 0,
                    givers: givers.map(|giver| giver as usize).collect(),
                    edge: Edge::Lies {
                        inside: inside(0) && inside(1),
                        vectors: by_vectors,
                        boxes_end: beside && (inside(stored) || extent(stored) % granule == 0),
                    },
                    chunks: Chunks {
                        whole: (chunks[0] / chunks[1]) as u32,
                        rest: chunks[0] % chunks[1] != 0,
                    },
                });
                own.1.push(Portion {
                    start,
                    outer,
                    first: piece.from,
                });
            }
            course.tiles.push(own.0);
            course.portions.push(own.1);
        }
        course
    }
}

/// Whether a problem of those extents ends where vectors do.
fn vectors(plan: &Plan, extents: &[i64]) -> bool {
    plan.flow.as_ref().is_none_or(|flow| {
        let extent = extents.get(flow.along).copied().unwrap_or(1);
        extent % flow.vector == 0
    })
}
