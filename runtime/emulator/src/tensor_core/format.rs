//! The formats of tensor-core operands and sums: bits taken apart and put together.
//!
//! Comes in: the bits of a register's element. Goes out: sign, class, significand and exponent,
//! exact; and the other way a finite sum, rounded once.

use std::fmt;

/// The type of an operand's element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Element {
    F16,
    Bf16,
    /// A word of 32 bits, the low 13 of which are not looked at.
    Tf32,
    E4m3,
    E5m2,
    F32,
    F64,
    S8,
    U8,
    S4,
    U4,
}

/// The type of the sum, which is that of C and of D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Sum {
    F16,
    F32,
    F64,
    /// Wraps, or clamps where it saturates (`.satfinite`).
    S32 {
        saturate: bool,
    },
}

/// What kind of value bits stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Finite,
    Infinite,
    Nan,
}

/// A value taken apart: `significand * 2^(exponent - fraction_bits)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) negative: bool,
    pub(super) class: Class,
    /// With the hidden bit. A subnormal's is shorter: it is not renormalised.
    pub(super) significand: u64,
    /// The exponent of the hidden bit's place; a subnormal has that of the least normal number.
    pub(super) exponent: i32,
}

/// A binary floating-point format: sign, exponent, fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    exponent_bits: u32,
    pub(super) fraction_bits: u32,
    /// Whether the highest exponent is for infinities and NaN. Else all ones alone are NaN.
    infinities: bool,
}

pub(super) const F16: Format = Format::ieee(5, 10);
pub(super) const F32: Format = Format::ieee(8, 23);
pub(super) const F64: Format = Format::ieee(11, 52);
const BF16: Format = Format::ieee(8, 7);
const TF32: Format = Format::ieee(8, 10);
const E5M2: Format = Format::ieee(5, 2);
const E4M3: Format = Format {
    exponent_bits: 4,
    fraction_bits: 3,
    infinities: false,
};

impl Format {
    const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Format {
        Format {
            exponent_bits,
            fraction_bits,
            infinities: true,
        }
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The exponent of the least normal number.
    pub(super) const fn least_exponent(self) -> i32 {
        1 - self.bias()
    }

    /// The bit of the sign.
    pub(super) const fn sign(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// Positive infinity.
    pub(super) const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// The NaN that sums give: all ones but for the sign.
    pub(super) const fn nan(self) -> u64 {
        self.sign() - 1
    }

    pub(super) fn parts(self, bits: u64) -> Parts {
        let top = (1 << self.exponent_bits) - 1;
        let biased = bits >> self.fraction_bits & top;
        let fraction = bits & ((1 << self.fraction_bits) - 1);
        let all_ones = fraction == (1 << self.fraction_bits) - 1;
        let class = match (biased == top, self.infinities) {
            (true, true) if fraction == 0 => Class::Infinite,
            (true, true) => Class::Nan,
            (true, false) if all_ones => Class::Nan,
            _ => Class::Finite,
        };
        let hidden = u64::from(biased != 0) << self.fraction_bits;
        Parts {
            negative: bits & self.sign() != 0,
            class,
            significand: fraction | hidden,
            exponent: (biased.max(1) as i32) - self.bias(),
        }
    }

    /// The number `sum * 2^unit` in this format with `fraction_bits` of its own fraction: toward
    /// zero, or to nearest even. What comes to zero is +0, what passes the largest is infinite.
    pub(super) fn round(self, sum: i64, unit: i32, rounding: Rounding) -> Rounded {
        let magnitude = sum.unsigned_abs();
        if magnitude == 0 {
            return Rounded {
                bits: 0,
                lost: None,
            };
        }
        let highest = magnitude.ilog2() as i32 + unit;
        let exponent = highest.max(self.least_exponent());
        let drop = exponent - rounding.fraction_bits as i32 - unit;
        let kept = match drop {
            ..=0 => magnitude << -drop,
            // More than all 64 bits: nothing is left, and nearest is zero as well.
            64.. => 0,
            _ => {
                let kept = magnitude >> drop;
                let rest = magnitude & ((1 << drop) - 1);
                let half = 1 << (drop - 1);
                let up = rest > half || rest == half && kept & 1 == 1;
                kept + u64::from(rounding.nearest && up)
            }
        };
        let lost = (drop > 0).then_some(unit + drop - i32::from(rounding.nearest));
        if kept == 0 {
            return Rounded { bits: 0, lost };
        }
        // The hidden bit carries into the exponent.
        let biased = (exponent + self.bias() - 1) as u64;
        let widened = kept << (self.fraction_bits - rounding.fraction_bits);
        let bits = (biased << self.fraction_bits) + widened;
        let sign = if sum < 0 { self.sign() } else { 0 };
        Rounded {
            bits: bits.min(self.infinity()) | sign,
            lost,
        }
    }

    /// The exact value of finite bits.
    pub(super) fn value(self, bits: u64) -> f64 {
        let parts = self.parts(bits);
        let power = parts.exponent - self.fraction_bits as i32;
        match parts.class {
            Class::Finite => {
                let magnitude = parts.significand as f64 * power_of_two(power);
                if parts.negative {
                    -magnitude
                } else {
                    magnitude
                }
            }
            Class::Infinite if parts.negative => f64::NEG_INFINITY,
            Class::Infinite => f64::INFINITY,
            Class::Nan => f64::NAN,
        }
    }
}

/// How the result of a sum is rounded: the bits behind its leading one, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rounding {
    pub(super) fraction_bits: u32,
    /// To nearest even, else toward zero.
    pub(super) nearest: bool,
}

/// A rounded sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rounded {
    pub(super) bits: u64,
    /// The rounding moved the sum by at most two to this power; none when it was exact.
    pub(super) lost: Option<i32>,
}

/// Two to a power that an f64 holds; 0 and infinity beyond.
pub(super) fn power_of_two(power: i32) -> f64 {
    match power {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (power + 1074)),
        -1022..=1023 => f64::from_bits(((power + 1023) as u64) << 52),
        1024.. => f64::INFINITY,
    }
}

impl Element {
    /// Bits of one element in its register.
    pub const fn bits(self) -> usize {
        match self {
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 | Element::F32 => 32,
            Element::F64 => 64,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::S4 | Element::U4 => 4,
        }
    }

    /// The bit of the sign; 0 for an integer, which has none of its own.
    pub fn sign(self) -> u64 {
        self.format().map_or(0, |_| 1 << (self.bits() - 1))
    }

    /// The value of bits, exact; the low 13 of tf32 are left out.
    ///
    /// ```
    /// use tilewright_emulator::tensor_core::Element;
    /// assert_eq!(Element::E4m3.value(0x7e), 448.0);
    /// assert_eq!(Element::Tf32.value(0x3f80_1fff), 1.0);
    /// assert_eq!(Element::S4.value(0xf), -1.0);
    /// ```
    pub fn value(self, bits: u64) -> f64 {
        match self.format() {
            Some(format) => format.value(self.word(bits)),
            None => self.integer(bits) as f64,
        }
    }

    /// The magnitude that alignment sees: |x|, but of a subnormal number that of the least normal
    /// one, because significands are not renormalised. Zero for zero.
    ///
    /// ```
    /// use tilewright_emulator::tensor_core::Element;
    /// assert_eq!(Element::F16.magnitude(0xc000), 2.0);
    /// assert_eq!(Element::F16.magnitude(0x0001), 2f64.powi(-14));
    /// ```
    pub fn magnitude(self, bits: u64) -> f64 {
        let value = self.value(bits).abs();
        match self.format() {
            Some(format) if value != 0.0 => value.max(power_of_two(format.least_exponent())),
            _ => value,
        }
    }

    /// The integer that the bits are.
    pub(super) fn integer(self, bits: u64) -> i64 {
        let unused = 64 - self.bits() as u32;
        match self {
            Element::S8 | Element::S4 => (bits << unused) as i64 >> unused,
            _ => (bits << unused >> unused) as i64,
        }
    }

    /// The floating-point format; none for integers.
    pub(super) fn format(self) -> Option<Format> {
        Some(match self {
            Element::F16 => F16,
            Element::Bf16 => BF16,
            Element::Tf32 => TF32,
            Element::E4m3 => E4M3,
            Element::E5m2 => E5M2,
            Element::F32 => F32,
            Element::F64 => F64,
            Element::S8 | Element::U8 | Element::S4 | Element::U4 => return None,
        })
    }

    /// The bits of the format: a tf32 word without those that are not looked at.
    pub(super) fn word(self, bits: u64) -> u64 {
        if self == Element::Tf32 {
            bits >> 13
        } else {
            bits
        }
    }

    /// Bits of e4m3 or e5m2 as f16, which holds every value of both. NaN is 0x7fff.
    pub(super) fn widened(self, bits: u64) -> u64 {
        let Some(format) = self.format() else {
            return 0;
        };
        let parts = format.parts(bits);
        let sign = if parts.negative { F16.sign() } else { 0 };
        match parts.class {
            Class::Nan => F16.nan(),
            Class::Infinite => F16.infinity() | sign,
            Class::Finite => {
                let unit = parts.exponent - format.fraction_bits as i32;
                let rounding = Rounding {
                    fraction_bits: F16.fraction_bits,
                    nearest: true,
                };
                F16.round(parts.significand as i64, unit, rounding).bits | sign
            }
        }
    }
}

impl Sum {
    /// The floating-point format; none for integers.
    pub(super) fn format(self) -> Option<Format> {
        match self {
            Sum::F16 => Some(F16),
            Sum::F32 => Some(F32),
            Sum::F64 => Some(F64),
            Sum::S32 { .. } => None,
        }
    }

    /// The value of bits, exact.
    pub fn value(self, bits: u64) -> f64 {
        match self.format() {
            Some(format) => format.value(bits),
            None => f64::from(bits as u32 as i32),
        }
    }

    /// The magnitude that alignment sees, as [`Element::magnitude`].
    pub fn magnitude(self, bits: u64) -> f64 {
        let value = self.value(bits).abs();
        match self.format() {
            Some(format) if value != 0.0 => value.max(power_of_two(format.least_exponent())),
            _ => value,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Element::F16 => "f16",
            Element::Bf16 => "bf16",
            Element::Tf32 => "tf32",
            Element::E4m3 => "e4m3",
            Element::E5m2 => "e5m2",
            Element::F32 => "f32",
            Element::F64 => "f64",
            Element::S8 => "s8",
            Element::U8 => "u8",
            Element::S4 => "s4",
            Element::U4 => "u4",
        })
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sum::F16 => "f16",
            Sum::F32 => "f32",
            Sum::F64 => "f64",
            Sum::S32 { .. } => "s32",
        })
    }
}
