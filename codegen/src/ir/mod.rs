//! The intermediate forms: tile IR (what a CTA does) and thread program (what one thread does).

pub mod program;
pub mod expr;
pub mod tile;
mod value_text;
mod tile_text;
pub mod build;
pub mod print;
