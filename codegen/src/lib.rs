//! Kernel specs to PTX and bundles.
//!
//! The way of a kernel is one straight line, [`compile`]: each stage is a pure function from one printable value to the
//! next. Modules are listed in layering order; a module uses only those above it.

pub mod error;
pub mod arch;
pub mod dtype;
pub mod atoms;
pub mod spec;
pub mod plan;
pub mod ir;
pub mod lower;
pub mod certify;
pub mod ptx;
pub mod pack;
