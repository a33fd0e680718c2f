//! Floating-point operations on raw bits, with PTX's NaN, zero, flush and saturation rules.
//!
//! ISA 9.7.3 (f32, f64), 9.7.4 (f16, bf16). A result that is NaN is the canonical one; `min` and `max` prefer the
//! operand that is a number and order -0 below +0.

use super::round::{BF16, F16, F32, Format, Round, add_odd, div_odd, round, sqrt_odd};
use half::{bf16, f16};

/// The modifiers of a floating-point instruction, packed into one word for the lane loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatMods(pub(crate) u32);

impl FloatMods {
    pub(crate) const FTZ: u32 = 8;
    pub(crate) const SAT: u32 = 16;
    pub(crate) const RELU: u32 = 32;
    pub(crate) const NAN: u32 = 64;
    pub(crate) const ABS: u32 = 128;

    pub(crate) fn new(mode: Round) -> FloatMods {
        FloatMods(match mode {
            Round::Nearest => 0,
            Round::Zero => 1,
            Round::Down => 2,
            Round::Up => 3,
            Round::Away => 4,
        })
    }

    pub(crate) fn mode(self) -> Round {
        match self.0 & 7 {
            1 => Round::Zero,
            2 => Round::Down,
            3 => Round::Up,
            4 => Round::Away,
            _ => Round::Nearest,
        }
    }

    pub(crate) fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }
}

/// Flushes a subnormal to zero of its sign.
#[inline]
pub(crate) fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

#[inline]
fn input(bits: u64, mods: FloatMods) -> f32 {
    f32::from_bits(if mods.has(FloatMods::FTZ) {
        flush(bits as u32)
    } else {
        bits as u32
    })
}

/// Applies NaN canonicalization, `.sat` and `.ftz` to an f32 result.
#[inline]
pub(crate) fn finish32(bits: u32, mods: FloatMods) -> u64 {
    let value = f32::from_bits(bits);
    if mods.has(FloatMods::SAT) {
        // NOTE: maxNum semantics make NaN 0; a negative zero becomes +0.
        let value = if value > 0.0 { value.min(1.0) } else { 0.0 };
        let bits = value.to_bits();
        return u64::from(if mods.has(FloatMods::FTZ) {
            flush(bits)
        } else {
            bits
        });
    }
    if value.is_nan() {
        return u64::from(F32.nan);
    }
    u64::from(if mods.has(FloatMods::FTZ) {
        flush(bits)
    } else {
        bits
    })
}

/// f32 `a + b`.
#[inline]
pub(crate) fn add32(a: u64, b: u64, mods: FloatMods) -> u64 {
    let (a, b) = (input(a, mods), input(b, mods));
    if mods.mode() == Round::Nearest {
        return finish32((a + b).to_bits(), mods);
    }
    let (a, b) = (f64::from(a), f64::from(b));
    finish32(signed_zero(add_odd(a, b), a, b, mods.mode()), mods)
}

/// Rounds an exact sum; an exact zero of unlike signs is negative only when rounding down.
fn signed_zero(sum: f64, a: f64, b: f64, mode: Round) -> u32 {
    if sum == 0.0 && a.is_sign_negative() != b.is_sign_negative() {
        return if mode == Round::Down { F32.sign } else { 0 };
    }
    round(sum, F32, mode, false)
}

/// f32 `a * b`.
#[inline]
pub(crate) fn mul32(a: u64, b: u64, mods: FloatMods) -> u64 {
    let (a, b) = (input(a, mods), input(b, mods));
    if mods.mode() == Round::Nearest {
        return finish32((a * b).to_bits(), mods);
    }
    finish32(
        round(f64::from(a) * f64::from(b), F32, mods.mode(), false),
        mods,
    )
}

/// f32 `a * b + c` with one rounding.
#[inline]
pub(crate) fn fma32(a: u64, b: u64, c: u64, mods: FloatMods) -> u64 {
    let (a, b, c) = (input(a, mods), input(b, mods), input(c, mods));
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let mode = mods.mode();
    if mode == Round::Nearest {
        let sum = add_odd(product, c);
        return finish32((sum as f32).to_bits(), mods);
    }
    finish32(signed_zero(add_odd(product, c), product, c, mode), mods)
}

/// f32 `a / b`.
pub(crate) fn div32(a: u64, b: u64, mods: FloatMods) -> u64 {
    let (a, b) = (input(a, mods), input(b, mods));
    if mods.mode() == Round::Nearest {
        return finish32((a / b).to_bits(), mods);
    }
    finish32(
        round(div_odd(f64::from(a), f64::from(b)), F32, mods.mode(), false),
        mods,
    )
}

/// f32 square root.
pub(crate) fn sqrt32(a: u64, mods: FloatMods) -> u64 {
    let a = input(a, mods);
    if mods.mode() == Round::Nearest {
        return finish32(a.sqrt().to_bits(), mods);
    }
    finish32(round(sqrt_odd(f64::from(a)), F32, mods.mode(), false), mods)
}

/// The smaller (or larger) operand of any format given as f64; `None` when the result is NaN.
fn pick(a: f64, b: f64, larger: bool, mods: FloatMods) -> Option<bool> {
    let (a, b) = if mods.has(FloatMods::ABS) {
        (a.abs(), b.abs())
    } else {
        (a, b)
    };
    if a.is_nan() || b.is_nan() {
        if mods.has(FloatMods::NAN) || a.is_nan() && b.is_nan() {
            return None;
        }
        return Some(b.is_nan());
    }
    let first_smaller = if a == b { a.is_sign_negative() } else { a < b };
    Some(first_smaller != larger || a.to_bits() == b.to_bits())
}

/// f32 `min` or `max`; `xorsign.abs` takes the sign product.
#[inline]
pub(crate) fn minmax32(a: u64, b: u64, larger: bool, mods: FloatMods) -> u64 {
    let (x, y) = (input(a, mods), input(b, mods));
    if !mods.has(FloatMods::ABS) && x < y {
        return u64::from(if larger { y.to_bits() } else { x.to_bits() });
    }
    if !mods.has(FloatMods::ABS) && x > y {
        return u64::from(if larger { x.to_bits() } else { y.to_bits() });
    }
    match pick(f64::from(x), f64::from(y), larger, mods) {
        None => u64::from(F32.nan),
        Some(first) => {
            let bits = if first { x.to_bits() } else { y.to_bits() };
            if !mods.has(FloatMods::ABS) {
                return u64::from(bits);
            }
            let sign = (x.to_bits() ^ y.to_bits()) & F32.sign;
            u64::from(bits & !F32.sign | sign)
        }
    }
}

/// f64 `min` or `max`.
pub(crate) fn minmax64(a: u64, b: u64, larger: bool) -> u64 {
    match pick(f64::from_bits(a), f64::from_bits(b), larger, FloatMods(0)) {
        None => 0x7ff8_0000_0000_0000,
        Some(true) => a,
        Some(false) => b,
    }
}

/// The sign of the exact sum of four doubles, by error-free transformations.
fn sign_of_sum(terms: [f64; 4]) -> f64 {
    let mut parts: Vec<f64> = Vec::with_capacity(8);
    for term in terms {
        let mut carry = term;
        for part in &mut parts {
            let sum = carry + *part;
            let virtual_part = sum - carry;
            let error = (carry - (sum - virtual_part)) + (*part - virtual_part);
            (carry, *part) = (sum, error);
        }
        parts.push(carry);
    }
    parts
        .into_iter()
        .rev()
        .find(|part| *part != 0.0)
        .unwrap_or(0.0)
}

/// Moves an f64 rounded to nearest to the neighbour a directed mode asks for.
fn direct64(result: f64, error: f64, mode: Round) -> f64 {
    let step = match mode {
        Round::Nearest | Round::Away => return result,
        Round::Zero if result > 0.0 && error < 0.0 => result.next_down(),
        Round::Zero if result < 0.0 && error > 0.0 => result.next_up(),
        Round::Down if error < 0.0 => result.next_down(),
        Round::Up if error > 0.0 => result.next_up(),
        _ => return result,
    };
    if result.is_finite() { step } else { result }
}

/// f64 `a * b + c` with one rounding in any mode; `add` and `mul` are its special cases.
pub(crate) fn fma64(a: u64, b: u64, c: u64, mods: FloatMods) -> u64 {
    let (a, b, c) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
    let result = a.mul_add(b, c);
    let mode = mods.mode();
    if mode == Round::Nearest || !result.is_finite() {
        return result.to_bits();
    }
    let product = a * b;
    let low = a.mul_add(b, -product);
    if result == 0.0 && product == -c && low == 0.0 && product != 0.0 {
        return if mode == Round::Down {
            (-0.0f64).to_bits()
        } else {
            0
        };
    }
    direct64(result, sign_of_sum([product, low, c, -result]), mode).to_bits()
}

/// f64 `a + b`.
pub(crate) fn add64(a: u64, b: u64, mods: FloatMods) -> u64 {
    if mods.mode() == Round::Nearest {
        return (f64::from_bits(a) + f64::from_bits(b)).to_bits();
    }
    fma64(a, 1.0f64.to_bits(), b, mods)
}

/// f64 `a * b`.
pub(crate) fn mul64(a: u64, b: u64, mods: FloatMods) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let product = x * y;
    direct64(product, x.mul_add(y, -product), mods.mode()).to_bits()
}

/// f64 `a / b`.
pub(crate) fn div64(a: u64, b: u64, mods: FloatMods) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let quotient = x / y;
    let remainder = (-quotient).mul_add(y, x);
    direct64(
        quotient,
        if y < 0.0 { -remainder } else { remainder },
        mods.mode(),
    )
    .to_bits()
}

/// f64 square root.
pub(crate) fn sqrt64(a: u64, mods: FloatMods) -> u64 {
    let x = f64::from_bits(a);
    let root = x.sqrt();
    direct64(root, (-root).mul_add(root, x), mods.mode()).to_bits()
}

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

    fn input(self, bits: u64, mods: FloatMods) -> f64 {
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

/// The approximated functions; each is correctly rounded from f64, well inside the documented error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approx {
    Rsqrt,
    Sin,
    Cos,
    Lg2,
    Ex2,
    Tanh,
}

impl Approx {
    /// The function on f64.
    pub(crate) fn value(self, x: f64) -> f64 {
        match self {
            Approx::Rsqrt => 1.0 / x.sqrt(),
            Approx::Sin => x.sin(),
            Approx::Cos => x.cos(),
            Approx::Lg2 => x.log2(),
            Approx::Ex2 => x.exp2(),
            Approx::Tanh => x.tanh(),
        }
    }

    /// The function on f32 bits.
    pub(crate) fn apply32(self, a: u64, mods: FloatMods) -> u64 {
        let x = input(a, mods);
        finish32((self.value(f64::from(x)) as f32).to_bits(), mods)
    }

    /// The function on the bits of a 16-bit format.
    pub(crate) fn apply16(self, a: u64, short: Short, mods: FloatMods) -> u64 {
        short.finish(self.value(short.input(a, mods)), mods)
    }
}

/// Rounds f64 to f32 in a mode.
pub(crate) fn to_f32(x: f64, mode: Round) -> u32 {
    round(x, F32, mode, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RN: FloatMods = FloatMods(0);

    proptest! {
        #[test]
        fn fma_is_the_library_fma(a: u32, b: u32, c: u32) {
            let wide = |bits: u32| u64::from(bits);
            let (x, y, z) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
            let want = x.mul_add(y, z);
            prop_assume!(!want.is_nan());
            prop_assert_eq!(fma32(wide(a), wide(b), wide(c), RN), u64::from(want.to_bits()));
        }

        #[test]
        fn half_fma_is_exact_in_wide_integers(a: u16, b: u16, c: u16) {
            // Independent model: f16 values are multiples of 2^-24, so products and sums are integers.
            let int = |bits: u16| (f16::from_bits(bits).to_f64() * 16_777_216.0) as i128;
            let finite = [a, b, c].iter().all(|bits| f16::from_bits(*bits).is_finite());
            prop_assume!(finite);
            let exact = int(a) * int(b) + int(c) * (1 << 24);
            let got = Short::F16.fma(u64::from(a), u64::from(b), u64::from(c), RN) as u16;
            let got = f16::from_bits(got);
            prop_assume!(got.is_finite());
            let error = |value: f16| ((value.to_f64() * 16_777_216.0) as i128 * (1 << 24) - exact).abs();
            let next = |step: i32| f16::from_bits((i32::from(got.to_bits()) + step) as u16);
            if got.to_bits() & 0x7fff != 0 && next(1).is_finite() {
                prop_assert!(error(got) <= error(next(1)) && error(got) <= error(next(-1)));
            }
        }
    }

    #[test]
    fn minimum_orders_zeros_and_prefers_numbers() {
        let (negative, nan) = (u64::from((-0.0f32).to_bits()), 0x7fc0_0000);
        assert_eq!(minmax32(negative, 0, false, RN), negative);
        assert_eq!(minmax32(0, negative, false, RN), negative);
        assert_eq!(minmax32(negative, 0, true, RN), 0);
        assert_eq!(minmax32(nan, 7, false, RN), 7);
        assert_eq!(
            minmax32(nan, 7, true, FloatMods(FloatMods::NAN)),
            0x7fff_ffff
        );
    }

    #[test]
    fn directed_double_rounding_moves_one_step() {
        let (one, tiny) = (1.0f64.to_bits(), 1e-30f64.to_bits());
        let up = f64::from_bits(add64(one, tiny, FloatMods::new(Round::Up)));
        assert_eq!(up, 1.0f64.next_up());
        assert_eq!(add64(one, tiny, FloatMods::new(Round::Zero)), one);
        let third = f64::from_bits(div64(one, 3.0f64.to_bits(), FloatMods::new(Round::Up)));
        assert!(third * 3.0 >= 1.0);
    }
}
