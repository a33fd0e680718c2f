//! The guide: from a spec to a launch, every key of a spec, tuning, and why.
//!
#![doc = include_str!("../docs/quick_start.md")]

#[doc = include_str!("../docs/spec.md")]
pub mod spec {}

#[doc = include_str!("../docs/tuning.md")]
pub mod tuning {}

#[doc = include_str!("../docs/why.md")]
pub mod why {}
