//! Whether a kernel takes a problem, as one bit: no words, no allocation.
//!
//! [`Acceptance`] holds what [`fit`](crate::launch::fit) works out again on every call: the parsed
//! layouts, and whether the device runs the kernel at all. A test holds the two against each other.

use tilewright_bundle::{Assumption, Env, Expr, Kernel, Name, ParamValue};

use crate::device::Arg;
use crate::info::DeviceInfo;
use crate::launch::{alignment_bytes, range_of, runs_on};
use crate::layout::OperandLayout;
use crate::problem::{MAX_EXTENT, Problem};
use crate::tensor_map::{MAX_EXTENT as MAX_MAP_EXTENT, fits_stride};

/// A kernel prepared to be asked about many problems.
#[derive(Debug, Clone)]
pub(crate) struct Acceptance {
    /// Whether the device runs the kernel.
    runs: bool,
    /// The layouts of the operands, in the kernel's order.
    layouts: Vec<OperandLayout>,
    /// Alignment that each operand needs, in the same order.
    aligned: Vec<u32>,
    /// Expressions with the range their values must have.
    ranges: Vec<(Expr, i64, i64)>,
    /// Strides of tensor maps, with the size of an element.
    strides: Vec<(Expr, i64)>,
    max_clusters: i64,
    sms: i64,
}

impl Acceptance {
    /// Prepares a kernel for a device.
    pub fn new(kernel: &Kernel, device: &DeviceInfo) -> Acceptance {
        let operands = &kernel.semantics.operands;
        let parsed: Result<Vec<OperandLayout>, String> =
            operands.iter().map(|o| o.layout.parse()).collect();
        let abi = &kernel.abi;
        let statics = i64::from(kernel.resources.static_smem_bytes);
        let smem = (i64::from(device.max_smem_bytes) - statics).max(0);
        let [x, y, z] = abi.grid.clone();
        let mut ranges = vec![
            (x, 1, i64::from(i32::MAX)),
            (y, 1, 65_535),
            (z, 1, 65_535),
            (abi.dynamic_smem_bytes.clone(), 0, smem),
            (abi.workspace_bytes.clone(), 0, 1 << 40),
        ];
        let mut strides = Vec::new();
        for param in &abi.params {
            match &param.value {
                ParamValue::Scalar { ty, expr } => {
                    let (least, most) = range_of(*ty);
                    ranges.push((expr.clone(), least, most));
                }
                ParamValue::TensorMap(map) => {
                    let bytes = i64::from(map.dtype.bytes());
                    let dims = map.dims.iter().map(|dim| (dim.clone(), 1, MAX_MAP_EXTENT));
                    ranges.extend(dims);
                    strides.extend(map.strides.iter().map(|expr| (expr.clone(), bytes)));
                }
                ParamValue::Pointer { .. } | ParamValue::Workspace => {}
            }
        }
        let ctas: i64 = abi
            .cluster
            .map_or(1, |c| c.iter().map(|d| i64::from(*d)).product());
        Acceptance {
            runs: parsed.is_ok() && runs_on(kernel, device).is_empty(),
            layouts: parsed.unwrap_or_default(),
            aligned: operands
                .iter()
                .map(|o| alignment_bytes(kernel, o))
                .collect(),
            ranges,
            strides,
            max_clusters: (i64::from(device.sms) / ctas.max(1)).max(1),
            sms: i64::from(device.sms),
        }
    }

    /// Whether the kernel it was made of takes a problem, with operands at these places.
    pub fn takes(&self, kernel: &Kernel, problem: &Problem, args: &[Arg<'_>]) -> bool {
        self.runs && self.is_aligned(kernel, args) && self.fits(kernel, problem).is_some()
    }

    fn is_aligned(&self, kernel: &Kernel, args: &[Arg<'_>]) -> bool {
        args.iter().all(|arg| {
            let operands = kernel.semantics.operands.iter().zip(&self.aligned);
            let mut named = operands.filter(|(operand, _)| operand.name == arg.operand);
            named.all(|(_, needs)| arg.offset_bytes.is_multiple_of(u64::from(*needs)))
        })
    }

    fn fits(&self, kernel: &Kernel, problem: &Problem) -> Option<()> {
        let mut env = Env::new();
        let named = [
            (Name::M, problem.m),
            (Name::N, problem.n),
            (Name::K, problem.k),
            (Name::Batch, problem.batch),
        ];
        for (name, value) in named {
            (1..=MAX_EXTENT).contains(&value).then_some(())?;
            env.set(name, value);
        }
        env.set(Name::Sms, self.sms);
        env.set(Name::MaxClusters, self.max_clusters);
        for (operand, layout) in kernel.semantics.operands.iter().zip(&self.layouts) {
            let given = problem.strides(&operand.name)?;
            let extents = layout.matches(given, &mut env).ok()?;
            (!operand.role.is_written() || extents.is_injective()).then_some(())?;
        }
        let holds = kernel
            .assumptions
            .iter()
            .all(|assumption| match assumption {
                Assumption::Expr { expr, .. } => expr.holds(&env).unwrap_or(false),
                Assumption::Align { .. } => true,
            });
        holds.then_some(())?;
        for (expr, least, most) in &self.ranges {
            let value = expr.eval(&env).ok()?;
            (*least..=*most).contains(&value).then_some(())?;
        }
        for (expr, bytes) in &self.strides {
            let stride = expr.eval(&env).ok()?.checked_mul(*bytes)?;
            fits_stride(stride).then_some(())?;
        }
        let clusters = kernel.abi.cluster.unwrap_or([1; 3]);
        for (expr, cluster) in kernel.abi.grid.iter().zip(clusters) {
            let count = expr.eval(&env).ok()?;
            (cluster > 0 && count % i64::from(cluster) == 0).then_some(())?;
        }
        Some(())
    }
}
