//! The expressions of a launch as numbers: sizes, scalars, tensor maps.

use tilewright_bundle::{Env, Expr, Kernel, LaunchAbi, ParamValue, ScalarType};

use super::numbers::{put, scratch_bytes};
use crate::error::Refusal;
use crate::launch::info::DeviceInfo;
use crate::launch::tensor_map::{PlacedMap, describe, promotion};
use crate::launch::work_tiles::excess;

/// The value of an expression, in a range; the least of it where it has none.
fn value(
    what: impl FnOnce() -> String,
    (expr, env): (&Expr, &Env),
    [least, most]: [i64; 2],
    refusals: &mut Vec<Refusal>,
) -> i64 {
    match expr.eval(env) {
        Ok(value) if (least..=most).contains(&value) => return value,
        Ok(value) => refusals.push(Refusal::Range {
            what: what(),
            value,
            least,
            most,
        }),
        Err(error) => refusals.push(Refusal::Expression {
            what: what(),
            error,
        }),
    }
    least
}

/// Bytes of the scratch memory, which may be so many at most as a launch wants of it.
pub(super) fn workspace(
    kernel: &Kernel,
    env: &Env,
    limit: Option<u64>,
    refusals: &mut Vec<Refusal>,
) -> u64 {
    let what = || "workspace.bytes".to_owned();
    let known = refusals.len();
    let bytes = value(what, (&kernel.workspace.bytes, env), [0, 1 << 40], refusals) as u64;
    if refusals.len() == known {
        refusals.extend(beyond_limit(kernel, bytes, limit));
    }
    bytes
}

/// That a kernel whose workspace has so many bytes wants more than is allowed.
pub(crate) fn beyond_limit(kernel: &Kernel, bytes: u64, limit: Option<u64>) -> Option<Refusal> {
    let allowed = limit?;
    let needs = wanted_bytes(kernel, bytes);
    (needs > allowed).then_some(Refusal::WorkspaceLimit { needs, allowed })
}

/// That a kernel's sums depend on the launch.
pub(super) fn variance(kernel: &Kernel) -> Option<Refusal> {
    if kernel.is_batch_invariant() {
        return None;
    }
    let splits = kernel.semantics.sums.as_ref()?.splits.as_ref()?.to_string();
    Some(Refusal::BatchInvariance { splits })
}

/// Bytes that a launch wants of a workspace of this size, as a prepared one says it; 0 where it is
/// not passed the workspace.
fn wanted_bytes(kernel: &Kernel, bytes: u64) -> u64 {
    let mut params = kernel.launches.iter().flat_map(|launch| &launch.params);
    let is_passed = params.any(|param| match &param.value {
        ParamValue::Workspace | ParamValue::InWorkspace { .. } => true,
        ParamValue::TensorMap(map) => map.in_workspace.is_some(),
        ParamValue::Pointer { .. } | ParamValue::Given(_) | ParamValue::Scalar { .. } => false,
    });
    match is_passed {
        true => scratch_bytes(bytes, kernel.workspace.zero_bytes),
        false => 0,
    }
}

/// Grid and shared memory of one launch, checked against the device.
pub(super) fn sizes(
    kernel: &Kernel,
    at: usize,
    abi: &LaunchAbi,
    env: &Env,
    device: &DeviceInfo,
    refusals: &mut Vec<Refusal>,
) -> ([u32; 3], u32) {
    let known = refusals.len();
    let mut value = |key: &str, expr: &Expr, least: i64, most: i64| {
        let what = || kernel.launch_place(at) + key;
        value(what, (expr, env), [least, most], refusals)
    };
    // Limits of the grid: CUDA programming guide, compute capabilities.
    let grid = [
        value("grid.x", &abi.grid[0], 1, i64::from(i32::MAX)),
        value("grid.y", &abi.grid[1], 1, 65_535),
        value("grid.z", &abi.grid[2], 1, 65_535),
    ];
    let statics = i64::from(kernel.resources.static_smem_bytes);
    let smem_most = (i64::from(device.max_smem_bytes) - statics).max(0);
    let smem = value("dynamic_smem_bytes", &abi.dynamic_smem_bytes, 0, smem_most);
    // A grid that is refused has no size of which clusters could be told.
    let is_told = refusals.len() > known;
    for (at, (count, cluster)) in grid.iter().zip(abi.cluster.unwrap_or([1; 3])).enumerate() {
        if is_told {
            break;
        }
        if cluster == 0 || count % i64::from(cluster) != 0 {
            refusals.push(Refusal::Abi {
                problem: format!("grid {count} along {at} is no multiple of cluster {cluster}"),
            });
        }
    }
    if !is_told {
        refusals.extend(excess(kernel, abi, env).map(Refusal::from));
    }
    (grid.map(|d| d as u32), smem as u32)
}

/// The least and the largest value of a scalar.
pub(crate) fn range_of(ty: ScalarType) -> (i64, i64) {
    match ty {
        ScalarType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        ScalarType::U32 => (0, i64::from(u32::MAX)),
        ScalarType::U64 => (0, i64::MAX),
        ScalarType::I64 => (i64::MIN, i64::MAX),
    }
}

/// Writes the integers of a launch into its parameter block.
pub(super) fn integers(abi: &LaunchAbi, env: &Env, params: &mut [u8], refusals: &mut Vec<Refusal>) {
    for param in &abi.params {
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
            let (least, most) = range_of(*ty);
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

/// The tensor maps of operands whose address is known.
pub(super) fn tensor_maps(
    abi: &LaunchAbi,
    env: &Env,
    address: impl Fn(&str) -> Option<u64>,
    refusals: &mut Vec<Refusal>,
) -> Vec<PlacedMap> {
    let mut maps = Vec::new();
    for param in &abi.params {
        let ParamValue::TensorMap(map) = &param.value else {
            continue;
        };
        let base = match &map.in_workspace {
            Some(at) => offset(&param.name, at, env, refusals),
            None => address(&map.operand),
        };
        let Some(base) = base else {
            continue;
        };
        if let Some(made) = describe(&param.name, map, env, base, refusals) {
            maps.push(PlacedMap {
                parameter: param.name.clone(),
                operand: map.operand.clone(),
                at: param.offset as usize,
                l2_promotion: promotion(map.l2_promotion, &made),
                map: made,
                in_workspace: map.in_workspace.is_some(),
            });
        }
    }
    maps
}

/// Where in the workspace something lies that the parameter of that name passes; `None` after
/// adding what keeps it from being known.
pub(super) fn offset(name: &str, at: &Expr, env: &Env, refusals: &mut Vec<Refusal>) -> Option<u64> {
    let what = || format!("parameter {name}, place in the workspace");
    let refusal = match at.eval(env) {
        Ok(value @ 0..) => return u64::try_from(value).ok(),
        Ok(value) => Refusal::Range {
            what: what(),
            value,
            least: 0,
            most: i64::MAX,
        },
        Err(error) => Refusal::Expression {
            what: what(),
            error,
        },
    };
    refusals.push(refusal);
    None
}
