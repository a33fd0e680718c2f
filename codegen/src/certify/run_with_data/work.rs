//! The work tiles of each CTA on a problem.
//!
//! All output tiles stand in a row, one after the other along k, and each cluster gets a span of
//! that row: a tile's length where each makes one, all of it where one cluster makes all, and where
//! tiles are cut along k, one that ends in a tile, one that neither begins nor ends it, and one
//! that ends it and makes the rest.

use super::super::pipeline::{Chunks, Edge, WorkTile};
use super::sizes::{Extents, GRANULE};
use crate::ir::tile::Kernel;
use crate::plan::data::model::Plan;
use crate::plan::work_tiles::{SUMMED, Work};

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

/// How output tiles lie over a problem.
struct Tiling<'k> {
    work: &'k Work,
    sizes: &'k Extents,
}

impl Tiling<'_> {
    fn tile(&self, mode: usize) -> i64 {
        self.work.tile.get(mode).map_or(1, |(_, extent)| *extent)
    }

    fn extent(&self, mode: usize) -> i64 {
        self.sizes.tile.get(mode).copied().unwrap_or(1)
    }

    fn cluster(&self) -> [i64; 2] {
        self.work.cluster().0.map(i64::from)
    }

    /// Tiles along a mode, so many counted as one.
    fn along(&self, mode: usize, each: i64) -> i64 {
        let blocks = self.work.blocks_along(mode);
        match blocks.and_then(|at| self.sizes.outer.get(at)) {
            Some(blocks) => ceil_div(*blocks, each),
            None if self.work.holds(mode) => 1,
            None => ceil_div(self.extent(mode), self.tile(mode) * each),
        }
    }

    /// Tiles of clusters along both modes of the output.
    fn clusters(&self) -> [i64; 2] {
        let cluster = self.cluster();
        [0, 1].map(|mode| self.along(mode, cluster[mode]))
    }

    /// Tiles of clusters at all points of outer modes.
    fn all(&self) -> i64 {
        let points: i64 = match self.work.in_blocks {
            true => 1,
            false => self.sizes.outer.iter().product(),
        };
        self.clusters().iter().product::<i64>() * points
    }

    /// The first element of a tile of the cluster's of that number, and its coordinates along outer
    /// modes.
    fn place(&self, number: i64, rank: i64) -> ([i64; 2], Vec<i64>) {
        let (cluster, [rows, columns]) = (self.cluster(), self.clusters());
        let (point, at) = (number / (rows * columns), number % (rows * columns));
        let row = at / columns * cluster[0] + rank % cluster[0];
        let column = at % columns * cluster[1] + rank / cluster[0];
        match self.work.in_blocks {
            true => ([row * self.tile(0), 0], vec![column]),
            false => (
                [row * self.tile(0), column * self.tile(1)],
                self.sizes.point(point),
            ),
        }
    }
}

impl Course {
    /// What is to be done on a problem of those extents.
    pub fn of(plan: &Plan, kernel: &Kernel, sizes: &Extents) -> Course {
        let tiling = Tiling {
            work: &kernel.work,
            sizes,
        };
        let (tile, extent) = (|mode| tiling.tile(mode), |mode| tiling.extent(mode));
        let flow = plan.flow.as_ref();
        let over = flow.and_then(|flow| Some(flow.passes.as_ref()?.over));
        let chunks = over.map_or([1, 1], |over| [extent(over), tile(over)]);
        let trips = tiling.along(SUMMED, 1);
        let spans = spans(kernel, tiling.all(), trips);
        let bytes = plan.output().map_or(1, |output| output.dtype.bytes());
        let size = kernel.work.cluster().size() as usize;
        let mut course = Course {
            tiles: Vec::new(),
            portions: Vec::new(),
        };
        for (number, [from, to]) in spans.iter().enumerate() {
            for rank in 0..size as i64 {
                let mut own = (Vec::new(), Vec::new());
                for at in from / trips..ceil_div(*to, trips) {
                    let [begin, end] = [at * trips, (at + 1) * trips];
                    let first = (from - begin).max(0);
                    let after = spans.iter().enumerate().skip(number + 1);
                    let after = after.take_while(|(_, [from, _])| *from < end && first == 0);
                    let (start, outer) = tiling.place(at, rank);
                    let inside = |mode: usize| {
                        over == Some(mode) || start[mode] + tile(mode) <= extent(mode)
                    };
                    let granule = (GRANULE / i64::from(bytes)).max(1);
                    own.0.push(WorkTile {
                        trips: ((to - begin).min(trips) - first) as u32,
                        continues: first > 0,
                        givers: after
                            .map(|(other, _)| other * size + rank as usize)
                            .collect(),
                        edge: Edge::Lies {
                            inside: inside(0) && inside(1),
                            vectors: vectors(plan, &sizes.tile),
                            boxes_end: inside(1) || extent(1) % granule == 0,
                        },
                        chunks: Chunks {
                            whole: (chunks[0] / chunks[1]) as u32,
                            rest: chunks[0] % chunks[1] != 0,
                        },
                    });
                    own.1.push(Portion {
                        start,
                        outer,
                        first,
                    });
                }
                course.tiles.push(own.0);
                course.portions.push(own.1);
            }
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

/// What each cluster makes of the row of so many tiles of so many trips.
fn spans(kernel: &Kernel, tiles: i64, trips: i64) -> Vec<[i64; 2]> {
    let all = tiles * trips;
    let work = &kernel.work;
    let cuts = match (work.is_persistent(), work.cuts_tiles()) {
        (false, _) => (0..=tiles).map(|tile| tile * trips).collect(),
        (true, true) if tiles > 1 && trips > 3 => {
            let middle = trips + trips / 2;
            vec![0, middle, middle + 1, all]
        }
        (true, _) => vec![0, all],
    };
    let pairs = cuts.windows(2);
    pairs
        .filter_map(|pair| pair.first_chunk().copied())
        .collect()
}

fn ceil_div(value: i64, by: i64) -> i64 {
    (value + by - 1).div_euclid(by)
}
