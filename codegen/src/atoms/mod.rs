//! Atoms as data.

pub mod model;
