//! What a call's keywords say: tensors, scalars, extents, and the problem that they are.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt};
use tilewright_runtime::bundle::Kernel;
use tilewright_runtime::{Described, Problem, Refusal, problem_of};

use crate::failure::refused;
use crate::tensor::Tensor;

/// A call's keywords, sorted by what they are to a kernel.
#[derive(Debug)]
pub(crate) struct Request {
    /// Tensors by operand.
    pub tensors: Vec<(String, Tensor)>,
    /// Scalars, promises, and extents that no tensor says.
    pub given: Problem,
}

impl Request {
    /// Reads keywords: numbers are scalars or extents, everything else is a tensor.
    pub fn read(
        kernel: &Kernel,
        keywords: Option<&Bound<'_, PyDict>>,
        promises: &[String],
    ) -> PyResult<Request> {
        let mut given = Problem::default();
        for promise in promises {
            given = given.with_promise(promise);
        }
        let mut tensors = Vec::new();
        for (name, value) in keywords.into_iter().flat_map(|k| k.iter()) {
            let name: String = name.extract()?;
            let is_operand = kernel.semantics.operand(&name).is_some();
            let is_number = value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>();
            let mut extents = kernel.free_extents();
            if is_operand || !is_number {
                tensors.push((name, Tensor::read(&value)?));
            } else if extents.any(|(_, text)| text == name) {
                given = given.with_extent(name, value.extract()?);
            } else {
                given = given.with_scalar(&name, value.extract()?);
            }
        }
        Ok(Request { tensors, given })
    }

    /// The problem that it is to a kernel.
    ///
    /// # Errors
    /// `Refused` with every disagreement.
    pub fn problem(&self, kernel: &Kernel) -> PyResult<Problem> {
        self.problem_or_refusals(kernel).map_err(|refusals| {
            let all: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
            let kinds: Vec<&str> = refusals.iter().map(Refusal::kind).collect();
            refused(
                format!("{} cannot run: {}", kernel.id, all.join("; ")),
                &kinds,
            )
        })
    }

    /// The same with the refusals as they are.
    pub fn problem_or_refusals(&self, kernel: &Kernel) -> Result<Problem, Vec<Refusal>> {
        let described: Vec<Described<'_>> = self
            .tensors
            .iter()
            .map(|(name, tensor)| tensor.described(name))
            .collect();
        problem_of(kernel, &described, &self.given)
    }
}
