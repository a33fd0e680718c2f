//! The runtime's errors as exceptions, with their whole text.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use tilewright_runtime as runtime;

create_exception!(
    tilewright,
    Error,
    PyException,
    "Something that the runtime could not do; the text says what, and a way out."
);
create_exception!(
    tilewright,
    BundleError,
    Error,
    "A bundle that is refused: damaged, changed, or of another format."
);
create_exception!(
    tilewright,
    Refused,
    Error,
    "A kernel that cannot run what was asked for; nothing was launched. `kinds` has a word for \
     each reason."
);
create_exception!(
    tilewright,
    InferenceOnly,
    Error,
    "A tensor that requires grad: kernels have no derivative."
);
create_exception!(
    tilewright,
    DeviceError,
    Error,
    "A failure of the driver, of the device, or faults that the emulator found."
);

/// What keeps a tensor that requires grad from being given, and the ways out.
pub(crate) const INFERENCE_ONLY: &str = "requires grad, and kernels have no derivative: they are \
     inference only; call them under torch.no_grad(), or give tensor.detach()";

/// Adds the exceptions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("BundleError", py.get_type::<BundleError>())?;
    module.add("Refused", py.get_type::<Refused>())?;
    module.add("INFERENCE_ONLY", INFERENCE_ONLY)?;
    module.add("InferenceOnly", py.get_type::<InferenceOnly>())?;
    module.add("DeviceError", py.get_type::<DeviceError>())
}

/// The exception of an error.
pub(crate) fn raised(error: runtime::Error) -> PyErr {
    let text = error.to_string();
    match error {
        runtime::Error::Bundle(_) => BundleError::new_err(text),
        runtime::Error::Refused { refusals, .. } => {
            let kinds: Vec<&str> = refusals.iter().map(runtime::Refusal::kind).collect();
            refused(text, &kinds)
        }
        runtime::Error::NothingFits { .. } => refused(text, &["nothing_fits"]),
        runtime::Error::NoFunction { .. } => refused(text, &["nothing_fits"]),
        runtime::Error::Ambiguous { .. } | runtime::Error::ManyFunctions { .. } => {
            refused(text, &["ambiguous"])
        }
        runtime::Error::UnknownKernel { .. } | runtime::Error::UnknownWord { .. } => {
            refused(text, &["unknown"])
        }
        runtime::Error::NoDriver
        | runtime::Error::NoDevice { .. }
        | runtime::Error::NoLibrary { .. }
        | runtime::Error::Cuda { .. }
        | runtime::Error::Load { .. }
        | runtime::Error::Emulator { .. }
        | runtime::Error::Stopped { .. }
        | runtime::Error::Fault(_)
        | runtime::Error::ContextLost { .. }
        | runtime::Error::ProcessLost { .. }
        | runtime::Error::NoMemory { .. }
        | runtime::Error::HostMemory { .. }
        | runtime::Error::OutOfMemory { .. }
        | runtime::Error::NotForDevice { .. }
        | runtime::Error::DeviceLost { .. } => DeviceError::new_err(text),
        _ => Error::new_err(text),
    }
}

/// A refusal with its reasons' kinds.
fn refused(text: String, kinds: &[&str]) -> PyErr {
    let raised = Refused::new_err(text);
    Python::attach(|py| {
        // An exception without the attribute still has its text.
        let _ = raised.value(py).setattr("kinds", kinds.to_vec());
    });
    raised
}

/// An error of reading a tensor, told of the operand that it was given for.
pub(crate) fn of_operand(py: Python<'_>, operand: &str, error: PyErr) -> PyErr {
    let own = error.is_instance_of::<Error>(py) || error.is_instance_of::<PyTypeError>(py);
    match own {
        true => PyErr::from_type(
            error.get_type(py),
            format!("`{operand}`: {}", error.value(py)),
        ),
        // Whatever a producer raises stays what it is.
        false => error,
    }
}
