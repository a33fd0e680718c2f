//! A kernel bound to tensors: checked once, launched as often as one likes.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tilewright_lab::verify::{Data, FormulaReference};
use tilewright_runtime::bundle::Kernel;
use tilewright_runtime::cuda::{CudaDevice, Current, DeviceMemory};
use tilewright_runtime::{
    Device, Fit, HostLaunch, LoadedKernel, Prepared, Problem, Runtime, elements,
};

use crate::arrays::{self, Kept};
use crate::dlpack;
use crate::failure::{self, Error, raised};
use crate::reading::{read, torch_address};
use crate::request::{Request, placed};
use crate::stream::{self, Ready};
use crate::tensor::{Home, Tensor};

/// The keyword of scratch memory.
const WORKSPACE: &str = "workspace";

/// How it is launched.
enum Way {
    Cuda(Box<OnGpu>),
    Emulator(Box<HostLaunch>),
}

/// What a launch on a GPU keeps.
struct OnGpu {
    device: CudaDevice,
    prepared: Prepared,
    workspace: Option<Workspace>,
}

/// Scratch memory of the caller's.
struct Workspace {
    memory: DeviceMemory,
    _tensor: Tensor,
}

/// A kernel bound to tensors, which it keeps. Calling it launches.
#[pyclass(frozen, name = "Launch", module = "tilewright")]
pub(crate) struct PyLaunch {
    runtime: Arc<Runtime>,
    loaded: Arc<LoadedKernel>,
    problem: Problem,
    tensors: Vec<(String, Tensor)>,
    way: Way,
}

impl PyLaunch {
    /// Binds a kernel to what a request names.
    pub fn bind(
        runtime: &Arc<Runtime>,
        kernel: &Kernel,
        request: Request,
        workspace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyLaunch> {
        let problem = request.problem(kernel)?;
        let tensors = request.tensors;
        check(kernel, &tensors)?;
        let (loaded, way) = match runtime.device() {
            Device::Cuda(device) => {
                let _current = Current::kept().map_err(raised)?;
                on_gpu(device, &tensors)?;
                let loaded = runtime.load(kernel).map_err(raised)?;
                let prepared = device.prepare(loaded.clone(), &problem, &placed(&tensors));
                let prepared = prepared.map_err(raised)?;
                let workspace = workspace.map(|tensor| lent(device, tensor)).transpose()?;
                let on_gpu = OnGpu {
                    device: device.clone(),
                    prepared,
                    workspace,
                };
                (loaded, Way::Cuda(Box::new(on_gpu)))
            }
            Device::Emulator(_) => {
                arrays::check(&tensors)?;
                let loaded = runtime.load(kernel).map_err(raised)?;
                let (device, operands) = (runtime.device(), placed(&tensors));
                let launch = HostLaunch::new(device, loaded.clone(), problem.clone(), &operands);
                let launch = Box::new(launch.map_err(raised)?);
                if let Some(workspace) = workspace {
                    check_workspace(&launch, workspace)?;
                }
                (loaded, Way::Emulator(launch))
            }
        };
        Ok(PyLaunch {
            runtime: runtime.clone(),
            loaded,
            problem,
            tensors,
            way,
        })
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        self.loaded.kernel()
    }

    /// What is computed.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Launches: on a GPU enqueues on a device's stream, on the emulator runs to the end.
    pub fn enqueue_on(&self, device: Option<&CudaDevice>) -> PyResult<()> {
        match (&self.way, device) {
            (Way::Cuda(on_gpu), Some(device)) => {
                let lent = on_gpu.workspace.as_ref().map(|lent| &lent.memory);
                // SAFETY: the tensors of the launch, its workspace included, are kept by this
                // value; work on the stream they are used on ends before their memory is used
                // again, which is the framework's own rule, and the caller's for graphs.
                let enqueued = unsafe { device.enqueue(&on_gpu.prepared, lent) };
                enqueued.map_err(raised)
            }
            (Way::Emulator(launch), _) => {
                let device = self.runtime.device();
                launch
                    .run(device, &placed(&self.tensors), &Kept)
                    .map(|_| ())
                    .map_err(raised)
            }
            (Way::Cuda(_), None) => Err(Error::new_err("a launch on a GPU needs a stream")),
        }
    }

    /// Refuses tensors that have other memory than when they were bound: PyTorch frees what a
    /// tensor had when it is given other data, or grows.
    fn check_places(&self, py: Python<'_>) -> PyResult<()> {
        for (name, tensor) in self.tensors.iter().filter(|(_, tensor)| tensor.is_torch) {
            if torch_address(tensor.object.bind(py))? != tensor.address {
                return Err(Error::new_err(format!(
                    "`{name}` has other memory than when it was bound (`.data = …`, `resize_`, \
                     `set_`): bind it again"
                )));
            }
        }
        Ok(())
    }

    /// The stream to use: the one given, else the framework's current one, else the default one.
    fn stream(
        &self,
        py: Python<'_>,
        given: Option<&Bound<'_, PyAny>>,
        ordinal: usize,
    ) -> PyResult<u64> {
        match given {
            Some(stream) => stream::given(stream),
            None if self.tensors.iter().any(|(_, t)| t.is_torch) => stream::of_torch(py, ordinal),
            None => Ok(0),
        }
    }

    /// Elements of every operand, dense, as they are now.
    fn dense(&self, device: Option<&CudaDevice>, fit: &Fit) -> PyResult<Vec<Option<Vec<u8>>>> {
        let operands = &self.kernel().semantics.operands;
        let mut all = Vec::new();
        for (operand, extents) in operands.iter().zip(&fit.operands) {
            let found = self.tensors.iter().find(|(name, _)| *name == operand.name);
            let Some((_, tensor)) = found else {
                all.push(None);
                continue;
            };
            let held = match device {
                None => arrays::dense(tensor),
                Some(device) => {
                    // SAFETY: the tensor is kept, and the copy is over when the call returns.
                    let memory = unsafe { device.borrow(tensor.address, tensor.span_bytes()) };
                    arrays::gathered(tensor, &device.download(&memory).map_err(raised)?)
                }
            };
            all.push(Some(match operand.packed {
                None => held,
                Some(_) => elements(operand, extents, &held),
            }));
        }
        Ok(all)
    }
}

#[pymethods]
impl PyLaunch {
    /// Launches on the current stream, or on the one given.
    #[pyo3(signature = (*, stream=None))]
    pub fn __call__(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.check_places(py)?;
        match &self.way {
            Way::Emulator(_) => {
                stream::none_of(stream)?;
                py.detach(|| self.enqueue_on(None))
            }
            Way::Cuda(on_gpu) => {
                let device = &on_gpu.device;
                let handle = self.stream(py, stream, device.ordinal())?;
                py.detach(|| {
                    let _current = Current::kept().map_err(raised)?;
                    self.enqueue_on(Some(&stream::on(device, handle)))
                })
            }
        }
    }

    /// Launches, and compares every element written with the kernel's own formula, computed in f64
    /// from the inputs: for small problems.
    #[pyo3(signature = (*, stream=None))]
    pub fn verify<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.check_places(py)?;
        let device = match &self.way {
            Way::Emulator(_) => {
                stream::none_of(stream)?;
                None
            }
            Way::Cuda(on_gpu) => {
                let device = &on_gpu.device;
                let handle = self.stream(py, stream, device.ordinal())?;
                Some(stream::on(device, handle))
            }
        };
        let verdict = py.detach(|| {
            let _current = device
                .as_ref()
                .map(|_| Current::kept())
                .transpose()
                .map_err(raised)?;
            let fit = self
                .runtime
                .device()
                .fit(self.kernel(), &self.problem)
                .map_err(raised)?;
            let before = self.dense(device.as_ref(), &fit)?;
            self.enqueue_on(device.as_ref())?;
            let after = self.dense(device.as_ref(), &fit)?;
            let reference = FormulaReference::of(self.kernel(), &self.problem, &fit);
            let reference = reference.map_err(raised)?.on(self.runtime.device());
            reference
                .judge(&before, &after, Data::Normals)
                .map_err(raised)
        })?;
        let told = PyDict::new(py);
        told.set_item("rel_err", verdict.rel_err)?;
        told.set_item("max_err", verdict.max_err)?;
        told.set_item("failure", verdict.failure)?;
        Ok(told)
    }

    /// The kernel's id.
    #[getter(kernel)]
    fn id(&self) -> &str {
        &self.kernel().id
    }

    /// Extents, strides and scalars as one line.
    #[getter(problem)]
    fn problem_text(&self) -> String {
        self.problem.to_string()
    }

    /// Bytes of scratch memory that it wants.
    #[getter]
    fn workspace_bytes(&self) -> u64 {
        match &self.way {
            Way::Cuda(on_gpu) => on_gpu.prepared.workspace_bytes(),
            Way::Emulator(launch) => launch.workspace_bytes(),
        }
    }

    /// The tensors by operand.
    #[getter]
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, tensor) in &self.tensors {
            all.set_item(name, tensor.object.bind(py))?;
        }
        Ok(all)
    }

    fn __repr__(&self) -> String {
        format!(
            "<tilewright.Launch {} on {}>",
            self.kernel().id,
            self.problem
        )
    }
}

/// Refuses tensors that must not be written where a kernel does.
fn check(kernel: &Kernel, tensors: &[(String, Tensor)]) -> PyResult<()> {
    for (name, tensor) in tensors {
        let operand = kernel.semantics.operand(name);
        let is_written = operand.is_some_and(|operand| operand.role.is_written());
        if let (true, Some(why)) = (is_written, dlpack::unwritable(tensor.hold)) {
            let text = format!("`{name}` is written, and the array given {why}");
            return Err(Error::new_err(text));
        }
    }
    Ok(())
}

/// Refuses tensors that are not on a device.
fn on_gpu(device: &CudaDevice, tensors: &[(String, Tensor)]) -> PyResult<()> {
    let ordinal = device.ordinal() as i64;
    for (name, tensor) in tensors {
        match tensor.home {
            Home::Cuda(None) | Home::Both => {}
            Home::Cuda(Some(at)) if at == ordinal => {}
            Home::Cuda(Some(at)) => {
                return Err(Error::new_err(format!(
                    "`{name}` is on cuda:{at}; the bundle is open on cuda:{ordinal}"
                )));
            }
            Home::Host => {
                return Err(Error::new_err(format!(
                    "`{name}` is in the host's memory; the bundle is open on cuda:{ordinal}"
                )));
            }
        }
    }
    Ok(())
}

/// What a caller gives as scratch memory, which the device writes.
fn scratch(tensor: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let told = |error| failure::of_operand(tensor.py(), WORKSPACE, error);
    let read = read(tensor, &Ready::OnDefault).map_err(told)?;
    match dlpack::unwritable(read.hold) {
        None => Ok(read),
        Some(why) => Err(Error::new_err(format!(
            "`{WORKSPACE}` is written, and the array given {why}"
        ))),
    }
}

/// Scratch memory of the caller's.
fn lent(device: &CudaDevice, tensor: &Bound<'_, PyAny>) -> PyResult<Workspace> {
    let named = [(WORKSPACE.to_owned(), scratch(tensor)?)];
    on_gpu(device, &named)?;
    let [(_, tensor)] = named;
    // SAFETY: the tensor says that the memory is its own, and is kept beside it.
    let memory = unsafe { device.borrow(tensor.address, tensor.span_bytes()) };
    Ok(Workspace {
        memory,
        _tensor: tensor,
    })
}

/// Refuses scratch memory for the emulator as a GPU does; the emulator has its own.
fn check_workspace(launch: &HostLaunch, tensor: &Bound<'_, PyAny>) -> PyResult<()> {
    let named = [(WORKSPACE.to_owned(), scratch(tensor)?)];
    arrays::check(&named)?;
    let [(_, tensor)] = named;
    let checked = launch.check_workspace(tensor.address, tensor.span_bytes());
    checked.map_err(raised)
}
