//! Tensor maps in the driver's own encoding.

use std::ptr::without_provenance_mut;

use cudarc::driver::{DriverError, sys};
use tilewright_bundle::L2Promotion;
use tilewright_emulator::{TensorFill, TensorSwizzle, TensorType};

use super::driver_text;
use crate::tensor_map::PlacedMap;

/// The 128 bytes of a map for this machine's driver.
///
/// # Errors
/// Every rule that the map breaks, or the driver's own refusal.
pub(crate) fn encode(placed: &PlacedMap) -> Result<[u8; 128], String> {
    let map = &placed.map;
    map.check().map_err(|error| error.to_string())?;
    let box_dims = map.box_dims.map(u32::from);
    let element_strides = map.element_strides.map(u32::from);
    let mut encoded = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: the driver reads `rank` extents, boxes and steps and one stride less from arrays of
    // five and four, since `check` bounds the rank by five, and writes one map; all outlive the
    // call. The address is not followed: it only goes into the map.
    let status = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut encoded,
            data_type(map.ty),
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

fn data_type(ty: TensorType) -> sys::CUtensorMapDataType {
    use sys::CUtensorMapDataType as To;
    match ty {
        TensorType::Uint8 => To::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        TensorType::Uint16 => To::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        TensorType::Uint32 => To::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        TensorType::Int32 => To::CU_TENSOR_MAP_DATA_TYPE_INT32,
        TensorType::Uint64 => To::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        TensorType::Int64 => To::CU_TENSOR_MAP_DATA_TYPE_INT64,
        TensorType::Float16 => To::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        TensorType::Float32 => To::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        TensorType::Float64 => To::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        TensorType::Bfloat16 => To::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        TensorType::Float32Ftz => To::CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
        TensorType::Tfloat32 => To::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        TensorType::Tfloat32Ftz => To::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
    }
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

fn fill(fill: TensorFill) -> sys::CUtensorMapFloatOOBfill {
    use sys::CUtensorMapFloatOOBfill as To;
    match fill {
        TensorFill::Zero => To::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        TensorFill::Nan => To::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
    }
}
