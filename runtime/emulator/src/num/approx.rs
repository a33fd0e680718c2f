//! The approximate functions, bit for bit as an H200 computes them.
//!
//! In: the bits of an argument. Out: the bits of the result. The special-function unit is in
//! `unit`; forms without `.ftz`, divisions and 16-bit forms are what ptxas 13.0 makes of them.
//!
//! NOTE: of a constant argument ptxas computes the correctly rounded result itself, which is not
//! always the unit's.

mod interpolation;
mod coefficients;
mod unit;

use super::float::{FloatMods, add32, mul32};
use super::round::{F16, Round, round};
use half::f16;

const RN: FloatMods = FloatMods(0);
const FLUSH: FloatMods = FloatMods(FloatMods::FTZ);

/// Functions that PTX has as `.approx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Approx {
    /// `1 / x`.
    Rcp,
    /// `1 / sqrt(x)`.
    Rsqrt,
    /// The square root.
    Sqrt,
    /// `2^x`.
    Ex2,
    /// The logarithm to base 2.
    Lg2,
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// The hyperbolic tangent.
    Tanh,
}

fn value(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// `a * b`, to nearest, subnormals kept.
fn times(a: u32, b: f32) -> u32 {
    mul32(u64::from(a), u64::from(b.to_bits()), RN) as u32
}

/// Whether the magnitude is below 2^-126.
fn is_small(bits: u32) -> bool {
    bits & 0x7fff_ffff < 0x0080_0000
}

/// Whether the magnitude is above 2^126.
fn is_large(bits: u32) -> bool {
    value(bits).abs() > value(0x7e80_0000)
}

/// The angle in turns: one multiplication towards zero, whether `.ftz` is there or not.
fn turns(x: u32) -> u32 {
    let exact = f64::from(value(x)) * f64::from(value(0x3e22_f983));
    let nearest = exact as f32;
    let is_beyond = f64::from(nearest).abs() > exact.abs();
    nearest.to_bits() - u32::from(is_beyond)
}

impl Approx {
    /// All functions.
    pub const ALL: [Approx; 8] = [
        Approx::Rcp,
        Approx::Rsqrt,
        Approx::Sqrt,
        Approx::Ex2,
        Approx::Lg2,
        Approx::Sin,
        Approx::Cos,
        Approx::Tanh,
    ];

    /// What PTX calls it.
    pub fn name(self) -> &'static str {
        match self {
            Approx::Rcp => "rcp",
            Approx::Rsqrt => "rsqrt",
            Approx::Sqrt => "sqrt",
            Approx::Ex2 => "ex2",
            Approx::Lg2 => "lg2",
            Approx::Sin => "sin",
            Approx::Cos => "cos",
            Approx::Tanh => "tanh",
        }
    }

    /// `.approx.f32`, or `.approx.ftz.f32`, of the bits of an f32.
    ///
    /// ```
    /// use tilewright_emulator::Approx;
    /// // One step below the correctly rounded 0x3f3504f3.
    /// assert_eq!(Approx::Rsqrt.single(0x4000_0000, true), 0x3f35_04f2);
    /// ```
    pub fn single(self, x: u32, ftz: bool) -> u32 {
        if ftz {
            self.flushing(x)
        } else {
            self.keeping(x)
        }
    }

    /// The unit's result.
    fn flushing(self, x: u32) -> u32 {
        match self {
            Approx::Rcp => unit::rcp(unit::SINGLE, x),
            Approx::Rsqrt => unit::rsqrt(unit::SINGLE, x),
            Approx::Sqrt => unit::sqrt(x),
            Approx::Ex2 => unit::ex2(x),
            Approx::Lg2 => unit::lg2(x),
            Approx::Sin => unit::wave(turns(x), false),
            Approx::Cos => unit::wave(turns(x), true),
            Approx::Tanh => unit::tanh(x),
        }
    }

    /// The result with subnormals on both sides: the argument is scaled into the unit's range.
    fn keeping(self, x: u32) -> u32 {
        let (up, unscaled) = (16_777_216.0, |x| self.flushing(x));
        match self {
            Approx::Rcp => {
                let scale = match () {
                    () if is_small(x) => up,
                    () if is_large(x) => 0.25,
                    () => return unscaled(x),
                };
                times(unscaled(times(x, scale)), scale)
            }
            Approx::Rsqrt if is_small(x) => times(unscaled(times(x, up)), 4096.0),
            Approx::Sqrt if is_small(x) => times(unscaled(times(x, up)), 1.0 / 4096.0),
            Approx::Lg2 if is_small(x) => {
                let minus_24 = u64::from((-24.0f32).to_bits());
                add32(u64::from(unscaled(times(x, up))), minus_24, RN) as u32
            }
            Approx::Ex2 if value(x) < -126.0 => {
                let root = unscaled(times(x, 0.5));
                times(root, value(root))
            }
            _ => unscaled(x),
        }
    }

    /// `.approx.f16` of the bits of an f16: its subnormals are kept, the result is cut.
    pub fn half(self, x: u16) -> u16 {
        let wide = self.flushing(f16::from_bits(x).to_f32().to_bits());
        let cut = round(f64::from(value(wide)), F16, Round::Zero, false) as u16;
        let overflows = value(wide).abs() >= 65536.0;
        if overflows {
            cut & 0x8000 | F16.infinity as u16
        } else {
            cut
        }
    }

    /// `.approx.bf16` or `.approx.ftz.bf16` of the bits of a bf16: the result is cut.
    pub fn brain(self, x: u16) -> u16 {
        (self.flushing(u32::from(x) << 16) >> 16) as u16
    }

    /// `.approx.ftz.f64` of an f64's high word; the low word of the result is zero. `None` for
    /// functions that have no such form.
    pub fn high_word(self, x: u32) -> Option<u32> {
        match self {
            Approx::Rcp => Some(unit::rcp(unit::HIGH_WORD, x)),
            Approx::Rsqrt => Some(unit::rsqrt(unit::HIGH_WORD, x)),
            _ => None,
        }
    }

    /// `div.approx.f32`, or with `.ftz`, of the bits of two f32.
    pub fn quotient(a: u32, b: u32, ftz: bool) -> u32 {
        let scale = if !ftz && is_small(b) {
            16_777_216.0
        } else {
            1.0
        };
        scaled_quotient(a, b, scale, ftz)
    }

    /// `div.full.f32`, or with `.ftz`, of the bits of two f32.
    pub fn full_quotient(a: u32, b: u32, ftz: bool) -> u32 {
        let scale = match () {
            () if is_large(b) => 0.25,
            () if !ftz && is_small(b) => 16_777_216.0,
            () => 1.0,
        };
        scaled_quotient(a, b, scale, ftz)
    }
}

/// `a * (1 / b)`, both brought nearer to 1 before.
fn scaled_quotient(a: u32, b: u32, scale: f32, ftz: bool) -> u32 {
    let mods = if ftz { FLUSH } else { RN };
    let product = |a: u32, b: u32| mul32(u64::from(a), u64::from(b), mods) as u32;
    let (mut a, mut b) = (a, b);
    if scale != 1.0 {
        (a, b) = (product(a, scale.to_bits()), product(b, scale.to_bits()));
    }
    product(Approx::Rcp.flushing(b), a)
}

#[cfg(test)]
mod tests;
