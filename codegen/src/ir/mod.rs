//! The intermediate forms: tile IR (what a CTA does) and thread program (what one thread does).

pub mod program;
pub mod expr;
pub mod tile;
pub mod build;
pub mod print;
