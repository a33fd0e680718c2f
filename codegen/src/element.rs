//! What a map computes of each element of a tile, and the instructions that compute it.
//!
//! Comes in: an expression of the notation over its inputs' elements, and how registers hold them.
//! Goes out: straight-line code of arithmetic atoms, chosen by what they compute and how exactly;
//! lowering runs it once for every few elements of a thread.

use std::sync::Arc;

use tilewright_formula::Expr;

use crate::atoms::model::{Atom, RegType};
use crate::dtype::DType;

/// How registers hold elements of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packing {
    /// Type of the elements.
    pub dtype: DType,
    /// Type of a register: it holds several narrower elements, the first in its low bits, or is one
    /// of several that hold a wider one, the low bits first.
    pub ty: RegType,
}

/// What is computed of each element.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// The value, over [`tilewright_formula::ExprKind::Parameter`]: the inputs' elements in order.
    /// It has no reads and no folds.
    pub value: Expr,
    /// How the inputs are held.
    pub inputs: Vec<Packing>,
    /// How the result is held: it is cast to that type.
    pub output: Packing,
    /// The atoms that compute it.
    pub code: Code,
}

/// Straight-line code over the registers of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// Elements that one run makes: as many as the fullest register of inputs and result holds.
    pub lanes: u32,
    /// What it runs, in order.
    pub calls: Vec<Call>,
    /// The result's registers.
    pub results: Vec<Slot>,
}

/// One run of an atom.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The record.
    pub atom: Arc<Atom>,
    /// Registers of each operand that it reads, in the record's order.
    pub inputs: Vec<Vec<Slot>>,
    /// Types of the registers that it writes.
    pub outputs: Vec<RegType>,
}

/// A register, or what is put into one before the code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// Of an input, that register of those that hold the run's elements.
    Input(usize, u32),
    /// Of a call, that register of those that it writes.
    Call(usize, u32),
    /// A constant, in the low bits.
    Bits(u64, RegType),
    /// A scalar of the signature.
    Scalar(usize),
    /// The coordinate along a mode of the formula, of that element of the run: 32 bits.
    Coordinate(usize, u32),
    /// The extent of a mode of the formula: 32 bits.
    Size(usize),
}
