//! Binary formats of numbers: what the bits of a type mean, and the nearest bits of a value.
//!
//! One set of formulas for all types of up to 53 significant bits. A code is what an element holds
//! in memory; that of tf32 is a word of f32 whose last bits are zero.

use crate::dtype::DType;

/// A type of numbers with sign, exponent and fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent_bits: u32,
    /// Bits of the fraction.
    pub fraction_bits: u32,
    /// Bits of a word below the fraction.
    pub unused_bits: u32,
    /// Whether the largest exponent is of numbers, all but one code, in place of infinities.
    pub finite: bool,
    /// Whether a code is not a number.
    pub has_nan: bool,
    /// Whether conversions give the largest number for all that is beyond it.
    pub saturating: bool,
}

impl DType {
    /// Bits of its numbers behind the point; `None` of what are no floats.
    pub fn fraction_bits(self) -> Option<u32> {
        Format::of(self).map(|format| format.fraction_bits)
    }
}

impl Format {
    /// The format of a type; `None` for integers and raw bits.
    pub const fn of(dtype: DType) -> Option<Format> {
        let (exponent_bits, fraction_bits, unused_bits) = match dtype {
            DType::F16 => (5, 10, 0),
            DType::BF16 => (8, 7, 0),
            DType::TF32 => (8, 10, 13),
            DType::F32 => (8, 23, 0),
            DType::F64 => (11, 52, 0),
            DType::E4M3 => (4, 3, 0),
            DType::E5M2 => (5, 2, 0),
            DType::E2M1 => (2, 1, 0),
            _ => return None,
        };
        Some(Format {
            exponent_bits,
            fraction_bits,
            unused_bits,
            finite: matches!(dtype, DType::E4M3 | DType::E2M1),
            has_nan: !matches!(dtype, DType::E2M1),
            saturating: dtype.bits() <= 8,
        })
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Exponent of the smallest normal number.
    pub const fn least_exponent(self) -> i32 {
        1 - self.bias()
    }

    /// Exponent of the largest number.
    pub const fn top_exponent(self) -> i32 {
        self.bias() + self.finite as i32
    }

    /// The code of the largest number.
    pub const fn largest(self) -> u64 {
        let above = ((1 << self.exponent_bits) - 1) << self.fraction_bits;
        let last = (1 << self.fraction_bits) - 1;
        let code = if self.finite {
            above + last - self.has_nan as u64
        } else {
            above - 1
        };
        code << self.unused_bits
    }

    /// The code of infinity; `None` where there is none.
    pub const fn infinity(self) -> Option<u64> {
        if self.finite {
            return None;
        }
        Some(self.largest() + (1 << self.unused_bits))
    }

    /// The bit of the sign.
    pub const fn sign(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits + self.unused_bits)
    }

    /// The code of `1.fraction * 2^exponent`, cut to what the type holds: the largest number for
    /// larger ones, fewer bits for smaller ones.
    pub fn code(self, exponent: i32, fraction: u64) -> u64 {
        let one = 1u64 << self.fraction_bits;
        let steps = one | (fraction & (one - 1));
        let below = self.least_exponent().saturating_sub(exponent);
        let code = match u32::try_from(below) {
            Ok(below) if below > 0 => steps.checked_shr(below).unwrap_or(0),
            _ => {
                let field = exponent.min(self.top_exponent()) + self.bias();
                ((field as u64) << self.fraction_bits) + steps - one
            }
        };
        let code = code << self.unused_bits;
        if exponent > self.top_exponent() {
            return self.largest();
        }
        code.min(self.largest())
    }

    /// The value of a code.
    pub fn decode(self, code: u64) -> f64 {
        let magnitude = code & (self.sign() - 1);
        let sign = if code & self.sign() == 0 { 1.0 } else { -1.0 };
        if magnitude > self.largest() | ((1 << self.unused_bits) - 1) {
            return match self.infinity() {
                Some(infinity) if infinity == magnitude => sign * f64::INFINITY,
                _ => f64::NAN,
            };
        }
        let fraction_bits = self.fraction_bits + self.unused_bits;
        let field = (magnitude >> fraction_bits) as i32;
        if field > 0 {
            let exponent = (field - self.bias() + F64_BIAS) as u64;
            let fraction = (magnitude << (52 - fraction_bits)) & ((1 << 52) - 1);
            return f64::from_bits((exponent << 52) | fraction).copysign(sign);
        }
        let steps = magnitude & ((1 << fraction_bits) - 1);
        let exponent = 1 - self.bias() - fraction_bits.cast_signed();
        sign * scaled(steps as f64, exponent)
    }

    /// The nearest number, ties to even, as f64; infinity for what is beyond the largest by half a
    /// step and more, or the largest where conversions saturate.
    pub fn nearest(self, value: f64) -> f64 {
        let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - F64_BIAS;
        let is_normal = exponent >= self.least_exponent() && exponent < self.top_exponent();
        if is_normal && self.fraction_bits < 52 {
            // Adding just below half a step, and the last bit that stays, carries where the value
            // goes up: the exponent's field lies behind the fraction's.
            let cut = 52 - self.fraction_bits;
            let bits = value.to_bits();
            let up = (1 << (cut - 1)) - 1 + (bits >> cut & 1);
            return f64::from_bits((bits + up) & !((1 << cut) - 1));
        }
        if value.is_infinite() && self.saturating {
            return self.decode(self.largest()).copysign(value);
        }
        if self.fraction_bits == 52 || !value.is_finite() || value == 0.0 {
            return value;
        }
        let quantum = binade(value).max(self.least_exponent()) - self.fraction_bits.cast_signed();
        // Multiplying by a power of two is exact: quanta lie far from the ends of f64.
        let near = scaled(scaled(value, -quantum).round_ties_even(), quantum);
        let largest = self.decode(self.largest());
        match near.abs() > largest {
            true if self.saturating => largest.copysign(value),
            true => f64::INFINITY.copysign(value),
            false => near,
        }
    }

    /// Half a step of numbers of that magnitude.
    pub fn half_step(self, magnitude: f64) -> f64 {
        let exponent = binade(magnitude).clamp(self.least_exponent(), self.top_exponent());
        scaled(0.5, exponent - self.fraction_bits.cast_signed())
    }

    /// The code of the nearest number; one NaN for all, or the largest number where there is none.
    pub fn encode(self, value: f64) -> u64 {
        if value.is_nan() && !self.has_nan {
            return self.largest();
        }
        if value.is_nan() {
            return self.sign() - 1 - ((1 << self.unused_bits) - 1);
        }
        let sign = if value.is_sign_negative() {
            self.sign()
        } else {
            0
        };
        let near = self.nearest(value).abs();
        let exponent = (near.to_bits() >> 52) as i32 - F64_BIAS;
        if exponent >= self.least_exponent() && near.is_finite() {
            let field = (exponent + self.bias()) as u64;
            let fraction = (near.to_bits() & ((1 << 52) - 1)) >> (52 - self.fraction_bits);
            return sign | (((field << self.fraction_bits) | fraction) << self.unused_bits);
        }
        if near.is_infinite() {
            return sign | self.infinity().unwrap_or(self.largest());
        }
        if near == 0.0 {
            return sign;
        }
        let quantum = self.least_exponent() - self.fraction_bits.cast_signed();
        let steps = scaled(near, -quantum) as u64;
        sign | (steps << self.unused_bits)
    }

    /// 2 to the exponent that a tensor core gives a number: that of its leading one, and of
    /// subnormals that of the smallest normal number. 0 for zero.
    pub fn weight(self, value: f64) -> f64 {
        if value == 0.0 {
            return 0.0;
        }
        let power = f64::from_bits(value.to_bits() & (0x7ff << 52));
        power.max(scaled(1.0, self.least_exponent()))
    }
}

/// What f64 adds to exponents.
const F64_BIAS: i32 = 1023;

/// Exponent of the leading one of a finite value other than 0; that of the smallest normal f64 for
/// those below it.
fn binade(value: f64) -> i32 {
    ((value.to_bits() >> 52 & 0x7ff) as i32).max(1) - 1023
}

/// `value * 2^exponent`, in two steps as far as one is beyond f64.
pub fn scaled(value: f64, exponent: i32) -> f64 {
    let power = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
    let first = exponent.clamp(-1022, 1023);
    let rest = (exponent - first).clamp(-1022, 1023);
    value * power(first) * power(rest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NARROW: [DType; 5] = [
        DType::F16,
        DType::BF16,
        DType::TF32,
        DType::E4M3,
        DType::E5M2,
    ];

    #[test]
    fn every_number_is_its_own_nearest() {
        for dtype in NARROW {
            let format = Format::of(dtype).unwrap();
            let unit = 1u64 << format.unused_bits;
            let codes = (0..=format.largest() >> format.unused_bits).map(|code| code * unit);
            let codes: Vec<u64> = codes.step_by(if unit > 1 { 61 } else { 1 }).collect();
            let numbers: Vec<f64> = codes.iter().map(|code| format.decode(*code)).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "{dtype}");
            for (code, number) in codes.iter().zip(&numbers) {
                assert_eq!(format.encode(*number), *code, "{dtype}");
                assert_eq!(format.encode(-number), code | format.sign(), "{dtype}");
                if *code == format.largest() {
                    continue;
                }
                let next = format.decode(code + unit);
                let middle = (number + next) / 2.0;
                let even = if (code / unit).is_multiple_of(2) {
                    *number
                } else {
                    next
                };
                assert_eq!(format.nearest(middle), even, "{dtype}");
                assert_eq!(format.nearest(middle.next_down()), *number, "{dtype}");
                assert_eq!(format.nearest(middle.next_up()), next, "{dtype}");
            }
        }
    }

    #[test]
    fn ends_are_those_of_the_types() {
        let of = |dtype| Format::of(dtype).unwrap();
        let largest = |dtype| of(dtype).decode(of(dtype).largest());
        assert_eq!(largest(DType::E4M3), 448.0);
        assert_eq!(largest(DType::E5M2), 57344.0);
        assert_eq!(largest(DType::F16), 65504.0);
        assert_eq!(largest(DType::F32), f64::from(f32::MAX));
        assert_eq!(of(DType::F16).nearest(65519.9), 65504.0);
        assert_eq!(of(DType::F16).nearest(65520.0), f64::INFINITY);
        assert_eq!(of(DType::E4M3).nearest(1e9), 448.0);
        assert_eq!(of(DType::E5M2).nearest(f64::NEG_INFINITY), -57344.0);
        assert_eq!(of(DType::E5M2).decode(0xfc), f64::NEG_INFINITY);
        assert!(of(DType::E4M3).decode(0x7f).is_nan() && of(DType::E5M2).decode(0x7d).is_nan());
        assert_eq!(of(DType::F32).encode(1.5), u64::from(1.5f32.to_bits()));
        assert_eq!(of(DType::F64).encode(-2.5e-310), (-2.5e-310f64).to_bits());
        assert_eq!(largest(DType::E2M1), 6.0);
        assert_eq!(
            of(DType::E2M1).decode(of(DType::E2M1).encode(f64::NAN)),
            6.0
        );
        for dtype in NARROW.into_iter().chain([DType::F32, DType::F64]) {
            assert!(
                of(dtype).decode(of(dtype).encode(f64::NAN)).is_nan(),
                "{dtype}"
            );
        }
    }

    #[test]
    fn codes_are_cut_to_the_range() {
        let f16 = Format::of(DType::F16).unwrap();
        assert_eq!(f16.decode(f16.code(3, 0x200)), 12.0);
        assert_eq!(f16.decode(f16.code(99, 0)), 65504.0);
        assert_eq!(f16.code(-16, 0x3ff), 0x1ff);
        assert_eq!(f16.code(-60, 0), 0);
        assert_eq!(f16.weight(0.0), 0.0);
        assert_eq!(f16.weight(-3.0), 2.0);
        assert_eq!(f16.weight(scaled(1.0, -20)), scaled(1.0, -14));
    }
}
