//! Which plans a point has, one after another, and what else would do.
//!
//! - `changes`: the keys that may have other values, and which
//! - `ways_out`: values with which a refused point has a plan
//! - `alternatives`: the plans of a point, in the order in which they are tried
//! - `doubts`: what a plan is slow by and may not be meant (lints)

pub(crate) mod changes;
pub(crate) mod ways_out;
pub mod alternatives;
pub mod doubts;

pub use alternatives::Plans;
