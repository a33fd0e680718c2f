//! An open bundle on a device: its kernels, by name and by what is wanted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tilewright_runtime::bundle::{Kernel, Policy, PublicKey};
use tilewright_runtime::cuda::Current;
use tilewright_runtime::{
    self as runtime, Device, EmulatorSettings, KernelCounters, Load, Options, PtxCache, Runtime,
};

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
///
/// `load="eager"` loads the code of all kernels now, so that no launch waits for a compiler.
/// `ptx_cache` is a folder of the caller's own that keeps what the driver makes of PTX. With
/// `cubin_only` the bundle's machine code alone is run on a GPU, and nothing is compiled. With
/// `sticky_faults` a fault on the emulator takes the device with it, as it does on a GPU.
#[pyfunction]
#[pyo3(signature = (path, device="cuda", *, sms=4, sm=None, require_key=None, load="lazy",
                    ptx_cache=None, cubin_only=false, sticky_faults=false))]
// Each is a keyword of Python's.
#[allow(clippy::too_many_arguments)]
pub(crate) fn open(
    py: Python<'_>,
    path: PathBuf,
    device: &str,
    sms: u32,
    sm: Option<u32>,
    require_key: Option<PathBuf>,
    load: &str,
    ptx_cache: Option<PathBuf>,
    cubin_only: bool,
    sticky_faults: bool,
) -> PyResult<PyBundle> {
    let options = Options {
        load: loading(load)?,
        ptx_cache: match &ptx_cache {
            Some(folder) => Some(PtxCache::open(folder).map_err(raised)?),
            None => None,
        },
        cubin_only,
    };
    let policy = match &require_key {
        Some(file) => signed_by(file)?,
        None => Policy::Unsigned,
    };
    // A bundle that is not there is told before a driver that is not. What takes time takes no
    // other thread's.
    let bundle = py.detach(|| policy.open(&path));
    let bundle = bundle.map_err(|error| raised(runtime::Error::from(error)))?;
    let (device, name) = match device.split_once(':') {
        None if device == "emulator" => {
            let settings = EmulatorSettings {
                sms,
                sm,
                sticky_faults,
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
    let opened = py.detach(|| {
        let is_gpu = matches!(device, Device::Cuda(_));
        let _current = is_gpu.then(Current::kept).transpose()?;
        Runtime::new(bundle, device).with_options(&options)
    });
    Ok(PyBundle {
        runtime: Arc::new(opened.map_err(raised)?),
        path,
        name,
    })
}

fn loading(word: &str) -> PyResult<Load> {
    match word {
        "lazy" => Ok(Load::Lazy),
        "eager" => Ok(Load::Eager),
        _ => Err(Error::new_err(format!(
            "load is {word:?}: say \"lazy\", at first use, or \"eager\", now"
        ))),
    }
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

/// A kernel's counters by name.
fn named<'py>(py: Python<'py>, counted: &KernelCounters) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    for (name, value) in counted.named() {
        told.set_item(name, value)?;
    }
    Ok(told)
}

impl PyBundle {
    fn kernel_at(&self, at: usize) -> PyKernel {
        PyKernel {
            runtime: self.runtime.clone(),
            at,
        }
    }

    /// Asks about the functions that a word means, each with what the keywords of a call are to it.
    fn asked<T>(
        &self,
        word: &str,
        promises: Option<Vec<String>>,
        keywords: Option<&Bound<'_, PyDict>>,
        ask: impl FnOnce(&[(&Kernel, &runtime::Request<'_>)]) -> PyResult<T>,
    ) -> PyResult<T> {
        let promises = promises.unwrap_or_default();
        let kernels = self.runtime.meant(word).map_err(raised)?;
        let read = |kernel: &&Kernel| Request::read(kernel, keywords, &promises, None);
        let requests: Vec<Request> = kernels.iter().map(read).collect::<PyResult<_>>()?;
        let placed: Vec<_> = requests.iter().map(Request::placed).collect();
        let meant: Vec<_> = kernels.into_iter().zip(&placed).collect();
        ask(&meant)
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

    /// SHA-256 of all that it holds.
    #[getter]
    fn hash(&self) -> String {
        self.runtime.bundle().hash().to_string()
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

    /// The kernel of that id, else the first of the spec of that name, else the first whose id
    /// begins so.
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
    /// types, the one that the bundle's tables choose, else the most special that fits.
    #[pyo3(signature = (word, *, promises=None, **tensors_and_scalars))]
    fn pick(
        &self,
        word: &str,
        promises: Option<Vec<String>>,
        tensors_and_scalars: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyKernel> {
        self.asked(word, promises, tensors_and_scalars, |meant| {
            let chosen = self.runtime.choose(word, meant).map_err(raised)?;
            Ok(self.kernel_at(self.place(chosen.kernel)))
        })
    }

    /// What `pick` picks for tensors and by which rule, the row of a tuning table or the order of
    /// kernels, and why each other kernel of the function is not picked, as lines to be read.
    /// Nothing is counted.
    #[pyo3(signature = (word, *, promises=None, **tensors_and_scalars))]
    fn explain(
        &self,
        word: &str,
        promises: Option<Vec<String>>,
        tensors_and_scalars: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        self.asked(word, promises, tensors_and_scalars, |meant| {
            Ok(self.runtime.explain(word, meant).to_string())
        })
    }

    /// What the bundle's kernels have done since it was opened, as numbers: a copy.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.runtime.counters();
        let kernels = PyDict::new(py);
        for (id, counted) in &counters.kernels {
            kernels.set_item(id, named(py, counted)?)?;
        }
        let told = PyDict::new(py);
        told.set_item("kernels", kernels)?;
        told.set_item("skipped", counters.skipped)?;
        told.set_item("fallbacks", counters.fallbacks)?;
        told.set_item("unfit", counters.unfit)?;
        told.set_item("is_lost", counters.is_lost)?;
        Ok(told)
    }

    /// Whether a kernel has faulted and taken the device with it: on a GPU end the process and
    /// start it anew, on the emulator open the bundle again.
    #[getter]
    fn is_lost(&self) -> bool {
        self.runtime.device().is_lost()
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
