//! What a formula gives: whole outputs and single elements, with their bounds.

use std::collections::BTreeMap;

use super::bounded::Bounded;
use crate::dtype::DType;

/// A whole output.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Type it is stored in.
    pub dtype: DType,
    /// Its extents.
    pub extents: Vec<i64>,
    /// Values before the cast to its type, last axis fastest.
    pub values: Vec<f64>,
    /// How far each may be off.
    pub errors: Vec<f64>,
    /// Whether each is written; none where all are.
    pub written: Vec<bool>,
    /// Of elements that may be one of some integers: which.
    pub choices: BTreeMap<usize, Vec<i64>>,
    /// Elements of types that f64 does not hold.
    pub integers: Vec<i64>,
}

/// One element of an output.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    /// Its value before the cast to its type.
    pub value: f64,
    /// How far it may be off.
    pub error: f64,
    /// Whether any coordinate writes it.
    pub written: bool,
    /// The integers that it may be, where it may be one of some.
    pub choices: Vec<i64>,
}

impl Output {
    /// Whether every element is written, and is one value as near as its error says.
    pub fn is_plain(&self) -> bool {
        self.choices.is_empty() && self.written.iter().all(|written| *written)
    }

    /// What an element is, by its place.
    pub fn at(&self, at: usize) -> Bounded {
        Bounded {
            value: self.values.get(at).copied().unwrap_or(0.0),
            error: self.errors.get(at).copied().unwrap_or(f64::INFINITY),
        }
    }

    /// Whether a stored value is right; one that nobody writes must be `before`.
    pub fn allows(&self, at: usize, got: f64, before: Option<f64>) -> bool {
        if !self.written.get(at).copied().unwrap_or(true) {
            return before.is_none_or(|before| before == got || before.is_nan() && got.is_nan());
        }
        match self.choices.get(&at) {
            Some(choices) => choices.iter().any(|choice| *choice as f64 == got),
            None => self.at(at).allows(self.dtype, got),
        }
    }
}
