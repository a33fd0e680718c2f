//! The notation as a tree, with the place of every part.
//!
//! In: text. Out: [`Tree`], statements in order, or every problem of the text. The parser goes on
//! after a statement that it cannot read. It is bounded: no text makes it use more than
//! [`MAX_TEXT`] bytes, [`MAX_NODES`] parts or [`MAX_DEPTH`] levels.

use crate::functions::{Fold, Op};
use crate::problem::Span;

mod lexer;
mod parser;

pub use lexer::{Token, TokenKind, tokens};
pub use parser::{parse, parse_among, parse_expression, parse_what_can_be};

/// Most bytes of a formula.
pub const MAX_TEXT: usize = 1 << 16;
/// Most parts of a formula: names, numbers, operations.
pub const MAX_NODES: usize = 1 << 13;
/// Most levels of a formula's expressions.
pub const MAX_DEPTH: usize = 64;
/// Most statements of a formula.
pub const MAX_STATEMENTS: usize = 128;

/// A formula as it is written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tree {
    /// Statements in order.
    pub statements: Vec<Assignment>,
    /// What statements write that could not be read.
    pub broken: Vec<String>,
}

/// How a statement writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Combine {
    /// `=`: the value alone.
    Set,
    /// `max=`: the larger of what was there and the value.
    Max,
    /// `+=`: the sum of what was there and the value.
    Add,
    /// `min=`: the smaller of what was there and the value.
    Min,
}

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// What is written.
    pub target: Word,
    /// Where in it; none of a scalar.
    pub indices: Vec<Node>,
    /// The type behind a colon.
    pub annotation: Option<Word>,
    /// How it is written.
    pub combine: Combine,
    /// The sign between target and value.
    pub sign: Span,
    /// What is written there.
    pub value: Node,
    /// The whole statement.
    pub span: Span,
}

/// A name and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// As it is written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Where it stands.
    pub span: Span,
}

/// What an expression is.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// An integer.
    Integer(i64),
    /// A number with a point or an exponent.
    Real(f64),
    /// A name alone: a mode's coordinate, a scalar, something without modes, `inf` or `nan`.
    Name(String),
    /// An element: `a[m, k]`.
    Element {
        /// What is read.
        name: Word,
        /// Where in it.
        indices: Vec<Node>,
    },
    /// A call: `exp(x)`, `bf16(x)`, `size(n)`.
    Call {
        /// What is called.
        name: Word,
        /// With what.
        arguments: Vec<Node>,
    },
    /// An operation written before or between its operands.
    Operation {
        /// Which.
        op: Op,
        /// Its operands.
        operands: Vec<Node>,
    },
    /// A fold: `sum[k] …`.
    Fold {
        /// Which.
        fold: Fold,
        /// Along which modes.
        modes: Vec<Word>,
        /// What is folded.
        body: Box<Node>,
    },
}

impl Combine {
    /// The sign.
    pub const fn text(self) -> &'static str {
        match self {
            Combine::Set => "=",
            Combine::Max => "max=",
            Combine::Add => "+=",
            Combine::Min => "min=",
        }
    }
}

impl NodeKind {
    /// The expressions that it is made of.
    pub fn children(&self) -> &[Node] {
        match self {
            NodeKind::Integer(_) | NodeKind::Real(_) | NodeKind::Name(_) => &[],
            NodeKind::Element { indices: parts, .. }
            | NodeKind::Call {
                arguments: parts, ..
            }
            | NodeKind::Operation {
                operands: parts, ..
            } => parts,
            NodeKind::Fold { body, .. } => std::slice::from_ref(body),
        }
    }
}

impl Node {
    /// Levels of the expression, itself included.
    fn depth(&self) -> usize {
        let below = self.kind.children().iter().map(Node::depth);
        1 + below.max().unwrap_or(0)
    }
}
