//! Tensor maps while a device makes them: `tensormap.replace` sets one field after another.
//!
//! A kernel may begin with a map that the host made, or with 128 bytes of zeros. Zeros stand for
//! no value of any field: the document does not say what the opaque bytes of a field are, so a
//! field that nothing set is unset, whatever it would decode to.

use super::{TensorFill, TensorMap, TensorSwizzle, TensorType};
use crate::inst::MapField;

/// A map, and which of its fields were never set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapImage {
    pub(crate) map: TensorMap,
    /// One bit a field ([`bit`]); none for a map that a host made.
    pub(crate) unset: u32,
}

/// The fields with the words of the instruction, and how many of each there are.
const FIELDS: [(MapField, &str, u32); 10] = [
    (MapField::GlobalAddress, "global_address", 1),
    (MapField::Rank, "rank", 1),
    (MapField::BoxDim, "box_dim", 5),
    (MapField::GlobalDim, "global_dim", 5),
    (MapField::GlobalStride, "global_stride", 4),
    (MapField::ElementStride, "element_stride", 5),
    (MapField::ElemType, "elemtype", 1),
    (MapField::Interleave, "interleave_layout", 1),
    (MapField::Swizzle, "swizzle_mode", 1),
    (MapField::Fill, "fill_mode", 1),
];

/// Longest box along a dimension, and largest stride of its elements (CUDA driver API,
/// cuTensorMapEncodeTiled: boxDim, elementStrides).
const MAX_BOX: u32 = 256;
const MAX_ELEMENT_STRIDE: u32 = 8;

/// The bit of a field, 0 for an ordinal that it does not have.
fn bit(field: MapField, ordinal: u32) -> u32 {
    let mut first = 0;
    for (known, _, count) in FIELDS {
        if known == field {
            return if ordinal < count {
                1 << (first + ordinal)
            } else {
                0
            };
        }
        first += count;
    }
    0
}

impl MapImage {
    /// 128 bytes of zeros.
    pub(super) fn blank() -> MapImage {
        let count: u32 = FIELDS.iter().map(|(_, _, count)| count).sum();
        MapImage {
            map: TensorMap::tiled(TensorType::Uint8, 0, &[1], &[], &[1]),
            unset: (1 << count) - 1,
        }
    }

    /// The fields that a map of its rank has and nothing set, as the instruction's words; empty
    /// for a map that may be used.
    pub(crate) fn missing(&self) -> String {
        let rank = u32::from(self.map.rank);
        let mut missing = Vec::new();
        for (field, word, count) in FIELDS {
            let needed = match field {
                MapField::GlobalStride => rank.saturating_sub(1),
                _ => rank,
            };
            for ordinal in 0..count.min(needed.max(1)) {
                let strides = field == MapField::GlobalStride && needed == 0;
                if self.unset & bit(field, ordinal) == 0 || strides {
                    continue;
                }
                missing.push(match count {
                    1 => word.to_owned(),
                    _ => format!("{word} {ordinal}"),
                });
            }
        }
        missing.join(", ")
    }

    /// Sets one field; false when the value is none of its values (ISA 9.7.9.26, tables).
    pub(crate) fn replace(&mut self, field: MapField, ordinal: u32, value: u64) -> bool {
        let taken = self.set(field, ordinal, value);
        if taken {
            self.unset &= !bit(field, ordinal);
        }
        taken
    }

    fn set(&mut self, field: MapField, ordinal: u32, value: u64) -> bool {
        let map = &mut self.map;
        let index = ordinal as usize;
        let small = value as u32;
        match field {
            MapField::GlobalAddress => map.base = value,
            MapField::Rank if small < 5 => map.rank = small as u8 + 1,
            MapField::BoxDim if index < 5 && (1..=MAX_BOX).contains(&small) => {
                map.box_dims[index] = small as u16;
            }
            MapField::GlobalDim if index < 5 => map.dims[index] = u64::from(small),
            MapField::GlobalStride if index < 4 => map.strides[index] = value,
            MapField::ElementStride if index < 5 && (1..=MAX_ELEMENT_STRIDE).contains(&small) => {
                map.element_strides[index] = small as u8;
            }
            MapField::ElemType => {
                let ty = match small {
                    8 => Some(TensorType::Float32Ftz),
                    9 => Some(TensorType::Float64),
                    10 => Some(TensorType::Bfloat16),
                    other => TensorType::ALL.get(other as usize).copied(),
                };
                let Some(ty) = ty else { return false };
                map.ty = ty;
            }
            MapField::Interleave if small < 3 => map.interleave = small as u8,
            MapField::Swizzle => {
                let Some(swizzle) = TensorSwizzle::ALL.get(small as usize) else {
                    return false;
                };
                map.swizzle = *swizzle;
            }
            MapField::Fill if small < 2 => {
                map.fill = if small == 0 {
                    TensorFill::Zero
                } else {
                    TensorFill::Nan
                };
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that a field of so many bits would cut are none of its values, and leave it unset.
    #[test]
    fn values_past_a_field_are_refused() {
        let cases = [
            (MapField::Rank, 0, 4, 5),
            (MapField::BoxDim, 4, 256, 257),
            (MapField::BoxDim, 0, 1, 0),
            (MapField::BoxDim, 0, 64, 64 + (1 << 16)),
            (MapField::ElementStride, 4, 8, 9),
            (MapField::ElementStride, 0, 1, 257),
            (MapField::Interleave, 0, 2, 3),
            (MapField::Fill, 0, 1, 2),
        ];
        for (field, ordinal, good, bad) in cases {
            let mut image = MapImage::blank();
            let unset = image.unset;
            assert!(!image.replace(field, ordinal, bad), "{field:?} {bad}");
            assert_eq!(image.unset, unset);
            assert!(image.replace(field, ordinal, good), "{field:?} {good}");
            assert_eq!(image.unset, unset & !bit(field, ordinal));
        }
    }
}
