//! Problems that put a kernel's tiles, stages and CTAs to the test.
//!
//! In: a kernel and a device. Out: extents, one for each mode that the kernel leaves open, with at
//! least two tiles along every tiled mode and a part of a tile behind them; along what is summed
//! tile by tile more tiles than any kernel has stages; or, every other time, more tiles of the
//! output than the CTAs of a persistent kernel. Tiles are those that the grid divides by and the
//! boxes of tensor maps.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::rngs::StdRng;
use tilewright_bundle::{Expr, ExprStep as Op, Kernel, Name, ParamValue};
use tilewright_formula::form::Form;

use crate::info::{Backend, DeviceInfo};

/// Tiles along what is summed, on a GPU and on the emulator: shipped kernels have up to 8 stages,
/// most of them 4.
const STEPS: [i64; 2] = [9, 6];
/// Extents along what is summed where no box tells the tile.
const SUMMED: [i64; 2] = [577, 321];
/// Extents of modes with one coordinate a tile.
const SINGLE: i64 = 3;

/// What such a problem is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    /// Tails along every mode, and all stages of a ring more than once.
    Steps,
    /// Tails along every mode, and more tiles than there are CTAs at once.
    Turns,
}

/// The tiles of a kernel, as far as its launches tell.
#[derive(Debug, Clone)]
pub(super) struct Tiles {
    /// Along modes that the grid divides; 1 along those that it counts.
    grid: BTreeMap<Name, i64>,
    /// Along those of boxes.
    boxes: BTreeMap<Name, i64>,
    /// Whether CTAs take one tile after another.
    is_persistent: bool,
    /// Whether it has rows: where the grid does not divide a mode of theirs, a CTA folds all of it,
    /// chunk after chunk, and what launches tell is no measure for how long it must be.
    is_rows: bool,
}

impl Tiles {
    pub fn of(kernel: &Kernel) -> Tiles {
        let mut tiles = Tiles {
            grid: BTreeMap::new(),
            boxes: BTreeMap::new(),
            is_persistent: false,
            is_rows: matches!(kernel.form(), Some(Form::Rows(_))),
        };
        for launch in &kernel.launches {
            for expr in &launch.grid {
                tiles.take_grid(kernel, expr);
            }
            for param in &launch.params {
                let ParamValue::TensorMap(map) = &param.value else {
                    continue;
                };
                for (dim, extent) in map.dims.iter().zip(&map.box_dims) {
                    if let Some(name) = dim.single_name() {
                        let known = tiles.boxes.entry(name).or_insert(1);
                        *known = i64::from(*extent).max(*known);
                    }
                }
            }
        }
        tiles
    }

    fn take_grid(&mut self, kernel: &Kernel, expr: &Expr) {
        for name in expr.names() {
            if name == Name::SMS || name == Name::MAX_CLUSTERS {
                self.is_persistent = true;
            } else if kernel.free_extents().any(|(free, _)| free == name) {
                self.grid.entry(name).or_insert(1);
            }
        }
        for steps in expr.steps().windows(3) {
            let [Op::Word(word), Op::Const(by), Op::CeilDiv] = steps else {
                continue;
            };
            let name = expr
                .names()
                .find(|name| kernel.names.text(*name) == expr.word(*word));
            if let Some(tile) = name.and_then(|name| self.grid.get_mut(&name)) {
                *tile = (*by).max(*tile);
            }
        }
    }

    /// Extents for the modes of those names, or none where the launches do not tell the tiles.
    pub fn extents(
        &self,
        names: &[Name],
        aim: Aim,
        device: &DeviceInfo,
        rng: &mut StdRng,
    ) -> Option<Vec<i64>> {
        let is_tiled = |name: &Name| self.grid.contains_key(name) || self.boxes.contains_key(name);
        if self.grid.is_empty() || self.is_rows && !names.iter().all(is_tiled) {
            return None;
        }
        let small = usize::from(device.backend == Backend::Emulator);
        let mut extents: Vec<i64> = Vec::new();
        for name in names {
            // Rounded up to what vectors want, it is still less than a tile.
            let tail = |tile: i64, rng: &mut StdRng| rng.random_range(1..=(tile * 3 / 4).max(1));
            let extent = match (self.grid.get(name), self.boxes.get(name)) {
                (Some(1), _) => SINGLE,
                (Some(tile), _) => tile * (2 - small as i64) + tail(*tile, rng),
                (None, Some(tile)) if aim == Aim::Steps => STEPS[small] * tile + tail(*tile, rng),
                (None, Some(tile)) => 2 * tile + tail(*tile, rng),
                (None, None) if aim == Aim::Steps => SUMMED[small] + rng.random_range(0..64),
                (None, None) => rng.random_range(65..160),
            };
            extents.push(extent);
        }
        if aim == Aim::Turns && self.is_persistent {
            self.lengthen(names, &mut extents, i64::from(device.sms));
        }
        Some(extents)
    }

    /// Makes one mode so long that there are more tiles than multiprocessors, of which each may
    /// hold one CTA of a persistent kernel.
    fn lengthen(&self, names: &[Name], extents: &mut [i64], sms: i64) {
        let tiles = |at: usize, extent: i64| {
            let tile = names.get(at).and_then(|name| self.grid.get(name));
            tile.map(|tile| extent.unsigned_abs().div_ceil(tile.unsigned_abs()) as i64)
        };
        let counts: Vec<Option<i64>> = extents
            .iter()
            .enumerate()
            .map(|(at, extent)| tiles(at, *extent))
            .collect();
        let all = counts
            .iter()
            .flatten()
            .fold(1i64, |all, n| all.saturating_mul(*n));
        let first = counts.iter().position(Option::is_some);
        let Some((at, own)) = first.and_then(|at| Some((at, counts.get(at).copied()??))) else {
            return;
        };
        let others = (all / own.max(1)).max(1);
        let missing = (sms / others + 1 - own).max(0);
        let tile = names.get(at).and_then(|name| self.grid.get(name));
        if let (Some(extent), Some(tile)) = (extents.get_mut(at), tile) {
            *extent = extent.saturating_add(missing.saturating_mul(*tile));
        }
    }
}
