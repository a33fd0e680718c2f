//! What a call's keywords say: tensors, scalars, extents, and the problem that they are.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt};
use tilewright_runtime as runtime;
use tilewright_runtime::bundle::Kernel;
use tilewright_runtime::{Placed, Problem};

use crate::failure::{self, Error, INFERENCE_ONLY, InferenceOnly, raised};
use crate::reading::{is_torchs, read, wants_gradient};
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
    /// Reads keywords: what a kernel knows as an operand is a tensor, as a scalar or extent a
    /// number; of a name that it does not know, what is a number or has no axes is one.
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
            let told = |error| failure::of_operand(value.py(), &name, error);
            let semantics = &kernel.semantics;
            if semantics.operand(&name).is_some() {
                tensors.push((name.clone(), read(&value, &ready).map_err(told)?));
            } else if kernel.free_extents().any(|(_, text)| text == name) {
                given = given.with_extent(name.clone(), extent(&value).map_err(told)?);
            } else if semantics.scalars.iter().any(|one| one.name == name) || is_number(&value)? {
                given = given.with_scalar(&name, number(&value).map_err(told)?);
            } else {
                tensors.push((name.clone(), read(&value, &ready).map_err(told)?));
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

/// Whether an object is a number, or may stand for one: a scalar of NumPy, a tensor without axes.
fn is_number(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        return Ok(true);
    }
    let py = value.py();
    let axes = value.getattr_opt(intern!(py, "ndim"))?;
    let has_axes = axes.is_some_and(|axes| !matches!(axes.extract::<i64>(), Ok(0)));
    let converts =
        value.hasattr(intern!(py, "__float__"))? || value.hasattr(intern!(py, "__index__"))?;
    Ok(converts && !has_axes)
}

/// A scalar's value: of whatever has `__float__` or `__index__`.
fn number(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    if is_torchs(value)? && wants_gradient(value)? {
        return Err(InferenceOnly::new_err(INFERENCE_ONLY));
    }
    value
        .extract()
        .map_err(|error| unconverted(value, "a number: it has `__float__` or `__index__`", &error))
}

/// An extent: of whatever has `__index__`.
fn extent(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    value
        .extract()
        .map_err(|error| unconverted(value, "an integer of 64 bits: it has `__index__`", &error))
}

/// Why an object is not the number that is wanted.
fn unconverted(value: &Bound<'_, PyAny>, wanted: &str, error: &PyErr) -> PyErr {
    let py = value.py();
    let kind = value.get_type().qualname();
    let kind = kind.map_or_else(|_| "it".to_owned(), |kind| kind.to_string());
    let text = format!(
        "{kind} is given where a kernel takes {wanted} ({})",
        error.value(py)
    );
    match error.is_instance_of::<PyTypeError>(py) {
        true => PyTypeError::new_err(text),
        false => Error::new_err(text),
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
