//! The stream that work goes into: the one given, else the framework's current one.

use std::ffi::c_void;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tilewright_runtime::Device;
use tilewright_runtime::cuda::{CudaDevice, Current};

use crate::failure::{Error, raised};
use crate::tensor::{Home, Tensor};

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

/// Copies the bytes of `s` to `d` by the driver's own copy, on the current stream: the peer of
/// kernels that copy.
#[pyfunction]
#[pyo3(signature = (d, s, *, stream=None))]
pub(crate) fn memcpy(
    py: Python<'_>,
    d: &Bound<'_, PyAny>,
    s: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let (to, from) = (Tensor::read(d)?, Tensor::read(s)?);
    let (Home::Cuda(there), Home::Cuda(here)) = (to.home, from.home) else {
        return Err(Error::new_err("memcpy copies between tensors of one GPU"));
    };
    let bytes = from.span_bytes();
    let whole = |t: &Tensor| t.dtype.row_bytes(t.place.elems().unsigned_abs()) == Some(bytes);
    if here != there || to.span_bytes() != bytes || !whole(&to) || !whole(&from) {
        return Err(Error::new_err(format!(
            "memcpy copies tensors without gaps and of the same size: {} bytes and {bytes}",
            to.span_bytes()
        )));
    }
    let ordinal = usize::try_from(here.unwrap_or(0)).unwrap_or(0);
    let handle = match stream {
        Some(stream) => given(stream)?,
        None => of_torch(py, ordinal)?,
    };
    let _current = Current::kept().map_err(raised)?;
    let Device::Cuda(device) = opened(ordinal)? else {
        return Err(Error::new_err("memcpy needs a GPU"));
    };
    let device = on(&device, handle);
    // SAFETY: the tensors say that the memory is theirs, and the caller keeps them until the work
    // is done, as PyTorch's allocator does for work on the stream they are used on.
    let (to, from) = unsafe {
        (
            device.borrow(to.address, bytes),
            device.borrow(from.address, bytes),
        )
    };
    device.copy(&from, &to, bytes).map_err(raised)
}

/// The GPU with this ordinal, opened once.
fn opened(ordinal: usize) -> PyResult<Device> {
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};
    static OPENED: Mutex<Option<HashMap<usize, Device>>> = Mutex::new(None);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let opened = opened.get_or_insert_default();
    if let Some(device) = opened.get(&ordinal) {
        return Ok(device.clone());
    }
    let device = Device::cuda(ordinal).map_err(raised)?;
    opened.insert(ordinal, device.clone());
    Ok(device)
}
