//! Tensor maps in the driver's own encoding.

use std::ptr::without_provenance_mut;

use cudarc::driver::{DriverError, sys};
use tilewright_bundle::{DType, L2Promotion, OobFill, TensorSwizzle};

use super::driver::driver_text;
use crate::launch::tensor_map::PlacedMap;

/// The 128 bytes of a map for this machine's driver.
///
/// # Errors
/// The driver's own refusal.
pub(crate) fn encode(placed: &PlacedMap) -> Result<[u8; 128], String> {
    let map = &placed.map;
    let ty = data_type(map.dtype);
    let ty = ty.ok_or_else(|| format!("no map has elements of {}", map.dtype))?;
    let box_dims = map.box_dims.map(u32::from);
    let element_strides = map.element_strides.map(u32::from);
    let mut encoded = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: the driver reads `rank` extents, boxes and steps and one stride less from arrays of
    // five and four, since a rank above five has no such arrays, and writes one map; all outlive
    // the call. The address is not followed: it only goes into the map.
    let status = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut encoded,
            ty,
            u32::from(map.rank),
            without_provenance_mut(map.base as usize),
            map.dims.as_ptr(),
            map.strides.as_ptr(),
            box_dims.as_ptr(),
            element_strides.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle(map.swizzle),
            l2_promotion(placed.l2_promotion),
            fill(map.fill),
        )
    };
    let text = |e: DriverError| format!("cuTensorMapEncodeTiled failed: {}", driver_text(e));
    status.result().map_err(text)?;
    let mut bytes = [0; 128];
    for (place, word) in bytes.chunks_exact_mut(8).zip(encoded.opaque) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    Ok(bytes)
}

/// The driver's type for elements; bits without a meaning, and 8-bit floats, are integers.
fn data_type(dtype: DType) -> Option<sys::CUtensorMapDataType> {
    use sys::CUtensorMapDataType as To;
    Some(match dtype {
        DType::F16 => To::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        DType::BF16 => To::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        DType::TF32 => To::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        DType::F32 => To::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        DType::F64 => To::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        DType::E4M3 | DType::E5M2 | DType::S8 | DType::U8 | DType::B8 | DType::UE8M0 => {
            To::CU_TENSOR_MAP_DATA_TYPE_UINT8
        }
        DType::S16 | DType::U16 | DType::B16 => To::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        DType::S32 => To::CU_TENSOR_MAP_DATA_TYPE_INT32,
        DType::U32 | DType::B32 => To::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        DType::S64 => To::CU_TENSOR_MAP_DATA_TYPE_INT64,
        DType::U64 | DType::B64 => To::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        DType::S4 | DType::U4 | DType::E2M1 | DType::B128 => return None,
    })
}

fn swizzle(swizzle: TensorSwizzle) -> sys::CUtensorMapSwizzle {
    use sys::CUtensorMapSwizzle as To;
    match swizzle {
        TensorSwizzle::None => To::CU_TENSOR_MAP_SWIZZLE_NONE,
        TensorSwizzle::Bytes32 => To::CU_TENSOR_MAP_SWIZZLE_32B,
        TensorSwizzle::Bytes64 => To::CU_TENSOR_MAP_SWIZZLE_64B,
        TensorSwizzle::Bytes128 => To::CU_TENSOR_MAP_SWIZZLE_128B,
    }
}

fn l2_promotion(promotion: L2Promotion) -> sys::CUtensorMapL2promotion {
    use sys::CUtensorMapL2promotion as To;
    match promotion {
        L2Promotion::None => To::CU_TENSOR_MAP_L2_PROMOTION_NONE,
        L2Promotion::Bytes64 => To::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        L2Promotion::Bytes128 => To::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        L2Promotion::Bytes256 => To::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
    }
}

fn fill(fill: OobFill) -> sys::CUtensorMapFloatOOBfill {
    use sys::CUtensorMapFloatOOBfill as To;
    match fill {
        OobFill::Zeros => To::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        OobFill::Nan => To::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::tensor_map::has_maps;

    #[test]
    fn every_type_that_maps_have_has_one_of_the_driver() {
        for dtype in DType::ALL {
            assert_eq!(data_type(*dtype).is_some(), has_maps(*dtype), "{dtype}");
        }
    }
}
