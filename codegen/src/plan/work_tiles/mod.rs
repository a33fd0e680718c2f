//! How output tiles come to CTAs: the axes that they are counted along, their order, how many CTAs
//! there are for them, and what each of these makes.
//!
//! A work tile is what a CTA makes at a time: an output tile, or a part of one along k. Counts and
//! places are functions over any numbers: launches reckon the grid with expressions, lowering the
//! place of a work tile on the device, and the certificate goes through all of them with its own.
//! The device counts in 32 bits. That a launch has no more work tiles, nor steps along k in a row,
//! the runtime sees to, which reads them off the grid, `min(tiles * steps, max_clusters)`.
//!
//! - `dims`: the dimensions of a tile, groups of modes
//! - `arith`: the numbers
//! - `raster`: the order of output tiles
//! - `parts`: tiles cut along k, each for a cluster
//! - `spans`: tiles cut along k, spans of them (stream-k)
//! - `enumerate`: what each cluster of a launch makes

pub mod arith;
pub mod dims;
pub mod raster;
pub mod parts;
pub mod spans;
pub mod enumerate;

use std::convert::Infallible;

use tilewright_bundle::Expr;

use self::arith::{AsItIs, Count, Index, Names};
pub use self::dims::{Dim, Fate, ModeFate};
use self::parts::PartRule;
use self::spans::SpanRule;

use crate::spec::keys::model::{Raster, SchedulerKind};

/// The mode of an output's columns.
pub const COLUMNS: usize = 1;
/// The summed mode of a product's tile, behind the output's two.
pub const SUMMED: usize = 2;
/// Bytes of the flags of a CTA's partial sums in scratch memory: a line of the second-level cache.
pub const FLAG_BYTES: u32 = 128;
/// CTAs that may hand on partial sums; more than any GPU runs at a time, one to an SM.
pub const MOST_PARTIALS: u32 = 1024;
/// What launches call as many clusters as run at a time.
const MAX_CLUSTERS: &str = "max_clusters";
/// Bytes of an accumulator that is handed on.
pub const ACCUMULATOR_BYTES: i64 = 4;

/// How output tiles come to CTAs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The dimensions of a CTA's tile: the output's two, then the summed one of a product.
    pub dims: Vec<Dim>,
    /// Modes at each point of which there are all tiles along the output's dimensions, the slowest
    /// first.
    pub apart: Vec<ModeFate>,
    /// Order of the output tiles.
    pub raster: Raster,
    /// Which of them a CTA makes.
    pub source: Source,
    /// Most CTAs of a persistent grid; `None` for as many as run at a time.
    pub ctas: Option<u32>,
    /// CTAs that share out one tile, side by side in a cluster.
    pub shared_by: u32,
    /// How CTAs stand in clusters; `None` where a kernel knows nothing of them.
    pub cluster: Option<Cluster>,
}

/// Which work tiles a CTA makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The one of its number.
    Grid,
    /// Every so-manieth, as many as CTAs run at a time: a persistent grid.
    Strided,
    /// A part of one along k, whose other parts the other CTAs of its cluster make.
    Parts(PartRule),
    /// A span of all tiles along k, then whole ones: stream-k.
    Spans(SpanRule),
}

/// Extents of the axes that work is counted along.
#[derive(Clone, Debug)]
pub struct Sizes<N> {
    /// Along those at each point of which there are all tiles.
    apart: Vec<N>,
    /// Along those that tiles stand along.
    across: [Option<N>; 2],
    /// Along the one that the main loop goes along.
    looped: Option<N>,
}

/// Where a work tile lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coords<N> {
    /// Its number along each of the tile's two modes.
    pub tile: [N; 2],
    /// Its coordinates along the modes that it has one coordinate along, as [`Work::outer`] has
    /// them.
    pub outer: Vec<N>,
}

/// CTAs of a cluster along the output's two modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster(pub [u32; 2]);

impl Source {
    /// The source of a scheduler.
    pub fn of(kind: SchedulerKind) -> Source {
        match kind {
            SchedulerKind::Single => Source::Grid,
            SchedulerKind::Persistent => Source::Strided,
            SchedulerKind::StreamK => Source::Spans(SpanRule::default()),
        }
    }

    /// What specs call it.
    pub fn kind(self) -> SchedulerKind {
        match self {
            Source::Grid | Source::Parts(_) => SchedulerKind::Single,
            Source::Strided => SchedulerKind::Persistent,
            Source::Spans(_) => SchedulerKind::StreamK,
        }
    }
}

impl Work {
    /// Whether a CTA makes one work tile after another.
    pub fn is_persistent(&self) -> bool {
        matches!(self.source, Source::Strided | Source::Spans(_))
    }

    /// Whether output tiles are cut along k into spans, and how.
    pub fn spans(&self) -> Option<SpanRule> {
        match self.source {
            Source::Spans(rule) => Some(rule),
            Source::Grid | Source::Strided | Source::Parts(_) => None,
        }
    }

    /// Whether each output tile is cut along k for a cluster, and how.
    pub fn parts(&self) -> Option<PartRule> {
        match self.source {
            Source::Parts(rule) => Some(rule),
            Source::Grid | Source::Strided | Source::Spans(_) => None,
        }
    }

    /// Whether output tiles are cut along k.
    pub fn cuts_tiles(&self) -> bool {
        self.spans().is_some() || self.parts().is_some()
    }

    /// CTAs that are launched as a cluster, whatever they share.
    pub fn launched_together(&self) -> u32 {
        let parts = self.parts().map_or(1, |rule| rule.ctas);
        (self.cluster().size() * parts).max(self.shared_by)
    }

    /// How CTAs stand in clusters, each in one of its own where a kernel knows nothing of them.
    pub fn cluster(&self) -> Cluster {
        self.cluster.unwrap_or(Cluster([1, 1]))
    }

    /// Whether a CTA has all of that mode of the tile, however long the problem is.
    pub fn holds(&self, dim: usize) -> bool {
        dim < SUMMED
            && self
                .dims
                .get(dim)
                .is_some_and(|dim| dim.counted().is_none())
    }

    /// Notes that a CTA has all of that dimension, at once or a chunk at a time.
    pub fn hold(&mut self, dim: usize, fate: impl Fn(i64) -> Fate) {
        if let Some(dim) = self.dims.get_mut(dim) {
            dim.becomes(fate);
        }
    }

    /// The output's dimension that a CTA goes along a chunk at a time.
    pub fn chunked(&self) -> Option<usize> {
        let mut dims = self.dims.iter().take(SUMMED);
        dims.position(|dim| dim.looped().is_some())
    }

    /// Elements of a tile along that dimension; one along what it has none of.
    pub fn extent(&self, dim: usize) -> i64 {
        self.dims.get(dim).map_or(1, Dim::extent)
    }

    /// Elements of a tile along the output's two dimensions.
    pub fn tile(&self) -> [i64; 2] {
        [0, COLUMNS].map(|dim| self.extent(dim))
    }

    /// The mode that there are products side by side of.
    pub fn unrolled(&self) -> Option<&ModeFate> {
        self.dims.get(COLUMNS)?.unrolled()
    }

    /// What tiles stand along in the output's two dimensions; none where a tile has all.
    pub fn across(&self) -> [Option<&ModeFate>; 2] {
        [0, COLUMNS].map(|at| self.dims.get(at)?.counted())
    }

    /// What the main loop of a product goes along: k, or the parts of a sum.
    pub fn looped(&self) -> Option<&ModeFate> {
        self.dims.get(SUMMED)?.looped()
    }

    /// The blocks that tiles stand along where they would along columns.
    pub fn blocks(&self) -> Option<&ModeFate> {
        let mut across = self.across().into_iter().flatten();
        across.find(|along| along.fate == Fate::One)
    }

    /// The modes that a work tile has one coordinate along.
    pub fn outer(&self) -> Vec<String> {
        let all = self.apart.iter().chain(self.blocks());
        all.map(|axis| axis.mode.clone()).collect()
    }

    /// The fate of every mode that the kernel goes along, each once: those that the tile has
    /// elements along, those that it has one coordinate along, the slowest first, then those of
    /// planes and of parts.
    pub fn fates(&self) -> Vec<ModeFate> {
        let (mut fates, mut behind) = (Vec::new(), Vec::new());
        for dim in &self.dims {
            let mut modes = dim.modes.iter().cloned();
            fates.extend(modes.next());
            behind.extend(modes);
        }
        fates.extend(self.apart.iter().cloned());
        fates.extend(behind);
        fates
    }

    /// The mode that a step of the main loop has one coordinate along, where it is none of the
    /// tile's: parts of a sum.
    pub fn part(&self) -> Option<&str> {
        let summed = self.dims.get(SUMMED)?;
        let looped = summed.looped()?.mode.as_str();
        (looped != summed.mode()).then_some(looped)
    }

    /// The modes that a CTA has one coordinate along at a time: for a work tile, then for a step of
    /// the main loop.
    pub fn at_one(&self) -> Vec<String> {
        let mut modes = self.outer();
        modes.extend(self.part().map(str::to_owned));
        modes
    }

    /// The extents of its axes, by the names of their modes.
    ///
    /// # Errors
    /// What keeps the extent of a mode from being known.
    pub fn sizes<N, E>(&self, of: impl Fn(&str) -> Result<N, E>) -> Result<Sizes<N>, E> {
        let of_axis = |axis: Option<&ModeFate>| axis.map(|axis| of(&axis.mode)).transpose();
        let [rows, columns] = self.across();
        Ok(Sizes {
            apart: (self.apart.iter())
                .map(|axis| of(&axis.mode))
                .collect::<Result<_, E>>()?,
            across: [of_axis(rows)?, of_axis(columns)?],
            looped: of_axis(self.looped())?,
        })
    }

    /// Tiles along the output's two modes, of clusters where CTAs stand in some.
    pub fn tiles<N: Count>(&self, sizes: &Sizes<N>, hoist: &mut impl Names<N>) -> [N; 2] {
        let Cluster(each) = self.cluster();
        let mut tiles = [N::int(1), N::int(1)];
        let across = self.across();
        for (mode, tiles) in tiles.iter_mut().enumerate() {
            if let (Some(axis), Some(extent)) = (across[mode], &sizes.across[mode]) {
                *tiles = hoist.name("tiles", axis.count(extent.clone(), each[mode]));
            }
        }
        tiles
    }

    /// All of them, at each point of the axes apart.
    pub fn count<N: Count>(&self, [m, n]: &[N; 2], sizes: &Sizes<N>) -> N {
        let all = N::mul(m.clone(), n.clone());
        sizes.apart.iter().cloned().fold(all, N::mul)
    }

    /// Steps of the main loop that an output tile is made in.
    pub fn steps<N: Count>(&self, sizes: &Sizes<N>) -> N {
        match (self.looped(), &sizes.looped) {
            (Some(axis), Some(extent)) => axis.count(extent.clone(), 1),
            _ => N::int(1),
        }
    }

    /// Where the tile of that number lies; of a cluster's, that of the CTA of that place in it.
    pub fn coords<N: Index>(
        &self,
        number: N,
        tiles: &[N; 2],
        sizes: &Sizes<N>,
        place: &[N; 2],
        hoist: &mut impl Names<N>,
    ) -> Coords<N> {
        let (number, mut outer) = apart(number, tiles, &sizes.apart, hoist);
        // Nothing tests it where loads begin: where a number is far to follow it is bounded.
        if let (true, Some(first), Some(extent)) =
            (self.cuts_tiles(), outer.first_mut(), sizes.apart.first())
        {
            let last = N::sub(extent.clone(), N::int(1));
            *first = hoist.name("outer", N::min(first.clone(), last));
        }
        let mut at = raster::raster_tile(hoist, number, tiles.clone(), self.raster);
        let is_far = matches!(self.raster, Raster::Hilbert(_));
        // What a tile begins with is not tested: where its number is far to follow, it is bounded
        // here by the tiles that there are.
        if self.cluster.is_none() && is_far {
            for (at, tiles) in at.iter_mut().zip(tiles) {
                let inside = N::max(at.clone(), N::int(0));
                *at = hoist.name("bounded", N::min(inside, N::sub(tiles.clone(), N::int(1))));
            }
        }
        if let Some(Cluster(cluster)) = self.cluster {
            at = std::array::from_fn(|mode| {
                let first = N::mul(at[mode].clone(), N::int(i64::from(cluster[mode])));
                N::add(first, place[mode].clone())
            });
        }
        let names = ["tile_m", "tile_n"];
        at = std::array::from_fn(|mode| hoist.name(names[mode], at[mode].clone()));
        for (mode, axis) in self.across().into_iter().enumerate() {
            if let (
                Some(ModeFate {
                    fate: Fate::One, ..
                }),
                Some(blocks),
            ) = (axis, &sizes.across[mode])
            {
                let mut block = std::mem::replace(&mut at[mode], N::int(0));
                // Nothing tests it where results are stored: where its number is far to follow, it
                // is bounded by the blocks that there are. So it is in clusters, of which launches
                // have whole ones.
                if is_far || self.cuts_tiles() || self.cluster().0[mode] > 1 {
                    let last = N::sub(blocks.clone(), N::int(1));
                    block = hoist.name("block", N::min(block, last));
                }
                outer.push(block);
            }
        }
        Coords { tile: at, outer }
    }

    /// As [`Work::sizes`], of extents that are all known.
    pub fn known_sizes<N>(&self, of: impl Fn(&str) -> N) -> Sizes<N> {
        match self.sizes(|mode| Ok::<N, Infallible>(of(mode))) {
            Ok(sizes) => sizes,
            Err(never) => match never {},
        }
    }

    /// What launches call those extents.
    fn launched(&self) -> Sizes<Expr> {
        self.known_sizes(|mode| Expr::named(mode))
    }

    /// CTAs of a launch: one for each output tile, or as many clusters as run at a time.
    pub fn grid(&self) -> Expr {
        match self.cluster {
            Some(cluster) => self.clusters() * cluster.size(),
            None if self.shared_by > 1 => self.clusters() * self.shared_by,
            None => self.clusters(),
        }
    }

    /// Clusters of the grid, or CTAs where there are none.
    fn clusters(&self) -> Expr {
        let sizes = self.launched();
        let tiles = self.count(&self.tiles(&sizes, &mut AsItIs), &sizes);
        let limited = |work: Expr, most: Option<u32>| {
            let work = work.min(Expr::named(MAX_CLUSTERS));
            match most {
                Some(most) => work.min(most),
                None => work,
            }
        };
        let most = self.ctas.map(|ctas| (ctas / self.cluster().size()).max(1));
        match self.source {
            Source::Grid => tiles,
            Source::Parts(rule) => tiles * rule.ctas,
            Source::Strided => limited(tiles, most),
            Source::Spans(_) => {
                let all = MOST_PARTIALS / self.cluster().size();
                let most = most.unwrap_or(all).min(all);
                limited(tiles * self.steps(&sizes), Some(most))
            }
        }
    }

    /// Parts that a sum is made of at most; `None` where no tile is cut.
    pub fn splits(&self) -> Option<Expr> {
        let steps = || self.steps(&self.launched());
        match self.source {
            Source::Grid | Source::Strided => None,
            Source::Parts(rule) => Some(steps().min(rule.ctas)),
            Source::Spans(_) => Some(steps().min(self.grid())),
        }
    }

    /// Bytes of scratch memory of a launch: flags, then a place for the partial sums that each CTA
    /// may have to hand on.
    pub fn workspace(&self) -> Option<Expr> {
        Some(Expr::from(self.flag_bytes()) + self.all_partial_bytes()?)
    }

    /// Bytes of the places in scratch memory for partial sums; `None` where none go there.
    pub fn all_partial_bytes(&self) -> Option<Expr> {
        self.spans()?;
        let place = self.partial_bytes()?;
        Some(self.clusters() * (i64::from(self.cluster().size()) * place))
    }

    /// Bytes of the partial sums of an output tile; `None` where none is cut.
    pub fn partial_bytes(&self) -> Option<i64> {
        self.cuts_tiles()
            .then_some(self.elements() * ACCUMULATOR_BYTES)
    }

    /// Elements of an output tile.
    pub fn elements(&self) -> i64 {
        self.dims.iter().take(SUMMED).map(Dim::extent).product()
    }

    /// Bytes in scratch memory of the flags, in front of the partial sums; they are zero outside of
    /// launches.
    pub fn flag_bytes(&self) -> u32 {
        match self.spans() {
            Some(_) => MOST_PARTIALS * FLAG_BYTES,
            None => 0,
        }
    }
}

/// The number among the tiles of a point, of a number among those of all points, which come one
/// after another, the last axis fastest; and the coordinates of the point.
fn apart<N: Index>(
    number: N,
    [m, n]: &[N; 2],
    extents: &[N],
    hoist: &mut impl Names<N>,
) -> (N, Vec<N>) {
    let Some((_, inner)) = extents.split_first() else {
        return (number, Vec::new());
    };
    let all = hoist.name("all_tiles", N::mul(m.clone(), n.clone()));
    let within = hoist.name("within", N::rem(number.clone(), all.clone()));
    let mut rest = hoist.name("beyond", N::div(number, all));
    let mut point = Vec::new();
    for extent in inner.iter().rev() {
        point.push(hoist.name("outer", N::rem(rest.clone(), extent.clone())));
        rest = hoist.name("beyond", N::div(rest, extent.clone()));
    }
    point.push(rest);
    point.reverse();
    (within, point)
}

impl Cluster {
    /// Its CTAs.
    pub fn size(self) -> u32 {
        let Cluster([along_m, along_n]) = self;
        along_m * along_n
    }

    /// Where the CTA of that rank stands in it.
    pub fn place(self, rank: u32) -> [u32; 2] {
        let Cluster([along_m, _]) = self;
        [rank % along_m, rank / along_m]
    }

    /// CTAs that write into one slot of a CTA's ring, or have a slot of theirs written by it: those
    /// of its row and its column.
    pub fn neighbours(self) -> u32 {
        let Cluster([along_m, along_n]) = self;
        along_m + along_n - 1
    }

    /// The ranks of the CTAs that get what that one loads: its row or its column where they share
    /// the tile along that mode, itself where they do not.
    pub fn sharers(self, shared_along: Option<usize>, cta: u32) -> Vec<u32> {
        let Cluster([along_m, along_n]) = self;
        let [m, n] = self.place(cta);
        match shared_along {
            Some(0) => (0..along_m).map(|m| m + along_m * n).collect(),
            Some(_) => (0..along_n).map(|n| m + along_m * n).collect(),
            None => vec![cta],
        }
    }
}
