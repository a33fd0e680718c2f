//! What a kernel computes, as the rest of the compiler reads it: its formula with its form.
//!
//! Comes in: operands as they are planned, and the formula's text. Goes out: the formula, checked
//! against those operands, so that text, modes and layouts of a manifest agree.

use tilewright_formula::form::{Form, recognize};
use tilewright_formula::{Accumulation, Axis, DType, Formula, Problem, Signature, check, identity};

use super::families::Family;
use super::operand::Operand;
use crate::dtype::Dtype;

/// What a kernel computes.
#[derive(Clone, Debug)]
pub struct Computes {
    /// The word of the key `kernel`: `gemm`.
    pub word: String,
    /// The formula in its one spelling; where none is written, the default one of the word.
    pub text: String,
    /// The formula.
    pub formula: Formula,
    /// Its form.
    pub form: Form,
    /// What computes it.
    pub family: Family,
    /// The modes that its tiles cut: those of the output, then those that are summed.
    pub modes: Vec<String>,
    /// Whether it is the default formula of its word.
    pub is_default: bool,
}

/// The same words and the same text over the same operands are the same.
impl PartialEq for Computes {
    fn eq(&self, other: &Computes) -> bool {
        let own = |one: &Computes| (one.word.clone(), one.text.clone(), one.modes.clone());
        own(self) == own(other) && self.formula.signature == other.formula.signature
    }
}

impl Eq for Computes {}

/// The text of a word's default formula; empty of a word without one.
pub(super) fn default_text(word: &str, accumulator: Dtype) -> String {
    let sum = DType::from_text(accumulator.name());
    identity::default_text(word, sum).unwrap_or_default()
}

/// What the formula's names stand for.
pub(super) fn signature(operands: &[Operand], accumulation: Accumulation) -> Option<Signature> {
    let operand = |operand: &Operand| {
        let dtype = DType::from_text(operand.dtype.name())?;
        let axes = operand.axes.iter().map(|axis| Axis::parse(&axis.mode));
        Some(tilewright_formula::Operand {
            axes: axes.collect::<Option<_>>()?,
            ..tilewright_formula::Operand::new(&operand.name, dtype, &[])
        })
    };
    Some(Signature {
        operands: operands.iter().map(operand).collect::<Option<_>>()?,
        accumulation,
        ..Signature::default()
    })
}

/// The formula of that text with its form.
///
/// # Errors
/// What is wrong with it.
pub(super) fn formed(text: &str, signature: &Signature) -> Result<(Formula, Form), Vec<Problem>> {
    let formula = check(text, signature)?;
    let form = recognize(&formula)?.form;
    Ok((formula, form))
}
