//! Copies by the driver: the peer of kernels that copy.

use pyo3::prelude::*;
use tilewright_runtime::Device;
use tilewright_runtime::cuda::Current;

use crate::failure::{Error, of_operand, raised};
use crate::reading::read;
use crate::stream::{self, Ready};
use crate::tensor::{Home, Tensor};

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
    let ready = stream.map_or(Ready::OnTorchs, Ready::On);
    let operand = |name, tensor| read(tensor, &ready).map_err(|error| of_operand(py, name, error));
    let (to, from) = (operand("d", d)?, operand("s", s)?);
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
        Some(stream) => stream::given(stream)?,
        None => stream::of_torch(py, ordinal)?,
    };
    let _current = Current::kept().map_err(raised)?;
    let Device::Cuda(device) = opened(ordinal)? else {
        return Err(Error::new_err("memcpy needs a GPU"));
    };
    let device = stream::on(&device, handle);
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
