//! Tensor maps in the emulator's encoding.

use tilewright_bundle::{DType, OobFill, TensorSwizzle};
use tilewright_emulator as emulator;
use tilewright_emulator::{TensorFill, TensorType};

use crate::launch::tensor_map::PlacedMap;

/// The 128 bytes of a map for the emulator.
///
/// # Errors
/// Every rule of the driver that the map breaks.
pub fn encode(placed: &PlacedMap) -> Result<[u8; 128], String> {
    let map = &placed.map;
    let ty = tensor_type(map.dtype);
    let map = emulator::TensorMap {
        ty: ty.ok_or_else(|| format!("no map has elements of {}", map.dtype))?,
        rank: map.rank,
        base: map.base,
        dims: map.dims,
        strides: map.strides,
        box_dims: map.box_dims,
        element_strides: map.element_strides,
        interleave: 0,
        swizzle: match map.swizzle {
            TensorSwizzle::None => emulator::TensorSwizzle::None,
            TensorSwizzle::Bytes32 => emulator::TensorSwizzle::Bytes32,
            TensorSwizzle::Bytes64 => emulator::TensorSwizzle::Bytes64,
            TensorSwizzle::Bytes128 => emulator::TensorSwizzle::Bytes128,
        },
        fill: match map.fill {
            OobFill::Zeros => TensorFill::Zero,
            OobFill::Nan => TensorFill::Nan,
        },
        im2col: None,
    };
    map.encode().map_err(|error| error.to_string())
}

/// The driver's type for elements; bits without a meaning, and 8-bit floats, are integers.
fn tensor_type(dtype: DType) -> Option<TensorType> {
    Some(match dtype {
        DType::F16 => TensorType::Float16,
        DType::BF16 => TensorType::Bfloat16,
        DType::TF32 => TensorType::Tfloat32,
        DType::F32 => TensorType::Float32,
        DType::F64 => TensorType::Float64,
        DType::E4M3 | DType::E5M2 | DType::S8 | DType::U8 | DType::B8 | DType::UE8M0 => {
            TensorType::Uint8
        }
        DType::S16 | DType::U16 | DType::B16 => TensorType::Uint16,
        DType::S32 => TensorType::Int32,
        DType::U32 | DType::B32 => TensorType::Uint32,
        DType::S64 => TensorType::Int64,
        DType::U64 | DType::B64 => TensorType::Uint64,
        DType::S4 | DType::U4 | DType::E2M1 | DType::B128 => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::tensor_map::has_maps;

    #[test]
    fn every_type_that_a_manifest_may_name_has_its_width() {
        for dtype in DType::ALL {
            let bytes = tensor_type(*dtype).map(TensorType::bytes);
            let want = has_maps(*dtype).then(|| u64::from(dtype.bytes()));
            assert_eq!(bytes, want, "{dtype}");
        }
    }
}
