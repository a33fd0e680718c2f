//! Specs: YAML in, a checked model out.

pub mod model;
