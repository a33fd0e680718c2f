//! The types of operands and of sums.

use std::fmt;
use std::sync::OnceLock;

use super::format::{BF16, Class, E4M3, E5M2, F16, F32, F64, Format, Rounding, TF32, power_of_two};

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

    /// The value of bits as f32, which holds every element but those of f64.
    pub(crate) fn single(self, bits: u64) -> f32 {
        match self {
            Element::F16 => half::f16::from_bits(bits as u16).to_f32(),
            Element::Bf16 => f32::from_bits((bits as u32) << 16),
            Element::Tf32 => f32::from_bits(bits as u32 & !0x1fff),
            Element::F32 => f32::from_bits(bits as u32),
            _ => self.value(bits) as f32,
        }
    }

    /// As [`Element::single`], of a type of 8 bits.
    pub(crate) fn narrow(self, byte: u8) -> f32 {
        type Values = [f32; 256];
        let all = |ty: Element| std::array::from_fn(|byte| ty.single(byte as u64));
        static E4M3: OnceLock<Values> = OnceLock::new();
        static E5M2: OnceLock<Values> = OnceLock::new();
        let values = match self {
            Element::E4m3 => E4M3.get_or_init(|| all(self)),
            Element::E5m2 => E5M2.get_or_init(|| all(self)),
            _ => return self.single(u64::from(byte)),
        };
        values[usize::from(byte)]
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
