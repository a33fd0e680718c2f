//! The functions of the special-function unit itself: what instructions with `.ftz` give.
//!
//! In: bits of f32, or the high word of an f64. Out: the same. A NaN result is 0x7fffffff;
//! subnormal arguments count as zero, except in `tanh`, which has none that matter.

use super::coefficients::{EX2, LG2, RCP, RSQRT, SIN, SQRT, TANH};

const NAN: u32 = 0x7fff_ffff;
const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7f80_0000;
const ONE: u32 = 0x3f80_0000;
/// The low 17 bits of an argument, which most functions interpolate over.
const REMAINDER: u32 = 0x1_ffff;
/// The fraction of an f32.
const FRACTION: u32 = 0x7f_ffff;

/// A floating-point format as these functions see it: f32, or the high word of an f64.
#[derive(Clone, Copy, Debug)]
struct Parts {
    /// The sign in its place.
    sign: u32,
    /// The biased exponent.
    exponent: i32,
    /// The fraction, brought to 23 bits.
    fraction: u32,
}

/// Where the parts of a format lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    fraction_bits: u32,
    largest_exponent: i32,
}

/// f32.
pub(super) const SINGLE: Places = Places {
    fraction_bits: 23,
    largest_exponent: 255,
};
/// The high word of an f64; the low one is not looked at.
pub(super) const HIGH_WORD: Places = Places {
    fraction_bits: 20,
    largest_exponent: 2047,
};

impl Places {
    fn bias(self) -> i32 {
        self.largest_exponent >> 1
    }

    fn split(self, x: u32) -> Parts {
        let fraction = x & ((1 << self.fraction_bits) - 1);
        Parts {
            sign: x & SIGN,
            exponent: (x >> self.fraction_bits) as i32 & self.largest_exponent,
            fraction: fraction << (23 - self.fraction_bits),
        }
    }

    fn infinity(self) -> u32 {
        (self.largest_exponent as u32) << self.fraction_bits
    }

    /// A number of a 24-bit mantissa, of which 2^24 is the next power of two; an exponent of 0 or
    /// less gives zero, the largest one infinity.
    fn join(self, sign: u32, exponent: i32, mantissa: i64) -> u32 {
        let carry = (mantissa >> 24) as i32;
        let exponent = exponent + carry;
        if exponent <= 0 {
            return sign;
        }
        if exponent >= self.largest_exponent {
            return sign | self.infinity();
        }
        let mantissa = if carry == 1 { 0 } else { mantissa as u32 };
        let fraction = (mantissa & FRACTION) >> (23 - self.fraction_bits);
        sign | (exponent as u32) << self.fraction_bits | fraction
    }
}

/// `r * 2^-unit` as f32, cut to 24 bits.
fn normalized(sign: u32, r: i64, unit: i32) -> u32 {
    if r <= 0 {
        return sign;
    }
    let top = 63 - r.leading_zeros() as i32;
    let mantissa = if top >= 23 {
        r >> (top - 23)
    } else {
        r << (23 - top)
    };
    SINGLE.join(sign, top - unit + 127, mantissa)
}

/// `1 / x`.
pub(super) fn rcp(format: Places, x: u32) -> u32 {
    let Parts {
        sign,
        exponent,
        fraction,
    } = format.split(x);
    if exponent == format.largest_exponent {
        return if fraction != 0 { NAN } else { sign };
    }
    if exponent == 0 {
        return sign | format.infinity();
    }
    let l = fraction & 0xffff;
    let mantissa = RCP.at(fraction >> 16, l, l << 1) >> 15;
    // The exponents of 1 / (1.m * 2^k), one lower as the mantissa is below 1.
    format.join(sign, 2 * format.bias() - 1 - exponent, mantissa)
}

/// `1 / sqrt(x)`.
pub(super) fn rsqrt(format: Places, x: u32) -> u32 {
    let parts = format.split(x);
    if parts.exponent == format.largest_exponent && parts.fraction != 0 {
        return NAN;
    }
    if parts.exponent == 0 {
        return parts.sign | format.infinity();
    }
    if parts.sign != 0 {
        return NAN;
    }
    if parts.exponent == format.largest_exponent {
        return 0;
    }
    let power = parts.exponent - format.bias();
    let fixed = two_binades(power, parts.fraction);
    let l = fixed & REMAINDER;
    let mantissa = match fixed {
        0 => 1 << 24,
        _ => RSQRT.at(fixed >> 17, l, l) >> 16,
    };
    format.join(0, format.bias() - 1 - (power >> 1), mantissa)
}

/// The fraction in 24 bits: the second half is for odd powers of two.
fn two_binades(power: i32, fraction: u32) -> u32 {
    fraction | (power as u32 & 1) << 23
}

/// `sqrt(x)`.
pub(super) fn sqrt(x: u32) -> u32 {
    let parts = SINGLE.split(x);
    if parts.exponent == 255 && parts.fraction != 0 {
        return NAN;
    }
    if parts.exponent == 0 {
        return parts.sign;
    }
    if parts.sign != 0 {
        return NAN;
    }
    if parts.exponent == 255 {
        return INFINITY;
    }
    let power = parts.exponent - 127;
    let fixed = two_binades(power, parts.fraction);
    let l = fixed & REMAINDER;
    SINGLE.join(0, 127 + (power >> 1), SQRT.at(fixed >> 17, l, l) >> 17)
}

/// `2^x`.
pub(super) fn ex2(x: u32) -> u32 {
    let parts = SINGLE.split(x);
    let (negative, power) = (parts.sign != 0, parts.exponent - 127);
    if parts.exponent == 255 && parts.fraction != 0 {
        return NAN;
    }
    if parts.exponent == 0 {
        return ONE;
    }
    if power >= 7 {
        return if negative { 0 } else { INFINITY };
    }
    // 7 bits before the point, 23 behind it; the rest is cut.
    let mantissa = 1 << 23 | parts.fraction;
    let fixed = if power >= 0 {
        mantissa << power
    } else {
        mantissa.checked_shr(power.unsigned_abs()).unwrap_or(0)
    };
    let (mut whole, mut fraction) = ((fixed >> 23) as i32, fixed & FRACTION);
    if negative {
        whole = -whole - i32::from(fraction != 0);
        // NOTE: the complement has no 1 added.
        fraction = if fraction != 0 {
            !fraction & FRACTION
        } else {
            0
        };
    }
    let l = fraction & REMAINDER;
    SINGLE.join(0, 127 + whole, EX2.at(fraction >> 17, l, l) >> 15)
}

/// The logarithm to base 2.
pub(super) fn lg2(x: u32) -> u32 {
    let parts = SINGLE.split(x);
    if parts.exponent == 255 && parts.fraction != 0 {
        return NAN;
    }
    if parts.exponent == 0 {
        return SIGN | INFINITY;
    }
    if parts.sign != 0 {
        return NAN;
    }
    if parts.exponent == 255 {
        return INFINITY;
    }
    let l = parts.fraction & REMAINDER;
    let fraction = match x {
        ONE => 0,
        _ => LG2.at(parts.fraction >> 17, l, l) >> 2,
    };
    let sum = fraction + (i64::from(parts.exponent - 127) << 36);
    match sum < 0 {
        true => normalized(SIGN, !sum, 36),
        false => normalized(0, sum, 36),
    }
}

/// The sine, or the cosine, of an angle in turns.
pub(super) fn wave(turns: u32, cosine: bool) -> u32 {
    let parts = SINGLE.split(turns);
    if parts.exponent == 255 {
        return NAN;
    }
    // Quarter turns with 2 bits before the point, 23 behind it; whole turns and the rest are cut.
    let mantissa = u64::from(1 << 23 | parts.fraction);
    let shift = parts.exponent - 125;
    let fixed = match shift {
        _ if parts.exponent == 0 || shift >= 25 => 0,
        0.. => mantissa << shift,
        _ => mantissa.checked_shr(shift.unsigned_abs()).unwrap_or(0),
    };
    let quarter = (fixed >> 23) as u32 + u32::from(cosine);
    let fraction = fixed as u32 & FRACTION;
    let fraction = match quarter & 1 {
        1 => !fraction & FRACTION,
        _ => fraction,
    };
    let sign = if cosine { 0 } else { parts.sign };
    let l = fraction & REMAINDER;
    let value = SIN.at(fraction >> 17, l, l);
    normalized(sign ^ (quarter >> 1 & 1) << 31, value, 37)
}

/// For each binade of `tanh` from 2^-8 on: its first piece, and the bits of the fraction that
/// choose one.
const TANH_BINADES: [(u32, u32); 11] = [
    (0, 0),
    (1, 0),
    (2, 0),
    (3, 1),
    (5, 1),
    (7, 2),
    (11, 2),
    (15, 2),
    (19, 3),
    (27, 4),
    (43, 3),
];

/// The hyperbolic tangent.
pub(super) fn tanh(x: u32) -> u32 {
    let parts = SINGLE.split(x);
    if parts.exponent == 255 && parts.fraction != 0 {
        return NAN;
    }
    if parts.exponent < 119 {
        return x;
    }
    let binade = TANH_BINADES.get(parts.exponent as usize - 119);
    let Some((first, bits)) = binade else {
        return parts.sign | ONE;
    };
    let piece = first + (parts.fraction >> (23 - bits));
    let l = parts.fraction >> (6 - bits) & REMAINDER;
    normalized(parts.sign, TANH.at(piece, l, l), 39)
}
