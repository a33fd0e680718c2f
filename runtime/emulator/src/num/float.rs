//! Floating-point operations on raw bits, with PTX's NaN, zero, flush and saturation rules.
//!
//! ISA 9.7.3 (f32, f64), 9.7.4 (f16, bf16). A result that is NaN is the canonical one; `min` and
//! `max` prefer the operand that is a number and order -0 below +0.

use super::round::{F32, Round, add_odd, div_odd, round, sqrt_odd};

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
pub(super) fn input(bits: u64, mods: FloatMods) -> f32 {
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

/// The same, of a result rounded from `exact`, or from that rounded to odd.
///
/// NOTE: an H200 flushes what is below 2^-126 after rounding to 24 bits with an unbounded
/// exponent: a result that reaches 2^-126 only because subnormals have fewer bits is flushed too.
/// Sums have no such results, as they are multiples of the smallest subnormal.
#[inline]
fn finish_rounded(bits: u32, exact: impl FnOnce() -> f64, mods: FloatMods) -> u64 {
    const SMALLEST_NORMAL: u32 = 0x0080_0000;
    let at_the_edge = mods.has(FloatMods::FTZ) && bits & !F32.sign == SMALLEST_NORMAL;
    if at_the_edge && is_tiny(exact(), mods.mode()) {
        return finish32(bits & F32.sign, mods);
    }
    finish32(bits, mods)
}

/// Whether `exact` is below 2^-126 after rounding to 24 bits, whatever its exponent.
#[cold]
fn is_tiny(exact: f64, mode: Round) -> bool {
    // 2^24 times as much is no subnormal.
    let scaled = round(exact * 16_777_216.0, F32, mode, false);
    scaled & !F32.sign < (24 + 1) << 23
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
    let exact = || f64::from(a) * f64::from(b);
    if mods.mode() == Round::Nearest {
        return finish_rounded((a * b).to_bits(), exact, mods);
    }
    finish_rounded(round(exact(), F32, mods.mode(), false), exact, mods)
}

/// f32 `a * b + c` with one rounding.
#[inline]
pub(crate) fn fma32(a: u64, b: u64, c: u64, mods: FloatMods) -> u64 {
    let (a, b, c) = (input(a, mods), input(b, mods), input(c, mods));
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let (sum, mode) = (add_odd(product, c), mods.mode());
    let bits = match mode {
        Round::Nearest => (sum as f32).to_bits(),
        _ => signed_zero(sum, product, c, mode),
    };
    finish_rounded(bits, || sum, mods)
}

/// f32 `a / b`.
pub(crate) fn div32(a: u64, b: u64, mods: FloatMods) -> u64 {
    let (a, b) = (input(a, mods), input(b, mods));
    let exact = || div_odd(f64::from(a), f64::from(b));
    if mods.mode() == Round::Nearest {
        return finish_rounded((a / b).to_bits(), exact, mods);
    }
    finish_rounded(round(exact(), F32, mods.mode(), false), exact, mods)
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
pub(super) fn pick(a: f64, b: f64, larger: bool, mods: FloatMods) -> Option<bool> {
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

/// Rounds f64 to f32 in a mode.
pub(crate) fn to_f32(x: f64, mode: Round) -> u32 {
    round(x, F32, mode, false)
}

#[cfg(test)]
mod tests {
    use super::super::double::{add64, div64};
    use super::super::short::Short;
    use super::*;
    use half::f16;
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
            // Independent model: f16 values are multiples of 2^-24, so products and sums are
            // integers.
            let int = |bits: u16| (f16::from_bits(bits).to_f64() * 16_777_216.0) as i128;
            let finite = [a, b, c].iter().all(|bits| f16::from_bits(*bits).is_finite());
            prop_assume!(finite);
            let exact = int(a) * int(b) + int(c) * (1 << 24);
            let got = Short::F16.fma(u64::from(a), u64::from(b), u64::from(c), RN) as u16;
            let got = f16::from_bits(got);
            prop_assume!(got.is_finite());
            let scaled = |value: f16| (value.to_f64() * 16_777_216.0) as i128;
            let error = |value: f16| (scaled(value) * (1 << 24) - exact).abs();
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
