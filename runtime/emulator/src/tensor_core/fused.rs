//! The sum that tensor cores make of a piece of k: all products and c in one alignment.
//!
//! Comes in: the elements of a row and a column and an accumulator, as bits. Goes out: the bits of
//! the sum, and what was lost on the way. Integers only; nothing is rounded but once at the end.

use super::element::Sum;
use super::format::{Class, F16, F32, Format, Parts, Rounding, power_of_two};

/// How one alignment is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fused {
    /// Products of one alignment.
    pub(super) terms: usize,
    /// Bits kept behind the leading one of the largest term.
    pub(super) kept_bits: i32,
    /// Bits of the fraction of an f32 result; the others of it are zero.
    pub(super) f32_bits: u32,
}

/// What one sum gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summed {
    pub(super) bits: u64,
    /// At most this far from the exact sum; infinite where operands or the result are.
    pub(super) error: f64,
}

/// One term: `significand * 2^(exponent - fraction_bits)`.
#[derive(Clone, Copy)]
struct Term {
    negative: bool,
    significand: u64,
    exponent: i32,
    fraction_bits: i32,
}

impl Term {
    /// Whether bits may lie below those that are kept.
    fn loses(&self, unit: i32) -> bool {
        self.significand != 0 && self.exponent - self.fraction_bits < unit
    }

    /// The term in units of two to that power, cut toward zero.
    fn aligned(&self, unit: i32) -> i64 {
        let shift = self.exponent - self.fraction_bits - unit;
        let magnitude = match shift {
            // Zero stays zero, however far its exponent is above the others.
            _ if self.significand == 0 => 0,
            ..=-64 => 0,
            -63..0 => self.significand >> -shift,
            0.. => self.significand << shift,
        } as i64;
        if self.negative { -magnitude } else { magnitude }
    }
}

/// The values that make the sum infinite or NaN.
#[derive(Default)]
struct Specials {
    nan: bool,
    positive: bool,
    negative: bool,
}

impl Specials {
    fn infinity(&mut self, negative: bool) {
        self.negative |= negative;
        self.positive |= !negative;
    }

    fn result(&self, format: Format) -> Option<u64> {
        match (self.positive, self.negative) {
            _ if self.nan => Some(format.nan()),
            (true, true) => Some(format.nan()),
            (true, false) => Some(format.infinity()),
            (false, true) => Some(format.infinity() | format.sign()),
            (false, false) => None,
        }
    }
}

/// The product of two elements, exact and not renormalised.
fn product((a, b): (Parts, Parts), fraction_bits: i32) -> (Class, Term) {
    let zero = |parts: Parts| parts.class == Class::Finite && parts.significand == 0;
    let class = match (a.class, b.class) {
        (Class::Nan, _) | (_, Class::Nan) => Class::Nan,
        (Class::Finite, Class::Finite) => Class::Finite,
        _ if zero(a) || zero(b) => Class::Nan,
        _ => Class::Infinite,
    };
    let term = Term {
        negative: a.negative != b.negative,
        significand: a.significand * b.significand,
        exponent: a.exponent + b.exponent,
        fraction_bits,
    };
    (class, term)
}

impl Fused {
    /// The least exponent that terms are aligned to.
    pub(super) fn floor(format: Format) -> i32 {
        // NOTE: seven below that of the least normal number: -133 and -21 (H200, probes on both
        // sides).
        format.least_exponent() - 7
    }

    pub(super) fn rounding(self, sum: Sum) -> Rounding {
        match sum {
            Sum::F16 => Rounding {
                fraction_bits: 10,
                nearest: true,
            },
            _ => Rounding {
                fraction_bits: self.f32_bits,
                nearest: false,
            },
        }
    }

    /// `c` plus the sum of the products of one piece of k, in a sum of f32 or f16. Products have
    /// `fraction_bits`, those of both operands.
    pub(super) fn add(
        self,
        sum: Sum,
        fraction_bits: u32,
        pairs: impl Iterator<Item = (Parts, Parts)> + Clone,
        c: u64,
    ) -> Summed {
        let format = match sum {
            Sum::F16 => F16,
            _ => F32,
        };
        let mut specials = Specials::default();
        let parts = format.parts(c);
        match parts.class {
            Class::Nan => specials.nan = true,
            Class::Infinite => specials.infinity(parts.negative),
            Class::Finite => {}
        }
        let start = Term {
            negative: parts.negative,
            significand: parts.significand,
            exponent: parts.exponent,
            fraction_bits: format.fraction_bits as i32,
        };
        let products = pairs.map(|pair| product(pair, fraction_bits as i32));
        let mut highest = Fused::floor(format);
        if start.significand != 0 {
            highest = highest.max(start.exponent);
        }
        for (class, term) in products.clone() {
            match class {
                Class::Nan => specials.nan = true,
                Class::Infinite => specials.infinity(term.negative),
                // Zero has no say, whatever the other operand's exponent.
                Class::Finite if term.significand != 0 => highest = highest.max(term.exponent),
                Class::Finite => {}
            }
        }
        if let Some(bits) = specials.result(format) {
            let error = f64::INFINITY;
            return Summed { bits, error };
        }
        let unit = highest - self.kept_bits;
        let mut total = start.aligned(unit);
        let mut losing = u32::from(start.loses(unit));
        for (_, term) in products {
            total += term.aligned(unit);
            losing += u32::from(term.loses(unit));
        }
        let rounded = format.round(total, unit, self.rounding(sum));
        let error = match rounded.bits & !format.sign() {
            bits if bits == format.infinity() => f64::INFINITY,
            _ => {
                let last = rounded.lost.map_or(0.0, power_of_two);
                f64::from(losing) * power_of_two(unit) + last
            }
        };
        Summed {
            bits: rounded.bits,
            error,
        }
    }
}
