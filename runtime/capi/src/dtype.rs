//! Element types as DLPack has them: a code and a number of bits.

use tilewright_runtime::bundle::DType;

/// Signed integers of 4 to 64 bits. Codes below 128 are DLPack's.
pub const TW_DTYPE_INT: u8 = 0;
/// Unsigned integers of 4 to 64 bits.
pub const TW_DTYPE_UINT: u8 = 1;
/// IEEE numbers of 16, 32 and 64 bits.
pub const TW_DTYPE_FLOAT: u8 = 2;
/// bfloat16.
pub const TW_DTYPE_BFLOAT: u8 = 4;
/// Booleans of 8 bits, which kernels take as `u8`.
pub const TW_DTYPE_BOOL: u8 = 6;
/// e4m3 without infinities, 8 bits.
pub const TW_DTYPE_FLOAT8_E4M3FN: u8 = 10;
/// e5m2, 8 bits.
pub const TW_DTYPE_FLOAT8_E5M2: u8 = 12;
/// Powers of two, 8 bits: scales of blocks.
pub const TW_DTYPE_FLOAT8_E8M0FNU: u8 = 14;
/// e2m1, 4 bits, two to a byte, the first in the low half.
pub const TW_DTYPE_FLOAT4_E2M1FN: u8 = 17;
/// Numbers of 32 bits that are used as tf32.
pub const TW_DTYPE_TFLOAT32: u8 = 224;
/// Bits that are moved and not computed with: 8 to 128.
pub const TW_DTYPE_BITS: u8 = 225;

/// Code, bits, type. Of two rows of one type the first is the one that is told.
const CODES: [(u8, u8, DType); 25] = [
    (TW_DTYPE_INT, 4, DType::S4),
    (TW_DTYPE_INT, 8, DType::S8),
    (TW_DTYPE_INT, 16, DType::S16),
    (TW_DTYPE_INT, 32, DType::S32),
    (TW_DTYPE_INT, 64, DType::S64),
    (TW_DTYPE_UINT, 4, DType::U4),
    (TW_DTYPE_UINT, 8, DType::U8),
    (TW_DTYPE_UINT, 16, DType::U16),
    (TW_DTYPE_UINT, 32, DType::U32),
    (TW_DTYPE_UINT, 64, DType::U64),
    (TW_DTYPE_FLOAT, 16, DType::F16),
    (TW_DTYPE_FLOAT, 32, DType::F32),
    (TW_DTYPE_FLOAT, 64, DType::F64),
    (TW_DTYPE_BFLOAT, 16, DType::BF16),
    (TW_DTYPE_BOOL, 8, DType::U8),
    (TW_DTYPE_FLOAT8_E4M3FN, 8, DType::E4M3),
    (TW_DTYPE_FLOAT8_E5M2, 8, DType::E5M2),
    (TW_DTYPE_FLOAT8_E8M0FNU, 8, DType::UE8M0),
    (TW_DTYPE_FLOAT4_E2M1FN, 4, DType::E2M1),
    (TW_DTYPE_TFLOAT32, 32, DType::TF32),
    (TW_DTYPE_BITS, 8, DType::B8),
    (TW_DTYPE_BITS, 16, DType::B16),
    (TW_DTYPE_BITS, 32, DType::B32),
    (TW_DTYPE_BITS, 64, DType::B64),
    (TW_DTYPE_BITS, 128, DType::B128),
];

/// The type of a code and bits.
pub fn read(code: u8, bits: u8) -> Option<DType> {
    let mut known = CODES.iter();
    let found = known.find(|(c, b, _)| (*c, *b) == (code, bits));
    found.map(|(_, _, dtype)| *dtype)
}

/// The bits that go with a code: none where the code is unknown.
pub fn bits_of(code: u8) -> Vec<u8> {
    let known = CODES.iter().filter(|(c, ..)| *c == code);
    known.map(|(_, bits, _)| *bits).collect()
}

/// Code and bits of a type.
pub fn told(dtype: DType) -> (u8, u8) {
    let mut known = CODES.iter();
    let found = known.find(|(_, _, known)| *known == dtype);
    found.map_or((TW_DTYPE_BITS, dtype.bits() as u8), |(c, b, _)| (*c, *b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_goes_there_and_back() {
        for dtype in DType::ALL {
            let (code, bits) = told(*dtype);
            assert_eq!(read(code, bits), Some(*dtype), "{dtype}");
            assert_eq!(u32::from(bits), dtype.bits(), "{dtype}");
        }
        assert_eq!((read(2, 8), read(3, 64)), (None, None));
        assert_eq!(bits_of(TW_DTYPE_FLOAT), [16, 32, 64]);
        assert!(bits_of(99).is_empty());
    }
}
