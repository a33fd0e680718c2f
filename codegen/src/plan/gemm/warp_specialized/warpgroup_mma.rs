//! The MMA of the warp-specialized way: how warpgroups share out a tile, and how wide each is.

use tilewright_layout::{Layout, TiledMma, Tiler};

use super::{MAX_BOX, MMA_ROWS};
use crate::error::{Message, Result, message};
use crate::plan::data::model::MmaPlan;
use crate::plan::gemm::tiled_mma::{check_accumulation, mma_of, mode_of, smem_mma_atom};
use crate::plan::instructions::choose::Chooser;
use crate::spec::Planes;
use crate::spec::keys::model::{Auto, KernelSchedule, Operand, SchedulerKind, Spec};
use crate::spec::keys::paths;

/// What products side by side demand.
pub(super) fn check_planes(spec: &Spec, chooser: &mut Chooser<'_>, along_n: i64) {
    let Some(Planes { mode, count }) = spec.problem.compute.planes() else {
        return;
    };
    let mut refuse = |message: Message| chooser.violate("planes", message);
    if MAX_BOX / count < 8 {
        refuse(message!(
            "{} is {count}: an mma is {MAX_BOX} wide at most, and 8 for each of the products that \
             {mode} tells apart: use {} at most",
            paths::mode(&mode),
            MAX_BOX / 8
        ));
    }
    if along_n > 1 {
        refuse(message!(
            "{} has {along_n} warpgroups along n, each of which would have other products of the \
             {count} along {mode}: use warpgroups along m",
            paths::MMA_ATOMS
        ));
    }
    if spec.schedule.cluster[2] > 1 {
        refuse(message!(
            "a {} along k hands on the sums of one product, {count} are told apart by {mode}: use \
             1 CTA along k",
            paths::CLUSTER
        ));
    }
    if spec.schedule.scheduler.kind == Auto::Given(SchedulerKind::StreamK) {
        refuse(message!(
            "{} stream_k hands on the sums of one product, {count} are told apart by {mode}: use \
             persistent",
            paths::KIND
        ));
    }
}

/// Most warpgroups on one tile.
const MOST_WARPGROUPS: i64 = 3;

/// The widest tile of so many warpgroups side by side along n: an mma each.
fn widest(spec: &Spec, along_n: i64) -> i64 {
    let planes = spec.problem.compute.plane_count();
    (MAX_BOX / planes / 8).max(1) * 8 * along_n
}

/// Warpgroups side by side along m and n on one tile: along n where it is wider than one's mma.
pub(super) fn consumers(spec: &Spec, schedule: KernelSchedule) -> [i64; 2] {
    let [m, n] = [spec.schedule.cta_tile[0], spec.schedule.cta_tile[1]];
    match (&spec.schedule.mma.atoms, schedule) {
        (Auto::Given([m, n, _]), _) => [*m, *n],
        (Auto::Auto, KernelSchedule::Pingpong) => [1, 1],
        (Auto::Auto, _) if n > widest(spec, 1) => {
            let fits = |along: &i64| n % (8 * along) == 0 && n <= widest(spec, *along);
            [1, (2..=MOST_WARPGROUPS).find(fits).unwrap_or(1)]
        }
        (Auto::Auto, _) => match m / MMA_ROWS {
            0 | 1 => [1, 1],
            3 => [3, 1],
            _ => [2, 1],
        },
    }
}

/// Whether that many warpgroups may work on a tile side by side.
fn check_warpgroups(spec: &Spec, chooser: &mut Chooser<'_>, [along_m, along_n]: [i64; 2]) -> bool {
    let mut good = true;
    let along_k = match spec.schedule.mma.atoms {
        Auto::Given([_, _, k]) => k,
        Auto::Auto => 1,
    };
    if !matches!([along_m, along_n, along_k], [1..=3, 1, 1] | [1, 1..=3, 1]) {
        let message = message!(
            "{} ({along_m},{along_n},{along_k}) is no row or column of 1 to 3 warpgroups: use \
             (2,1,1)",
            paths::MMA_ATOMS
        );
        chooser.violate("consumers", message);
        good = false;
    }
    let several = along_m * along_n > 1;
    if several && spec.schedule.pipeline.schedule == Auto::Given(KernelSchedule::Pingpong) {
        let message = message!(
            "{} ({along_m},{along_n},{along_k}) puts {} warpgroups on a tile, and by pingpong each \
             has tiles of its own: use (1,1,1), or schedule cooperative",
            paths::MMA_ATOMS,
            along_m * along_n
        );
        chooser.violate("consumers", message);
        good = false;
    }
    good
}

/// Whether a tile is so many elements of the summed mode, or some times as many.
fn check_summed(spec: &Spec, chooser: &mut Chooser<'_>, unit: i64) -> bool {
    let k = spec.schedule.cta_tile[2];
    if k % unit != 0 {
        let nearest = (k / unit).max(1) * unit;
        let name = mode_of(spec, 2);
        let message = message!(
            "{} {name} {k} is no multiple of {unit}, the mma's k: use {nearest}",
            paths::CTA_TILE
        );
        chooser.violate("tile-divides", message);
    }
    k % unit == 0
}

pub(super) fn tiled_mma(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    [a, b]: [&Operand; 2],
    [along_m, along_n]: [i64; 2],
) -> Result<Option<MmaPlan>> {
    let [m, n] = [spec.schedule.cta_tile[0], spec.schedule.cta_tile[1]];
    let mut good = check_warpgroups(spec, chooser, [along_m, along_n]);
    if m % (MMA_ROWS * along_m) != 0 {
        let unit = MMA_ROWS * along_m;
        let nearest = (m / unit).max(1) * unit;
        let name = mode_of(spec, 0);
        let message = message!(
            "{} {name} {m} is no multiple of {unit}, the rows of {along_m} warpgroups: use \
             {nearest}",
            paths::CTA_TILE
        );
        chooser.violate("tile-divides", message);
        good = false;
    }
    let planes = spec.problem.compute.plane_count();
    let most = widest(spec, along_n);
    if n % (8 * along_n) != 0 || n > most {
        let unit = 8 * along_n;
        let nearest = ((n / unit).max(1) * unit).min(most);
        let name = mode_of(spec, 1);
        let message = message!(
            "{} {name} {n} is no multiple of {unit} up to {most}: use {nearest}",
            paths::CTA_TILE
        );
        chooser.violate("tile-divides", message);
        good = false;
    }
    let types = [spec.problem.accumulator, a.dtype, b.dtype];
    // MMAs of the same types sum as many elements at once, however wide they are.
    let narrow = chooser.smem_mma(types, 8);
    let summed = narrow.and_then(|atom| Some(atom.mma.as_ref()?.mnk[2]));
    good &= summed.is_none_or(|unit| check_summed(spec, chooser, unit));
    if !good {
        return Ok(None);
    }
    let Some(atom) = smem_mma_atom(spec, chooser, a, b, planes * n / along_n) else {
        return Ok(None);
    };
    // Threads hold the results of each product as if it were alone.
    let alone = match planes {
        1 => Some(atom.clone()),
        _ => chooser.smem_mma(types, n / along_n),
    };
    check_accumulation(spec, chooser, &atom);
    let Some(facts) = &atom.mma else {
        return Ok(None);
    };
    if summed != Some(facts.mnk[2]) && !check_summed(spec, chooser, facts.mnk[2]) {
        return Ok(None);
    }
    let grid = Layout::flat(&[along_m, along_n, 1], &[along_n, 1, 1])?;
    let Some(alone) = alone.as_ref().and_then(|atom| atom.mma.as_ref()) else {
        return Ok(None);
    };
    let tiled = TiledMma::new(mma_of(alone), &grid, [const { Tiler::Keep }; 3])?;
    Ok(Some(MmaPlan {
        atom,
        tiled,
        widen: None,
        waves: match spec.problem.compute.part() {
            Some(_) => (m / (MMA_ROWS * along_m)) as u32,
            None => 1,
        },
    }))
}
