//! How output tiles come to CTAs: their order, how many CTAs there are for them, what each of these
//! makes, and the launch expressions that follow.
//!
//! A work tile is what a CTA makes at a time: an output tile, or a part of one along k. A new way
//! of handing them out is a row of `Work::stripes`, and a loop of its own in `lower::work` where
//! those that are there do not do.

use tilewright_bundle::Expr;

use crate::spec::keys::model::{Raster, SchedulerKind};

/// The summed mode of a product's tile, behind the output's two.
pub const SUMMED: usize = 2;
/// The mode of the output that may come in blocks: its columns.
const BLOCKED: usize = 1;
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
    /// What an output tile covers: the output's modes, then the summed one, with its extent along
    /// each.
    pub tile: Vec<(String, i64)>,
    /// Modes that no tile cuts, the slowest first: a work tile has one coordinate along each.
    pub outer: Vec<String>,
    /// Whether tiles stand along the outer mode, the only one, where they would along the output's
    /// second mode: each has all of that.
    pub in_blocks: bool,
    /// Order of the output tiles.
    pub raster: Raster,
    /// One tile for each CTA, many, or parts of them.
    pub kind: SchedulerKind,
    /// Most CTAs of a persistent grid; `None` for as many as run at a time.
    pub ctas: Option<u32>,
    /// Along which of the output's modes a CTA has all, however long the problem is: tiles are cut
    /// along the others.
    pub held: [bool; 2],
    /// CTAs that share out one tile, side by side in a cluster.
    pub shared_by: u32,
    /// How CTAs stand in clusters; `None` where a kernel knows nothing of them.
    pub cluster: Option<Cluster>,
}

/// CTAs of a cluster along the output's two modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster(pub [u32; 2]);

/// What follows from the kind of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stripes {
    /// Whether there are no more CTAs than run at a time, so that each makes many work tiles.
    is_resident: bool,
    /// Whether output tiles are cut along k.
    cuts_tiles: bool,
}

impl Work {
    /// What follows from the kind.
    fn stripes(&self) -> Stripes {
        let (is_resident, cuts_tiles) = match self.kind {
            SchedulerKind::Single => (false, false),
            SchedulerKind::Persistent => (true, false),
            SchedulerKind::StreamK => (true, true),
        };
        Stripes {
            is_resident,
            cuts_tiles,
        }
    }

    /// Whether a CTA makes one work tile after another.
    pub fn is_persistent(&self) -> bool {
        self.stripes().is_resident
    }

    /// Whether output tiles are cut along k.
    pub fn cuts_tiles(&self) -> bool {
        self.stripes().cuts_tiles
    }

    /// How CTAs stand in clusters, each in one of its own where a kernel knows nothing of them.
    pub fn cluster(&self) -> Cluster {
        self.cluster.unwrap_or(Cluster([1, 1]))
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
        let cluster = self.cluster();
        let Stripes {
            is_resident,
            cuts_tiles,
        } = self.stripes();
        let tiles = [0, 1].map(|mode| self.tiles_along(mode, cluster.0[mode]));
        let outer = self.apart().iter().map(Expr::named);
        let mut work = Expr::product(tiles.into_iter().flatten().chain(outer));
        let mut most = self.ctas.map(|ctas| (ctas / cluster.size()).max(1));
        if cuts_tiles {
            most = Some(most.unwrap_or(MOST_PARTIALS).min(MOST_PARTIALS));
            work = work * self.steps();
        }
        match (is_resident, most) {
            (false, _) => work,
            (true, None) => work.min(Expr::named(MAX_CLUSTERS)),
            (true, Some(most)) => work.min(Expr::named(MAX_CLUSTERS)).min(most),
        }
    }

    /// Whether a CTA has all of that mode.
    pub fn holds(&self, mode: usize) -> bool {
        self.held.get(mode).copied().unwrap_or(false)
    }

    /// The outer modes at each point of which there are all tiles.
    pub fn apart(&self) -> &[String] {
        match self.in_blocks {
            true => &[],
            false => &self.outer,
        }
    }

    /// The outer mode that tiles stand along where they would along that mode of the output.
    pub fn blocks_along(&self, mode: usize) -> Option<usize> {
        (self.in_blocks && mode == BLOCKED).then_some(0)
    }

    /// Tiles along a mode, so many counted as one; `None` where a launch has the one that has all
    /// of the mode.
    fn tiles_along(&self, mode: usize, each: u32) -> Option<Expr> {
        if let Some(blocks) = self.blocks_along(mode).and_then(|at| self.outer.get(at)) {
            let blocks = Expr::named(blocks);
            return Some(match each {
                1 => blocks,
                _ => blocks.ceil_div(each),
            });
        }
        let tile = self.tile.get(mode).filter(|_| !self.holds(mode));
        tile.map(|(name, extent)| Expr::named(name).ceil_div(extent * i64::from(each)))
    }

    /// Steps along k that a tile is made in.
    fn steps(&self) -> Expr {
        self.tiles_along(SUMMED, 1).unwrap_or_else(|| 1.into())
    }

    /// Parts that a sum is made of at most; `None` where no tile is cut.
    pub fn splits(&self) -> Option<Expr> {
        self.cuts_tiles().then(|| self.steps().min(self.grid()))
    }

    /// Bytes of scratch memory of a launch: flags, then a place for the partial sums that each CTA
    /// may have to hand on.
    pub fn workspace(&self) -> Option<Expr> {
        Some(Expr::from(self.flag_bytes()) + self.all_partial_bytes()?)
    }

    /// Bytes of the places for partial sums; `None` where no tile is cut.
    pub fn all_partial_bytes(&self) -> Option<Expr> {
        let place = self.partial_bytes()?;
        Some(self.clusters() * place)
    }

    /// Bytes in scratch memory of the partial sums of an output tile; `None` where none is cut.
    pub fn partial_bytes(&self) -> Option<i64> {
        let extents = self.tile.iter().take(SUMMED).map(|(_, extent)| extent);
        let sums: i64 = extents.product();
        self.cuts_tiles().then_some(sums * ACCUMULATOR_BYTES)
    }

    /// Bytes in scratch memory of the flags, in front of the partial sums; they are zero outside of
    /// launches.
    pub fn flag_bytes(&self) -> u32 {
        match self.cuts_tiles() {
            true => MOST_PARTIALS * FLAG_BYTES,
            false => 0,
        }
    }
}

impl Cluster {
    /// Its CTAs.
    pub fn size(self) -> u32 {
        let Cluster([along_m, along_n]) = self;
        along_m * along_n
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
        let (m, n) = (cta % along_m, cta / along_m);
        match shared_along {
            Some(0) => (0..along_m).map(|m| m + along_m * n).collect(),
            Some(_) => (0..along_n).map(|n| m + along_m * n).collect(),
            None => vec![cta],
        }
    }
}
