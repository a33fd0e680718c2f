//! Elements as Rust has them: one type for each element type of operands.
//!
//! What Rust has no number for is a type of its bits. Of elements of four bits two make a value,
//! the first in the low half.

use bytemuck::{Pod, Zeroable};
use tilewright_bundle::DType;

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
