//! By whose arithmetic the emulator stood in for a GPU.

use std::fmt;

use serde::Serialize;
use tilewright_emulator::tensor_core::Rules;

/// The arithmetic that tensor cores were emulated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RulesRecord {
    /// The architecture.
    pub name: &'static str,
    /// Whether it equals the hardware to the bit; else it is a model from public sources.
    pub proved: bool,
}

impl From<&Rules> for RulesRecord {
    fn from(rules: &Rules) -> RulesRecord {
        RulesRecord {
            name: rules.name(),
            proved: rules.proved(),
        }
    }
}

impl fmt::Display for RulesRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proved = if self.proved { "proved" } else { "unproved" };
        write!(f, "tensor cores of {}: {proved}", self.name)
    }
}
