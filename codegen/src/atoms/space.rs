//! The spaces of memory that instructions move data between.

use std::fmt;

use serde::Deserialize;

/// A memory space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// Global memory.
    Gmem,
    /// Shared memory of the CTA.
    Smem,
    /// Registers.
    Rmem,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Gmem => "global memory",
            Space::Smem => "shared memory",
            Space::Rmem => "registers",
        })
    }
}
