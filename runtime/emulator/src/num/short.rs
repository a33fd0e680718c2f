//! f16 and bf16 operations on raw bits.

use super::float::{FloatMods, pick};
use super::round::{BF16, F16, Format, Round, add_odd, round};
use half::{bf16, f16};

/// A 16-bit format: how its bits become f64, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    F16,
    BF16,
}

impl Short {
    /// The exact value.
    pub(crate) fn value(self, bits: u64) -> f64 {
        match self {
            Short::F16 => f16::from_bits(bits as u16).to_f64(),
            Short::BF16 => bf16::from_bits(bits as u16).to_f64(),
        }
    }

    pub(crate) fn format(self) -> Format {
        match self {
            Short::F16 => F16,
            Short::BF16 => BF16,
        }
    }

    pub(super) fn input(self, bits: u64, mods: FloatMods) -> f64 {
        let value = self.value(bits);
        let tiny = self == Short::F16 && mods.has(FloatMods::FTZ) && bits & 0x7c00 == 0;
        if tiny { value * 0.0 } else { value }
    }

    /// Rounds to nearest and applies `.sat`, `.relu` and `.ftz`.
    pub(crate) fn finish(self, value: f64, mods: FloatMods) -> u64 {
        let bits = round(value, self.format(), Round::Nearest, false);
        let negative = bits & 0x8000 != 0;
        if mods.has(FloatMods::SAT) {
            return match () {
                () if value.is_nan() || negative => 0,
                () => u64::from(bits.min(round(1.0, self.format(), Round::Nearest, false))),
            };
        }
        if mods.has(FloatMods::RELU) && negative && !value.is_nan() {
            return 0;
        }
        if self == Short::F16 && mods.has(FloatMods::FTZ) && bits & 0x7c00 == 0 {
            return u64::from(bits & 0x8000);
        }
        u64::from(bits)
    }

    /// `a + b`.
    pub(crate) fn add(self, a: u64, b: u64, mods: FloatMods) -> u64 {
        self.finish(add_odd(self.input(a, mods), self.input(b, mods)), mods)
    }

    /// `a - b`.
    pub(crate) fn sub(self, a: u64, b: u64, mods: FloatMods) -> u64 {
        self.finish(add_odd(self.input(a, mods), -self.input(b, mods)), mods)
    }

    /// `a * b`.
    pub(crate) fn mul(self, a: u64, b: u64, mods: FloatMods) -> u64 {
        self.finish(self.input(a, mods) * self.input(b, mods), mods)
    }

    /// `a * b + c` with one rounding.
    pub(crate) fn fma(self, a: u64, b: u64, c: u64, mods: FloatMods) -> u64 {
        let product = self.input(a, mods) * self.input(b, mods);
        self.finish(add_odd(product, self.input(c, mods)), mods)
    }

    /// `min` or `max`.
    pub(crate) fn minmax(self, a: u64, b: u64, larger: bool, mods: FloatMods) -> u64 {
        let (x, y) = (self.input(a, mods), self.input(b, mods));
        let (a, b) = if mods.has(FloatMods::FTZ) {
            (self.finish(x, mods), self.finish(y, mods))
        } else {
            (a & 0xffff, b & 0xffff)
        };
        match pick(x, y, larger, mods) {
            None => u64::from(self.format().nan),
            Some(first) if mods.has(FloatMods::ABS) => {
                (if first { a } else { b }) & 0x7fff | (a ^ b) & 0x8000
            }
            Some(first) => {
                if first {
                    a
                } else {
                    b
                }
            }
        }
    }
}
