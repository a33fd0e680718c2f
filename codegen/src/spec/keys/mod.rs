//! The keys of a spec: one table of them, by which files are read, checked and printed.
//!
//! - `key`: what a key is
//! - `atoms`: the atoms that a spec may name
//! - `elsewhere`: what other tools call keys
//! - `read`, `values`, `swizzle`: reading maps and values
//! - `valued`: what the type of a field says about it
//! - `model`: the table, and the model that the rest of the compiler reads
//! - `paths`, `phrases`: the keys that refusals name, and texts with such keys
//! - `strides`, `operands`, `names`, `slips`, `signature`, `compute`: keys with rules of their own
//! - `build`: the tree to the model
//! - `print`: the model to text

pub(super) mod key;
pub(super) mod atoms;
mod elsewhere;
pub(super) mod read;
pub(super) mod values;
pub(super) mod swizzle;
pub(super) mod valued;
pub mod model;
pub(crate) mod paths;
pub(super) mod phrases;
pub(super) mod strides;
mod operands;
pub(super) mod names;
pub(super) mod slips;
pub(super) mod signature;
pub(super) mod compute;
pub(super) mod build;
pub(super) mod print;
