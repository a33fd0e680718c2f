//! What a call's keywords say: tensors, scalars, extents, and the problem that they are.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt};
use tilewright_runtime as runtime;
use tilewright_runtime::bundle::Kernel;
use tilewright_runtime::{Placed, Problem};

use crate::failure::{self, raised};
use crate::reading::{is_torchs, read};
use crate::stream::Ready;
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
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Request> {
        let ready = ready(keywords, stream)?;
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
                let tensor = read(&value, &ready);
                let tensor = tensor.map_err(|error| failure::of_operand(value.py(), &name, error));
                tensors.push((name, tensor?));
            } else if extents.any(|(_, text)| text == name) {
                given = given.with_extent(name, value.extract()?);
            } else {
                given = given.with_scalar(&name, value.extract()?);
            }
        }
        Ok(Request { tensors, given })
    }

    /// What it names, where it lies.
    pub fn placed(&self) -> runtime::Request<'_> {
        runtime::Request {
            operands: placed(&self.tensors),
            given: self.given.clone(),
        }
    }

    /// The problem that it is to a kernel.
    ///
    /// # Errors
    /// `Refused` with every disagreement.
    pub fn problem(&self, kernel: &Kernel) -> PyResult<Problem> {
        self.placed().problem(kernel).map_err(|refusals| {
            raised(runtime::Error::Refused {
                kernel: kernel.id.clone(),
                refusals,
            })
        })
    }
}

/// The stream on which tensors are made ready: that of the call, else the one that
/// a launch takes where none is given.
fn ready<'a, 'py>(
    keywords: Option<&Bound<'py, PyDict>>,
    stream: Option<&'a Bound<'py, PyAny>>,
) -> PyResult<Ready<'a, 'py>> {
    if let Some(stream) = stream {
        return Ok(Ready::On(stream));
    }
    for (_, value) in keywords.into_iter().flat_map(|k| k.iter()) {
        if is_torchs(&value)? {
            return Ok(Ready::OnTorchs);
        }
    }
    Ok(Ready::OnDefault)
}

/// Tensors where they lie.
pub(crate) fn placed(tensors: &[(String, Tensor)]) -> Vec<Placed<'_>> {
    let tensors = tensors.iter();
    tensors.map(|(name, tensor)| tensor.placed(name)).collect()
}
