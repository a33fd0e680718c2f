//! Sizes of the problems that kernels are run on.

use crate::ir::tile::{Engine, Full, Kernel, Pipe};
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::plan::data::values::Flow;
use crate::plan::work_tiles::{Dim, Fate, ModeFate, SUMMED};

/// Bytes at which stores of boxes are cut.
pub(super) const GRANULE: i64 = 16;
/// How far a problem reaches into the last tile.
const RAGGED: i64 = 5;
/// Extents along outer modes.
const OUTER: [i64; 4] = [2, 3, 1, 4];
/// Extents that tables look into.
const LOOKED_INTO: [i64; 4] = [11, 7, 1, 23];
/// Tiles along k of an output tile that several CTAs share.
const SHARED_TRIPS: i64 = 5;

/// The extents of a problem.
#[derive(Clone, Debug, Default)]
pub(super) struct Extents {
    /// Of the work tile's modes: the output's two, and the summed one.
    pub tile: Vec<i64>,
    /// Of the modes that a CTA has one coordinate along at a time.
    pub at_one: Vec<i64>,
    /// Of the mode that tells planes apart, where there is one.
    pub planes: Vec<i64>,
    /// Of the modes that tables alone look into.
    pub looked_into: Vec<i64>,
}

impl Extents {
    /// All of them, in that order.
    pub fn all(&self) -> impl Iterator<Item = i64> + '_ {
        let tile = self.tile.iter().copied();
        tile.chain(self.of_places())
            .chain(self.looked_into.iter().copied())
    }

    /// Extents along what operands have several places along: modes that a CTA has one coordinate
    /// along at a time, then that of planes.
    pub fn of_places(&self) -> impl Iterator<Item = i64> + Clone + '_ {
        self.at_one.iter().chain(&self.planes).copied()
    }
}

/// The coordinates of a place of that number, the last fastest.
pub(super) fn point(extents: &[i64], mut number: i64) -> Vec<i64> {
    let mut point = Vec::new();
    for extent in extents.iter().rev() {
        point.push(number % extent);
        number /= extent;
    }
    point.reverse();
    point
}

/// Extents of the problems that a kernel is run on: those of the tile's modes, with few of each
/// outer mode and of what tables look into, differing from one to the next, so that none is taken
/// for another.
pub(super) fn extents(plan: &Plan, kernel: &Kernel) -> Vec<Extents> {
    let tiles = of_tile(plan, kernel).into_iter();
    let constant = |mode: &str| plan.computes.formula.constant_of(mode);
    // Few of each mode that no tile cuts, or as many as there are always.
    let some = |modes: &[&str], of: &[i64; 4], number: usize| -> Vec<i64> {
        let modes = modes.iter().enumerate();
        let few = |at: usize, mode: &str| {
            let multiple = multiple_of(plan, mode);
            let wanted = of[(at + number) % of.len()] as u64;
            wanted.div_ceil(multiple as u64) as i64 * multiple
        };
        let extent = |(at, mode): (usize, &&str)| constant(mode).unwrap_or_else(|| few(at, mode));
        modes.map(extent).collect()
    };
    let fates = plan.work.fates();
    let outer = fates.iter().filter(|one| one.fate == Fate::One);
    let outer: Vec<&str> = outer.map(|one| one.mode.as_str()).collect();
    let with_outer = |(number, (mut tile, trips)): (usize, (Vec<i64>, i64))| {
        for (mode, extent) in tile.iter_mut().enumerate() {
            let name = plan.mode(mode).unwrap_or_default();
            let multiple = multiple_of(plan, name);
            let allowed = (*extent / multiple * multiple).max(multiple);
            *extent = constant(name).unwrap_or(allowed);
        }
        Extents {
            tile,
            at_one: (some(&outer, &OUTER, number).into_iter())
                .chain(plan.work.part().map(|_| trips))
                .collect(),
            planes: plan
                .work
                .unrolled()
                .map(ModeFate::each)
                .into_iter()
                .collect(),
            looked_into: some(&plan.computes.looked_into(), &LOOKED_INTO, number),
        }
    };
    tiles.enumerate().map(with_outer).collect()
}

/// What launches have multiples of along a mode.
fn multiple_of(plan: &Plan, name: &str) -> i64 {
    let assumed = plan.assumptions.iter().filter_map(|one| match one {
        Assumption::ExtentMultiple { mode, multiple, .. } if mode == name => Some(*multiple),
        _ => None,
    });
    assumed.max().unwrap_or(1)
}

/// One of whole and cut tiles, and one smaller than a tile, whose rows end where boxes may be cut;
/// each with the trips of the main loop that it takes.
fn of_tile(plan: &Plan, kernel: &Kernel) -> Vec<(Vec<i64>, i64)> {
    if let (Some(flow), None) = (&plan.flow, &plan.mma) {
        return of_flow(plan, flow)
            .into_iter()
            .map(|tile| (tile, 1))
            .collect();
    }
    let work = &kernel.work;
    let cluster = work.cluster().0.map(i64::from);
    let cut = |extent: i64| RAGGED.min(extent - 1).max(1);
    let part = |extent: i64| (extent / 4) | 1;
    let tile = |mode: usize| work.extent(mode);
    let [m, n] = [tile(0), tile(1)];
    // Two tiles along each mode, so that a persistent CTA has several: of a cluster of both modes,
    // all its tiles and those of a next one.
    let whole = match cluster {
        [rows, columns] if rows > 1 && columns > 1 => rows,
        // So many that a wave of some CTAs is left over, and shared.
        _ if work.cuts_tiles() => 2,
        _ => 1,
    };
    // Columns that a tile has all of end with it, anywhere, and where boxes may be cut.
    let is_held = work.holds(1);
    let large = [m * whole + cut(m), if is_held { n } else { n + cut(n) }];
    let anywhere = [m, (n - 3).max(1)];
    let output = plan.output().map_or(1, |output| output.dtype.bytes());
    let granule = (GRANULE / i64::from(output)).max(1);
    // Of what a tile has all of there may be fewer than that.
    let whole = |mode: usize| {
        let granules = (tile(mode) / 2 / granule).max(1) * granule;
        match work.holds(mode) {
            true => granules.min(tile(mode)),
            false => granules,
        }
    };
    let small = match plan.stored_along() {
        0 => [whole(0), n / 2 + 1],
        _ => [m / 2 + 1, whole(1)],
    };
    let in_flight =
        |pipe: &&Pipe| matches!(pipe.full, Full::Bytes(_) | Full::Group(Engine::Copies));
    let slots = kernel.pipes.iter().filter(in_flight).map(|pipe| pipe.slots);
    let slots = i64::from(slots.max().unwrap_or(0));
    let tiles: i64 = (0..2)
        .map(|mode| (large[mode] as u64).div_ceil((tile(mode) * cluster[mode]) as u64) as i64)
        .product();
    let each = if work.is_persistent() { tiles } else { 1 };
    let trips = match work.cuts_tiles() {
        true => SHARED_TRIPS,
        false => ((slots + each) / each).max(2),
    };
    let mut all = vec![(large, trips), (small, 1)];
    all.extend(is_held.then_some((anywhere, 1)));
    let with_summed = |(output, trips): ([i64; 2], i64)| {
        let summed = work.dims.iter().skip(SUMMED).map(Dim::extent);
        let summed = summed.map(|k| (trips - 1) * k + part(k));
        (output.into_iter().chain(summed).collect(), trips)
    };
    all.into_iter().map(with_summed).collect()
}

/// Those of rows: whole tiles and one that is cut, some that end with a vector, and some that end
/// anywhere. What is folded fits one tile, or is gone along in chunks: several of them with a rest,
/// one with a rest that ends with a vector, no whole one, and no rest.
fn of_flow(plan: &Plan, flow: &Flow) -> Vec<Vec<i64>> {
    let tile = |mode: usize| plan.extent(mode);
    let folded = |mode: usize| flow.folds.iter().any(|fold| fold.over == mode);
    let whole = |mode: usize| match folded(mode) {
        true => tile(mode),
        false => tile(mode) + RAGGED.min(tile(mode) - 1).max(1),
    };
    let vectors = |mode: usize| match mode == flow.along {
        true => (tile(mode) / flow.vector / 2 + 1).min(tile(mode) / flow.vector) * flow.vector,
        false => tile(mode) / 2 + 1,
    };
    let anywhere = |mode: usize| match mode == flow.along {
        true => (tile(mode) - 1).max(1),
        false => tile(mode),
    };
    let of = |extent: &dyn Fn(usize) -> i64| (0..plan.modes().len()).map(extent).collect();
    let mut all: Vec<Vec<i64>> = vec![of(&whole), of(&vectors), of(&anywhere)];
    if let Some(passes) = &flow.passes {
        let (over, chunk) = (passes.over, tile(passes.over));
        let cut = 2 * chunk + RAGGED.min(chunk - 1);
        let along = [cut, chunk + vectors(over), (chunk - 1).max(1)];
        for (extents, extent) in all.iter_mut().zip(along) {
            extents[over] = extent;
        }
        let mut none_left = of(&vectors);
        none_left[over] = 2 * chunk;
        all.push(none_left);
    }
    all
}
