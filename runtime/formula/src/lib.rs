//! What a kernel computes.

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

pub mod identity;

pub mod interpret;

pub use check::check;
pub use dtype::DType;
pub use formula::{
    Expr, ExprKind, Extent, Formula, Index, Local, ModeFacts, ModeSet, Role, Source, Statement,
    ValueType,
};
pub use problem::{Place, Problem, Span, report};
pub use signature::{
    Accumulation, Axis, Mode, ModeExtent, Operand, Ragged, RaggedBy, Scalar, Signature,
};
