//! The points of a file.
//!
//! - `point`: their names
//! - `tune`: the tuning space
//! - `spans_of_keys`: where in the file a violated limit stands

pub(super) mod point;
pub(super) mod tune;
pub mod spans_of_keys;
