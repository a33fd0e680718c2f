//! Elements as Rust has them: one type for each element type of operands.
//!
//! What Rust has no number for is a type of its bits; floats of 8 bits are made of f32 and back. Of
//! elements of four bits two make a value, the first in the low half.

use bytemuck::{Pod, Zeroable};
use tilewright_bundle::DType;
use tilewright_formula::format::Format;

pub use half::{bf16, f16};

/// What an operand is an array of: plain numbers, every bit pattern of which is a value.
pub trait Element: Pod {
    /// The element types of operands that it is an array of.
    const DTYPES: &'static [DType];
}

macro_rules! elements {
    ($($element:ty: $($dtype:ident)|+),* $(,)?) => { $(
        impl Element for $element {
            const DTYPES: &'static [DType] = &[$(DType::$dtype),+];
        }
    )* };
}

elements! {
    f16: F16, bf16: BF16, f32: F32 | TF32, f64: F64,
    i8: S8, u8: U8 | B8, i16: S16, u16: U16 | B16, i32: S32, u32: U32 | B32,
    i64: S64, u64: U64 | B64, u128: B128,
}

macro_rules! bits {
    ($($(#[$doc:meta])* $name:ident: $dtype:ident),* $(,)?) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(
            /// The bits.
            pub u8,
        );

        // SAFETY: it is a byte, and every byte is one.
        unsafe impl Zeroable for $name {}
        // SAFETY: as above; a transparent struct of one field has no padding.
        unsafe impl Pod for $name {}
        impl Element for $name {
            const DTYPES: &'static [DType] = &[DType::$dtype];
        }
    )* };
}

bits! {
    /// A float of 8 bits with 4 of exponent and 3 of mantissa, `e4m3`.
    E4M3: E4M3,
    /// A float of 8 bits with 5 of exponent and 2 of mantissa, `e5m2`.
    E5M2: E5M2,
    /// A power of two in 8 bits, `ue8m0`.
    UE8M0: UE8M0,
    /// Two integers of four bits, `s4`.
    S4x2: S4,
    /// Two integers of four bits without a sign, `u4`.
    U4x2: U4,
    /// Two floats of four bits, `e2m1`.
    E2M1x2: E2M1,
}

macro_rules! floats_of_8_bits {
    ($($name:ident, $dtype:expr, $largest:literal;)*) => { $(
        impl $name {
            #[doc = concat!("The nearest number, ties to even. It saturates: what is beyond ",
                $largest, ", infinity too, becomes ", $largest, " of its sign, as a kernel's casts \
                make it. NaN stays NaN.")]
            pub fn from_f32(value: f32) -> $name {
                $name(code(Format::of($dtype), value))
            }

            /// The number, which f32 holds exactly.
            pub fn to_f32(self) -> f32 {
                number(Format::of($dtype), self.0)
            }
        }

        impl From<$name> for f32 {
            fn from(value: $name) -> f32 {
                value.to_f32()
            }
        }
    )* };
}

floats_of_8_bits! {
    E4M3, DType::E4M3, "448";
    E5M2, DType::E5M2, "57344";
}

/// The bits of a number in a format of 8 bits, which each caller's type has.
fn code(format: Option<Format>, value: f32) -> u8 {
    format.map_or(0, |format| format.encode(f64::from(value)) as u8)
}

/// The number that bits of a format of 8 bits are.
fn number(format: Option<Format>, bits: u8) -> f32 {
    format.map_or(f32::NAN, |format| format.decode(u64::from(bits)) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_of_8_bits_are_made_of_f32_and_back() {
        for bits in 0..=u8::MAX {
            let (small, wide) = (E4M3(bits).to_f32(), E5M2(bits).to_f32());
            // Codes that are no finite number become one of those.
            assert!(
                !small.is_finite() || E4M3::from_f32(small) == E4M3(bits),
                "{bits:#x}"
            );
            assert!(
                !wide.is_finite() || E5M2::from_f32(wide) == E5M2(bits),
                "{bits:#x}"
            );
        }
        assert_eq!((E4M3(0x38).to_f32(), E5M2(0x3c).to_f32()), (1.0, 1.0));
        assert_eq!(f32::from(E4M3::from_f32(-0.3)), -0.3125);
        // Ties go to the even code.
        assert_eq!(E4M3::from_f32(1.0625), E4M3(0x38));
        assert_eq!(E4M3::from_f32(1.1875), E4M3(0x3a));
    }

    #[test]
    fn what_8_bits_do_not_hold_saturates() {
        for large in [449.0, 1e30, f32::INFINITY] {
            assert_eq!(E4M3::from_f32(large).to_f32(), 448.0);
            assert_eq!(E4M3::from_f32(-large).to_f32(), -448.0);
        }
        assert_eq!(E5M2::from_f32(f32::INFINITY).to_f32(), 57344.0);
        assert_eq!(E5M2::from_f32(-1e9).to_f32(), -57344.0);
        assert!(E4M3::from_f32(f32::NAN).to_f32().is_nan());
        assert!(E5M2::from_f32(f32::NAN).to_f32().is_nan());
        assert!(E5M2(0x7c).to_f32().is_infinite());
    }
}
