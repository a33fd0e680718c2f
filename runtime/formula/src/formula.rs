//! A checked formula: names resolved, types known, every index within its operand.
//!
//! This is what all readers see: the interpreter, the certificate, the lowering, the launcher. Only
//! `check` makes one.

use crate::affine::{ModeId, Poly, Symbol};
use crate::dtype::DType;
use crate::functions::{Derived, Fold, Op};
use crate::number::Kind;
use crate::problem::Span;
use crate::signature::{RaggedBy, Signature};
use crate::syntax::{Combine, Tree};

mod lookup;

/// What a kernel computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// The text that places point into.
    pub text: String,
    /// The text as a tree.
    pub tree: Tree,
    /// What its names stand for.
    pub signature: Signature,
    /// Modes by [`ModeId`].
    pub modes: Vec<ModeFacts>,
    /// Intermediates, in the order of their statements.
    pub locals: Vec<Local>,
    /// Statements in order, as in the tree.
    pub statements: Vec<Statement>,
}

/// A mode of a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeFacts {
    /// Its name.
    pub name: String,
    /// Its extent.
    pub extent: Extent,
}

/// The extent of a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// One of the problem's sizes, of the mode's name.
    Named,
    /// A constant.
    Constant(i64),
    /// Another one in each group.
    Ragged {
        /// The mode of groups.
        group: ModeId,
        /// What the table holds.
        by: RaggedBy,
        /// The operand that holds it.
        table: usize,
    },
}

impl Extent {
    /// What it is in every problem, where it is the same.
    pub const fn constant(self) -> Option<i64> {
        match self {
            Extent::Constant(extent) => Some(extent),
            Extent::Named | Extent::Ragged { .. } => None,
        }
    }
}

/// An intermediate.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub dtype: DType,
    /// Its modes.
    pub modes: Vec<ModeId>,
    /// The statement that writes it.
    pub statement: usize,
}

/// What a statement writes, or an expression reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// An operand of the signature.
    Operand(usize),
    /// An intermediate.
    Local(usize),
}

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// What it writes.
    pub target: Source,
    /// Where in it.
    pub left: Vec<Index>,
    /// How.
    pub combine: Combine,
    /// Type of what is stored.
    pub dtype: DType,
    /// Modes it goes over: those on the left, a ragged one behind its groups.
    pub loops: Vec<ModeId>,
    /// Modes that only its value has, which `combine` folds, a ragged one behind its groups.
    pub folded: Vec<ModeId>,
    /// What it writes there.
    pub value: Expr,
    /// The whole statement.
    pub span: Span,
}

/// Type of a value on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// Integers, which wrap around.
    S32,
    /// Numbers of 32 bits.
    F32,
    /// Numbers of 64 bits.
    F64,
    /// A condition.
    Bool,
    /// Elements that are copied and not computed with.
    Raw(DType),
}

/// A set of modes, a bit each.
pub type ModeSet = u64;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Type of its value.
    pub ty: ValueType,
    /// Modes that its value depends on.
    pub free: ModeSet,
    /// Where it stands; of the inside of a derived function, its call.
    pub span: Span,
}

/// What an expression is.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// An integer.
    Integer(i64),
    /// A number.
    Real(f64),
    /// The coordinate of a mode.
    Coordinate(ModeId),
    /// The extent of a mode.
    Size(ModeId),
    /// A scalar of the signature.
    Scalar(usize),
    /// An argument of the derived function that this is the inside of.
    Parameter(usize),
    /// An element.
    Read {
        /// Of what.
        source: Source,
        /// Where in it.
        indices: Vec<Index>,
    },
    /// A primitive. Arguments of other types are converted: to the type of the result, or of
    /// comparisons to that which the result of their sum had ([`ValueType::joined`]).
    Apply {
        /// Which.
        op: Op,
        /// Its arguments.
        arguments: Vec<Expr>,
    },
    /// A derived function.
    Call {
        /// Which.
        function: &'static Derived,
        /// Its arguments.
        arguments: Vec<Expr>,
        /// Its definition, over [`ExprKind::Parameter`].
        inside: Box<Expr>,
    },
    /// A value as an element type holds it.
    Cast {
        /// The type.
        to: DType,
        /// The value.
        value: Box<Expr>,
    },
    /// A fold.
    Fold {
        /// Which.
        fold: Fold,
        /// Along which modes.
        modes: Vec<ModeId>,
        /// Type that a sum is kept in.
        dtype: DType,
        /// What is folded.
        body: Box<Expr>,
    },
}

/// Where along one axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Index {
    /// Affine in modes.
    Affine(Poly),
    /// The floor of an affine index by a constant.
    Quotient(Poly, i64),
    /// The remainder of an affine index by a constant, from 0 up.
    Remainder(Poly, i64),
    /// What a table holds; beyond the extent is read as 0 and written nowhere.
    Table {
        /// The operand that holds it.
        operand: usize,
        /// Where in it.
        indices: Vec<Index>,
    },
}

/// Whether an operand is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Read only.
    Input,
    /// Written, and read only afterwards.
    Output,
    /// Combined with what was there.
    Combined,
}

impl ValueType {
    /// The type that elements have once they are read.
    pub fn of(dtype: DType) -> ValueType {
        match (dtype, Kind::of(dtype)) {
            (DType::F64, _) => ValueType::F64,
            (_, Kind::Float(_) | Kind::Scale) => ValueType::F32,
            (_, Kind::Integer(_)) => ValueType::S32,
            (_, Kind::Raw) => ValueType::Raw(dtype),
        }
    }

    /// The element type that holds it whole; `None` of a condition.
    pub fn dtype(self) -> Option<DType> {
        Some(match self {
            ValueType::S32 => DType::S32,
            ValueType::F32 => DType::F32,
            ValueType::F64 => DType::F64,
            ValueType::Raw(dtype) => dtype,
            ValueType::Bool => return None,
        })
    }

    /// The type of an operation on both: s32 of integers, f64 where one is, else f32.
    pub fn joined(self, other: ValueType) -> ValueType {
        match (self, other) {
            (ValueType::S32, ValueType::S32) => ValueType::S32,
            (ValueType::F64, _) | (_, ValueType::F64) => ValueType::F64,
            _ => ValueType::F32,
        }
    }

    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            ValueType::Bool => "a condition",
            other => other.dtype().map_or("", DType::text),
        }
    }
}

impl Index {
    /// The mode whose coordinate it is.
    pub fn bare(&self) -> Option<ModeId> {
        match self {
            Index::Affine(poly) => poly.bare(),
            _ => None,
        }
    }

    /// The polynomials it is made of, those of tables included.
    fn polys<'i>(&'i self, out: &mut Vec<&'i Poly>) {
        match self {
            Index::Affine(poly) | Index::Quotient(poly, _) | Index::Remainder(poly, _) => {
                out.push(poly);
            }
            Index::Table { indices, .. } => indices.iter().for_each(|one| one.polys(out)),
        }
    }

    /// Modes that it depends on.
    pub fn free(&self, modes: &[ModeFacts]) -> ModeSet {
        let mut polys = Vec::new();
        self.polys(&mut polys);
        let symbols = polys.into_iter().flat_map(Poly::symbols);
        symbols.fold(0, |set, symbol| {
            set | match symbol {
                Symbol::Mode(mode) => 1 << mode,
                Symbol::Size(mode) | Symbol::Start(mode) => size_free(modes, mode),
                Symbol::Scalar(_) => 0,
            }
        })
    }
}

/// Modes that the extent of a mode depends on.
pub fn size_free(modes: &[ModeFacts], mode: ModeId) -> ModeSet {
    match modes.get(mode).map(|facts| facts.extent) {
        Some(Extent::Ragged { group, .. }) => 1 << group,
        _ => 0,
    }
}

impl Expr {
    /// The expressions that it is made of; the inside of a derived function is none of them.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Apply { arguments, .. } | ExprKind::Call { arguments, .. } => {
                arguments.iter().collect()
            }
            ExprKind::Cast { value: inner, .. } | ExprKind::Fold { body: inner, .. } => {
                vec![inner]
            }
            _ => Vec::new(),
        }
    }

    /// Calls `visit` with it and everything that it is made of, outermost first.
    pub fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        self.children().into_iter().for_each(|one| one.visit(visit));
    }

    /// What it reads: operands and intermediates, tables included.
    pub fn reads(&self) -> Vec<Source> {
        let mut sources = Vec::new();
        self.visit(&mut |expr| {
            if let ExprKind::Read { source, indices } = &expr.kind {
                sources.push(*source);
                indices.iter().for_each(|index| index.tables(&mut sources));
            }
        });
        sources
    }
}

impl Index {
    /// Tables that it looks into.
    pub fn tables(&self, sources: &mut Vec<Source>) {
        if let Index::Table { operand, indices } = self {
            sources.push(Source::Operand(*operand));
            indices.iter().for_each(|index| index.tables(sources));
        }
    }
}
