//! What a map computes of each element of a tile, and the instructions that compute it.
//!
//! Comes in: an expression of the notation over its inputs' elements, and how registers hold them.
//! Goes out: straight-line code of arithmetic atoms, chosen by what they compute and how exactly;
//! lowering runs it once for every few elements of a thread.

mod meaning;
mod recipes;
mod graph;
mod operation;
mod expression;
mod emit;
mod constant;

use std::sync::Arc;

pub(crate) use self::constant::computed;
use tilewright_formula::Expr;

use crate::arch::Arch;
use crate::atoms::Catalogue;
use crate::atoms::model::{Atom, OperandKind, RegType};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

impl Packing {
    /// Elements that a register holds: at least one.
    pub fn elements(self) -> u32 {
        (self.ty.bits() / self.dtype.bits()).max(1)
    }

    /// Registers that hold one element: at least one.
    pub fn registers(self) -> u32 {
        (self.dtype.bits() / self.ty.bits()).max(1)
    }
}

impl Code {
    /// Types of the registers that the code needs beside those of inputs and result: what its calls
    /// write that does not go to the result at once, and what is set before it.
    ///
    /// A result may be in an input's register, so a call writes there only where no input is read
    /// after it.
    pub fn temporaries(&self) -> Vec<RegType> {
        let is_input = |slot: &Slot| matches!(slot, Slot::Input(..));
        let reads = |call: &Call| call.inputs.iter().flatten().any(is_input);
        let last = match self.results.iter().any(is_input) {
            true => self.calls.len(),
            false => self.calls.iter().rposition(reads).unwrap_or(0),
        };
        let calls = self.calls.iter().enumerate();
        let written = calls.flat_map(|(number, call)| {
            let outputs = call.outputs.iter().enumerate();
            outputs.filter_map(move |(at, ty)| {
                let slot = Slot::Call(number, at as u32);
                let direct = number >= last && self.results.contains(&slot);
                (!direct).then_some(*ty)
            })
        });
        let set = self.set().into_iter().map(|(_, ty)| ty);
        written.chain(set).collect()
    }

    /// What is set before the code runs, each once, with the type of its register.
    pub fn set(&self) -> Vec<(Slot, RegType)> {
        let mut all: Vec<(Slot, RegType)> = Vec::new();
        for call in &self.calls {
            for (slots, ty) in call.inputs.iter().zip(call.input_types()) {
                let set = |slot: &&Slot| !matches!(slot, Slot::Input(..) | Slot::Call(..));
                for slot in slots.iter().filter(set) {
                    if !all.iter().any(|(known, _)| known == slot) {
                        all.push((*slot, ty));
                    }
                }
            }
        }
        all
    }
}

impl Call {
    /// Types of the registers of each operand that it reads.
    pub fn input_types(&self) -> impl Iterator<Item = RegType> {
        let operands = self.atom.operands.iter();
        operands.filter_map(|operand| match operand.kind {
            OperandKind::RegsIn { ty, .. } => Some(ty),
            _ => None,
        })
    }
}

/// Compiles what is computed of each element.
///
/// # Errors
/// A sentence for each operation or conversion that no atom of the architecture does.
pub fn compile(
    catalogue: &Catalogue,
    arch: Arch,
    value: &Expr,
    inputs: &[Packing],
    output: Packing,
) -> Result<Element, Vec<String>> {
    let mut graph = graph::Graph::new(catalogue, arch, inputs);
    let root = graph.stored(value, output.dtype);
    let problems = graph.problems();
    let root = match root {
        Some(root) if problems.is_empty() => graph.fused(root),
        _ => return Err(problems),
    };
    let packings = inputs.iter().chain([&output]);
    let lanes = packings.map(|one| one.elements()).max().unwrap_or(1);
    let code = emit::code(&graph, root, output, lanes).map_err(|problem| vec![problem])?;
    Ok(Element {
        value: value.clone(),
        inputs: inputs.to_vec(),
        output,
        code,
    })
}
