//! The intermediate forms: tile IR and thread program.

pub mod program;
