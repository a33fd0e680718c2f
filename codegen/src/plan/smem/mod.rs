//! How tiles lie in shared memory.
//!
//! - `bank_conflicts`: wavefronts of accesses
//! - `accesses`: the accesses of a step to a tile
//! - `swizzle_search`: the swizzle with the fewest wavefronts
//! - `arena`: the place of everything in shared memory
//! - `wgmma_descriptor`: matrix descriptors, derived from a layout and compared with it

pub mod bank_conflicts;
pub mod accesses;
pub(super) mod swizzle_search;
pub(super) mod arena;
pub mod wgmma_descriptor;
