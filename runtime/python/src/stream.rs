//! The stream that work goes into: the one given, else the framework's current one.

use std::ffi::c_void;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tilewright_runtime::cuda::CudaDevice;

use crate::failure::Error;

/// The stream on which elements must be ready, of producers who order their work by streams.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ready<'a, 'py> {
    /// That of the call.
    On(&'a Bound<'py, PyAny>),
    /// PyTorch's current one.
    OnTorchs,
    /// CUDA's default one.
    OnDefault,
}

impl Ready<'_, '_> {
    /// Its handle.
    pub fn stream(&self, py: Python<'_>, ordinal: usize) -> PyResult<u64> {
        match self {
            Ready::On(stream) => given(stream),
            Ready::OnTorchs => of_torch(py, ordinal),
            Ready::OnDefault => Ok(0),
        }
    }
}

/// The handle of a stream that is given: an integer, or an object with `cuda_stream` (PyTorch),
/// `ptr` (CuPy) or `__cuda_stream__` (the CUDA stream protocol).
pub(crate) fn given(stream: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = stream.py();
    if let Ok(handle) = stream.extract() {
        return Ok(handle);
    }
    for attribute in [intern!(py, "cuda_stream"), intern!(py, "ptr")] {
        if let Some(handle) = stream.getattr_opt(attribute)? {
            return handle.extract();
        }
    }
    if stream.hasattr(intern!(py, "__cuda_stream__"))? {
        let told = stream.call_method0(intern!(py, "__cuda_stream__"))?;
        return told.extract::<(i64, u64)>().map(|(_, handle)| handle);
    }
    Err(Error::new_err(format!(
        "{} is no stream: give its handle as an integer, or an object with `cuda_stream`, `ptr` or \
         `__cuda_stream__()`",
        stream.get_type().qualname()?
    )))
}

/// Refuses a stream for the emulator, which has none: only 0, the default one, is taken.
pub(crate) fn none_of(stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match stream.map(given).transpose()? {
        None | Some(0) => Ok(()),
        Some(handle) => Err(Error::new_err(format!(
            "the emulator has no streams, and {handle:#x} is given: leave `stream` out"
        ))),
    }
}

/// PyTorch's current stream of a device.
pub(crate) fn of_torch(py: Python<'_>, ordinal: usize) -> PyResult<u64> {
    static CURRENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let current = CURRENT.get_or_try_init(py, || {
        let torch = py.import("torch")?;
        let raw = torch
            .getattr("_C")?
            .getattr_opt("_cuda_getCurrentRawStream")?;
        match raw {
            Some(raw) => Ok::<_, PyErr>(raw.unbind()),
            None => Ok(torch.getattr("cuda")?.getattr("current_stream")?.unbind()),
        }
    })?;
    given(&current.bind(py).call1((ordinal,))?)
}

/// The device with work going into a stream.
pub(crate) fn on(device: &CudaDevice, stream: u64) -> CudaDevice {
    let handle = std::ptr::without_provenance_mut::<c_void>(stream as usize);
    // SAFETY: the handle is what the framework, or the caller, says is a stream of this process; a
    // device is opened on its primary context, which is theirs as well. It is used for calls that
    // return before this value is dropped.
    unsafe { device.on_stream(handle) }
}
