//! Every output tile is made once, all of it: the launch's own assignment of work tiles to CTAs,
//! gone through on small problems by the functions that the kernel reckons with. It does so in 32
//! bits; the runtime refuses a launch of more work tiles than these count.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::work_tiles::arith::AsItIs;
use crate::plan::work_tiles::enumerate::Piece;
use crate::plan::work_tiles::{Cluster, Fate, Sizes, Source, Work};

/// Tiles along the output's two modes, in clusters.
const TILES: [[i64; 2]; 7] = [[1, 1], [1, 4], [4, 1], [2, 3], [5, 3], [3, 8], [9, 5]];
/// Points along each axis apart from these.
const APART: [i64; 4] = [2, 1, 3, 1];
/// Steps along k of an output tile.
const STEPS: [i64; 5] = [1, 2, 3, 7, 132];
/// Clusters of a persistent grid, as many as an H200 has multiprocessors among them: of tiles of
/// 64x32 and more so many parts stand in groups.
const CLUSTERS: [i64; 7] = [1, 2, 3, 4, 7, 16, 132];

/// Shows that each output tile is made in each of its steps along k by one CTA, and that sums are
/// given by those that have them. How many launches were gone through.
pub(in crate::certify) fn check(work: &Work) -> Result<u64, String> {
    let mut launches = 0;
    for tiles in TILES {
        let steps: &[i64] = match work.cuts_tiles() {
            true => &STEPS,
            false => &STEPS[..1],
        };
        for steps in steps {
            let sizes = Grid {
                work,
                tiles,
                steps: *steps,
            };
            let clusters: &[i64] = match work.source {
                Source::Grid => &[sizes.all()],
                Source::Parts(rule) => &[sizes.all() * i64::from(rule.ctas)],
                Source::Strided | Source::Spans(_) => &CLUSTERS,
            };
            for clusters in clusters {
                sizes.check(*clusters).map_err(|error| {
                    format!("{error}, of {tiles:?} tiles in {steps} steps by {clusters} clusters")
                })?;
                launches += 1;
            }
        }
    }
    Ok(launches)
}

/// Whether parts, each from one step to another, are all steps, each once.
fn made_whole(mut parts: Vec<[i64; 2]>, steps: i64) -> bool {
    parts.sort_unstable();
    let begins = parts.iter().map(|[from, _]| *from);
    let ends = parts.iter().map(|[_, to]| *to);
    begins.chain([steps]).eq([0].into_iter().chain(ends))
}

/// Where the sums of a piece end along k, with what others give it: the first pieces of theirs.
fn end_of(piece: &Piece, pieces: &[Vec<Piece>]) -> Result<i64, String> {
    piece
        .givers
        .iter()
        .try_fold(piece.from + piece.trips, |end, giver| {
            let first = usize::try_from(*giver)
                .ok()
                .and_then(|at| pieces.get(at)?.first());
            let goes_on = |given: &&Piece| (given.tile, given.from) == (piece.tile, end);
            match first.filter(goes_on).filter(|given| given.trips > 0) {
                Some(given) => end_of(given, pieces),
                None => {
                    let tile = piece.tile;
                    Err(format!("sums of tile {tile} are given by who has none"))
                }
            }
        })
}

/// A problem with so many tiles.
struct Grid<'w> {
    work: &'w Work,
    tiles: [i64; 2],
    steps: i64,
}

impl Grid<'_> {
    /// The extent along a mode by which there are so many tiles.
    fn extent(&self, mode: &str) -> i64 {
        let Cluster(cluster) = self.work.cluster();
        let across = self.work.across().into_iter().enumerate();
        let mut across = across.filter_map(|(at, axis)| Some((at, axis?)));
        if let Some((at, axis)) = across.find(|(_, axis)| axis.mode == mode) {
            return self.tiles[at] * i64::from(cluster[at]) * axis.each();
        }
        match self.work.apart.iter().position(|axis| axis.mode == mode) {
            Some(at) => APART[at % APART.len()],
            None => {
                let looped = self.work.looped().filter(|axis| axis.mode == mode);
                looped.map_or(1, |axis| self.steps * axis.each())
            }
        }
    }

    fn sizes(&self) -> Sizes<i64> {
        self.work.known_sizes(|mode| self.extent(mode))
    }

    fn all(&self) -> i64 {
        self.work.all(&self.sizes())[0]
    }

    /// Goes through the work of all clusters.
    fn check(&self, clusters: i64) -> Result<(), String> {
        let (work, sizes) = (self.work, self.sizes());
        let tiles = work.tiles(&sizes, &mut AsItIs);
        let [all, steps] = work.all(&sizes);
        let mut made: BTreeMap<i64, Vec<[i64; 2]>> = BTreeMap::new();
        let pieces: Vec<_> = (0..clusters)
            .map(|at| work.pieces(&sizes, [at, clusters]))
            .collect();
        let mut asked: BTreeMap<i64, usize> = BTreeMap::new();
        for (number, own) in (0..).zip(&pieces) {
            for piece in own {
                made.entry(piece.tile)
                    .or_default()
                    .push([piece.from, piece.from + piece.trips]);
                let end = end_of(piece, &pieces)?;
                if piece.from == 0 && end != steps {
                    return Err(format!("sums of tile {} end at {end}", piece.tile));
                }
                for giver in &piece.givers {
                    if matches!(work.source, Source::Spans(_)) && *giver >= number {
                        return Err(format!("{number} waits for {giver}, which is behind it"));
                    }
                    *asked.entry(*giver).or_default() += 1;
                }
            }
        }
        for (number, own) in (0..).zip(&pieces) {
            let gives = own.iter().filter(|piece| piece.from > 0).count();
            let asked = asked.get(&number).copied().unwrap_or(0);
            if gives != asked {
                return Err(format!("sums of {number} are asked for {asked} times"));
            }
        }
        let mut places = BTreeSet::new();
        for tile in 0..all {
            let parts = made.remove(&tile).unwrap_or_default();
            if !made_whole(parts.clone(), steps) {
                return Err(format!("tile {tile} is made in {parts:?}"));
            }
            let cluster = work.cluster();
            for rank in 0..cluster.size() {
                let place = cluster.place(rank).map(i64::from);
                let at = work.coords(tile, &tiles, &sizes, &place, &mut AsItIs);
                if !places.insert((at.tile, at.outer.clone())) {
                    return Err(format!("two tiles lie at {at:?}"));
                }
            }
        }
        match made.keys().next() {
            Some(tile) => Err(format!("tile {tile} is made, of {all}")),
            None => self.inside(&places),
        }
    }

    /// Whether all places are those of the problem: as there are as many of them, then all are.
    fn inside(&self, places: &BTreeSet<([i64; 2], Vec<i64>)>) -> Result<(), String> {
        let outer: Vec<i64> = self
            .work
            .outer()
            .iter()
            .map(|mode| self.extent(mode))
            .collect();
        let most = self.work.across().map(|axis| match axis {
            Some(axis) if axis.fate != Fate::One => self.extent(&axis.mode) / axis.each(),
            Some(_) | None => 1,
        });
        let all: i64 = most.iter().chain(&outer).product();
        let fits = |(tile, at): &([i64; 2], Vec<i64>)| {
            let tile = tile
                .iter()
                .zip(&most)
                .all(|(at, most)| (0..*most).contains(at));
            tile && at.len() == outer.len()
                && at
                    .iter()
                    .zip(&outer)
                    .all(|(at, most)| (0..*most).contains(at))
        };
        match places.iter().find(|place| !fits(place)) {
            Some(place) => Err(format!(
                "a tile lies at {place:?}, of {most:?} and {outer:?}"
            )),
            None if places.len() as i64 == all => Ok(()),
            None => Err(format!("{} tiles are made, of {all}", places.len())),
        }
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;
    use crate::plan::work_tiles::parts::PartRule;
    use crate::plan::work_tiles::spans::SpanRule;
    use crate::plan::work_tiles::{Dim, ModeFate};
    use crate::spec::keys::model::Raster;

    /// Tiles of 16 by 32, in steps of 8 along k.
    fn work(source: Source, raster: Raster, cluster: Option<[u32; 2]>) -> Work {
        Work {
            dims: vec![
                Dim::new("m", Fate::Tiled(16)),
                Dim::new("n", Fate::Tiled(32)),
                Dim::new("k", Fate::Looped(8)),
            ],
            apart: Vec::new(),
            raster,
            source,
            ctas: None,
            shared_by: 1,
            cluster: cluster.map(Cluster),
        }
    }

    const SOURCES: [Source; 5] = [
        Source::Grid,
        Source::Strided,
        Source::Parts(PartRule { ctas: 2 }),
        Source::Parts(PartRule { ctas: 5 }),
        Source::Spans(SpanRule { alone_from: 2 }),
    ];
    const RASTERS: [Raster; 5] = [
        Raster::Row,
        Raster::Column,
        Raster::Grouped(3),
        Raster::Grouped(8),
        Raster::Hilbert(4),
    ];

    #[test]
    fn every_tile_is_made_once_by_every_source() {
        for source in SOURCES {
            for raster in RASTERS {
                let clusters: &[Option<[u32; 2]>] = match source {
                    Source::Grid => &[None, Some([1, 1]), Some([2, 1]), Some([2, 4])],
                    Source::Strided | Source::Spans(_) => {
                        &[Some([1, 1]), Some([1, 2]), Some([4, 2])]
                    }
                    Source::Parts(_) => &[Some([1, 1])],
                };
                for cluster in clusters {
                    let mut work = work(source, raster, *cluster);
                    let of =
                        |work: &Work| check(work).unwrap_or_else(|error| panic!("{error}: {work}"));
                    let launches = of(&work);
                    assert!(launches >= TILES.len() as u64);
                    work.apart = ["b", "h"].map(ModeFate::one).to_vec();
                    assert_eq!(of(&work), launches);
                    // Blocks of columns in the place of columns.
                    work.apart.clear();
                    work.hold(1, Fate::Whole);
                    work.dims[1].modes.push(ModeFate::one("b"));
                    assert_eq!(of(&work), launches);
                    // A tile that has all of a mode has no neighbour along it.
                    work.dims[1].modes.pop();
                    match cluster {
                        Some([_, along_n]) if *along_n > 1 => assert!(check(&work).is_err()),
                        _ => assert_eq!(of(&work), launches),
                    }
                }
            }
        }
    }

    #[test]
    fn spans_that_hold_on_to_any_rest_are_whole_as_well() {
        for alone_from in 1..6 {
            let source = Source::Spans(SpanRule { alone_from });
            assert!(check(&work(source, Raster::Row, Some([1, 1]))).is_ok());
        }
    }

    #[test]
    fn what_is_made_twice_or_never_is_told() {
        let whole = |parts: &[[i64; 2]]| made_whole(parts.to_vec(), 5);
        assert!(whole(&[[0, 5]]) && whole(&[[2, 4], [0, 2], [4, 5]]));
        assert!(!whole(&[]) && !whole(&[[0, 4]]) && !whole(&[[1, 5]]));
        assert!(
            !whole(&[[0, 3], [2, 5]]) && !whole(&[[0, 2], [3, 5]]) && !whole(&[[0, 5], [0, 5]])
        );
    }
}
