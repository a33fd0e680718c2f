//! Tensors of whoever has `__dlpack__` and nothing better: asked as the protocol wants it.
//!
//! In: an object, and the stream that its elements must be ready on. Out: a tensor that keeps what
//! was lent. The capsule is asked for versioned first; it is renamed before anything of it is used,
//! so that its own destructor leaves it alone, and from then on the deleter is called once, by
//! [`Managed`], on every way out.

use std::ffi::CStr;
use std::ptr::NonNull;

use pyo3::exceptions::PyTypeError;
use pyo3::types::{PyCapsule, PyDict};
use pyo3::{ffi, intern, prelude::*};
use tilewright_dlpack::{Hold, Home as Lent, Managed, VERSION};
use tilewright_runtime::Extents;

use crate::failure::Error;
use crate::stream::Ready;
use crate::tensor::{Home, Tensor};

/// `kDLCUDA` and `kDLCUDAManaged`: memory whose producers order their work by streams.
const STREAMED: [i64; 2] = [2, 13];

/// What DLPack calls CUDA's default stream.
const DEFAULT_STREAM: u64 = 1;

/// Names of capsules that are full, and what they are called when they are not.
const VERSIONED: [&CStr; 2] = [c"dltensor_versioned", c"used_dltensor_versioned"];
const LEGACY: [&CStr; 2] = [c"dltensor", c"used_dltensor"];

/// Whether an object can be asked.
pub(crate) fn is_producer(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    Ok(object.hasattr(intern!(py, "__dlpack__"))?
        && object.hasattr(intern!(py, "__dlpack_device__"))?)
}

/// What an object lends.
pub(crate) fn read(object: &Bound<'_, PyAny>, ready: &Ready<'_, '_>) -> PyResult<Tensor> {
    let lent = taken(&asked(object, ready)?)?;
    let told = lent
        .judged()
        .map_err(|all| Error::new_err(all.to_string()))?;
    Ok(Tensor {
        object: object.clone().unbind(),
        address: told.address,
        dtype: told.dtype,
        place: Extents::new(told.shape.into_iter().zip(told.stride)),
        home: match told.home {
            Lent::Host => Home::Host,
            Lent::Cuda(ordinal) => Home::Cuda(Some(i64::from(ordinal))),
            Lent::Pinned | Lent::Managed => Home::Both,
        },
        hold: told.hold,
        is_torch: false,
        _lent: Some(lent),
    })
}

/// The capsule, by the newest call that the producer knows.
fn asked<'py>(object: &Bound<'py, PyAny>, ready: &Ready<'_, '_>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let device = object.call_method0(intern!(py, "__dlpack_device__"))?;
    let (kind, ordinal): (i64, i64) = device.extract().map_err(|_| {
        PyTypeError::new_err(format!(
            "__dlpack_device__() gives {device}; a pair of integers is wanted"
        ))
    })?;
    let keywords = PyDict::new(py);
    if STREAMED.contains(&kind) {
        // A handle of 0 is the default stream, which is not 0 here; 1 and 2 are what CUDA says.
        let handle = ready.stream(py, usize::try_from(ordinal).unwrap_or(0))?;
        keywords.set_item("stream", handle.max(DEFAULT_STREAM))?;
    }
    let method = object.getattr(intern!(py, "__dlpack__"))?;
    let versioned = keywords.copy()?;
    versioned.set_item("max_version", VERSION)?;
    match method.call((), Some(&versioned)) {
        // It is of before 1.0, or the error is another one, which comes back then.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => method.call((), Some(&keywords)),
        answer => answer,
    }
}

/// Takes over what a capsule holds.
fn taken(capsule: &Bound<'_, PyAny>) -> PyResult<Managed> {
    let Ok(capsule) = capsule.cast::<PyCapsule>() else {
        return Err(PyTypeError::new_err(format!(
            "__dlpack__() gives {}; a PyCapsule is wanted",
            capsule.get_type().qualname()?
        )));
    };
    if let Some(lent) = emptied(capsule, VERSIONED)? {
        // SAFETY: a full capsule of this name holds such a struct, alive until its deleter is
        // called, which the renamed capsule no longer does.
        return Ok(unsafe { Managed::versioned(lent.cast()) });
    }
    if let Some(lent) = emptied(capsule, LEGACY)? {
        // SAFETY: as above.
        return Ok(unsafe { Managed::legacy(lent.cast()) });
    }
    Err(Error::new_err(format!(
        "__dlpack__() gives {}, which is no full capsule of DLPack: its name has to be \
         \"dltensor_versioned\" or \"dltensor\", and one that was used is not given twice",
        capsule.repr()?
    )))
}

/// What a capsule of a name holds, which is renamed; `None` where it has another name.
fn emptied(
    capsule: &Bound<'_, PyCapsule>,
    [full, used]: [&'static CStr; 2],
) -> PyResult<Option<NonNull<std::ffi::c_void>>> {
    let pointer = capsule.as_ptr();
    // SAFETY: `pointer` is a capsule; the names are static, as capsules want theirs.
    unsafe {
        if ffi::PyCapsule_IsValid(pointer, full.as_ptr()) == 0 {
            return Ok(None);
        }
        let lent = ffi::PyCapsule_GetPointer(pointer, full.as_ptr());
        if ffi::PyCapsule_SetName(pointer, used.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Ok(NonNull::new(lent))
    }
}

/// Why an operand that is written cannot be this one.
pub(crate) fn unwritable(hold: Hold) -> Option<&'static str> {
    match hold {
        Hold::Shared => None,
        Hold::ReadOnly => Some("is read-only"),
        Hold::Copied => Some("is a copy, whose owner would not see the result"),
    }
}
