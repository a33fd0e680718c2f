//! Modes and layouts as users write them.

use std::ops::RangeInclusive;

use rand::RngExt;
use rand::rngs::StdRng;

use super::Writer;

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
    /// The layout of an operand: rows first in most, columns first or named strides in others.
    pub(super) fn layout(&mut self, operand: &str, axes: &[&str]) -> String {
        let extents = axes.join(",");
        let count = axes.len();
        let strides: Vec<String> = match (self.rng.random_range(0..100), count) {
            (_, 1) => vec!["1".to_owned()],
            (0..10, 2) => vec!["1".to_owned(), format!("ld{operand}")],
            (10..16, 2) => vec![format!("rs{operand}"), format!("cs{operand}")],
            (_, 2) => vec![format!("ld{operand}"), "1".to_owned()],
            _ => {
                let outer = (1..count).map(|axis| format!("s{axis}{operand}"));
                outer.chain(["1".to_owned()]).collect()
            }
        };
        format!("({extents}):({})", strides.join(","))
    }
}
