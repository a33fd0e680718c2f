//! An open bundle on a device: its kernels, by name and by what is wanted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tilewright_runtime::bundle::{Kernel, Policy, PublicKey, Sha256Hex};
use tilewright_runtime::cuda::Current;
use tilewright_runtime::{
    Described, Device, EmulatorSettings, Query, Runtime, alignment_bytes, takes,
};

use crate::failure::{Error, raised, refused};
use crate::kernel::PyKernel;
use crate::request::Request;

/// Characters of a function's hash that name it at least.
const SHORT_HASH: usize = 6;

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

    /// The kernels that a word means: by the spec's word, by the spec's name, or by the beginning
    /// of a function's hash.
    fn meant(&self, word: &str) -> PyResult<Vec<&Kernel>> {
        let is_hash = word.len() >= SHORT_HASH;
        let means = |kernel: &&Kernel| {
            let hash = kernel.semantics.function.to_string();
            kernel.kernel == word || kernel.spec == word || (is_hash && hash.starts_with(word))
        };
        let found: Vec<&Kernel> = self.runtime.kernels().iter().filter(means).collect();
        if found.is_empty() {
            let mut words: Vec<&str> = self
                .runtime
                .kernels()
                .iter()
                .map(|k| k.kernel.as_str())
                .collect();
            words.sort_unstable();
            words.dedup();
            let text = format!(
                "no kernel of the bundle is a {word:?}: it has {}",
                words.join(", ")
            );
            return Err(refused(text, &["unknown"]));
        }
        Ok(found)
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
        let kernels = self.runtime.kernels();
        let exact = kernels.iter().position(|k| k.id == name);
        let begun = || kernels.iter().position(|k| k.id.starts_with(name));
        match exact.or_else(begun) {
            Some(at) => Ok(self.kernel_at(at)),
            None => self
                .runtime
                .find(name, None)
                .map(|p| self.kernel_at(self.place(p.kernel)))
                .map_err(raised),
        }
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
        let mut functions: Vec<(&Kernel, Request)> = Vec::new();
        let mut others: Vec<String> = Vec::new();
        for kernel in self.meant(word)? {
            let known =
                |(k, _): &&(&Kernel, Request)| k.semantics.function == kernel.semantics.function;
            if functions.iter().any(|f| known(&f)) {
                continue;
            }
            let request = Request::read(kernel, tensors_and_scalars, &promises)?;
            match mismatch(kernel, &request) {
                None => functions.push((kernel, request)),
                Some(why) => others.push(format!("{}: {why}", kernel.spec)),
            }
        }
        others.dedup();
        if functions.len() > 1 {
            let all: Vec<String> = functions
                .iter()
                .map(|(k, _)| format!("{} ({:.12})", k.spec, k.semantics.function.to_string()))
                .collect();
            let text = format!(
                "{word:?} means {} functions that take these tensors: {}; say a spec or the \
                 beginning of a function's hash instead",
                all.len(),
                all.join(", ")
            );
            return Err(refused(text, &["ambiguous"]));
        }
        let Some((kernel, request)) = functions.pop() else {
            let text = format!(
                "no {word:?} kernel takes these tensors: {}",
                others.join("; ")
            );
            return Err(refused(text, &["nothing_fits"]));
        };
        let problem = request.problem(kernel)?;
        let function: Sha256Hex = kernel.semantics.function.clone();
        let query = Query::function(function);
        let chosen = self.runtime.select(&query, &problem, &[]).map_err(raised)?;
        if aligned(chosen.kernel, &request) {
            return Ok(self.kernel_at(self.place(chosen.kernel)));
        }
        let places: Vec<(&str, u64)> = request
            .tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor.address))
            .collect();
        let (bundle, info) = (self.runtime.bundle(), self.runtime.device().info());
        let pick = tilewright_runtime::pick(bundle, &query, &problem, info, &places);
        let pick = pick.map_err(raised)?;
        Ok(self.kernel_at(self.place(pick.kernel)))
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

/// Why a kernel is not what tensors are for: other names, types or numbers of axes.
fn mismatch(kernel: &Kernel, request: &Request) -> Option<String> {
    let described: Vec<Described<'_>> = request
        .tensors
        .iter()
        .map(|(n, t)| t.described(n))
        .collect();
    let operands = &kernel.semantics.operands;
    let names: Vec<&str> = operands.iter().map(|o| o.name.as_str()).collect();
    for tensor in &described {
        let Some(operand) = kernel.semantics.operand(tensor.operand) else {
            return Some(format!(
                "it takes {}, not {}",
                names.join(", "),
                tensor.operand
            ));
        };
        if !takes(operand.dtype, tensor.dtype) {
            return Some(format!(
                "its {} is {}, not {}",
                operand.name, operand.dtype, tensor.dtype
            ));
        }
        if operand.layout.rank() != tensor.place.shape().len() {
            return Some(format!("its {} is {}", operand.name, operand.layout));
        }
    }
    let missing = operands
        .iter()
        .find(|o| !described.iter().any(|t| t.operand == o.name));
    missing.map(|operand| format!("it takes {} as well", operand.name))
}

/// Whether the tensors lie as a kernel needs them.
fn aligned(kernel: &Kernel, request: &Request) -> bool {
    request.tensors.iter().all(|(name, tensor)| {
        let operand = kernel.semantics.operand(name);
        operand.is_none_or(|o| {
            tensor
                .address
                .is_multiple_of(u64::from(alignment_bytes(kernel, o)))
        })
    })
}
