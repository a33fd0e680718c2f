//! Special values, divisions and flushing, against rules and arithmetic in plain integers.

use super::*;
use crate::num::float::fma32;

const INFINITY: u32 = 0x7f80_0000;
const NAN: u32 = 0x7fff_ffff;
const SIGN: u32 = 1 << 31;
const ONE: u32 = 0x3f80_0000;
const SUBNORMAL: u32 = 0x0000_0123;

/// Argument, result with `.ftz`, result without.
type Row = (u32, u32, u32);

fn assert_rows(function: Approx, rows: &[Row]) {
    for (x, flushing, keeping) in rows {
        let name = function.name();
        assert_eq!(function.single(*x, true), *flushing, "{name}.ftz {x:#x}");
        assert_eq!(function.single(*x, false), *keeping, "{name} {x:#x}");
    }
}

#[test]
fn reciprocals_and_roots_of_special_values() {
    assert_rows(
        Approx::Rcp,
        &[
            (0, INFINITY, INFINITY),
            (SIGN, SIGN | INFINITY, SIGN | INFINITY),
            (SUBNORMAL | SIGN, SIGN | INFINITY, SIGN | INFINITY),
            (INFINITY, 0, 0),
            (SIGN | INFINITY, SIGN, SIGN),
            (0x7f80_0001, NAN, NAN),
            // 2^127: its inverse is a subnormal.
            (0x7f00_0000, 0, 0x0040_0000),
            (ONE, ONE, ONE),
        ],
    );
    assert_rows(
        Approx::Rsqrt,
        &[
            (SIGN, SIGN | INFINITY, SIGN | INFINITY),
            // Subnormals are zeros of their sign to the unit, but scaled into its range without
            // .ftz: 2^-148 gives 2^74.
            (2, INFINITY, 0x6480_0000),
            (SIGN | 2, SIGN | INFINITY, NAN),
            (SIGN | ONE, NAN, NAN),
            (INFINITY, 0, 0),
            (SIGN | INFINITY, NAN, NAN),
            (0xffc0_0000, NAN, NAN),
            (0x4000_0000, 0x3f35_04f2, 0x3f35_04f2),
        ],
    );
    assert_rows(
        Approx::Sqrt,
        &[
            (SIGN, SIGN, SIGN),
            (2, 0, 0x1a80_0000),
            (SIGN | 2, SIGN, NAN),
            (SIGN | ONE, NAN, NAN),
            (INFINITY, INFINITY, INFINITY),
            (SIGN | INFINITY, NAN, NAN),
        ],
    );
}

#[test]
fn powers_logarithms_and_waves_of_special_values() {
    let minus = |x: f32| (-x).to_bits();
    assert_rows(
        Approx::Ex2,
        &[
            (SUBNORMAL, ONE, ONE),
            (SIGN, ONE, ONE),
            (128.0f32.to_bits(), INFINITY, INFINITY),
            // The smallest normal number, a subnormal one (a square), the last one and nothing.
            (minus(126.0), 0x0080_0000, 0x0080_0000),
            (minus(127.0), 0, 0x003f_ffff),
            (minus(149.0), 0, 1),
            (minus(151.0), 0, 0),
            (INFINITY, INFINITY, INFINITY),
            (SIGN | INFINITY, 0, 0),
            (0x7f80_0001, NAN, NAN),
        ],
    );
    assert_rows(
        Approx::Lg2,
        &[
            (ONE, 0, 0),
            (0, SIGN | INFINITY, SIGN | INFINITY),
            (SIGN, SIGN | INFINITY, SIGN | INFINITY),
            (1, SIGN | INFINITY, minus(149.0)),
            (SIGN | 1, SIGN | INFINITY, NAN),
            (SIGN | ONE, NAN, NAN),
            (INFINITY, INFINITY, INFINITY),
        ],
    );
    for function in [Approx::Sin, Approx::Cos] {
        assert_rows(
            function,
            &[(INFINITY, NAN, NAN), (SIGN | INFINITY, NAN, NAN)],
        );
    }
    // Tiny and huge angles are zero turns; the sine keeps their sign.
    let far = 1e30f32.to_bits();
    assert_rows(Approx::Sin, &[(SIGN | 1, SIGN, SIGN), (far, 0, 0)]);
    assert_rows(Approx::Cos, &[(SIGN | 1, ONE, ONE), (SIGN | far, ONE, ONE)]);
    let (small, eight) = (0x3b7f_ffff, 8.0f32.to_bits());
    let same = |x| (x, x, x);
    assert_rows(
        Approx::Tanh,
        &[same(SIGN | SUBNORMAL), same(small), (eight, ONE, ONE)],
    );
    assert_rows(Approx::Tanh, &[(SIGN | INFINITY, SIGN | ONE, SIGN | ONE)]);
}

#[test]
fn short_forms_are_cut() {
    // 16 is beyond f16's exponents, -14 its smallest normal number, -25 below all.
    let of = |x: f32| Approx::Ex2.half(f16::from_f32(x).to_bits());
    assert_eq!(
        (of(16.0), of(-14.0), of(-24.0), of(-25.0)),
        (0x7c00, 0x0400, 1, 0)
    );
    // The largest number below 2^16 is cut to the largest finite one.
    assert_eq!(of(15.992), 0x7bf4);
    assert_eq!(
        (Approx::Ex2.half(0xfc00), Approx::Ex2.half(0x7c01)),
        (0, 0x7fff)
    );
    assert_eq!(
        (Approx::Tanh.half(0x8001), Approx::Tanh.brain(0xff80)),
        (0x8001, 0xbf80)
    );
    assert_eq!(
        (Approx::Ex2.brain(0x7fc1), Approx::Ex2.brain(0x4300)),
        (0x7fff, 0x7f80)
    );
}

#[test]
fn high_words_of_doubles() {
    let rcp = |x| Approx::Rcp.high_word(x).unwrap_or_default();
    let rsqrt = |x| Approx::Rsqrt.high_word(x).unwrap_or_default();
    assert_eq!(
        (rcp(0x3ff0_0000), rcp(0x000f_ffff)),
        (0x3ff0_0000, 0x7ff0_0000)
    );
    assert_eq!((rcp(0xfff0_0000), rcp(0x7ff0_0001)), (SIGN, NAN));
    assert_eq!((rsqrt(0x4010_0000), rsqrt(0xbff0_0000)), (0x3fe0_0000, NAN));
    assert_eq!((rsqrt(SIGN), rsqrt(0x7ff0_0000)), (0xfff0_0000, 0));
    assert_eq!(Approx::Ex2.high_word(0), None);
}

/// `a * b` in integers, rounded to nearest. With `ftz` subnormals count as zero, and so does a
/// result below 2^-126 after rounding to 24 bits with any exponent.
fn product(a: u32, b: u32, ftz: bool) -> u32 {
    let input = |x: u32| {
        if ftz && x & INFINITY == 0 {
            x & SIGN
        } else {
            x
        }
    };
    let (a, b) = (input(a), input(b));
    let (sign, a, b) = ((a ^ b) & SIGN, a & !SIGN, b & !SIGN);
    if a > INFINITY || b > INFINITY || a.max(b) == INFINITY && a.min(b) == 0 {
        return NAN;
    }
    if a.max(b) == INFINITY {
        return sign | INFINITY;
    }
    let parts = |x: u32| match x >> 23 {
        0 => (u64::from(x), -149),
        exponent => (u64::from(x & 0x7f_ffff | 1 << 23), exponent as i32 - 150),
    };
    let ((ma, ea), (mb, eb)) = (parts(a), parts(b));
    let (m, e) = (ma * mb, ea + eb);
    if m == 0 {
        return sign;
    }
    // The value is m * 2^e: how often 2^unit is in it.
    let rounded = |unit: i32| {
        let shift = unit - e;
        match shift {
            ..=0 => m << -shift,
            1..=63 => {
                let (kept, rest, half) = (m >> shift, m & ((1 << shift) - 1), 1 << (shift - 1));
                kept + u64::from(rest > half || rest == half && kept & 1 == 1)
            }
            _ => 0,
        }
    };
    let top = 63 - m.leading_zeros() as i32 + e;
    let reaches = top == -127 && rounded(top - 23) == 1 << 24;
    if ftz && top < -126 && !reaches {
        return sign;
    }
    let unit = (top - 23).max(-149);
    let bits = rounded(unit) + ((unit + 149) as u64) * (1 << 23);
    sign | (bits as u32).min(INFINITY)
}

/// A division by the rules, with [`product`].
fn divided(a: u32, b: u32, full: bool, ftz: bool) -> u32 {
    let magnitude = b & !SIGN;
    let large = full && (0x7e80_0001..=INFINITY).contains(&magnitude);
    let small = !ftz && magnitude < 0x0080_0000;
    let scaled = |x| match (large, small) {
        (true, _) => product(x, 0x3e80_0000, ftz),
        (_, true) => product(x, 0x4b80_0000, ftz),
        _ => x,
    };
    product(unit::rcp(unit::SINGLE, scaled(b)), scaled(a), ftz)
}

/// Pairs of every kind: any bits, special values, and products or quotients near 2^-126.
fn pairs() -> impl Iterator<Item = (u32, u32)> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    let special = [
        0,
        1,
        0x007f_ffff,
        0x0080_0000,
        ONE,
        0x7e80_0000,
        0x7e80_0001,
    ];
    let special = move |at: u32| match at % 12 {
        7 => 0x7f7f_ffff,
        8 => INFINITY,
        9 => NAN,
        10 => 0x0080_0001,
        11 => 0x7f00_0000,
        at => special[at as usize],
    };
    (0..400_000).map(move |index| {
        let (a, b) = (next(), next());
        let edge = f32::MIN_POSITIVE;
        let beside = |x: f32| x.to_bits().wrapping_add(b & 7).wrapping_sub(3) ^ b & SIGN;
        match index & 3 {
            0 => (a, b),
            1 => (special(a >> 8) ^ a & SIGN, special(b >> 8) ^ b & SIGN),
            2 => (a, beside(edge / value(a & 0x7fff_ffff))),
            _ => (beside(edge * value(a & 0x7fff_ffff)), a),
        }
    })
}

#[test]
fn divisions_and_flushed_products_are_those_of_integers() {
    let mut flushed_at_the_edge = 0;
    for (a, b) in pairs() {
        for ftz in [false, true] {
            let named = format!("{a:#x} by {b:#x}, ftz {ftz}");
            assert_eq!(
                Approx::quotient(a, b, ftz),
                divided(a, b, false, ftz),
                "{named}"
            );
            assert_eq!(
                Approx::full_quotient(a, b, ftz),
                divided(a, b, true, ftz),
                "full {named}"
            );
            let (mods, want) = (if ftz { FLUSH } else { RN }, product(a, b, ftz));
            let (a, b) = (u64::from(a), u64::from(b));
            assert_eq!(mul32(a, b, mods) as u32, want, "mul {named}");
            // An exact zero plus +0 is +0; what is flushed or too small keeps its sign.
            let zero = |x: u64| x as u32 & !SIGN < if ftz { 0x0080_0000 } else { 1 };
            let exact_zero = want == SIGN && (zero(a) || zero(b));
            let sum = if exact_zero { 0 } else { want };
            assert_eq!(fma32(a, b, 0, mods) as u32, sum, "fma {named}");
        }
        let (kept, flushed) = (product(a, b, false), product(a, b, true));
        flushed_at_the_edge += u32::from(kept & !SIGN == 0x0080_0000 && flushed & !SIGN == 0);
    }
    assert!(flushed_at_the_edge > 1000, "{flushed_at_the_edge}");
}
