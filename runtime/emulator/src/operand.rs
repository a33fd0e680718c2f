//! Operands as written, with registers and variables already resolved.

use crate::finding::Space;
use crate::inst::{Address, Reg, Special, Src};
use crate::lexer::Literal;
use crate::num::video::Part;

/// One operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A data register, perhaps with an offset (`%r1 + 4`) or a sign.
    Reg { reg: Reg, offset: i64, negate: bool },
    /// A byte or a half of a register (`%r1.h0`).
    Part { reg: Reg, part: Part },
    /// A predicate register.
    Pred { slot: u32, negate: bool },
    /// A number.
    Literal(Literal),
    /// A special register.
    Special(Special),
    /// A variable's address, in `space` where that is known.
    Variable {
        base: Src,
        offset: i64,
        space: Option<Space>,
    },
    /// `[…]`.
    Memory {
        address: Address,
        space: Option<Space>,
    },
    /// `[map, {c0, c1}]`: the coordinates are a range of the element list.
    Tensor {
        address: Address,
        start: usize,
        len: usize,
    },
    /// `{…}`: a range of the element list.
    Vector { start: usize, len: usize },
    /// `a|b`: the second one is the next element of the element list.
    Pair { start: usize },
    /// `_`.
    Sink,
    /// A function of the module.
    Function(u32),
    /// A name that is nothing else: a label.
    Name(&'a str),
}

impl Operand<'_> {
    /// What it is, for messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Operand::Reg { .. } => "a register",
            Operand::Part { .. } => "a part of a register",
            Operand::Pred { .. } => "a predicate",
            Operand::Literal(_) => "a number",
            Operand::Special(_) => "a special register",
            Operand::Variable { .. } => "a variable",
            Operand::Memory { .. } => "an address in brackets",
            Operand::Tensor { .. } => "a tensor map with coordinates",
            Operand::Vector { .. } => "a vector",
            Operand::Pair { .. } => "a pair",
            Operand::Sink => "_",
            Operand::Function(_) => "a function",
            Operand::Name(_) => "a label",
        }
    }
}

/// A use of a label, resolved at the end of the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelUse<'a> {
    pub(crate) scope: usize,
    pub(crate) name: &'a str,
    pub(crate) place: (u32, u32),
}
