//! Whether the problems of a kernel put it to the test.
//!
//! A problem of one row, column or product tells nothing of the strides and steps along it. A
//! kernel whose every problem is such has not been verified, however many of them passed.

use tilewright_bundle::{Family, Kernel};

use super::problems::{Case, Draw};
use crate::device::Device;
use crate::error::Error;

/// Extents that are drawn to find a problem of more than one element along each mode.
const SEVERAL: std::ops::RangeInclusive<i64> = 2..=96;

/// The largest extents of the problems so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    largest: [i64; 3],
}

impl Seen {
    /// Notes the problem that was drawn.
    pub fn note(&mut self, drawn: Result<Case, Error>) -> Result<Case, Error> {
        if let Ok(case) = &drawn {
            let extents = [case.problem.m, case.problem.n, case.problem.k];
            for (largest, extent) in self.largest.iter_mut().zip(extents) {
                *largest = extent.max(*largest);
            }
        }
        drawn
    }

    /// Why the kernel has not been put to the test; `None` where it has, or could be.
    pub fn missing(&self, kernel: &Kernel, device: &Device, seed: u64) -> Option<String> {
        let modes = match kernel.family {
            Family::Gemm => 3,
            Family::Copy => 2,
        };
        let extents = self.largest.iter().zip(["m", "n", "k"]).take(modes);
        let single: Vec<&str> = extents
            .filter(|(most, _)| **most <= 1)
            .map(|(_, m)| m)
            .collect();
        if single.is_empty() {
            return None;
        }
        let draw = Draw::new(kernel, device.info(), seed);
        let larger = draw.and_then(|draw| draw.with_extents(SEVERAL).next_case());
        let refusal = larger.err()?;
        let modes = single.join(" and ");
        Some(format!(
            "nothing was checked along {modes}: every problem it took has an extent of 1 there, \
             and larger ones are refused: {refusal}"
        ))
    }
}
