//! From a kernel, a problem and memory to a launch: every check, then numbers only.
//!
//! [`fit`] needs no memory: it matches layouts, evaluates assumptions and limits, and is what
//! picking a kernel uses. [`prepare`] adds the buffers and packs the parameters. Neither touches a
//! device, and both report everything that is wrong at once.

mod code;
mod numbers;
mod way_out;
mod memory;
mod promise;
mod values;

use std::sync::Arc;

use tilewright_bundle::{
    Assumption, Env, Kernel, LaunchAbi, Name, NameKind, Operand, ParamValue, Scalar,
};

pub(crate) use code::{cubin_fits, other_params, runs_on};
pub(crate) use memory::wrong_names;
pub use memory::{alignment_bytes, misaligned};
use numbers::put;
pub use numbers::{Launch, LaunchPart, LaunchReport, View};
pub(crate) use promise::is_promise;
use promise::promises;
pub(crate) use values::{beyond_limit, range_of};

use crate::error::{Refusal, Work};
use crate::launch::info::DeviceInfo;
use crate::launch::layout::{Extents, bind, strides_refused};
use crate::launch::problem::{Problem, constants, has_no_output};
use crate::launch::reorder;
use crate::launch::tensor_map::strides_fit;
use values::{integers, offset, sizes, tensor_maps, variance, workspace};
pub use way_out::stride_multiples;
use way_out::{found, is_stronger, way_out};

/// What is said of an output with several elements at one address.
const SHARED: &str = "elements of an output share an address: give strides that keep them apart, \
                      or smaller extents";

/// A kernel that takes a problem: names bound, operands with extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// Values of all names. Until [`Fit::with_max_clusters`] `max_clusters` is an estimate: one CTA
    /// on every multiprocessor.
    pub env: Env,
    /// Extents of the operands, in the kernel's order.
    pub operands: Vec<Extents>,
    /// Bytes of the scalars, in the kernel's order.
    scalars: Vec<Vec<u8>>,
    /// As the problem has it.
    workspace_limit: Option<u64>,
    /// Whether there is nothing to do.
    is_empty: bool,
}

impl Fit {
    /// Whether there is nothing to do: each output has an extent of 0. Such a launch is none, and
    /// asks nothing of memory.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The same with the number of clusters that the code of the kernel's
    /// [counted launch](Kernel::counted_launch) has room for at once.
    #[must_use]
    pub fn with_max_clusters(mut self, clusters: u32) -> Fit {
        self.env.set(Name::MAX_CLUSTERS, i64::from(clusters));
        self
    }

    /// Bytes of the scratch memory, with what speaks against them.
    pub(crate) fn workspace(&self, kernel: &Kernel, refusals: &mut Vec<Refusal>) -> u64 {
        workspace(kernel, &self.env, self.workspace_limit, refusals)
    }

    /// The bytes of a scalar.
    fn scalar(&self, kernel: &Kernel, wanted: &Scalar) -> &[u8] {
        let mut scalars = kernel.semantics.scalars.iter().zip(&self.scalars);
        let found = scalars.find(|(scalar, _)| *scalar == wanted);
        found.map(|(_, bytes)| bytes.as_slice()).unwrap_or_default()
    }
}

/// Clusters of the counted launch with one CTA on every multiprocessor.
pub(crate) fn estimated_clusters(kernel: &Kernel, device: &DeviceInfo) -> i64 {
    let counted = kernel.launches.get(kernel.counted_launch());
    let ctas = counted.map_or(1, LaunchAbi::cluster_ctas);
    (i64::from(device.sms) / ctas.max(1)).max(1)
}

/// Matches `kernel` with `problem` on a device.
///
/// # Errors
/// Every reason why it cannot run.
pub fn fit(kernel: &Kernel, problem: &Problem, device: &DeviceInfo) -> Result<Fit, Vec<Refusal>> {
    let mut refusals = runs_on(kernel, device);
    let mut env = problem.env(kernel, &mut refusals);
    let scalars = given_scalars(kernel, problem, &mut refusals);
    refusals.extend(unknown_promises(kernel, problem));
    if !refusals.is_empty() {
        return Err(refusals);
    }
    env.set(Name::SMS, i64::from(device.sms));
    env.set(Name::MAX_CLUSTERS, estimated_clusters(kernel, device));
    if has_no_output(kernel, &env) {
        return Ok(Fit {
            operands: empty_operands(kernel, problem, &env),
            env,
            scalars,
            workspace_limit: None,
            is_empty: true,
        });
    }
    let operands = bound_operands(kernel, problem, &mut env, &mut refusals);
    assumptions(kernel, problem, &env, &mut refusals);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let fit = Fit {
        env,
        operands,
        scalars,
        workspace_limit: problem.workspace_limit(),
        is_empty: false,
    };
    fit.workspace(kernel, &mut refusals);
    refusals.extend(variance(kernel).filter(|_| problem.is_batch_invariant()));
    for (at, abi) in kernel.launches.iter().enumerate() {
        sizes(kernel, at, abi, &fit.env, device, &mut refusals);
        integers(
            abi,
            &fit.env,
            &mut vec![0; abi.param_bytes() as usize],
            &mut refusals,
        );
        tensor_maps(abi, &fit.env, |_| Some(0), &mut refusals);
    }
    if refusals.is_empty() {
        Ok(fit)
    } else {
        Err(refusals)
    }
}

/// The operands with their strides, which give the names of layouts their values.
fn bound_operands(
    kernel: &Kernel,
    problem: &Problem,
    env: &mut Env,
    refusals: &mut Vec<Refusal>,
) -> Vec<Extents> {
    let mut operands = Vec::new();
    for operand in &kernel.semantics.operands {
        let Some(given) = reorder::strides(operand, problem, env) else {
            refusals.push(Refusal::NoStrides {
                operand: operand.name.clone(),
            });
            continue;
        };
        // What is refused gives no name a value.
        let mut bound = *env;
        match bind(operand, &given, &mut bound) {
            Ok(extents) => {
                *env = bound;
                if operand.role.is_written() && !extents.is_injective() {
                    refusals.push(strides_refused(operand, &extents, SHARED));
                }
                operands.push(extents);
            }
            Err(refusal) => {
                let refusal = by_rows(kernel, operand, refusal);
                refusals.push(in_place(kernel, operand, refusal));
            }
        }
    }
    operands
}

/// A refusal of the order of a factor that has kernels for one alone.
fn by_rows(kernel: &Kernel, operand: &Operand, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Layout {
            operand: name,
            layout,
            given,
            ..
        } if kernel.is_of_tensor_cores(operand) => Refusal::Layout {
            way_out: format!(
                ": give a copy in that order: products of {} have kernels for no other",
                operand.dtype
            ),
            operand: name,
            layout,
            given,
        },
        other => other,
    }
}

/// A refusal of strides that are not positive: no spec takes them of an operand that an output lies
/// over.
fn in_place(kernel: &Kernel, operand: &Operand, refusal: Refusal) -> Refusal {
    let mut operands = kernel.semantics.operands.iter();
    let over = operands.find(|one| one.over.as_ref() == Some(&operand.name));
    let not_positive = |shape: &[i64], stride: &[i64]| {
        let mut axes = shape.iter().zip(stride);
        axes.any(|(extent, stride)| *extent > 1 && *stride <= 0)
    };
    match (refusal, over) {
        (
            Refusal::Strides {
                operand,
                shape,
                stride,
                ..
            },
            Some(over),
        ) if not_positive(&shape, &stride) => Refusal::Strides {
            problem: format!(
                "strides must be positive, as `{}` is written over it: give a copy, or build a \
                 kernel of a spec without `over` in `{}`",
                over.name, over.name
            ),
            operand,
            shape,
            stride,
        },
        (refusal, _) => refusal,
    }
}

/// A refusal of each confirmed promise that the kernel does not know.
fn unknown_promises<'a>(
    kernel: &'a Kernel,
    problem: &'a Problem,
) -> impl Iterator<Item = Refusal> + 'a {
    let unknown = problem.confirmed();
    let unknown = unknown.filter(|one| !is_promise(kernel, one));
    unknown.map(|one| Refusal::ExtraPromise {
        promise: one.to_owned(),
        known: promises(kernel).join(", "),
    })
}

/// The operands of a problem without work, whose strides are looked at by nobody.
fn empty_operands(kernel: &Kernel, problem: &Problem, env: &Env) -> Vec<Extents> {
    let place = |operand: &Operand| {
        let shape = operand.layout.shape.iter();
        let shape: Vec<i64> = shape.map(|extent| extent.eval(env).unwrap_or(0)).collect();
        let given = problem.strides(&operand.name).unwrap_or_default();
        let strides = given.iter().copied().chain(std::iter::repeat(1));
        Extents::new(shape.into_iter().zip(strides))
    };
    kernel.semantics.operands.iter().map(place).collect()
}

/// The bytes of the kernel's scalars, as the problem gives them.
fn given_scalars(kernel: &Kernel, problem: &Problem, refusals: &mut Vec<Refusal>) -> Vec<Vec<u8>> {
    let known = |name: &str| kernel.semantics.scalars.iter().any(|s| s.name == name);
    for (name, _) in problem.scalars().filter(|(name, _)| !known(name)) {
        let name = name.to_owned();
        refusals.push(Refusal::ExtraScalar { name });
    }
    let mut all = Vec::new();
    for scalar in &kernel.semantics.scalars {
        let name = scalar.name.clone();
        let Some(value) = problem.scalar(&name) else {
            refusals.push(Refusal::NoScalar { name });
            continue;
        };
        match scalar.encode(value) {
            Some(bytes) => all.push(bytes),
            None => refusals.push(Refusal::Scalar {
                name,
                value: value.to_string(),
                dtype: scalar.dtype,
            }),
        }
    }
    all
}

/// Adds the assumptions that do not hold; where something was refused before, those that the names
/// which have values tell of.
fn assumptions(kernel: &Kernel, problem: &Problem, env: &Env, refusals: &mut Vec<Refusal>) {
    let is_known = refusals.is_empty();
    for assumption in &kernel.assumptions {
        let (expr, reason) = match assumption {
            Assumption::Expr { expr, reason } => (expr, reason),
            Assumption::Align { .. } => continue,
            Assumption::Promise { promise, reason } => {
                if !problem.promises(promise) {
                    refusals.push(Refusal::Promise {
                        promise: promise.clone(),
                        reason: reason.clone(),
                    });
                }
                continue;
            }
        };
        let is_part = || {
            let all = kernel.assumptions.iter();
            all.clone().any(|other| is_stronger(other, expr, env))
        };
        match expr.holds(env) {
            Ok(true) => {}
            // What another one tells that does not hold either.
            Ok(false) if is_part() => {}
            Ok(false) => refusals.push(Refusal::Assumption {
                text: expr.text().to_owned(),
                found: found(kernel, expr, env),
                reason: reason.clone(),
                way_out: way_out(kernel, expr, env),
            }),
            Err(error) if is_known => refusals.push(Refusal::Expression {
                what: format!("assumption {}", expr.text()),
                error,
            }),
            Err(_) => {}
        }
    }
}

/// Whether the kernel takes the value of `name` as far as the names bound in `env` tell: every
/// assumption and every stride of a tensor map that mentions it and can be evaluated.
pub fn allows(kernel: &Kernel, env: &Env, name: Name) -> bool {
    let assumed = kernel
        .assumptions
        .iter()
        .all(|assumption| match assumption {
            Assumption::Expr { expr, .. } if expr.names().any(|n| n == name) => {
                expr.holds(env).unwrap_or(true)
            }
            _ => true,
        });
    let params = kernel.launches.iter().flat_map(|launch| &launch.params);
    let mapped = params.into_iter().all(|param| match &param.value {
        ParamValue::TensorMap(map) => strides_fit(map, env, name),
        _ => true,
    });
    assumed && mapped
}

/// The names of the modes that a kernel folds, and takes so long as that.
pub fn folded_as_long(kernel: &Kernel, extent: i64) -> impl Iterator<Item = Name> {
    let (folded, env) = (kernel.folded(), constants(kernel));
    let extents = kernel.free_extents();
    extents.filter_map(move |(name, text)| {
        let takes = || allows(kernel, &env.with(name, extent), name);
        (folded.contains(&text) && takes()).then_some(name)
    })
}

/// Dynamic shared memory of a CTA in one launch of a kernel that fits.
///
/// # Errors
/// As [`fit`], for the sizes alone.
pub(crate) fn dynamic_smem_bytes(
    kernel: &Kernel,
    at: usize,
    fit: &Fit,
    device: &DeviceInfo,
) -> Result<u32, Vec<Refusal>> {
    let mut refusals = Vec::new();
    let abi = kernel.launches.get(at);
    let bytes = abi.map_or(0, |abi| {
        sizes(kernel, at, abi, &fit.env, device, &mut refusals).1
    });
    if refusals.is_empty() {
        Ok(bytes)
    } else {
        Err(refusals)
    }
}

/// Checks the memory given for a problem that fits, and packs the launch: one of no parts where
/// there is nothing to do.
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
    memory::check_names(kernel, views, &mut refusals);
    if fit.is_empty && refusals.is_empty() {
        return Ok(Launch {
            work: Arc::new(work(kernel, &fit.env)),
            parts: Vec::new(),
            workspace_bytes: 0,
            workspace_zero_bytes: 0,
        });
    }
    let workspace_bytes = fit.workspace(kernel, &mut refusals);
    memory::check(kernel, fit, views, &mut refusals);
    let parts = kernel.launches.iter().enumerate();
    let parts = parts.map(|(at, abi)| part(kernel, at, abi, fit, device, views, &mut refusals));
    let parts: Vec<LaunchPart> = parts.collect();
    for (abi, part) in kernel.launches.iter().zip(&parts) {
        memory::check_workspace(abi, part, workspace_bytes, &mut refusals);
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    Ok(Launch {
        work: Arc::new(work(kernel, &fit.env)),
        parts,
        workspace_bytes,
        workspace_zero_bytes: kernel.workspace.zero_bytes,
    })
}

/// The kernel and the values of its extents and strides.
fn work(kernel: &Kernel, env: &Env) -> Work {
    let kinds = [NameKind::Extent, NameKind::Stride].into_iter();
    let names = kinds.flat_map(|kind| kernel.names.of_kind(kind));
    let values = names.filter_map(|(name, text)| Some(format!("{text}={}", env.get(name)?)));
    Work {
        kernel: kernel.id.clone(),
        problem: values.collect::<Vec<_>>().join(" "),
    }
}

/// One launch of a kernel, packed.
fn part(
    kernel: &Kernel,
    at: usize,
    abi: &LaunchAbi,
    fit: &Fit,
    device: &DeviceInfo,
    views: &[View<'_>],
    refusals: &mut Vec<Refusal>,
) -> LaunchPart {
    let env = &fit.env;
    let (grid, dynamic_smem_bytes) = sizes(kernel, at, abi, env, device, refusals);
    let mut params = vec![0; abi.param_bytes() as usize];
    integers(abi, env, &mut params, refusals);
    let address = |operand: &str| {
        let view = views.iter().find(|v| v.operand == operand)?;
        Some(view.address)
    };
    let tensor_maps = tensor_maps(abi, env, address, refusals);
    memory::check_maps(&tensor_maps, views, refusals);
    let (mut workspace_at, mut in_workspace) = (None, Vec::new());
    for param in &abi.params {
        let at = param.offset as usize;
        match &param.value {
            ParamValue::Scalar { .. } | ParamValue::TensorMap(_) => {}
            ParamValue::Given(scalar) => put(&mut params, at, fit.scalar(kernel, scalar)),
            ParamValue::Workspace => workspace_at = Some(at),
            ParamValue::InWorkspace { at: behind } => {
                let behind = offset(&param.name, behind, env, refusals);
                in_workspace.extend(behind.map(|bytes| (at, bytes)));
            }
            ParamValue::Pointer { operand } => {
                if let Some(address) = address(operand) {
                    put(&mut params, at, &address.to_le_bytes());
                }
            }
        }
    }
    LaunchPart {
        grid,
        block: abi.block,
        cluster: abi.cluster,
        programmatic: abi.programmatic,
        dynamic_smem_bytes,
        params,
        tensor_maps,
        param_offsets: abi.params.iter().map(|p| p.offset).collect(),
        workspace_at,
        in_workspace,
    }
}
