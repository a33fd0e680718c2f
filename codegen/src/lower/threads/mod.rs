//! What each thread has and moves.
//!
//! - `address`: addresses, of which a part is constant
//! - `bounds`: what is inside
//! - `gathered`: what lies where entries of tables say (gather, scatter)
//! - `copy`, `sized`: tiled copies, and those with a count of valid bytes
//! - `element`: code of elements on registers
//! - `fragment`, `mma`: fragments, and tensor cores
//! - `map`: maps of tiles

pub(super) mod address;
pub(super) mod bounds;
pub(super) mod gathered;
pub(super) mod copy;
mod sized;
pub mod element;
pub(super) mod fragment;
pub(in crate::lower) mod mma;
mod map;
