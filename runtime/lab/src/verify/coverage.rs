//! Whether the problems of a kernel put it to the test.
//!
//! A problem of one row, column or product tells nothing of the strides and steps along it. A
//! kernel whose every problem is such has not been verified, however many of them passed.

use std::collections::BTreeMap;

use tilewright_bundle::Kernel;

use super::problems::{Case, Draw};
use tilewright_runtime::Device;
use tilewright_runtime::Error;

/// Extents that are drawn to find a problem of more than one element along each mode.
const SEVERAL: std::ops::RangeInclusive<i64> = 2..=96;

/// What the problems so far have put to the test: the largest extent of each mode.
#[derive(Debug, Clone, Default)]
pub(super) struct Coverage {
    largest: BTreeMap<String, i64>,
}

impl Coverage {
    /// Notes the problem that was drawn.
    pub fn note(&mut self, drawn: Result<Case, Error>) -> Result<Case, Error> {
        if let Ok(case) = &drawn {
            for (name, extent) in case.problem.extents() {
                let largest = self.largest.entry(name.to_owned()).or_default();
                *largest = extent.max(*largest);
            }
        }
        drawn
    }

    /// Why the kernel has not been put to the test; `None` where it has, or could be.
    pub fn missing(&self, kernel: &Kernel, device: &Device, seed: u64) -> Option<String> {
        let names = kernel.names.extents().map(|(_, text)| text);
        let single: Vec<&str> = names
            .filter(|name| self.largest.get(*name).is_none_or(|most| *most <= 1))
            .collect();
        if single.is_empty() {
            return None;
        }
        let draw = Draw::new(kernel, device.info(), seed);
        let larger = draw.with_extents(SEVERAL).next_case();
        let refusal = larger.err()?;
        let modes = single.join(" and ");
        Some(format!(
            "nothing was checked along {modes}: every problem it took has an extent of 1 there, \
             and larger ones are refused: {refusal}"
        ))
    }
}
