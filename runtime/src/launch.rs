//! From a kernel, a problem and memory to a launch: every check, then numbers only.
//!
//! [`fit`] needs no memory: it matches layouts, evaluates assumptions and limits, and is what
//! picking a kernel uses. [`prepare`] adds the buffers and packs the parameters. Neither touches a
//! device, and both report everything that is wrong at once.

mod memory;
mod values;

use tilewright_bundle::{Assumption, Env, Kernel, Name, Param, ParamValue};
use tilewright_emulator::tensor_core::Rules;

pub use memory::alignment_bytes;
pub(crate) use values::range_of;

use crate::error::Refusal;
use crate::info::DeviceInfo;
use crate::layout::{Extents, bind, strides_refused};
use crate::problem::Problem;
use crate::tensor_map::{PlacedMap, strides_fit};
use values::{scalars, sizes, tensor_maps};

/// First driver with `cuTensorMapEncodeTiled`, in CUDA's own count of versions.
const TENSOR_MAP_DRIVER: u32 = 12_000;
/// First driver with `cuLaunchKernelEx` and `cuOccupancyMaxActiveClusters`.
const CLUSTER_DRIVER: u32 = 11_080;

/// A kernel that takes a problem: names bound, operands with extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// Values of all names. Until [`Fit::with_max_clusters`], `max_clusters` is an estimate: one
    /// CTA on every multiprocessor.
    pub env: Env,
    /// Extents of the operands, in the kernel's order.
    pub operands: Vec<Extents>,
}

impl Fit {
    /// The same with the number of clusters that a loaded kernel has room for at once.
    #[must_use]
    pub fn with_max_clusters(mut self, clusters: u32) -> Fit {
        self.env.set(Name::MAX_CLUSTERS, i64::from(clusters));
        self
    }
}

/// Memory given for an operand, as far as the checks need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    /// The operand's name.
    pub operand: &'a str,
    /// Device address of the first element.
    pub address: u64,
    /// Bytes from there to the end of the buffer.
    pub bytes: u64,
}

/// A launch as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster, if launched with clusters.
    pub cluster: Option<[u32; 3]>,
    /// Whether it may start before the launch before it in the stream has ended.
    pub programmatic: bool,
    /// Dynamic shared memory of a CTA.
    pub dynamic_smem_bytes: u32,
    /// Scratch memory to provide.
    pub workspace_bytes: u64,
    /// How many of its first bytes are zero before the launch and after it.
    pub workspace_zero_bytes: u32,
    /// The parameter block, with zeros where the workspace's address and tensor maps go.
    pub params: Vec<u8>,
    /// The tensor maps, for the backend to encode: see [`Launch::encode_maps`].
    pub tensor_maps: Vec<PlacedMap>,
    /// Offset of each parameter in the block.
    pub param_offsets: Vec<u32>,
    /// Where the workspace's address goes.
    pub workspace_at: Option<usize>,
}

impl Launch {
    /// Writes every tensor map into the parameter block with a backend's encoder.
    ///
    /// # Errors
    /// The maps that the encoder refuses.
    pub fn encode_maps(
        &mut self,
        encode: impl Fn(&PlacedMap) -> Result<[u8; 128], String>,
    ) -> Result<(), Vec<Refusal>> {
        let mut refusals = Vec::new();
        for placed in &self.tensor_maps {
            match encode(placed) {
                Ok(bytes) => put(&mut self.params, placed.at, &bytes),
                Err(problem) => refusals.push(Refusal::TensorMap {
                    parameter: placed.parameter.clone(),
                    problem,
                }),
            }
        }
        if refusals.is_empty() {
            Ok(())
        } else {
            Err(refusals)
        }
    }
}

/// What a finished or enqueued launch says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchReport {
    /// Instructions the emulator executed, counted per thread; zero on a GPU.
    pub thread_instructions: u64,
    /// Findings of the emulator below level error.
    pub warnings: Vec<String>,
    /// Whose tensor cores the emulator summed by; none on a GPU, or where no sum is an
    /// architecture's own.
    pub tensor_cores: Option<&'static Rules>,
}

/// Whether `kernel` runs on the device at all.
pub(crate) fn runs_on(kernel: &Kernel, device: &DeviceInfo) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let capability = kernel.capability;
    if let Some(sm) = device.sm
        && !capability.allows(sm)
    {
        refusals.push(Refusal::Capability {
            needs: capability.min_sm,
            exact: capability.exact,
            has: sm,
        });
    }
    let needs = kernel.min_driver.max(launching_driver(kernel));
    if let Some(has) = device.driver
        && has < needs
    {
        refusals.push(Refusal::Driver { needs, has });
    }
    refusals
}

/// The first driver that has the calls which a launch of the kernel needs.
fn launching_driver(kernel: &Kernel) -> u32 {
    let is_map = |p: &Param| matches!(p.value, ParamValue::TensorMap(_));
    if kernel.abi.params.iter().any(is_map) {
        TENSOR_MAP_DRIVER
    } else if kernel.abi.cluster.is_some() || kernel.abi.programmatic {
        CLUSTER_DRIVER
    } else {
        0
    }
}

/// Matches `kernel` with `problem` on a device.
///
/// # Errors
/// Every reason why it cannot run.
pub fn fit(kernel: &Kernel, problem: &Problem, device: &DeviceInfo) -> Result<Fit, Vec<Refusal>> {
    let mut refusals = runs_on(kernel, device);
    let mut env = problem.env(&kernel.names, &mut refusals);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    env.set(Name::SMS, i64::from(device.sms));
    let ctas = kernel
        .abi
        .cluster
        .map_or(1, |c| c.iter().map(|d| i64::from(*d)).product());
    env.set(Name::MAX_CLUSTERS, (i64::from(device.sms) / ctas).max(1));
    let mut operands = Vec::new();
    for operand in &kernel.semantics.operands {
        let Some(given) = problem.strides(&operand.name) else {
            refusals.push(Refusal::NoStrides {
                operand: operand.name.clone(),
            });
            continue;
        };
        match bind(operand, given, &mut env) {
            Ok(extents) if operand.role.is_written() && !extents.is_injective() => {
                let problem = "elements of an output share an address";
                refusals.push(strides_refused(operand, &extents, problem));
            }
            Ok(extents) => operands.push(extents),
            Err(refusal) => refusals.push(refusal),
        }
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    assumptions(kernel, &env, &mut refusals);
    let fit = Fit { env, operands };
    sizes(kernel, &fit.env, device, &mut refusals);
    scalars(
        kernel,
        &fit.env,
        &mut vec![0; kernel.abi.param_bytes() as usize],
        &mut refusals,
    );
    tensor_maps(kernel, &fit.env, |_| Some(0), &mut refusals);
    if refusals.is_empty() {
        Ok(fit)
    } else {
        Err(refusals)
    }
}

/// What is wrong when loaded code has other parameters than the manifest says; `found` are offset
/// and size of each.
pub(crate) fn other_params(kernel: &Kernel, found: &[(u32, u32)]) -> Option<Refusal> {
    let params = kernel.abi.params.iter();
    let stated: Vec<(u32, u32)> = params.map(|p| (p.offset, p.size)).collect();
    let problem =
        || format!("parameters are (offset, size) {found:?}; the manifest says {stated:?}");
    (found != stated).then(|| Refusal::Abi { problem: problem() })
}

fn assumptions(kernel: &Kernel, env: &Env, refusals: &mut Vec<Refusal>) {
    for assumption in &kernel.assumptions {
        let Assumption::Expr { expr, reason } = assumption else {
            continue;
        };
        match (expr.holds(env), expr.sides(env)) {
            (Ok(true), _) => {}
            (Ok(false), Ok((a, b))) => refusals.push(Refusal::Assumption {
                text: expr.text().to_owned(),
                found: format!("{a} against {b}"),
                reason: reason.clone(),
            }),
            (Err(error), _) | (_, Err(error)) => refusals.push(Refusal::Expression {
                what: format!("assumption {}", expr.text()),
                error,
            }),
        }
    }
}

/// Whether the kernel takes the value of `name` as far as the names bound in `env` tell: every
/// assumption and every stride of a tensor map that mentions it and can be evaluated.
pub(crate) fn allows(kernel: &Kernel, env: &Env, name: Name) -> bool {
    let assumed = kernel
        .assumptions
        .iter()
        .all(|assumption| match assumption {
            Assumption::Expr { expr, .. } if expr.names().any(|n| n == name) => {
                expr.holds(env).unwrap_or(true)
            }
            _ => true,
        });
    let mapped = kernel.abi.params.iter().all(|param| match &param.value {
        ParamValue::TensorMap(map) => strides_fit(map, env, name),
        _ => true,
    });
    assumed && mapped
}

/// Dynamic shared memory of a CTA of a kernel that fits.
///
/// # Errors
/// As [`fit`], for the sizes alone.
pub(crate) fn dynamic_smem_bytes(
    kernel: &Kernel,
    fit: &Fit,
    device: &DeviceInfo,
) -> Result<u32, Vec<Refusal>> {
    let mut refusals = Vec::new();
    let (_, bytes, _) = sizes(kernel, &fit.env, device, &mut refusals);
    if refusals.is_empty() {
        Ok(bytes)
    } else {
        Err(refusals)
    }
}

/// Copies `bytes` to `at`; the bundle's checks have made room.
fn put(params: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = params.get_mut(at..at.saturating_add(bytes.len())) {
        place.copy_from_slice(bytes);
    }
}

/// Checks the memory given for a problem that fits, and packs the launch.
///
/// # Errors
/// Every reason why it cannot be launched.
pub fn prepare(
    kernel: &Kernel,
    fit: &Fit,
    device: &DeviceInfo,
    views: &[View<'_>],
) -> Result<Launch, Vec<Refusal>> {
    let mut refusals = Vec::new();
    let (grid, dynamic_smem_bytes, workspace_bytes) =
        sizes(kernel, &fit.env, device, &mut refusals);
    let mut params = vec![0; kernel.abi.param_bytes() as usize];
    scalars(kernel, &fit.env, &mut params, &mut refusals);
    memory::check(kernel, fit, views, &mut refusals);
    let address = |operand: &str| {
        let view = views.iter().find(|v| v.operand == operand)?;
        Some(view.address)
    };
    let tensor_maps = tensor_maps(kernel, &fit.env, address, &mut refusals);
    memory::check_maps(&tensor_maps, views, &mut refusals);
    let mut workspace_at = None;
    for param in &kernel.abi.params {
        let at = param.offset as usize;
        match &param.value {
            ParamValue::Scalar { .. } | ParamValue::TensorMap(_) => {}
            ParamValue::Workspace => workspace_at = Some(at),
            ParamValue::Pointer { operand } => {
                if let Some(address) = address(operand) {
                    put(&mut params, at, &address.to_le_bytes());
                }
            }
        }
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    Ok(Launch {
        grid,
        block: kernel.abi.block,
        cluster: kernel.abi.cluster,
        programmatic: kernel.abi.programmatic,
        dynamic_smem_bytes,
        workspace_bytes,
        workspace_zero_bytes: kernel.abi.workspace_zero_bytes,
        params,
        tensor_maps,
        param_offsets: kernel.abi.params.iter().map(|p| p.offset).collect(),
        workspace_at,
    })
}
