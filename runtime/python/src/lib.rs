//! The Python module `tilewright._tilewright`: the runtime as classes.
//!
//! In: a bundle, tensors of anybody who says where they lie, callables. Out: launches on
//! the caller's stream, rows of measurements, and the runtime's errors as exceptions. What is
//! pleasant to call stands in the package beside it, in Python.

mod failure;

mod dtype;

mod stream;

mod tensor;

mod dlpack;

mod reading;

mod arrays;

mod request;

mod launch;

mod kernel;

mod bundle;

mod copying;

mod meter;

use pyo3::prelude::*;

/// Classes, functions and exceptions of the module.
#[pymodule]
fn _tilewright(module: &Bound<'_, PyModule>) -> PyResult<()> {
    failure::add(module)?;
    module.add_class::<reading::Typed>()?;
    module.add_class::<kernel::PyOperand>()?;
    module.add_class::<kernel::PyOrder>()?;
    module.add_class::<kernel::PyKernel>()?;
    module.add_class::<launch::PyLaunch>()?;
    module.add_class::<bundle::PyBundle>()?;
    module.add_class::<meter::PySamples>()?;
    module.add_class::<meter::PyMeter>()?;
    module.add_function(wrap_pyfunction!(bundle::open, module)?)?;
    module.add_function(wrap_pyfunction!(copying::memcpy, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
