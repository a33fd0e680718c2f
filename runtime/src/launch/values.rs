//! The expressions of a launch as numbers: sizes, scalars, tensor maps.

use tilewright_bundle::{Env, Expr, Kernel, ParamValue, ScalarType};

use super::put;
use crate::error::Refusal;
use crate::info::DeviceInfo;
use crate::tensor_map::{PlacedMap, describe};

/// Grid and memory sizes, checked against the device.
pub(super) fn sizes(
    kernel: &Kernel,
    env: &Env,
    device: &DeviceInfo,
    refusals: &mut Vec<Refusal>,
) -> ([u32; 3], u32, u64) {
    let mut value = |what: &str, expr: &Expr, least: i64, most: i64| {
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

/// The least and the largest value of a scalar.
pub(crate) fn range_of(ty: ScalarType) -> (i64, i64) {
    match ty {
        ScalarType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        ScalarType::U32 => (0, i64::from(u32::MAX)),
        ScalarType::U64 => (0, i64::MAX),
        ScalarType::I64 => (i64::MIN, i64::MAX),
    }
}

/// Writes the scalars into the parameter block.
pub(super) fn scalars(kernel: &Kernel, env: &Env, params: &mut [u8], refusals: &mut Vec<Refusal>) {
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
    kernel: &Kernel,
    env: &Env,
    address: impl Fn(&str) -> Option<u64>,
    refusals: &mut Vec<Refusal>,
) -> Vec<PlacedMap> {
    let mut maps = Vec::new();
    for param in &kernel.abi.params {
        let ParamValue::TensorMap(abi) = &param.value else {
            continue;
        };
        let Some(base) = address(&abi.operand) else {
            continue;
        };
        if let Some(map) = describe(&param.name, abi, env, base, refusals) {
            maps.push(PlacedMap {
                parameter: param.name.clone(),
                operand: abi.operand.clone(),
                at: param.offset as usize,
                map,
                l2_promotion: abi.l2_promotion,
            });
        }
    }
    maps
}
