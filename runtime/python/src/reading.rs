//! Tensors of whoever says where they lie: PyTorch's by their methods, others' by an interface.
//!
//! Nothing is imported and nothing copied: an object is asked for its address, shape, strides and
//! element type, and kept alive as long as what was read of it is used. Who has only DLPack is
//! asked by [`crate::dlpack`].

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tilewright_dlpack::Hold;
use tilewright_runtime::bundle::{DType, MAX_AXES};
use tilewright_runtime::{Extents, dense_strides, first_element};

use crate::failure::{Error, INFERENCE_ONLY, InferenceOnly};
use crate::stream::Ready;
use crate::tensor::{Home, Tensor};
use crate::{dlpack, dtype};

/// A tensor whose elements are said to be of another type of the same size: see
/// `tilewright.as_dtype`.
#[pyclass(frozen, module = "tilewright")]
#[derive(Debug)]
pub(crate) struct Typed {
    #[pyo3(get)]
    tensor: Py<PyAny>,
    dtype: DType,
}

#[pymethods]
impl Typed {
    #[new]
    fn new(tensor: Py<PyAny>, dtype: &str) -> PyResult<Typed> {
        let dtype = dtype::named(dtype)?;
        Ok(Typed { tensor, dtype })
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        self.dtype.text()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let tensor = self.tensor.bind(py).repr()?;
        Ok(format!("as_dtype({tensor}, {:?})", self.dtype.text()))
    }
}

/// What an object says of itself, where its elements can be.
pub(crate) fn read(object: &Bound<'_, PyAny>, ready: &Ready<'_, '_>) -> PyResult<Tensor> {
    let told = told(object, ready)?;
    // A span beyond 64 bits, or of strides below 0, is refused with the strides, by every launch.
    let bytes = match told.place.shape().contains(&0) {
        true => 0,
        false => told.described("").span_bytes().unwrap_or(1),
    };
    match first_element(told.address, 0, bytes) {
        Ok(address) => Ok(Tensor { address, ..told }),
        Err(unreachable) => Err(Error::new_err(format!("the tensor {unreachable}"))),
    }
}

/// The same, not judged.
fn told(object: &Bound<'_, PyAny>, ready: &Ready<'_, '_>) -> PyResult<Tensor> {
    let py = object.py();
    if let Ok(typed) = object.cast::<Typed>() {
        return retyped(typed.get(), py, ready);
    }
    if is_torchs(object)? {
        return of_torch(object);
    }
    let on_gpu = object.getattr_opt(intern!(py, "__cuda_array_interface__"))?;
    if let Some(interface) = on_gpu {
        return of_interface(object, &interface, Home::Cuda(None));
    }
    let on_host = object.getattr_opt(intern!(py, "__array_interface__"))?;
    if let Some(interface) = on_host {
        return of_interface(object, &interface, Home::Host);
    }
    if dlpack::is_producer(object)? {
        return dlpack::read(object, ready);
    }
    Err(PyTypeError::new_err(format!(
        "{} is no tensor: it has neither data_ptr() and stride(), nor \
         __cuda_array_interface__, nor __array_interface__, nor __dlpack__() and \
         __dlpack_device__()",
        object.get_type().qualname()?
    )))
}

fn retyped(typed: &Typed, py: Python<'_>, ready: &Ready<'_, '_>) -> PyResult<Tensor> {
    let tensor = told(typed.tensor.bind(py), ready)?;
    let (has, wanted) = (tensor.dtype, typed.dtype);
    if wanted.per_byte() > 1 && has.bits() == 8 {
        return Ok(Tensor {
            dtype: wanted,
            place: paired(&tensor.place, wanted)?,
            ..tensor
        });
    }
    if has.bits() != wanted.bits() {
        return Err(Error::new_err(format!(
            "elements of {has} have {} bits; {wanted} has {}",
            has.bits(),
            wanted.bits()
        )));
    }
    Ok(Tensor {
        dtype: wanted,
        ..tensor
    })
}

fn of_torch(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = object.py();
    if wants_gradient(object)? {
        return Err(InferenceOnly::new_err(INFERENCE_ONLY));
    }
    // PyTorch reads the elements of such a view with the other sign than its memory has.
    let negated = object.getattr_opt(intern!(py, "is_neg"))?;
    let negated = negated.map(|is_neg| is_neg.call0()?.is_truthy());
    if negated.transpose()?.unwrap_or(false) {
        let text = "the tensor is a view that PyTorch negates where it is read (is_neg()): give \
                    its resolve_neg()";
        return Err(Error::new_err(text));
    }
    let shape = numbers("shape", &object.getattr(intern!(py, "shape"))?)?;
    let stride = numbers("stride()", &object.call_method0(intern!(py, "stride"))?)?;
    let dtype: String = object.getattr(intern!(py, "dtype"))?.str()?.extract()?;
    let device = object.getattr(intern!(py, "device"))?;
    let kind: String = device.getattr(intern!(py, "type"))?.extract()?;
    let home = match kind.as_str() {
        "cuda" => {
            let index = device.getattr(intern!(py, "index"))?;
            Home::Cuda(converted("device.index", "an integer or None", &index)?)
        }
        "cpu" => Home::Host,
        _ => {
            let text = format!("the tensor is on {kind:?}; kernels take those of cuda or cpu");
            return Err(Error::new_err(text));
        }
    };
    let dtype = dtype::named(&dtype)?;
    let place = place(shape, stride)?;
    Ok(Tensor {
        object: object.clone().unbind(),
        address: torch_address(object)?,
        dtype,
        // PyTorch counts the bytes of such elements.
        place: match dtype.per_byte() {
            1 => place,
            _ => paired(&place, dtype)?,
        },
        home,
        hold: Hold::Shared,
        is_torch: true,
        _lent: None,
    })
}

/// Where PyTorch's tensor lies now.
pub(crate) fn torch_address(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(typed) = object.cast::<Typed>() {
        return torch_address(typed.get().tensor.bind(object.py()));
    }
    let address = object.call_method0(intern!(object.py(), "data_ptr"))?;
    converted("data_ptr()", ADDRESS, &address)
}

fn of_interface(
    object: &Bound<'_, PyAny>,
    interface: &Bound<'_, PyAny>,
    home: Home,
) -> PyResult<Tensor> {
    let py = object.py();
    let interface = interface.cast::<PyDict>()?;
    let item = |key: &str| -> PyResult<Bound<'_, PyAny>> {
        let missing = || PyTypeError::new_err(format!("the array interface has no {key:?}"));
        interface.get_item(key)?.ok_or_else(missing)
    };
    let shape = numbers("shape", &item("shape")?)?;
    let pair = format!("{ADDRESS}, and whether it is read-only");
    let (address, is_read_only): (u64, bool) = converted("data", &pair, &item("data")?)?;
    let typestr: String = converted("typestr", "a string", &item("typestr")?)?;
    let name = object.getattr_opt(intern!(py, "dtype"))?;
    let name = name.map(|dtype| dtype.str()?.extract::<String>());
    let dtype = dtype::of_interface(&typestr, name.transpose()?.as_deref())?;
    let strides = interface.get_item("strides")?.filter(|s| !s.is_none());
    let stride = match strides {
        None => dense_strides(&shape),
        Some(strides) => elements(numbers("strides", strides.cast::<PyTuple>()?)?, dtype)?,
    };
    Ok(Tensor {
        object: object.clone().unbind(),
        address,
        dtype,
        place: place(shape, stride)?,
        home,
        hold: match is_read_only {
            true => Hold::ReadOnly,
            false => Hold::Shared,
        },
        is_torch: false,
        _lent: None,
    })
}

/// What addresses are in Python.
const ADDRESS: &str = "an address, an integer of 64 bits from 0";

/// Extents or strides.
fn numbers(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    converted(what, "integers of 64 bits", value)
}

/// A value that a tensor tells, as what it has to be.
fn converted<'py, T>(what: &str, wanted: &str, value: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let py = value.py();
    let told = value.extract::<T>().map_err(Into::<PyErr>::into);
    told.map_err(|error| {
        let shown = value.repr();
        let shown = shown.map_or_else(|_| "something else".to_owned(), |shown| shown.to_string());
        let text = format!("{what} is {shown}; wanted: {wanted} ({})", error.value(py));
        let beyond = error.is_instance_of::<PyOverflowError>(py);
        if error.is_instance_of::<PyTypeError>(py) {
            PyTypeError::new_err(text)
        } else if beyond || error.is_instance_of::<PyValueError>(py) {
            Error::new_err(text)
        } else {
            error
        }
    })
}

/// Whether an object, or what it retypes, tells what it is by PyTorch's methods.
pub(crate) fn is_torchs(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    if let Ok(typed) = object.cast::<Typed>() {
        return is_torchs(typed.get().tensor.bind(py));
    }
    Ok(object.hasattr(intern!(py, "data_ptr"))? && object.hasattr(intern!(py, "stride"))?)
}

/// Whether PyTorch would record what is done with a tensor.
pub(crate) fn wants_gradient(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let requires = object.getattr_opt(intern!(py, "requires_grad"))?;
    if !requires.is_some_and(|requires| requires.is_truthy().unwrap_or(false)) {
        return Ok(false);
    }
    let modules = py.import("sys")?.getattr("modules")?;
    match modules.cast::<PyDict>()?.get_item("torch")? {
        Some(torch) => torch.call_method0("is_grad_enabled")?.extract(),
        None => Ok(true),
    }
}

fn place(shape: Vec<i64>, stride: Vec<i64>) -> PyResult<Extents> {
    if shape.len() > MAX_AXES || shape.len() != stride.len() {
        return Err(Error::new_err(format!(
            "a tensor has {} axes and {} strides; at most {MAX_AXES} are taken",
            shape.len(),
            stride.len()
        )));
    }
    Ok(Extents::new(shape.into_iter().zip(stride)))
}

/// A tensor of bytes as one of the elements in them, along its axis of stride 1.
fn paired(bytes: &Extents, dtype: DType) -> PyResult<Extents> {
    let together = i64::from(dtype.per_byte());
    let axes: Vec<(i64, i64)> = bytes.axes().collect();
    let Some(along) = axes.iter().rposition(|(_, stride)| *stride == 1) else {
        return Err(Error::new_err(format!(
            "elements of {dtype} stand {together} to a byte along an axis of stride 1; the \
             tensor's strides are {:?}",
            axes.iter().map(|(_, stride)| stride).collect::<Vec<_>>()
        )));
    };
    let axes = axes.into_iter().enumerate();
    Ok(Extents::new(axes.map(|(at, (extent, stride))| {
        match at == along {
            true => (extent.saturating_mul(together), 1),
            false => (extent, stride.saturating_mul(together)),
        }
    })))
}

/// Strides in elements of strides in bytes.
fn elements(bytes: Vec<i64>, dtype: DType) -> PyResult<Vec<i64>> {
    let size = i64::from(dtype.bytes());
    if bytes.iter().any(|stride| stride % size != 0) {
        return Err(Error::new_err(format!(
            "strides of {bytes:?} bytes are no whole elements of {size} bytes"
        )));
    }
    Ok(bytes.iter().map(|stride| stride / size).collect())
}
