//! Tensor maps of a manifest.
//!
//! In: the description and the address of its buffer. Out: the emulator's encoding; every rule of
//! the driver that is broken is an error.

use tilewright_emulator::{Im2col, TensorFill, TensorMap, TensorSwizzle, TensorType};

use super::manifest::TensormapArg;
use tilewright_runtime::parts::padded;

const TYPES: [(&str, TensorType); 13] = [
    ("UINT8", TensorType::Uint8),
    ("UINT16", TensorType::Uint16),
    ("UINT32", TensorType::Uint32),
    ("INT32", TensorType::Int32),
    ("UINT64", TensorType::Uint64),
    ("INT64", TensorType::Int64),
    ("FLOAT16", TensorType::Float16),
    ("FLOAT32", TensorType::Float32),
    ("FLOAT64", TensorType::Float64),
    ("BFLOAT16", TensorType::Bfloat16),
    ("FLOAT32_FTZ", TensorType::Float32Ftz),
    ("TFLOAT32", TensorType::Tfloat32),
    ("TFLOAT32_FTZ", TensorType::Tfloat32Ftz),
];
const SWIZZLES: [(&str, TensorSwizzle); 4] = [
    ("NONE", TensorSwizzle::None),
    ("32B", TensorSwizzle::Bytes32),
    ("64B", TensorSwizzle::Bytes64),
    ("128B", TensorSwizzle::Bytes128),
];
const INTERLEAVES: [(&str, u8); 3] = [("NONE", 0), ("16B", 1), ("32B", 2)];
const FILLS: [(&str, TensorFill); 2] = [
    ("NONE", TensorFill::Zero),
    ("NAN_REQUEST_ZERO_FMA", TensorFill::Nan),
];

/// How much of it a cache fetches at a time: nothing that an emulator shows.
const PROMOTIONS: [(&str, ()); 4] = [
    ("NONE", ()),
    ("L2_64B", ()),
    ("L2_128B", ()),
    ("L2_256B", ()),
];

fn choose<T: Copy>(what: &str, text: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let found = choices.iter().find(|choice| choice.0 == text);
    found.map(|choice| choice.1).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|choice| choice.0).collect();
        format!("{what} {text} is none of {}", names.join(", "))
    })
}

/// The 128 bytes of the parameter.
pub(super) fn encode(arg: &TensormapArg, base: u64) -> Result<[u8; 128], String> {
    let rank = usize::from(arg.rank);
    let spatial = rank.saturating_sub(2);
    let im2col = match &arg.im2col {
        None => None,
        Some(columns) => Some(Im2col {
            lower: padded("lower", &columns.lower, spatial, 0)?,
            upper: padded("upper", &columns.upper, spatial, 0)?,
            channels: columns.channels,
            pixels: columns.pixels,
        }),
    };
    if let Some(promotion) = &arg.l2_promotion {
        choose("l2_promotion", promotion, &PROMOTIONS)?;
    }
    let boxed = if im2col.is_some() { 0 } else { rank };
    let map = TensorMap {
        ty: choose("data_type", &arg.data_type, &TYPES)?,
        rank: arg.rank,
        base,
        dims: padded("global_dim", &arg.global_dim, rank, 1)?,
        strides: padded(
            "global_strides",
            &arg.global_strides,
            rank.saturating_sub(1),
            0,
        )?,
        box_dims: padded("box_dim", &arg.box_dim, boxed, 1)?,
        element_strides: padded("element_strides", &arg.element_strides, rank, 1)?,
        interleave: choose("interleave", &arg.interleave, &INTERLEAVES)?,
        swizzle: choose("swizzle", &arg.swizzle, &SWIZZLES)?,
        fill: choose("oob_fill", &arg.oob_fill, &FILLS)?,
        im2col,
    };
    map.encode().map_err(|error| error.to_string())
}
