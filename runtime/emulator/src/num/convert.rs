//! `cvt`: every pair of scalar types (ISA 9.7.9.21).
//!
//! Integer sources are exact in i128; floating sources are exact in f64. A conversion is: read
//! exactly, apply the modifier, write once.

use super::float::{FloatMods, flush, to_f32};
use super::int::{sign_extend, truncate};
use super::round::{E4M3, E5M2, Format, Round, TF32, round, to_odd};
use super::short::Short;
use half::{bf16, f16};

/// The scalar type of one side of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// An integer of that many bits.
    Int {
        bits: u32,
        signed: bool,
    },
    F16,
    BF16,
    F32,
    F64,
    Tf32,
    E4m3,
    E5m2,
}

/// A value read exactly.
#[derive(Clone, Copy, Debug)]
enum Exact {
    Int(i128),
    Float(f64),
}

/// How a float becomes an integer or an integral float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integral {
    /// Keep the fraction.
    No,
    Nearest,
    Zero,
    Down,
    Up,
}

/// One conversion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Conversion {
    pub(crate) to: Scalar,
    pub(crate) from: Scalar,
    pub(crate) mode: Round,
    pub(crate) integral: Integral,
    pub(crate) mods: FloatMods,
    pub(crate) satfinite: bool,
}

fn fp8(bits: u64, format: Format, mantissa_bits: u32, bias: i32) -> f64 {
    let magnitude = bits as u32 & 0x7f;
    let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
    if magnitude > format.max_finite {
        let infinite = magnitude == format.infinity && format.infinity != format.nan;
        return if infinite {
            sign * f64::INFINITY
        } else {
            f64::NAN
        };
    }
    let (exponent, mantissa) = (
        magnitude >> mantissa_bits,
        magnitude & ((1 << mantissa_bits) - 1),
    );
    let (mantissa, exponent) = match exponent {
        0 => (mantissa, 1),
        _ => (mantissa | 1 << mantissa_bits, exponent as i32),
    };
    sign * f64::from(mantissa) * f64::from(exponent - bias - mantissa_bits as i32).exp2()
}

impl Scalar {
    /// The exact value of an fp8, 16-bit, 32-bit or 64-bit float.
    pub(crate) fn float(self, bits: u64) -> f64 {
        match self {
            Scalar::F16 => f16::from_bits(bits as u16).to_f64(),
            Scalar::BF16 => bf16::from_bits(bits as u16).to_f64(),
            Scalar::F32 | Scalar::Tf32 => f64::from(f32::from_bits(bits as u32)),
            Scalar::F64 => f64::from_bits(bits),
            Scalar::E4m3 => fp8(bits, E4M3, 3, 7),
            Scalar::E5m2 => fp8(bits, E5M2, 2, 15),
            Scalar::Int {
                bits: width,
                signed,
            } => {
                if signed {
                    sign_extend(bits, width) as i64 as f64
                } else {
                    truncate(bits, width) as f64
                }
            }
        }
    }

    fn read(self, bits: u64, flushed: bool) -> Exact {
        match self {
            Scalar::Int {
                bits: width,
                signed: true,
            } => Exact::Int(i128::from(sign_extend(bits, width) as i64)),
            Scalar::Int {
                bits: width,
                signed: false,
            } => Exact::Int(i128::from(truncate(bits, width))),
            Scalar::F32 if flushed => self.read(u64::from(flush(bits as u32)), false),
            _ => Exact::Float(self.float(bits)),
        }
    }
}

impl Conversion {
    /// Converts one value; the result has the width of the destination type.
    pub(crate) fn apply(&self, bits: u64) -> u64 {
        if let Some(short) = self.plainly_short(bits) {
            return short;
        }
        let ftz = self.mods.has(FloatMods::FTZ);
        match (self.from.read(bits, ftz), self.to) {
            (
                Exact::Int(value),
                Scalar::Int {
                    bits: width,
                    signed,
                },
            ) => {
                let value = if self.mods.has(FloatMods::SAT) {
                    clamp(value, width, signed)
                } else {
                    value
                };
                truncate(value as u64, width)
            }
            (
                Exact::Float(value),
                Scalar::Int {
                    bits: width,
                    signed,
                },
            ) => self.float_to_int(value, width, signed),
            (Exact::Int(value), _) => self.int_to_float(value),
            (Exact::Float(value), _) => self.write(self.integral_value(value)),
        }
    }

    /// The usual way to 16 bits: a number rounded to nearest, and nothing else.
    fn plainly_short(&self, bits: u64) -> Option<u64> {
        let plain = self.mode == Round::Nearest && self.integral == Integral::No;
        let plain = plain && self.mods == FloatMods(0) && !self.satfinite;
        let value = f32::from_bits(bits as u32);
        match self.to {
            _ if !plain || self.from != Scalar::F32 || value.is_nan() => None,
            Scalar::F16 => Some(u64::from(f16::from_f32(value).to_bits())),
            Scalar::BF16 => Some(u64::from(bf16::from_f32(value).to_bits())),
            _ => None,
        }
    }

    fn integral_value(&self, value: f64) -> f64 {
        match self.integral {
            Integral::No => value,
            Integral::Nearest => value.round_ties_even(),
            Integral::Zero => value.trunc(),
            Integral::Down => value.floor(),
            Integral::Up => value.ceil(),
        }
    }

    fn float_to_int(&self, value: f64, width: u32, signed: bool) -> u64 {
        if value.is_nan() {
            // NOTE: 32-bit and narrower results of f16 and f32 NaN are 0, all others the top bit
            // (H200).
            return if self.from == Scalar::F64 || width == 64 {
                1 << (width - 1)
            } else {
                0
            };
        }
        truncate(
            clamp(self.integral_value(value) as i128, width, signed) as u64,
            width,
        )
    }

    fn int_to_float(&self, value: i128) -> u64 {
        if self.to == Scalar::F64 {
            let near = value as f64;
            let error = value - near as i128;
            let toward = match self.mode {
                Round::Zero => error.signum() * value.signum() < 0,
                Round::Down => error < 0,
                Round::Up => error > 0,
                Round::Nearest | Round::Away => false,
            };
            let up = error > 0;
            let moved = if up { near.next_up() } else { near.next_down() };
            return if toward {
                moved.to_bits()
            } else {
                near.to_bits()
            };
        }
        // Rounding to odd keeps what 53 bits cut off visible for the second rounding.
        let near = value as f64;
        let error = (value - near as i128) as f64;
        self.write(to_odd(near, error))
    }

    /// Writes a float in the destination format.
    fn write(&self, value: f64) -> u64 {
        let value = if self.mods.has(FloatMods::RELU) && value <= 0.0 {
            0.0
        } else {
            value
        };
        let value = match self.mods.has(FloatMods::SAT) {
            true if value > 0.0 => value.min(1.0),
            true => 0.0,
            false => value,
        };
        let mode = self.mode;
        let bits = match self.to {
            Scalar::F64 => {
                return if value.is_nan() {
                    0x7fff_ffff_ffff_ffff
                } else {
                    value.to_bits()
                };
            }
            Scalar::F32 => {
                let bits = to_f32(value, mode);
                if self.mods.has(FloatMods::FTZ) {
                    flush(bits)
                } else {
                    bits
                }
            }
            Scalar::Tf32 if value.is_nan() => 0x7fff_ffff,
            Scalar::Tf32 => round(value, TF32, mode, self.satfinite) << 13,
            Scalar::F16 => round(value, Short::F16.format(), mode, self.satfinite),
            Scalar::BF16 => round(value, Short::BF16.format(), mode, self.satfinite),
            Scalar::E4m3 => round(value, E4M3, mode, self.satfinite),
            Scalar::E5m2 => round(value, E5M2, mode, self.satfinite),
            Scalar::Int { .. } => 0,
        };
        u64::from(bits)
    }
}

/// Clamps into the range of an integer type.
fn clamp(value: i128, width: u32, signed: bool) -> i128 {
    let one = 1i128;
    let (low, high) = if signed {
        (-(one << (width - 1)), (one << (width - 1)) - 1)
    } else {
        (0, (one << width) - 1)
    };
    value.clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S32: Scalar = Scalar::Int {
        bits: 32,
        signed: true,
    };
    const U32: Scalar = Scalar::Int {
        bits: 32,
        signed: false,
    };

    fn cvt(to: Scalar, from: Scalar, mode: Round, integral: Integral) -> Conversion {
        Conversion {
            to,
            from,
            mode,
            integral,
            mods: FloatMods(0),
            satfinite: false,
        }
    }

    #[test]
    fn all_16_bit_patterns_widen_as_half_does() {
        let from_half = cvt(Scalar::F32, Scalar::F16, Round::Nearest, Integral::No);
        let from_brain = cvt(Scalar::F32, Scalar::BF16, Round::Nearest, Integral::No);
        for bits in 0..=u16::MAX {
            let canonical = |x: f32| if x.is_nan() { 0x7fff_ffff } else { x.to_bits() };
            let want = canonical(f16::from_bits(bits).to_f32());
            assert_eq!(
                from_half.apply(u64::from(bits)),
                u64::from(want),
                "{bits:#x}"
            );
            let want = canonical(bf16::from_bits(bits).to_f32());
            assert_eq!(
                from_brain.apply(u64::from(bits)),
                u64::from(want),
                "{bits:#x}"
            );
        }
    }

    #[test]
    fn all_16_bit_patterns_to_integers() {
        for (integral, model) in [
            (Integral::Nearest, f32::round_ties_even as fn(f32) -> f32),
            (Integral::Zero, f32::trunc),
            (Integral::Down, f32::floor),
            (Integral::Up, f32::ceil),
        ] {
            let signed = cvt(S32, Scalar::F16, Round::Nearest, integral);
            let unsigned = cvt(U32, Scalar::F16, Round::Nearest, integral);
            for bits in 0..=u16::MAX {
                let value = model(f16::from_bits(bits).to_f32());
                // Rust's casts clamp and turn NaN into 0, as PTX does for these types.
                assert_eq!(
                    signed.apply(u64::from(bits)),
                    u64::from(value as i32 as u32)
                );
                assert_eq!(unsigned.apply(u64::from(bits)), u64::from(value as u32));
            }
        }
    }

    #[test]
    fn fp8_patterns_round_trip() {
        for (kind, format) in [(Scalar::E4m3, E4M3), (Scalar::E5m2, E5M2)] {
            let narrow = cvt(kind, Scalar::F32, Round::Nearest, Integral::No);
            for bits in 0..256u64 {
                let value = kind.float(bits);
                let back = narrow.apply(u64::from((value as f32).to_bits()));
                let want = if value.is_nan() {
                    u64::from(format.nan)
                } else {
                    bits
                };
                assert_eq!(back, want, "{kind:?} {bits:#x} {value}");
            }
        }
        assert_eq!(Scalar::E4m3.float(0x7e), 448.0);
        assert_eq!(Scalar::E5m2.float(0x7b), 57344.0);
    }

    #[test]
    fn saturation_and_not_a_number() {
        let bits = |x: f32| u64::from(x.to_bits());
        let mut narrow = cvt(Scalar::E4m3, Scalar::F32, Round::Nearest, Integral::No);
        narrow.satfinite = true;
        assert_eq!(narrow.apply(bits(1e9)), 0x7e);
        assert_eq!(narrow.apply(bits(f32::NEG_INFINITY)), 0xfe);
        assert_eq!(narrow.apply(bits(f32::NAN)), 0x7f);
        let truncate64 = cvt(
            Scalar::Int {
                bits: 64,
                signed: true,
            },
            Scalar::F32,
            Round::Nearest,
            Integral::Zero,
        );
        assert_eq!(truncate64.apply(bits(f32::NAN)), 1 << 63);
        let tf32 = cvt(Scalar::Tf32, Scalar::F32, Round::Away, Integral::No);
        assert_eq!(tf32.apply(0x3f80_1000), 0x3f80_2000);
        assert_eq!(tf32.apply(0x3f80_0fff), 0x3f80_0000);
    }

    proptest! {
        #[test]
        fn integers_to_f32_in_every_mode(value: i64) {
            let from = Scalar::Int { bits: 64, signed: true };
            let near = cvt(Scalar::F32, from, Round::Nearest, Integral::No).apply(value as u64);
            prop_assert_eq!(near as u32, (value as f32).to_bits());
            let down = cvt(Scalar::F32, from, Round::Down, Integral::No).apply(value as u64);
            let up = cvt(Scalar::F32, from, Round::Up, Integral::No).apply(value as u64);
            let exact = |bits: u64| f32::from_bits(bits as u32) as i128;
            prop_assert!(exact(down) <= i128::from(value) && i128::from(value) <= exact(up));
        }

        #[test]
        fn doubles_narrow_as_native(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            let narrow = cvt(Scalar::F32, Scalar::F64, Round::Nearest, Integral::No).apply(bits);
            prop_assert_eq!(narrow as u32, (value as f32).to_bits());
        }
    }
}
