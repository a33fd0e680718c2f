//! The reference: what a formula gives on given inputs, and how far a right kernel may be from it.
//!
//! In: a checked formula, sizes, scalars, inputs as f64 or integers, and what the kernel makes of
//! its sums ([`Sums`]). Out: for each element of each output a value and a bound, by running error
//! analysis; integers are exact. [`Evaluator::outputs`] computes whole outputs, on every core;
//! [`Evaluator::element`] single elements, without the rest.
//!
//! ```
//! use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Tensor};
//! use tilewright_formula::{DType, Operand, Signature, check};
//! let signature = Signature {
//!     operands: vec![
//!         Operand::new("a", DType::BF16, &["m", "k"]),
//!         Operand::new("d", DType::F32, &["m"]),
//!     ],
//!     ..Signature::default()
//! };
//! let formula = check("d[m] = sum[k] a[m,k]", &signature).map_err(|_| "refused")?;
//! let a = [1.0, 2.0, 3.0, 4.0];
//! let inputs = Inputs::default()
//!     .size("m", 2)
//!     .size("k", 2)
//!     .tensor("a", Tensor::floats(&a, &[2, 1]));
//! let evaluator = Evaluator::new(&formula, &inputs, &Fma)?;
//! let element = evaluator.element("d", &[1])?;
//! assert_eq!((element.value, element.error), (7.0, 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use crate::dtype::DType;
use crate::formula::{Expr, Formula, Source};
use crate::number::stored;

mod arithmetic;
mod block;
mod collected;
mod element;
mod fold;
mod inputs;
mod keeps;
mod place;
mod plain;
mod store;
mod sums;
mod usual;
mod walk;
mod whole;

pub use inputs::{Error, MAX_ELEMENTS};
pub use plain::{Leaves, plain};
pub use sums::{Fma, SumSite, Sums, Terms, Totals};

/// A value, and how far a right kernel's may be from it. It is what comes before the cast to the
/// type it is stored in. Of an infinite error nothing is known, not even that it is a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The value in f64.
    pub value: f64,
    /// The largest error.
    pub error: f64,
}

/// What a formula is computed on.
#[derive(Debug, Clone, Default)]
pub struct Inputs<'a> {
    /// Extents by mode: of a ragged one the whole, of one by counts the largest.
    pub sizes: BTreeMap<String, i64>,
    /// Scalars by name.
    pub scalars: BTreeMap<String, f64>,
    /// Operands by name; of outputs that are combined, or written in part, what was there.
    pub tensors: BTreeMap<String, Tensor<'a>>,
}

/// An operand's elements.
#[derive(Debug, Clone)]
pub struct Tensor<'a> {
    /// The elements, decoded.
    pub values: Values<'a>,
    /// Elements from one coordinate to the next, by axis; at most those of the values are reached.
    pub strides: Vec<i64>,
}

/// Decoded elements.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// As numbers, whole ones of integer types.
    Floats(&'a [f64]),
    /// As integers; bits without a meaning as any.
    Integers(&'a [i64]),
}

/// A formula on given inputs.
pub struct Evaluator<'a> {
    formula: &'a Formula,
    sums: &'a dyn Sums,
    /// By mode.
    extents: Vec<i64>,
    scalars: Vec<f64>,
    /// By operand.
    operands: Vec<inputs::View<'a>>,
    /// The value of a statement, folded along the modes that its left side lacks.
    values: Vec<Expr>,
}

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

impl Bounded {
    /// The least and the largest that may be stored in a type.
    pub fn stored(&self, dtype: DType) -> [f64; 2] {
        let error = if self.value.is_finite() {
            self.error
        } else {
            0.0
        };
        [self.value - error, self.value + error].map(|value| stored(dtype, value))
    }

    /// Whether a stored value is right.
    pub fn allows(&self, dtype: DType, got: f64) -> bool {
        if self.error == f64::INFINITY {
            return true;
        }
        if self.value.is_nan() {
            let none = stored(dtype, self.value);
            return got.is_nan() && none.is_nan() || got == none;
        }
        let [least, most] = self.stored(dtype);
        (least..=most).contains(&got)
    }
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

impl<'a> Tensor<'a> {
    /// Numbers.
    pub fn floats(values: &'a [f64], strides: &[i64]) -> Tensor<'a> {
        Tensor {
            values: Values::Floats(values),
            strides: strides.to_vec(),
        }
    }

    /// Integers.
    pub fn integers(values: &'a [i64], strides: &[i64]) -> Tensor<'a> {
        Tensor {
            values: Values::Integers(values),
            strides: strides.to_vec(),
        }
    }
}

impl<'a> Inputs<'a> {
    /// The same with an extent.
    #[must_use]
    pub fn size(mut self, name: &str, extent: i64) -> Inputs<'a> {
        self.sizes.insert(name.to_owned(), extent);
        self
    }

    /// The same with a scalar.
    #[must_use]
    pub fn scalar(mut self, name: &str, value: f64) -> Inputs<'a> {
        self.scalars.insert(name.to_owned(), value);
        self
    }

    /// The same with an operand.
    #[must_use]
    pub fn tensor(mut self, name: &str, tensor: Tensor<'a>) -> Inputs<'a> {
        self.tensors.insert(name.to_owned(), tensor);
        self
    }
}

impl Evaluator<'_> {
    /// The operand of that name, if it is written.
    fn output(&self, name: &str) -> Result<Source, Error> {
        let operand = self.formula.signature.operand(name).map(Source::Operand);
        let written = operand.filter(|source| self.formula.writer(*source).is_some());
        written.ok_or_else(|| Error::NoOutput(name.to_owned()))
    }
}
