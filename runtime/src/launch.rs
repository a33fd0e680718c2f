//! From a kernel, a problem and memory to a launch: every check, then numbers only.
//!
//! [`fit`] needs no memory: it matches layouts, evaluates assumptions and limits, and is what
//! picking a kernel uses. [`prepare`] adds the buffers and packs the parameters. Neither touches a
//! device, and both report everything that is wrong at once.

use tilewright_bundle::{Assumption, Env, Kernel, Name, Operand, ParamValue};

use crate::error::Refusal;
use crate::info::DeviceInfo;
use crate::layout::{Extents, OperandLayout};
use crate::problem::Problem;

/// A kernel that takes a problem: names bound, operands with extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// Values of all names.
    pub env: Env,
    /// Extents of the operands, in the kernel's order.
    pub operands: Vec<Extents>,
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
    /// Dynamic shared memory of a CTA.
    pub dynamic_smem_bytes: u32,
    /// Scratch memory to provide.
    pub workspace_bytes: u64,
    /// The parameter block, with zeros where the workspace's address goes.
    pub params: Vec<u8>,
    /// Offset of each parameter in the block.
    pub param_offsets: Vec<u32>,
    /// Where the workspace's address goes.
    pub workspace_at: Option<usize>,
}

/// What a finished or enqueued launch says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchReport {
    /// Instructions the emulator executed, counted per thread; zero on a GPU.
    pub thread_instructions: u64,
    /// Findings of the emulator below level error.
    pub warnings: Vec<String>,
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
    if let Some(driver) = device.driver
        && driver < kernel.min_driver
    {
        refusals.push(Refusal::Driver {
            needs: kernel.min_driver,
            has: driver,
        });
    }
    refusals
}

/// Matches `kernel` with `problem` on a device.
///
/// # Errors
/// Every reason why it cannot run.
pub fn fit(kernel: &Kernel, problem: &Problem, device: &DeviceInfo) -> Result<Fit, Vec<Refusal>> {
    let mut refusals = runs_on(kernel, device);
    let mut env = problem.env(&mut refusals);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    env.set(Name::Sms, i64::from(device.sms));
    let ctas = kernel
        .abi
        .cluster
        .map_or(1, |c| c.iter().map(|d| i64::from(*d)).product());
    env.set(Name::MaxClusters, (i64::from(device.sms) / ctas).max(1));
    let mut operands = Vec::new();
    for operand in &kernel.semantics.operands {
        match bind(operand, problem, &mut env) {
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
    if refusals.is_empty() {
        Ok(fit)
    } else {
        Err(refusals)
    }
}

fn bind(operand: &Operand, problem: &Problem, env: &mut Env) -> Result<Extents, Refusal> {
    let name = operand.name.as_str();
    let layout: OperandLayout = operand
        .layout
        .parse()
        .map_err(|problem| Refusal::LayoutText {
            operand: name.to_owned(),
            layout: operand.layout.clone(),
            problem,
        })?;
    let given = problem.strides(name).ok_or_else(|| Refusal::NoStrides {
        operand: name.to_owned(),
    })?;
    let extents = layout.bind(name, &operand.layout, given, env)?;
    if operand.role.is_written() && !extents.is_injective() {
        return Err(Refusal::Strides {
            operand: name.to_owned(),
            rows: extents.rows,
            cols: extents.cols,
            row: given.row,
            col: given.col,
            problem: "elements of an output share an address",
        });
    }
    Ok(extents)
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

/// Grid and memory sizes, checked against the device.
fn sizes(
    kernel: &Kernel,
    env: &Env,
    device: &DeviceInfo,
    refusals: &mut Vec<Refusal>,
) -> ([u32; 3], u32, u64) {
    let mut value = |what: &str, expr: &tilewright_bundle::Expr, least: i64, most: i64| {
        match expr.eval(env) {
            Ok(value) if (least..=most).contains(&value) => return value,
            Ok(value) => {
                refusals.push(Refusal::Range {
                    what: what.to_owned(),
                    value,
                    least,
                    most,
                });
            }
            Err(error) => refusals.push(Refusal::Expression {
                what: what.to_owned(),
                error,
            }),
        }
        least
    };
    let abi = &kernel.abi;
    // Limits of the grid: CUDA programming guide, compute capabilities.
    let grid = [
        value("grid.x", &abi.grid[0], 1, i64::from(i32::MAX)),
        value("grid.y", &abi.grid[1], 1, 65_535),
        value("grid.z", &abi.grid[2], 1, 65_535),
    ];
    let statics = i64::from(kernel.resources.static_smem_bytes);
    let smem_most = (i64::from(device.max_smem_bytes) - statics).max(0);
    let smem = value("dynamic_smem_bytes", &abi.dynamic_smem_bytes, 0, smem_most);
    let workspace = value("workspace_bytes", &abi.workspace_bytes, 0, 1 << 40);
    for (at, (count, cluster)) in grid.iter().zip(abi.cluster.unwrap_or([1; 3])).enumerate() {
        if cluster == 0 || count % i64::from(cluster) != 0 {
            refusals.push(Refusal::Abi {
                problem: format!("grid {count} along {at} is no multiple of cluster {cluster}"),
            });
        }
    }
    (grid.map(|d| d as u32), smem as u32, workspace as u64)
}

/// Writes the scalars into the parameter block.
fn scalars(kernel: &Kernel, env: &Env, params: &mut [u8], refusals: &mut Vec<Refusal>) {
    for param in &kernel.abi.params {
        let ParamValue::Scalar { ty, expr } = &param.value else {
            continue;
        };
        let what = || format!("parameter {}", param.name);
        let value = match expr.eval(env) {
            Ok(value) => value,
            Err(error) => {
                refusals.push(Refusal::Expression {
                    what: what(),
                    error,
                });
                continue;
            }
        };
        let Some((bytes, count)) = ty.encode(value) else {
            let (least, most) = match ty {
                tilewright_bundle::ScalarType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
                tilewright_bundle::ScalarType::U32 => (0, i64::from(u32::MAX)),
                _ => (0, i64::MAX),
            };
            refusals.push(Refusal::Range {
                what: what(),
                value,
                least,
                most,
            });
            continue;
        };
        put(params, param.offset as usize, &bytes[..count]);
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
    memory(kernel, fit, views, &mut refusals);
    let mut workspace_at = None;
    for param in &kernel.abi.params {
        let at = param.offset as usize;
        match &param.value {
            ParamValue::Scalar { .. } => {}
            ParamValue::TensorMap(_) => refusals.push(Refusal::Abi {
                problem: format!(
                    "parameter {} is a tensor map, which is not made yet",
                    param.name
                ),
            }),
            ParamValue::Workspace => workspace_at = Some(at),
            ParamValue::Pointer { operand } => {
                if let Some(view) = views.iter().find(|v| v.operand == operand) {
                    put(&mut params, at, &view.address.to_le_bytes());
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
        dynamic_smem_bytes,
        workspace_bytes,
        params,
        param_offsets: kernel.abi.params.iter().map(|p| p.offset).collect(),
        workspace_at,
    })
}

/// Checks size, alignment and overlap of the memory given for each operand.
fn memory(kernel: &Kernel, fit: &Fit, views: &[View<'_>], refusals: &mut Vec<Refusal>) {
    let operands = &kernel.semantics.operands;
    for (at, view) in views.iter().enumerate() {
        let known = operands.iter().any(|o| o.name == view.operand);
        if !known || views[..at].iter().any(|v| v.operand == view.operand) {
            refusals.push(Refusal::ExtraBuffer {
                operand: view.operand.to_owned(),
            });
        }
    }
    let mut ranges: Vec<(&Operand, u64, u64)> = Vec::new();
    for (operand, extents) in operands.iter().zip(&fit.operands) {
        let Some(view) = views.iter().find(|v| v.operand == operand.name) else {
            refusals.push(Refusal::NoBuffer {
                operand: operand.name.clone(),
            });
            continue;
        };
        let elem = u64::from(operand.dtype.bytes());
        let span = extents.span_elems().and_then(|s| u64::try_from(s).ok());
        let needs = span.and_then(|s| s.checked_mul(elem)).unwrap_or(u64::MAX);
        if needs > view.bytes {
            refusals.push(Refusal::BufferTooSmall {
                operand: operand.name.clone(),
                needs,
                has: view.bytes,
            });
        }
        aligned(kernel, operand, view.address, refusals);
        ranges.push((operand, view.address, view.address.saturating_add(needs)));
    }
    for (at, (one, start, end)) in ranges.iter().enumerate() {
        for (other, other_start, other_end) in &ranges[..at] {
            let shared = start < other_end && other_start < end;
            let written = if one.role.is_written() {
                Some((one, other))
            } else {
                None
            }
            .or_else(|| other.role.is_written().then_some((other, one)));
            if let (true, Some((output, other))) = (shared, written) {
                refusals.push(Refusal::Overlap {
                    output: output.name.clone(),
                    other: other.name.clone(),
                });
            }
        }
    }
}

fn aligned(kernel: &Kernel, operand: &Operand, address: u64, refusals: &mut Vec<Refusal>) {
    let needs = alignment_bytes(kernel, operand);
    if !address.is_multiple_of(u64::from(needs)) {
        refusals.push(Refusal::Alignment {
            operand: operand.name.clone(),
            needs,
            address,
        });
    }
}

/// Alignment the first element of `operand` must have: its own size, or what is assumed.
pub fn alignment_bytes(kernel: &Kernel, operand: &Operand) -> u32 {
    let assumed = kernel.assumptions.iter().filter_map(|a| match a {
        Assumption::Align {
            operand: name,
            bytes,
            ..
        } if *name == operand.name => Some(*bytes),
        _ => None,
    });
    assumed.chain([operand.dtype.bytes(), 1]).max().unwrap_or(1)
}
