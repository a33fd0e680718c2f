//! The layout algebra at the command line: expressions, pictures, explanations, conformance.
//!
//! In: text in the notation of the algebra, rows of conformance files. Out: values, drawings and
//! diagnostics as text. Invariant: everything that is computed is computed by the algebra crate;
//! nothing here prints.
//!
//! ```
//! use tilewright_layout_cli::{atoms::NoAtoms, eval};
//! let found = eval::evaluate("composition((4,8):(8,1), 4:2)", &NoAtoms).unwrap();
//! assert_eq!(found.value.to_string(), "(2,2):(16,1)");
//! ```
//!
//! The modules stand in their layering, lowest first.

pub mod style;
pub mod page;
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
