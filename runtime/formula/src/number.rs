//! What element types hold: their kinds, and the value that a cast stores.
//!
//! Casts round to nearest even, `ue8m0` up. Casts to integers and to floats of 8 bits and fewer
//! saturate; those to `f16` and `bf16` overflow to infinity. NaN becomes 0 in integers.

use crate::dtype::DType;
use crate::format::{Format, scaled};

/// What an element type holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Integers from the first to the last of the two.
    Integer([i64; 2]),
    /// Numbers with sign, exponent and fraction.
    Float(Format),
    /// Powers of two, and NaN.
    Scale,
    /// Bits without a meaning, and integers that `s32` does not hold: copied, not computed with.
    Raw,
}

/// Exponents of `ue8m0`: its codes are this much above them.
const SCALE_BIAS: i32 = 127;

impl Kind {
    /// What a type holds.
    pub fn of(dtype: DType) -> Kind {
        if let Some(format) = Format::of(dtype) {
            return Kind::Float(format);
        }
        match dtype {
            DType::S4 => Kind::Integer([-8, 7]),
            DType::U4 => Kind::Integer([0, 15]),
            DType::S8 => Kind::Integer([-128, 127]),
            DType::U8 => Kind::Integer([0, 255]),
            DType::S16 => Kind::Integer([-32_768, 32_767]),
            DType::U16 => Kind::Integer([0, 65_535]),
            DType::S32 => Kind::Integer([i64::from(i32::MIN), i64::from(i32::MAX)]),
            DType::UE8M0 => Kind::Scale,
            _ => Kind::Raw,
        }
    }
}

/// The value that `dtype` stores for `value`; bits without a meaning keep it.
pub fn stored(dtype: DType, value: f64) -> f64 {
    match Kind::of(dtype) {
        Kind::Float(format) if value.is_nan() && !format.has_nan => format.decode(format.largest()),
        Kind::Float(format) => format.nearest(value),
        Kind::Integer([least, most]) => {
            // NaN is the one value that no comparison takes.
            if value.is_nan() {
                0.0
            } else {
                value.round_ties_even().clamp(least as f64, most as f64) + 0.0
            }
        }
        Kind::Scale => scale(value),
        Kind::Raw => value,
    }
}

/// The number that a code of `ue8m0` stands for.
pub fn scale_of(code: u64) -> f64 {
    match code {
        255 => f64::NAN,
        code => scaled(1.0, code as i32 - SCALE_BIAS),
    }
}

/// The code of `ue8m0` that a cast of the value gives.
pub fn scale_code(value: f64) -> u64 {
    match scale(value) {
        value if value.is_nan() => 255,
        // Of powers of two the exponent of f64 is the whole of them.
        value => (value.to_bits() >> 52).saturating_sub(1023 - SCALE_BIAS as u64),
    }
}

/// The least power of two that is no less than `value`, within the range of `ue8m0`.
fn scale(value: f64) -> f64 {
    if value.is_nan() {
        return value;
    }
    let least = scaled(1.0, -SCALE_BIAS);
    let most = scaled(1.0, SCALE_BIAS);
    if value <= least {
        return least;
    }
    if value >= most {
        return most;
    }
    let power = f64::from_bits(value.to_bits() & (0x7ff << 52));
    if power == value { power } else { 2.0 * power }
}

/// An integer as a 32-bit register holds it: it wraps around.
pub fn wrapped(value: i64) -> i64 {
    i64::from(value as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_saturate_and_take_no_nan() {
        assert_eq!(stored(DType::S8, 130.0), 127.0);
        assert_eq!(stored(DType::S8, -1e9), -128.0);
        assert_eq!(stored(DType::U8, -3.0), 0.0);
        assert_eq!(stored(DType::S4, 2.5), 2.0);
        assert_eq!(stored(DType::S4, 3.5), 4.0);
        assert_eq!(stored(DType::S32, f64::NAN), 0.0);
        assert_eq!(stored(DType::S32, f64::INFINITY), 2_147_483_647.0);
        assert_eq!(wrapped(1 << 31), -(1 << 31));
    }

    #[test]
    fn floats_round_to_even_and_narrow_ones_saturate() {
        assert_eq!(stored(DType::BF16, 257.0), 256.0);
        assert_eq!(stored(DType::E4M3, f64::INFINITY), 448.0);
        assert_eq!(stored(DType::E2M1, f64::NAN), 6.0);
        assert_eq!(stored(DType::E2M1, 2.4), 2.0);
        assert_eq!(stored(DType::F16, 1e6), f64::INFINITY);
        assert!(stored(DType::E5M2, f64::NAN).is_nan());
    }

    #[test]
    fn scales_round_up() {
        assert_eq!(stored(DType::UE8M0, 1.0), 1.0);
        assert_eq!(stored(DType::UE8M0, 1.01), 2.0);
        assert_eq!(stored(DType::UE8M0, 0.0), scaled(1.0, -127));
        assert_eq!(stored(DType::UE8M0, 1e300), scaled(1.0, 127));
        assert!(stored(DType::UE8M0, f64::NAN).is_nan());
        for code in 0..256 {
            assert_eq!(scale_code(scale_of(code)), code);
        }
    }
}
