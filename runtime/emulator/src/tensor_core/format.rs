//! Binary floating-point formats: bits taken apart and put together.
//!
//! Comes in: the bits of a register's element. Goes out: sign, class, significand and exponent,
//! exact; and the other way a finite sum, rounded once.

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
pub(super) const BF16: Format = Format::ieee(8, 7);
pub(super) const TF32: Format = Format::ieee(8, 10);
pub(super) const E5M2: Format = Format::ieee(5, 2);
pub(super) const E4M3: Format = Format {
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

    /// As [`Format::parts`], of a value of this format that an f32 holds.
    pub(super) fn parts_of(self, value: f32) -> Parts {
        let wide = F32.parts(u64::from(value.to_bits()));
        let exponent = wide.exponent.max(self.least_exponent());
        let shift = F32.fraction_bits as i32 - self.fraction_bits as i32;
        // Bits are shifted out of zero alone, which has no exponent of its own.
        let shift = (shift + exponent - wide.exponent).min(63);
        Parts {
            significand: wide.significand >> shift,
            exponent,
            ..wide
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
