//! The layout algebra at the command line: expressions, pictures, explanations, conformance.
//!
//! In: text in the notation of the algebra, files of conformance rows. Out: values, drawings and
//! diagnostics as text. Invariant: everything that is computed is computed by the algebra crate;
//! nothing here prints.
//!
//! The modules stand in their layering, lowest first.

pub mod value;
pub mod cute;
pub mod expr;
pub mod atoms;
pub mod functions;
pub mod eval;
pub mod words;
pub mod show;
pub mod explain;
pub mod vectors;
