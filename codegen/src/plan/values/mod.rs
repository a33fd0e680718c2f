//! What is computed of a tile's elements.
//!
//! - `graph`: from statements of a formula to nodes
//! - `whole_rows`: what folds ask of the tile: to hold a row whole
//! - `chunked_rows`: rows longer than a tile, pass after pass (multi-pass reductions)
//! - `deterministic_sums`: sums of CTAs in a fixed order
//! - `atomics`: outputs that values are added to (atomic operations)
//! - `in_place`: outputs in the memory of inputs

pub(super) mod graph;
pub(super) mod whole_rows;
pub(super) mod chunked_rows;
pub(super) mod deterministic_sums;
pub(super) mod atomics;
pub(super) mod in_place;
