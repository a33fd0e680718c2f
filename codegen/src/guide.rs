//! The guide: from a spec to a launch, every key of a spec, what is not done yet, tuning, and why.
//!
#![doc = include_str!("../docs/quick_start.md")]

#[doc = include_str!("../docs/spec.md")]
pub mod spec {}

#[doc = include_str!("../docs/limits.md")]
pub mod limits {}

#[doc = include_str!("../docs/tuning.md")]
pub mod tuning {}

#[doc = include_str!("../docs/why.md")]
pub mod why {}
