//! What a kernel computes: the notation, its types, its forms, and its reference.
//!
//! A formula is text: [`check`] reads it in a [`Signature`] (operands with their modes, scalars,
//! extents) and gives a [`Formula`], of which every name is known, every type, and every index is
//! within its operand; or all problems at once, each with its place. What a formula says is then
//! asked in four ways: [`form`] tells which skeleton computes it, [`interpret`] evaluates it with a
//! bound of the error of each element, [`identity`] prints the function that kernels share, and
//! whoever lowers it walks its [`Expr`]essions.
//!
//! ```
//! use tilewright_formula::form::recognize;
//! use tilewright_formula::{DType, Operand, Signature, check, print};
//! let operand = |name, modes| Operand::new(name, DType::F16, modes);
//! let signature = Signature {
//!     operands: vec![
//!         operand("a", &["m", "k"]),
//!         operand("b", &["n", "k"]),
//!         operand("d", &["m", "n"]),
//!     ],
//!     ..Signature::default()
//! };
//! let formula = check("d[m,n] = relu((sum[k] a[m,k]*b[n,k]))", &signature).map_err(|_| "no")?;
//! assert_eq!(print::print(&formula.tree), "d[m,n] = relu(sum[k] a[m,k] * b[n,k])\n");
//! assert_eq!(recognize(&formula).map_err(|_| "no form")?.form.name(), "contraction");
//! # Ok::<(), &str>(())
//! ```
//!
//! It knows no GPU, no generator, no YAML and no layout algebra: a signature has modes and no
//! strides. Functions are rows of [`functions`]; an activation is one line there.

pub mod dtype;

pub mod format;

pub mod number;

pub mod problem;

pub mod functions;

pub mod syntax;

pub mod print;

pub mod signature;

pub mod affine;

pub mod formula;

mod check;

mod doubtful;

pub mod identity;

pub mod form;

pub mod interpret;

pub mod page;

pub use check::check;
pub use doubtful::doubtful;
pub use dtype::DType;
pub use formula::{
    Expr, ExprKind, Extent, Formula, Index, Local, ModeFacts, ModeSet, Role, Source, Statement,
    ValueType,
};
pub use problem::{Edit, Place, Problem, Span, report};
pub use signature::{
    Accumulation, Axis, Mode, ModeExtent, Operand, Ragged, RaggedBy, Scalar, Signature,
};
