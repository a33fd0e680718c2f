//! Rounding of an exact (or rounded-to-odd) f64 into any smaller binary format, in every mode.
//!
//! All directed and mixed-precision arithmetic goes through two steps: an f64 that is exact or
//! *rounded to odd* (so that its last bit tells whether something was cut off), and one rounding
//! from there. With at least two spare bits that is a single correct rounding. Library
//! conversions round to nearest only.

/// A binary format narrower than f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Explicit mantissa bits.
    mantissa_bits: u32,
    /// Exponent of the smallest normal number.
    min_exponent: i32,
    /// Bits of the largest finite number.
    pub(crate) max_finite: u32,
    /// Bits of infinity, or of NaN where there is no infinity.
    pub(crate) infinity: u32,
    /// The canonical NaN.
    pub(crate) nan: u32,
    /// The sign bit.
    pub(crate) sign: u32,
}

/// IEEE single; NaN as GPUs make it.
pub(crate) const F32: Format = Format {
    mantissa_bits: 23,
    min_exponent: -126,
    max_finite: 0x7f7f_ffff,
    infinity: 0x7f80_0000,
    nan: 0x7fff_ffff,
    sign: 1 << 31,
};
/// IEEE half.
pub(crate) const F16: Format = Format {
    mantissa_bits: 10,
    min_exponent: -14,
    max_finite: 0x7bff,
    infinity: 0x7c00,
    nan: 0x7fff,
    sign: 1 << 15,
};
/// bfloat16.
pub(crate) const BF16: Format = Format {
    mantissa_bits: 7,
    min_exponent: -126,
    max_finite: 0x7f7f,
    infinity: 0x7f80,
    nan: 0x7fff,
    sign: 1 << 15,
};
/// fp8 with 4 exponent bits and no infinity.
pub(crate) const E4M3: Format = Format {
    mantissa_bits: 3,
    min_exponent: -6,
    max_finite: 0x7e,
    infinity: 0x7f,
    nan: 0x7f,
    sign: 1 << 7,
};
/// fp8 with 5 exponent bits.
pub(crate) const E5M2: Format = Format {
    mantissa_bits: 2,
    min_exponent: -14,
    max_finite: 0x7b,
    infinity: 0x7c,
    nan: 0x7f,
    sign: 1 << 7,
};
/// tf32 before its 13 zero bits are appended.
pub(crate) const TF32: Format = Format {
    mantissa_bits: 10,
    min_exponent: -126,
    max_finite: 0x3_fbff,
    infinity: 0x3_fc00,
    nan: 0x3_ffff,
    sign: 1 << 18,
};

/// Rounding modes of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// To nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// To nearest, ties away from zero.
    Away,
}

impl Round {
    /// Whether a cut-off remainder raises the magnitude. `half` compares the remainder with half
    /// a unit.
    fn raises(self, negative: bool, odd: bool, inexact: bool, half: std::cmp::Ordering) -> bool {
        match self {
            Round::Nearest => half.is_gt() || half.is_eq() && odd,
            Round::Away => half.is_ge(),
            Round::Zero => false,
            Round::Down => inexact && negative,
            Round::Up => inexact && !negative,
        }
    }
}

/// Rounds `x` to `format`. `finite` replaces results beyond the largest finite number by it
/// (`.satfinite`).
pub(crate) fn round(x: f64, format: Format, mode: Round, finite: bool) -> u32 {
    let negative = x.is_sign_negative();
    let sign = if negative { format.sign } else { 0 };
    if x.is_nan() {
        return format.nan;
    }
    if x == 0.0 {
        return sign;
    }
    if x.is_infinite() {
        return sign
            | if finite {
                format.max_finite
            } else {
                format.infinity
            };
    }
    let bits = x.to_bits() & !(1 << 63);
    let (mantissa, exponent) = match bits >> 52 {
        0 => (bits << bits.leading_zeros().saturating_sub(11), {
            -1022 - bits.leading_zeros().saturating_sub(11) as i32
        }),
        biased => (bits & ((1 << 52) - 1) | 1 << 52, biased as i32 - 1023),
    };
    // |x| = mantissa * 2^(exponent - 52); one unit of the result is 2^(top - mantissa_bits).
    let top = exponent.max(format.min_exponent);
    let shift = (top - format.mantissa_bits as i32) - (exponent - 52);
    let (kept, inexact, half) = split(mantissa, shift as u32);
    let kept = kept + u64::from(mode.raises(negative, kept & 1 == 1, inexact, half));
    let steps = (top - format.min_exponent) as u64;
    let magnitude = kept + (steps << format.mantissa_bits);
    if magnitude <= u64::from(format.max_finite) {
        return sign | magnitude as u32;
    }
    let to_infinity = match mode {
        Round::Nearest | Round::Away => true,
        Round::Zero => false,
        Round::Down => negative,
        Round::Up => !negative,
    };
    sign | if to_infinity && !finite {
        format.infinity
    } else {
        format.max_finite
    }
}

/// `value >> shift`, whether bits were lost, and how those compare with half a unit.
fn split(value: u64, shift: u32) -> (u64, bool, std::cmp::Ordering) {
    if shift == 0 {
        return (value, false, std::cmp::Ordering::Less);
    }
    if shift > 60 {
        return (0, value != 0, std::cmp::Ordering::Less);
    }
    let lost = value & ((1 << shift) - 1);
    (value >> shift, lost != 0, lost.cmp(&(1 << (shift - 1))))
}

/// Sets the last bit of a rounded-to-nearest `result` when the exact value differs, moving it
/// towards `error`, the exact value minus `result`.
pub(crate) fn to_odd(result: f64, error: f64) -> f64 {
    if error == 0.0 || !result.is_finite() || error.is_nan() {
        return result;
    }
    let bits = result.to_bits();
    if bits & 1 == 1 {
        return result;
    }
    if result == 0.0 {
        return error;
    }
    let away = (error > 0.0) == (result > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// `a + b` rounded to odd.
pub(crate) fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let virtual_b = sum - a;
    let error = (a - (sum - virtual_b)) + (b - virtual_b);
    to_odd(sum, error)
}

/// `a / b` rounded to odd.
pub(crate) fn div_odd(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    if !quotient.is_finite() || quotient == 0.0 {
        return quotient;
    }
    let remainder = (-quotient).mul_add(b, a);
    to_odd(quotient, if b < 0.0 { -remainder } else { remainder })
}

/// The square root of `a` rounded to odd.
pub(crate) fn sqrt_odd(a: f64) -> f64 {
    let root = a.sqrt();
    if !root.is_finite() || root == 0.0 {
        return root;
    }
    to_odd(root, (-root).mul_add(root, a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;

    #[test]
    fn every_half_survives() {
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits);
            if !value.is_nan() {
                assert_eq!(
                    round(value.to_f64(), F16, Round::Nearest, false),
                    u32::from(bits)
                );
            }
            let value = bf16::from_bits(bits);
            if !value.is_nan() {
                assert_eq!(
                    round(value.to_f64(), BF16, Round::Nearest, false),
                    u32::from(bits)
                );
            }
        }
    }

    proptest! {
        #[test]
        fn nearest_agrees_with_half(bits: u32) {
            let x = f32::from_bits(bits);
            prop_assume!(!x.is_nan());
            let half = u32::from(f16::from_f32(x).to_bits());
            prop_assert_eq!(round(f64::from(x), F16, Round::Nearest, false), half);
            let brain = u32::from(bf16::from_f32(x).to_bits());
            prop_assert_eq!(round(f64::from(x), BF16, Round::Nearest, false), brain);
        }

        #[test]
        fn nearest_f32_agrees_with_hardware(bits: u64) {
            let x = f64::from_bits(bits);
            prop_assume!(!x.is_nan());
            prop_assert_eq!(round(x, F32, Round::Nearest, false), (x as f32).to_bits());
        }

        #[test]
        fn directed_roundings_enclose(bits: u64) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            let down = f64::from(f32::from_bits(round(x, F32, Round::Down, false)));
            let up = f64::from(f32::from_bits(round(x, F32, Round::Up, false)));
            prop_assert!(down <= x && x <= up);
        }

        #[test]
        fn odd_sums_round_as_native_f32_sums(a: u32, b: u32) {
            let (a, b) = (f32::from_bits(a), f32::from_bits(b));
            prop_assume!(!(a + b).is_nan());
            let sum = round(add_odd(f64::from(a), f64::from(b)), F32, Round::Nearest, false);
            prop_assert_eq!(sum, (a + b).to_bits());
        }
    }
}
