//! What a formula is computed on: extents, scalars, and elements of operands.

use std::collections::BTreeMap;

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
