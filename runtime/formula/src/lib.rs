//! What a kernel computes.

pub mod dtype;

pub mod format;

pub mod number;

pub mod problem;

pub mod functions;

pub mod syntax;

pub mod print;

pub use dtype::DType;
pub use problem::{Place, Problem, Span};
