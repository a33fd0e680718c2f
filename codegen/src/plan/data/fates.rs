//! What a CTA has of each mode of a kernel at a time.

use crate::plan::data::model::Plan;
use crate::plan::work_tiles::{COLUMNS, Fate, SUMMED};

/// A mode with its fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeFate {
    /// The mode.
    pub mode: String,
    /// What a CTA has of it.
    pub fate: Fate,
}

impl Plan {
    /// The fate of every mode that the kernel goes along, each once: those of the tile, those that
    /// it has one coordinate along, the slowest first, and that of planes.
    pub fn fates(&self) -> Vec<ModeFate> {
        let passes = self.flow.as_ref().and_then(|flow| flow.passes.as_ref());
        let looped = self.work.looped.iter();
        let is_looped = |mode: &String| looped.clone().any(|axis| axis.mode == *mode);
        let of_tile = self.modes.iter().zip(&self.cta_tile).enumerate();
        let of_tile = of_tile.map(|(at, (mode, extent))| ModeFate {
            mode: mode.clone(),
            fate: match at {
                _ if is_looped(mode) => Fate::Looped(*extent),
                _ if passes.is_some_and(|passes| passes.over == at) => Fate::Looped(*extent),
                _ if at == SUMMED || self.work.holds(at) => Fate::Whole(*extent),
                COLUMNS if self.work.is_in_blocks() => Fate::Whole(*extent),
                _ => Fate::Tiled(*extent),
            },
        });
        let one = self.work.outer().into_iter().map(|mode| ModeFate {
            mode,
            fate: Fate::One,
        });
        let planes = self.computes.planes.iter().map(|planes| ModeFate {
            mode: planes.mode.clone(),
            fate: Fate::Unrolled(planes.count),
        });
        let part = self.work.looped.iter();
        let part = part.filter(|axis| self.work.part() == Some(&axis.mode));
        let part = part.map(|axis| ModeFate {
            mode: axis.mode.clone(),
            fate: axis.fate,
        });
        of_tile.chain(one).chain(planes).chain(part).collect()
    }

    /// The fate of a mode; none of one that there are extents alone of.
    pub fn fate(&self, mode: &str) -> Option<Fate> {
        let mut fates = self.fates().into_iter();
        fates.find(|one| one.mode == mode).map(|one| one.fate)
    }
}
