//! Modes, layouts and tiles as users write them.

use std::ops::RangeInclusive;

use rand::RngExt;
use rand::rngs::StdRng;

use super::Writer;

/// Constant strides of rows: those that align, and those that do not.
const ROWS: [i64; 8] = [96, 128, 512, 1000, 1024, 2048, 4096, 6144];
/// Extents of tiles that are no powers of two.
const LONG: [i64; 8] = [96, 192, 384, 768, 1536, 3072, 5120, 6144];
const SHORT: [i64; 5] = [3, 5, 6, 10, 12];

/// The modes of the kernel's largest operand.
pub(super) struct Axes {
    count: usize,
}

impl Axes {
    pub(super) fn of(rng: &mut StdRng, counts: RangeInclusive<usize>) -> Axes {
        Axes {
            count: rng.random_range(counts),
        }
    }

    /// Their names, the last one contiguous in most layouts.
    pub(super) fn names(&self) -> Vec<&'static str> {
        match self.count {
            1 => vec!["n"],
            2 => vec!["m", "n"],
            3 => vec!["m", "p", "q"],
            _ => vec!["b", "h", "m", "n"],
        }
    }
}

impl Writer {
    /// The layout of an operand: rows first in most, columns first, without gaps, with strides that
    /// are named, constant or products of extents in others.
    pub(super) fn layout(&mut self, operand: &str, axes: &[&str]) -> String {
        let extents = axes.join(",");
        let count = axes.len();
        if count == 0 {
            return "():()".to_owned();
        }
        let one = || "1".to_owned();
        let outer = |letter: &str| -> Vec<String> {
            (1..count)
                .map(|axis| format!("{letter}{axis}{operand}"))
                .collect()
        };
        let strides: Vec<String> = match (self.rng.random_range(0..100), count) {
            (0..14, _) => return format!("({extents})"),
            (14..20, 1) => vec![format!("inc{operand}")],
            (_, 1) => vec![one()],
            (14..22, _) => (1..count)
                .map(|axis| axes[axis..].join("*"))
                .chain([one()])
                .collect(),
            (22..30, _) => self.constants(count),
            (30..38, 2) => vec![one(), format!("ld{operand}")],
            (30..34, _) => [one()].into_iter().chain(outer("s")).collect(),
            (38..43, 2) => vec![format!("rs{operand}"), format!("cs{operand}")],
            (_, 2) => vec![format!("ld{operand}"), one()],
            _ => outer("s").into_iter().chain([one()]).collect(),
        };
        format!("({extents}):({})", strides.join(","))
    }

    /// Strides as numbers, the outer ones larger.
    fn constants(&mut self, count: usize) -> Vec<String> {
        let row = ROWS[self.rng.random_range(0..ROWS.len())];
        let mut strides = vec!["1".to_owned()];
        let mut stride = row;
        for _ in 1..count {
            strides.push(stride.to_string());
            stride *= 8;
        }
        strides.reverse();
        strides
    }

    /// An extent of a tile along a mode of many elements: a power of two in most.
    pub(super) fn long(&mut self, powers: RangeInclusive<u32>) -> i64 {
        let most = 1 << *powers.end();
        if self.chance(25) {
            let fitting = LONG.iter().copied().filter(|extent| *extent <= most);
            let fitting: Vec<i64> = fitting.collect();
            if !fitting.is_empty() {
                return fitting[self.rng.random_range(0..fitting.len())];
            }
        }
        self.power(powers)
    }

    /// The same along a mode of few.
    pub(super) fn short(&mut self, powers: RangeInclusive<u32>) -> i64 {
        match self.chance(8) {
            true => SHORT[self.rng.random_range(0..SHORT.len())],
            false => self.power(powers),
        }
    }

    /// A tile by mode, or by position where it has an extent along each of these modes, the
    /// results' first and then those that are folded.
    pub(super) fn tile(&mut self, of: &[(&str, i64)], positions: &[&str]) {
        let at = |name: &&str| of.iter().find(|(mode, _)| mode == name);
        let placed: Option<Vec<String>> = positions
            .iter()
            .map(|name| at(name).map(|(_, extent)| extent.to_string()))
            .collect();
        if let Some(placed) = placed
            && placed.len() == of.len()
            && self.chance(35)
        {
            let tile = format!("({})", placed.join(","));
            return self.draft.set("cta_tile", tile);
        }
        for (mode, extent) in of {
            self.draft
                .set(&format!("cta_tile.{mode}"), extent.to_string());
        }
    }
}
