//! What a plan is: every decision about a kernel, without the decisions.
//!
//! - `choices`: what was taken among candidates, and why others were not
//! - `assumptions`: what launches guarantee
//! - `matrix_descriptor`: how tensor cores find a tile in shared memory (wgmma)
//! - `moves`: hops, tiled copies, boxes of tensor maps (TMA), tiles in shared memory
//! - `arena`: what lies where in shared memory
//! - `folds`: reductions across threads
//! - `combining`: outputs added to what is there (atomics, deterministic sums)
//! - `values`: the graph of values in registers, and passes over chunked rows
//! - `teams`: who works in a CTA
//! - `warp_roles`: producer and consumer warps, pipes that boxes fill, staging
//! - `model`: the plan
//! - `partials`: partial sums, how many are on their way at a time
//! - `realigned`: operands that are copied into the workspace first
//! - `gaps`: what extents must be where operands lie without gaps (alignment of rows)
//! - `print`: how it prints

pub mod choices;
pub mod assumptions;
pub mod matrix_descriptor;
pub mod arena;
pub mod moves;
pub mod folds;
pub mod combining;
pub mod values;
pub mod teams;
pub mod warp_roles;
pub mod model;
pub mod partials;
pub mod realigned;
pub mod gaps;
mod print;
