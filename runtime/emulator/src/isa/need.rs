//! What an instruction needs of the `.target` of its text.

use crate::architecture::Architecture;

/// What an instruction needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// That architecture or a later one.
    Since(u32),
    /// The instructions that are an architecture's own (`a`, or `f`), of that one or a later one.
    Own(u32),
    /// Those of that architecture alone.
    Only(u32),
}

impl Need {
    /// Whether text for a target may use it.
    pub(crate) fn allows(self, target: &Architecture) -> bool {
        match self {
            Need::Since(number) => target.number() >= number,
            Need::Own(number) => target.number() >= number && target.has_own(),
            Need::Only(number) => target.number() == number && target.has_own(),
        }
    }
}

impl std::fmt::Display for Need {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Need::Since(number) => write!(f, ".target sm_{number} or later"),
            Need::Own(number) => write!(f, ".target sm_{number}a or a later one with its suffix"),
            Need::Only(number) => write!(f, ".target sm_{number}a"),
        }
    }
}
