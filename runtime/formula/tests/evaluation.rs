//! The evaluator against the plain computation of each kernel, in f64 loops of its own: values
//! within the bound, bounds no larger than they need to be, single elements as in whole outputs.
#![allow(clippy::unwrap_used, clippy::panic)]

mod evaluation {
    mod copies;
    mod groups;
    mod products;
    mod random;
    mod right_kernels;
    mod rows;
}
mod kernel_files;

use std::collections::BTreeMap;
use std::fs;

use kernel_files::{folder, read};
use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Output, Tensor};
use tilewright_formula::{Formula, check, report};

/// Data of one evaluation.
#[derive(Default)]
struct Data {
    sizes: Vec<(&'static str, i64)>,
    scalars: Vec<(&'static str, f64)>,
    tensors: BTreeMap<&'static str, Array>,
}

/// Elements, dense, the last axis fastest.
#[derive(Clone)]
struct Array {
    extents: Vec<usize>,
    values: Vec<f64>,
}

impl Array {
    fn of(extents: &[usize], values: &[f64]) -> Array {
        assert_eq!(values.len(), extents.iter().product::<usize>());
        Array {
            extents: extents.to_vec(),
            values: values.to_vec(),
        }
    }

    /// Eighths between -2 and 2, which every type of 8 bits and more holds, in an order of `seed`.
    fn eighths(extents: &[usize], seed: u64) -> Array {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) % 33
        };
        let count = extents.iter().product();
        let values: Vec<f64> = (0..count).map(|_| (next() as f64 - 16.0) / 8.0).collect();
        Array::of(extents, &values)
    }

    fn integers(extents: &[usize], values: &[i64]) -> Array {
        let values: Vec<f64> = values.iter().map(|value| *value as f64).collect();
        Array::of(extents, &values)
    }

    fn map(mut self, f: impl Fn(f64) -> f64) -> Array {
        self.values.iter_mut().for_each(|value| *value = f(*value));
        self
    }

    fn strides(&self) -> Vec<i64> {
        let mut strides = vec![1; self.extents.len()];
        for axis in (1..strides.len()).rev() {
            strides[axis - 1] = strides[axis] * self.extents[axis] as i64;
        }
        strides
    }

    fn at(&self, index: &[usize]) -> f64 {
        let strides = self.strides();
        let offset: i64 = index.iter().zip(strides).map(|(i, s)| *i as i64 * s).sum();
        self.values[offset as usize]
    }
}

impl Data {
    fn size(mut self, name: &'static str, extent: i64) -> Data {
        self.sizes.push((name, extent));
        self
    }

    fn scalar(mut self, name: &'static str, value: f64) -> Data {
        self.scalars.push((name, value));
        self
    }

    fn with(mut self, name: &'static str, array: &Array) -> Data {
        self.tensors.insert(name, array.clone());
        self
    }
}

/// The formula of a file of `ci/data/formulas`.
fn formula(name: &str) -> Formula {
    let file = folder("ci/data/formulas").join(format!("{name}.formula"));
    let (signature, text) = read(&fs::read_to_string(file).unwrap());
    let checked = check(&text, &signature);
    checked.unwrap_or_else(|problems| panic!("{}", report(&text, &problems)))
}

/// Every output, with each element evaluated by itself as well.
fn evaluate(formula: &Formula, data: &Data) -> Vec<Output> {
    let mut inputs = Inputs::default();
    for (name, extent) in &data.sizes {
        inputs = inputs.size(name, *extent);
    }
    for (name, value) in &data.scalars {
        inputs = inputs.scalar(name, *value);
    }
    for (name, array) in &data.tensors {
        let tensor = Tensor::floats(&array.values, &array.strides());
        inputs = inputs.tensor(name, tensor);
    }
    let evaluator = Evaluator::new(formula, &inputs, &Fma).unwrap();
    let outputs = evaluator.outputs().unwrap();
    for output in &outputs {
        for at in 0..output.values.len() {
            let index: Vec<i64> = index_of(at, &output.extents).map(|i| i as i64).collect();
            let element = evaluator.element(&output.name, &index).unwrap();
            let name = &output.name;
            let written = output.written.get(at).copied().unwrap_or(true);
            assert_eq!(element.written, written, "{name}{index:?}");
            if !written {
                continue;
            }
            let same = element.value == output.values[at]
                || element.value.is_nan() && output.values[at].is_nan();
            assert!(
                same,
                "{name}{index:?}: {} of {}",
                element.value, output.values[at]
            );
            let errors = [element.error, output.errors[at]];
            let near = errors[0] == errors[1] || (errors[0] / errors[1] - 1.0).abs() < 1e-6;
            assert!(near, "{name}{index:?}: errors {errors:?}");
        }
    }
    outputs
}

/// The coordinates of an element.
fn index_of(at: usize, extents: &[i64]) -> std::vec::IntoIter<usize> {
    let mut rest = at;
    let mut index = vec![0; extents.len()];
    for axis in (0..extents.len()).rev() {
        index[axis] = rest % extents[axis] as usize;
        rest /= extents[axis] as usize;
    }
    index.into_iter()
}

/// Wants each element of an output within its bound of the plain computation, and the bound within
/// `most` of the value.
fn expect(output: &Output, most: f64, plain: impl Fn(&[usize]) -> f64) {
    for at in 0..output.values.len() {
        let index: Vec<usize> = index_of(at, &output.extents).collect();
        let (value, error, want) = (output.values[at], output.errors[at], plain(&index));
        let name = &output.name;
        let near = (value - want).abs() <= error + 1e-12 * want.abs()
            || value == want
            || value.is_nan() && want.is_nan();
        assert!(near, "{name}{index:?}: {value} ± {error}, want {want}");
        let small = error <= most * want.abs().max(1.0);
        assert!(
            small,
            "{name}{index:?}: {value} ± {error} is more than {most}"
        );
    }
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}
