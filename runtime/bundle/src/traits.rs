//! How a kernel cuts its problem: facts for whoever draws problems for it, or reads of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The largest extent of a tile; of a problem's mode there are none larger.
const MAX_TILE: i64 = i32::MAX as i64;
/// The most steps in flight: more than shared memory has room for.
const MAX_STAGES: u32 = 1024;
/// The most CTAs of a cluster.
const MAX_SPLIT: u32 = 16;

/// How a kernel cuts its problem. Modes that are in neither list have one coordinate in each tile,
/// or are as long as an operand is that a table looks into.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traits {
    /// What a CTA, or the CTAs of a cluster that share a tile, make at once: extents by mode.
    pub tile: BTreeMap<String, i64>,
    /// What they go along step by step, such as the summed mode of a product: the extent of a step
    /// by mode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub step: BTreeMap<String, i64>,
    /// Modes of which a tile has one coordinate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outer: Vec<String>,
    /// Steps that are in flight at once.
    pub stages: u32,
    /// CTAs that share out the steps of a tile; none where one takes all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<u32>,
    /// Whether a CTA makes one tile after another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persistent: bool,
}

impl Traits {
    /// What is wrong with them, if anything.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let tiles = self
            .tile
            .iter()
            .map(|(mode, extent)| ("tile", mode, extent));
        let steps = self
            .step
            .iter()
            .map(|(mode, extent)| ("step", mode, extent));
        for (list, mode, extent) in tiles.chain(steps) {
            if !(1..=MAX_TILE).contains(extent) {
                problems.push(format!(
                    "traits.{list}.{mode} is {extent}; 1 to {MAX_TILE} are allowed"
                ));
            }
        }
        if self.stages > MAX_STAGES {
            problems.push(format!(
                "traits.stages is {}; at most {MAX_STAGES} are allowed",
                self.stages
            ));
        }
        if let Some(split) = self.split.filter(|split| !(2..=MAX_SPLIT).contains(split)) {
            problems.push(format!(
                "traits.split is {split}; 2 to {MAX_SPLIT} are allowed, or none"
            ));
        }
        problems
    }

    /// The extent of a tile along a mode, or of a step.
    pub fn cut(&self, mode: &str) -> Option<i64> {
        self.tile.get(mode).or_else(|| self.step.get(mode)).copied()
    }
}
