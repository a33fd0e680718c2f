//! A kernel of an open bundle: what it computes, what it takes, and calling it.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tilewright_runtime::bundle::{Kernel, Operand, PackedOrder};
use tilewright_runtime::cuda::Current;
use tilewright_runtime::{Device, Runtime, alignment_bytes, stride_multiples};

use crate::failure::raised;
use crate::launch::PyLaunch;
use crate::request::Request;

/// One tensor that a kernel takes.
#[pyclass(frozen, get_all, name = "Operand", module = "tilewright")]
pub(crate) struct PyOperand {
    /// Its name in the formula.
    name: String,
    /// `in`, `out` or `inout`.
    role: &'static str,
    /// Element type: `bf16`.
    dtype: &'static str,
    /// Shape and strides in elements: `(m,k):(lda,1)`.
    layout: String,
    /// Strides as the layout has them: `["lda", "1"]`.
    stride: Vec<String>,
    /// Extents as the layout has them: `["m", "k"]`.
    shape: Vec<String>,
    /// What the stride of each axis is a multiple of, in elements, where the layout names it.
    multiple: Vec<i64>,
    /// What the first element's address is a multiple of, in bytes.
    alignment: u32,
    /// The input whose place it may take.
    over: Option<String>,
    /// Of a packed operand its order in memory.
    packed: Option<PyOrder>,
}

/// The order in memory of a packed operand: see `tilewright.pack`.
#[pyclass(frozen, get_all, name = "Order", module = "tilewright")]
#[derive(Clone)]
pub(crate) struct PyOrder {
    /// Extents of a tile, of each axis by modes, the fastest first.
    shape: Vec<Vec<u32>>,
    /// Strides of these modes, in elements.
    stride: Vec<Vec<u32>>,
    /// CuTe's bits, base and shift of a swizzle of a tile's elements.
    swizzle: Option<[u32; 3]>,
    /// Axes in the order in which tiles along them follow one another, the fastest first.
    order: Vec<u32>,
    /// What the number of tiles along each axis is a multiple of.
    multiple: Vec<u32>,
    /// All of it as CuTe prints it.
    text: String,
}

impl PyOrder {
    fn of(order: &PackedOrder) -> PyOrder {
        PyOrder {
            shape: order.shape.clone(),
            stride: order.stride.clone(),
            swizzle: order.swizzle,
            order: order.order.clone(),
            multiple: order.multiple.clone(),
            text: order.to_string(),
        }
    }
}

#[pymethods]
impl PyOrder {
    fn __repr__(&self) -> String {
        format!("<tilewright.Order {}>", self.text)
    }
}

impl PyOperand {
    fn of(kernel: &Kernel, operand: &Operand) -> PyOperand {
        let shape = operand.layout.shape.iter();
        let stride = operand.layout.stride.iter();
        PyOperand {
            name: operand.name.clone(),
            role: operand.role.text(),
            dtype: operand.dtype.text(),
            layout: operand.layout.text().to_owned(),
            shape: shape.map(|extent| extent.text().to_owned()).collect(),
            stride: stride.map(|stride| stride.text().to_owned()).collect(),
            multiple: stride_multiples(kernel, operand),
            alignment: alignment_bytes(kernel, operand),
            over: operand.over.clone(),
            packed: operand.packed.as_ref().map(PyOrder::of),
        }
    }
}

#[pymethods]
impl PyOperand {
    fn __repr__(&self) -> String {
        let PyOperand {
            name,
            dtype,
            layout,
            role,
            ..
        } = self;
        format!("<{role} {name}: {dtype} {layout}>")
    }
}

/// A kernel of an open bundle. Calling it with named tensors and scalars launches it.
#[pyclass(frozen, name = "Kernel", module = "tilewright")]
pub(crate) struct PyKernel {
    pub runtime: Arc<Runtime>,
    /// Its place among the bundle's kernels.
    pub at: usize,
}

impl PyKernel {
    /// Refuses what is given without a name, with the names.
    fn by_name(&self, positional: &Bound<'_, PyTuple>) -> PyResult<()> {
        if positional.is_empty() {
            return Ok(());
        }
        let semantics = &self.kernel().semantics;
        let operands = semantics.operands.iter().map(|one| one.name.as_str());
        let scalars = semantics.scalars.iter().map(|one| one.name.as_str());
        let names: Vec<String> = operands
            .chain(scalars)
            .map(|name| format!("{name}=..."))
            .collect();
        Err(PyTypeError::new_err(format!(
            "tensors and scalars are given by name, here {} without: write kernel({})",
            positional.len(),
            names.join(", ")
        )))
    }

    /// A launch of tensors that are ready on a stream.
    fn bound(
        &self,
        stream: Option<&Bound<'_, PyAny>>,
        workspace: Option<&Bound<'_, PyAny>>,
        promises: Option<Vec<String>>,
        tensors_and_scalars: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyLaunch> {
        let promises = promises.unwrap_or_default();
        let request = Request::read(self.kernel(), tensors_and_scalars, &promises, stream)?;
        PyLaunch::bind(&self.runtime, self.kernel(), request, workspace)
    }

    /// The kernel itself.
    pub fn kernel(&self) -> &Kernel {
        // The place was taken from the same bundle, which does not change.
        &self.runtime.kernels()[self.at]
    }
}

#[pymethods]
impl PyKernel {
    /// The point's name, unique in the bundle.
    #[getter]
    fn id(&self) -> &str {
        &self.kernel().id
    }

    /// The part of the id before `@`.
    #[getter]
    fn spec(&self) -> &str {
        &self.kernel().spec
    }

    /// The spec's word for it: `gemm`, `copy`.
    #[getter]
    fn word(&self) -> &str {
        &self.kernel().kernel
    }

    /// What it computes: `d[m,n] = sum[k] a[m,k] * b[n,k]`.
    #[getter]
    fn formula(&self) -> &str {
        &self.kernel().semantics.compute
    }

    /// SHA-256 of the function: kernels of the same one may stand for one another.
    #[getter]
    fn function(&self) -> String {
        self.kernel().semantics.function.to_string()
    }

    /// The tensors it takes.
    #[getter]
    fn operands(&self) -> Vec<PyOperand> {
        let kernel = self.kernel();
        let operands = kernel.semantics.operands.iter();
        operands.map(|o| PyOperand::of(kernel, o)).collect()
    }

    /// The numbers it takes by value, with their types.
    #[getter]
    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for scalar in &self.kernel().semantics.scalars {
            all.set_item(&scalar.name, scalar.dtype.text())?;
        }
        Ok(all)
    }

    /// The extents that follow from the tensors' shapes.
    #[getter]
    fn extents(&self) -> Vec<&str> {
        self.kernel().free_extents().map(|(_, text)| text).collect()
    }

    /// The extents that are the same for every launch, with their values.
    #[getter]
    fn constants(&self) -> BTreeMap<&str, i64> {
        let modes = self.kernel().semantics.modes.iter();
        modes
            .map(|(mode, extent)| (mode.as_str(), *extent))
            .collect()
    }

    /// What must hold before a launch, one line each.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        let all = self.kernel().assumptions.iter();
        all.map(|assumption| assumption.text()).collect()
    }

    /// Type of the sums.
    #[getter]
    fn accumulator(&self) -> Option<&'static str> {
        self.kernel().accumulator().map(|dtype| dtype.text())
    }

    /// The least compute capability, and whether no other will do: `(90, True)`.
    #[getter]
    fn capability(&self) -> (u32, bool) {
        let capability = self.kernel().capability;
        (capability.min_sm, capability.exact)
    }

    /// The bundle's device: `cuda:0`, `emulator`.
    #[getter]
    fn device(&self) -> String {
        match self.runtime.device() {
            Device::Cuda(device) => format!("cuda:{}", device.ordinal()),
            Device::Emulator(_) => "emulator".to_owned(),
        }
    }

    /// Whether it runs on the bundle's device at all.
    #[getter]
    fn runs_here(&self) -> bool {
        let info = self.runtime.device().info();
        let capability = self.kernel().capability;
        info.sm.is_none_or(|sm| capability.allows(sm))
    }

    /// Loads its code, so that the first launch does not.
    fn load(&self) -> PyResult<()> {
        let _current = match self.runtime.device() {
            Device::Cuda(_) => Some(Current::kept().map_err(raised)?),
            Device::Emulator(_) => None,
        };
        self.runtime.load(self.kernel()).map(|_| ()).map_err(raised)
    }

    /// Checks everything once and keeps the tensors: what comes back launches when it is called.
    #[pyo3(signature = (*positional, workspace=None, promises=None, **tensors_and_scalars))]
    fn bind(
        &self,
        positional: &Bound<'_, PyTuple>,
        workspace: Option<&Bound<'_, PyAny>>,
        promises: Option<Vec<String>>,
        tensors_and_scalars: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyLaunch> {
        self.by_name(positional)?;
        self.bound(None, workspace, promises, tensors_and_scalars)
    }

    /// Launches on named tensors and scalars, on the current stream or on the one given.
    #[pyo3(signature = (*positional, stream=None, workspace=None, promises=None,
        **tensors_and_scalars))]
    fn __call__(
        &self,
        py: Python<'_>,
        positional: &Bound<'_, PyTuple>,
        stream: Option<&Bound<'_, PyAny>>,
        workspace: Option<&Bound<'_, PyAny>>,
        promises: Option<Vec<String>>,
        tensors_and_scalars: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.by_name(positional)?;
        self.bound(stream, workspace, promises, tensors_and_scalars)?
            .__call__(py, stream)
    }

    fn __repr__(&self) -> String {
        let Kernel { id, semantics, .. } = self.kernel();
        // The statements of a formula stand each on a line of its own.
        let statements = semantics.compute.lines().map(str::trim);
        let statements: Vec<&str> = statements.filter(|line| !line.is_empty()).collect();
        format!("<tilewright.Kernel {id}: {}>", statements.join("; "))
    }
}
