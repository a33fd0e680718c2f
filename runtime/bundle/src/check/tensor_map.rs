//! The rules of tensor maps that do not depend on a problem, after `cuTensorMapEncodeTiled` of
//! the driver API; the others are checked at launch.

use crate::error::Problems;
use crate::manifest::Semantics;
use crate::tensor_map::{OobFill, TensorMapAbi};
use tilewright_formula::DType;

/// Dimensions at most.
const MAX_RANK: usize = 5;
/// Elements of a box along a dimension at most.
const MAX_BOX: u32 = 256;
/// Largest step of a copy along a dimension.
const MAX_ELEMENT_STRIDE: u32 = 8;
/// Bytes that the contiguous dimension of a box is a multiple of.
const INNER_UNIT_BYTES: u64 = 16;

/// Adds every rule that `map`, the value of parameter `name` of kernel `id`, breaks.
pub(super) fn check(
    id: &str,
    name: &str,
    map: &TensorMapAbi,
    semantics: &Semantics,
    problems: &mut Problems,
) {
    let mut check = |holds: bool, message: &dyn Fn() -> String| {
        problems.check(holds, id, || {
            format!("tensor map {name:?} of `{}`: {}", map.operand, message())
        });
    };
    let (dtype, rank) = (map.dtype, map.rank());
    match semantics.operand(&map.operand) {
        None => check(false, &|| "there is no such operand".to_owned()),
        Some(operand) => check(operand.dtype.bits() == dtype.bits(), &|| {
            let (wanted, bits) = (operand.dtype, dtype.bits());
            format!(
                "elements of {dtype} have {bits} bits; the operand's, {wanted}, have {}",
                wanted.bits()
            )
        }),
    }
    check(dtype != DType::B128, &|| {
        format!("no tensor map has elements of {dtype}")
    });
    check(map.oob_fill == OobFill::Zeros || is_float(dtype), &|| {
        format!("a fill of nan goes with f16, bf16, tf32, f32 and f64, not {dtype}")
    });
    check((1..=MAX_RANK).contains(&rank), &|| {
        format!("{rank} dims; 1 to {MAX_RANK} are allowed")
    });
    check(map.strides.len() + 1 == rank.max(1), &|| {
        let strides = map.strides.len();
        format!("{strides} strides for {rank} dims; one for each dimension after the first")
    });
    check(map.box_dims.len() == rank, &|| {
        let extents = map.box_dims.len();
        format!("box_dims has {extents} extents for {rank} dims")
    });
    let steps = map.element_strides.len();
    check(steps == 0 || steps == rank, &|| {
        format!("element_strides has {steps} entries for {rank} dims; leave it out, or one each")
    });
    for (key, values, most) in [
        ("box_dims", &map.box_dims, MAX_BOX),
        ("element_strides", &map.element_strides, MAX_ELEMENT_STRIDE),
    ] {
        for (at, value) in values.iter().enumerate().take(MAX_RANK) {
            check((1..=most).contains(value), &|| {
                format!("{key} {at} is {value}; 1 to {most} is allowed")
            });
        }
    }
    let inner = map.inner_box_bytes();
    check(inner.is_multiple_of(INNER_UNIT_BYTES), &|| {
        format!("the box has {inner} bytes along dim 0; a multiple of {INNER_UNIT_BYTES} is needed")
    });
    if let Some(span) = map.swizzle.span_bytes() {
        check(inner <= span, &|| {
            let swizzle = map.swizzle.text();
            format!("the box has {inner} bytes along dim 0; swizzle {swizzle} allows {span}")
        });
    }
}

/// Whether the driver has a floating-point type for these elements.
const fn is_float(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::F16 | DType::BF16 | DType::TF32 | DType::F32 | DType::F64
    )
}
