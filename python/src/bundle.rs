//! An open bundle on a device: its kernels, by name and by what is wanted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tilewright_runtime::bundle::{Kernel, Policy, PublicKey};
use tilewright_runtime::cuda::Current;
use tilewright_runtime::{Device, EmulatorSettings, Runtime};

use crate::failure::{Error, raised};
use crate::kernel::PyKernel;
use crate::request::Request;

/// A bundle on a device.
#[pyclass(frozen, name = "Bundle", module = "tilewright")]
pub(crate) struct PyBundle {
    runtime: Arc<Runtime>,
    path: PathBuf,
    name: String,
}

/// Opens the bundle at `path`, a folder or one zip file, on a GPU (`cuda`, `cuda:1`) or on the
/// emulator, which pretends to have `sms` multiprocessors of compute capability `sm`, or of every
/// one. With `require_key`, a file of public keys (PEM), only if one of them has signed it.
#[pyfunction]
#[pyo3(signature = (path, device="cuda", *, sms=4, sm=None, require_key=None))]
pub(crate) fn open(
    py: Python<'_>,
    path: PathBuf,
    device: &str,
    sms: u32,
    sm: Option<u32>,
    require_key: Option<PathBuf>,
) -> PyResult<PyBundle> {
    let policy = match &require_key {
        Some(file) => signed_by(file)?,
        None => Policy::Unsigned,
    };
    let (device, name) = match device.split_once(':') {
        None if device == "emulator" => {
            let settings = EmulatorSettings {
                sms,
                sm,
                ..EmulatorSettings::default()
            };
            (Device::emulator_with(settings), device.to_owned())
        }
        None if device == "cuda" => gpu(current_device(py)?)?,
        Some(("cuda", ordinal)) => {
            let ordinal = ordinal.parse();
            gpu(ordinal.map_err(|_| unknown_device(device))?)?
        }
        _ => return Err(unknown_device(device)),
    };
    let runtime = Runtime::open_with(&path, device, &policy).map_err(raised)?;
    Ok(PyBundle {
        runtime: Arc::new(runtime),
        path,
        name,
    })
}

fn signed_by(file: &Path) -> PyResult<Policy> {
    let failed = |error: String| Error::new_err(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    let keys = PublicKey::all_from_pem(&text).map_err(|error| failed(error.to_string()))?;
    Ok(Policy::signed_by(keys))
}

fn unknown_device(device: &str) -> PyErr {
    Error::new_err(format!(
        "{device:?} is no device: say \"cuda\", \"cuda:1\" or \"emulator\""
    ))
}

fn gpu(ordinal: usize) -> PyResult<(Device, String)> {
    let _current = Current::kept().map_err(raised)?;
    let device = Device::cuda(ordinal).map_err(raised)?;
    Ok((device, format!("cuda:{ordinal}")))
}

/// PyTorch's current device where PyTorch is in use, else the first.
fn current_device(py: Python<'_>) -> PyResult<usize> {
    let modules = py.import("sys")?.getattr("modules")?;
    let modules = modules.cast::<PyDict>()?;
    match modules.get_item("torch")? {
        Some(torch) => {
            let cuda = torch.getattr("cuda")?;
            if !cuda.call_method0("is_available")?.extract::<bool>()? {
                return Ok(0);
            }
            cuda.call_method0("current_device")?.extract()
        }
        None => Ok(0),
    }
}

impl PyBundle {
    fn kernel_at(&self, at: usize) -> PyKernel {
        PyKernel {
            runtime: self.runtime.clone(),
            at,
        }
    }

    fn place(&self, kernel: &Kernel) -> usize {
        let mut kernels = self.runtime.kernels().iter();
        kernels.position(|k| k.id == kernel.id).unwrap_or(0)
    }
}

#[pymethods]
impl PyBundle {
    /// The kernels, ordered by id.
    #[getter]
    fn kernels(&self) -> Vec<PyKernel> {
        (0..self.runtime.kernels().len())
            .map(|at| self.kernel_at(at))
            .collect()
    }

    /// The folder it was opened in.
    #[getter]
    fn path(&self) -> &PathBuf {
        &self.path
    }

    /// The device: `cuda:0`, `emulator`.
    #[getter]
    fn device(&self) -> &str {
        &self.name
    }

    /// What the device says of itself.
    #[getter]
    fn device_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = self.runtime.device().info();
        let told = PyDict::new(py);
        told.set_item("name", &info.name)?;
        told.set_item("sm", info.sm)?;
        told.set_item("sms", info.sms)?;
        told.set_item("l2_bytes", info.l2_bytes)?;
        told.set_item("memory_bytes", info.memory_bytes)?;
        Ok(told)
    }

    /// The `ptxas` that checked the kernels, where one did.
    #[getter]
    fn ptxas(&self) -> Option<String> {
        self.runtime.bundle().provenance().ptxas.clone()
    }

    /// The kernel of that id, else the first whose id begins so.
    fn find(&self, name: &str) -> PyResult<PyKernel> {
        let kernel = self.runtime.named(name).map_err(raised)?;
        Ok(self.kernel_at(self.place(kernel)))
    }

    /// The first kernel of each function, or of each that a word means: a spec's word or name, or
    /// the beginning of a function's hash.
    #[pyo3(signature = (word=None))]
    fn functions(&self, word: Option<&str>) -> PyResult<Vec<PyKernel>> {
        let found = match word {
            Some(word) => self.runtime.meant(word).map_err(raised)?,
            None => self.runtime.functions(),
        };
        let found = found.into_iter();
        Ok(found
            .map(|kernel| self.kernel_at(self.place(kernel)))
            .collect())
    }

    /// The kernel to use for tensors: of those that a word means and that take tensors of these
    /// types, the one that the bundle's tables choose, else the first that fits.
    #[pyo3(signature = (word, *, promises=None, **tensors_and_scalars))]
    fn pick(
        &self,
        word: &str,
        promises: Option<Vec<String>>,
        tensors_and_scalars: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyKernel> {
        let promises = promises.unwrap_or_default();
        let meant = self.runtime.meant(word).map_err(raised)?;
        let mut requests = Vec::new();
        for kernel in &meant {
            requests.push(Request::read(kernel, tensors_and_scalars, &promises, None)?);
        }
        let placed: Vec<_> = requests.iter().map(Request::placed).collect();
        let meant: Vec<_> = meant.into_iter().zip(&placed).collect();
        let chosen = self.runtime.choose(word, &meant).map_err(raised)?;
        Ok(self.kernel_at(self.place(chosen.kernel)))
    }

    fn __len__(&self) -> usize {
        self.runtime.kernels().len()
    }

    fn __repr__(&self) -> String {
        let kernels = self.runtime.kernels().len();
        format!(
            "<tilewright.Bundle {}: {kernels} kernels on {}>",
            self.path.display(),
            self.name
        )
    }
}
