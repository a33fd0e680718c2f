//! Scalar instructions against models written from the ISA's definitions with native integers and
//! floats.

use super::kernel::{Lanes, lanes};
use half::{bf16, f16};
use proptest::prelude::*;

type Model = fn(u64, u64, u64) -> u64;

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// The bits of an f32 result; NaN is canonical.
fn single(x: f32) -> u64 {
    u64::from(if x.is_nan() { 0x7fff_ffff } else { x.to_bits() })
}

fn s(bits: u64) -> i32 {
    bits as u32 as i32
}

fn w(x: i32) -> u64 {
    u64::from(x as u32)
}

fn u(x: u32) -> u64 {
    u64::from(x)
}

/// A 32-bit instruction `op %r0, %r1, %r2, %r3` with as many operands as it takes.
const WORDS: &[(&str, Model)] = &[
    (
        "add.s32 %r0, %r1, %r2",
        |a, b, _| w(s(a).wrapping_add(s(b))),
    ),
    ("sub.u32 %r0, %r1, %r2", |a, b, _| {
        u((a as u32).wrapping_sub(b as u32))
    }),
    ("add.sat.s32 %r0, %r1, %r2", |a, b, _| {
        w(s(a).saturating_add(s(b)))
    }),
    ("sub.sat.s32 %r0, %r1, %r2", |a, b, _| {
        w(s(a).saturating_sub(s(b)))
    }),
    ("mul.lo.s32 %r0, %r1, %r2", |a, b, _| {
        w(s(a).wrapping_mul(s(b)))
    }),
    ("mul.hi.s32 %r0, %r1, %r2", |a, b, _| {
        u(((i64::from(s(a)) * i64::from(s(b))) >> 32) as u32)
    }),
    ("mul.hi.u32 %r0, %r1, %r2", |a, b, _| {
        ((a & 0xffff_ffff) * (b & 0xffff_ffff)) >> 32
    }),
    ("mad.lo.s32 %r0, %r1, %r2, %r3", |a, b, c| {
        w(s(a).wrapping_mul(s(b)).wrapping_add(s(c)))
    }),
    ("mad.hi.u32 %r0, %r1, %r2, %r3", |a, b, c| {
        u((((a & 0xffff_ffff) * (b & 0xffff_ffff)) >> 32) as u32).wrapping_add(c) & 0xffff_ffff
    }),
    ("sad.s32 %r0, %r1, %r2, %r3", |a, b, c| {
        u(s(a).abs_diff(s(b)).wrapping_add(c as u32))
    }),
    ("sad.u32 %r0, %r1, %r2, %r3", |a, b, c| {
        u((a as u32).abs_diff(b as u32).wrapping_add(c as u32))
    }),
    ("min.s32 %r0, %r1, %r2", |a, b, _| w(s(a).min(s(b)))),
    ("max.u32 %r0, %r1, %r2", |a, b, _| {
        u((a as u32).max(b as u32))
    }),
    ("abs.s32 %r0, %r1", |a, _, _| w(s(a).wrapping_abs())),
    ("neg.s32 %r0, %r1", |a, _, _| w(s(a).wrapping_neg())),
    ("not.b32 %r0, %r1", |a, _, _| u(!(a as u32))),
    ("and.b32 %r0, %r1, %r2", |a, b, _| u(a as u32 & b as u32)),
    ("xor.b32 %r0, %r1, %r2", |a, b, _| u(a as u32 ^ b as u32)),
    ("cnot.b32 %r0, %r1", |a, _, _| u64::from(a as u32 == 0)),
    ("shl.b32 %r0, %r1, %r2", |a, b, _| {
        u((a as u32).checked_shl(b as u32).unwrap_or(0))
    }),
    ("shr.u32 %r0, %r1, %r2", |a, b, _| {
        u((a as u32).checked_shr(b as u32).unwrap_or(0))
    }),
    ("shr.s32 %r0, %r1, %r2", |a, b, _| {
        w(s(a) >> (b as u32).min(31))
    }),
    ("popc.b32 %r0, %r1", |a, _, _| u((a as u32).count_ones())),
    ("clz.b32 %r0, %r1", |a, _, _| u((a as u32).leading_zeros())),
    ("brev.b32 %r0, %r1", |a, _, _| u((a as u32).reverse_bits())),
    ("lop3.b32 %r0, %r1, %r2, %r3, 0xe8", |a, b, c| {
        u((a & b | a & c | b & c) as u32)
    }),
    ("dp4a.u32.u32 %r0, %r1, %r2, %r3", |a, b, c| {
        let bytes = |v: u64| (v as u32).to_le_bytes();
        let products = bytes(a)
            .into_iter()
            .zip(bytes(b))
            .map(|(x, y)| u32::from(x) * u32::from(y));
        u(products.fold(c as u32, u32::wrapping_add))
    }),
    ("selp.b32 %r0, %r1, %r2, %p1", |a, b, c| {
        if s(c) < 0 { u(a as u32) } else { u(b as u32) }
    }),
    ("slct.s32.s32 %r0, %r1, %r2, %r3", |a, b, c| {
        if s(c) >= 0 { u(a as u32) } else { u(b as u32) }
    }),
    ("set.lt.u32.s32 %r0, %r1, %r2", |a, b, _| {
        if s(a) < s(b) { 0xffff_ffff } else { 0 }
    }),
    ("set.le.f32.u32 %r0, %r1, %r2", |a, b, _| {
        if a as u32 <= b as u32 {
            u64::from(1f32.to_bits())
        } else {
            0
        }
    }),
    ("add.f32 %r0, %r1, %r2", |a, b, _| single(f(a) + f(b))),
    ("sub.rn.f32 %r0, %r1, %r2", |a, b, _| single(f(a) - f(b))),
    ("mul.f32 %r0, %r1, %r2", |a, b, _| single(f(a) * f(b))),
    ("fma.rn.f32 %r0, %r1, %r2, %r3", |a, b, c| {
        single(f(a).mul_add(f(b), f(c)))
    }),
    ("div.rn.f32 %r0, %r1, %r2", |a, b, _| single(f(a) / f(b))),
    ("sqrt.rn.f32 %r0, %r1", |a, _, _| single(f(a).sqrt())),
    ("neg.f32 %r0, %r1", |a, _, _| u(a as u32 ^ 0x8000_0000)),
    ("abs.f32 %r0, %r1", |a, _, _| u(a as u32 & 0x7fff_ffff)),
    ("copysign.f32 %r0, %r1, %r2", |a, b, _| {
        u(f(b).copysign(f(a)).to_bits())
    }),
    ("cvt.rzi.s32.f32 %r0, %r1", |a, _, _| w(f(a) as i32)),
    ("cvt.rni.u32.f32 %r0, %r1", |a, _, _| {
        u(f(a).round_ties_even() as u32)
    }),
    ("cvt.rn.f32.s32 %r0, %r1", |a, _, _| single(s(a) as f32)),
    ("cvt.rn.f32.u32 %r0, %r1", |a, _, _| single(a as u32 as f32)),
    ("cvt.s32.s8 %r0, %r1", |a, _, _| w(i32::from(a as i8))),
    ("cvt.u32.u16 %r0, %r1", |a, _, _| a & 0xffff),
    ("cvt.sat.u8.s32 %r0, %r1", |a, _, _| {
        s(a).clamp(0, 255) as u64
    }),
    ("cvt.sat.s16.s32 %r0, %r1", |a, _, _| {
        w(s(a).clamp(-32768, 32767))
    }),
];

/// A 64-bit instruction with destination %rd0.
const LONGS: &[(&str, Model)] = &[
    ("add.s64 %rd0, %rd1, %rd2", |a, b, _| a.wrapping_add(b)),
    ("mul.lo.u64 %rd0, %rd1, %rd2", |a, b, _| a.wrapping_mul(b)),
    ("mul.hi.u64 %rd0, %rd1, %rd2", |a, b, _| {
        ((u128::from(a) * u128::from(b)) >> 64) as u64
    }),
    ("mul.hi.s64 %rd0, %rd1, %rd2", |a, b, _| {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    }),
    ("mul.wide.s32 %rd0, %r1, %r2", |a, b, _| {
        (i64::from(s(a)) * i64::from(s(b))) as u64
    }),
    ("mad.wide.u32 %rd0, %r1, %r2, %rd3", |a, b, c| {
        (u(a as u32) * u(b as u32)).wrapping_add(c)
    }),
    ("div.u64 %rd0, %rd1, %rd2", |a, b, _| {
        a.checked_div(b).unwrap_or(u64::MAX)
    }),
    ("rem.s64 %rd0, %rd1, %rd2", |a, b, _| {
        if b == 0 {
            a
        } else {
            (a as i64).wrapping_rem(b as i64) as u64
        }
    }),
    ("shr.s64 %rd0, %rd1, %r2", |a, b, _| {
        (a as i64 >> (b as u32).min(63)) as u64
    }),
    ("shl.b64 %rd0, %rd1, %r2", |a, b, _| {
        a.checked_shl(b as u32).unwrap_or(0)
    }),
    ("max.s64 %rd0, %rd1, %rd2", |a, b, _| {
        (a as i64).max(b as i64) as u64
    }),
    ("cvt.s64.s32 %rd0, %r1", |a, _, _| i64::from(s(a)) as u64),
    ("cvt.u64.s16 %rd0, %h1", |a, _, _| {
        i64::from(a as i16) as u64
    }),
    ("cvt.rn.f64.s64 %rd0, %rd1", |a, _, _| {
        (a as i64 as f64).to_bits()
    }),
    ("cvt.rzi.s64.f64 %rd0, %rd1", |a, _, _| {
        if d(a).is_nan() {
            1 << 63
        } else {
            d(a) as i64 as u64
        }
    }),
    ("mov.b64 %rd0, {%r1, %r2}", |a, b, _| {
        u(a as u32) | u(b as u32) << 32
    }),
    (
        "mov.b64 {%r5, %r6}, %rd1; mov.b64 %rd0, {%r6, %r5}",
        |a, _, _| a.rotate_left(32),
    ),
    ("popc.b64 %r0, %rd1; cvt.u64.u32 %rd0, %r0", |a, _, _| {
        u64::from(a.count_ones())
    }),
    (
        "add.cc.u32 %r5, %r1, %r2; addc.u32 %r6, %r3, 7; mov.b64 %rd0, {%r5, %r6}",
        |a, b, c| {
            let (low, carry) = (a as u32).overflowing_add(b as u32);
            u(low) | u((c as u32).wrapping_add(7).wrapping_add(u32::from(carry))) << 32
        },
    ),
    (
        "sub.cc.u32 %r5, %r1, %r2; subc.u32 %r6, %r3, 7; mov.b64 %rd0, {%r5, %r6}",
        |a, b, c| {
            let (low, borrow) = (a as u32).overflowing_sub(b as u32);
            u(low) | u((c as u32).wrapping_sub(7).wrapping_sub(u32::from(borrow))) << 32
        },
    ),
    (
        "mad.lo.cc.u32 %r5, %r1, %r2, %r3; madc.hi.u32 %r6, %r1, %r2, 0; mov.b64 %rd0, {%r5, %r6}",
        |a, b, c| (u(a as u32) * u(b as u32)).wrapping_add(u(c as u32)),
    ),
    (
        "setp.ltu.f32 %p2|%p3, %r1, %r2; selp.b64 %rd0, 2, 0, %p2; @%p3 add.u64 %rd0, %rd0, 1",
        |a, b, _| {
            if f(a).is_nan() || f(b).is_nan() || f(a) < f(b) {
                2
            } else {
                1
            }
        },
    ),
    (
        "setp.gt.and.u32 %p2, %r1, %r2, !%p1; selp.b64 %rd0, 1, 0, %p2",
        |a, b, c| u64::from(a as u32 > b as u32 && s(c) >= 0),
    ),
    (
        "fma.rn.f16 %h0, %h1, %h2, %h3; cvt.u64.u16 %rd0, %h0",
        |a, b, c| {
            let x = |bits: u64| f16::from_bits(bits as u16).to_f64();
            // Exact unless the summands are 53 bits apart, which f16 products and sums here
            // rarely are.
            let exact = x(a).mul_add(x(b), x(c));
            u64::from(if exact.is_nan() {
                0x7fff
            } else {
                f16::from_f32(odd(exact)).to_bits()
            })
        },
    ),
    (
        "cvt.rn.bf16.f32 %h0, %r1; cvt.u64.u16 %rd0, %h0",
        |a, _, _| {
            u64::from(if f(a).is_nan() {
                0x7fff
            } else {
                bf16::from_f32(f(a)).to_bits()
            })
        },
    ),
    (
        "cvt.rn.f16x2.f32 %r0, %r1, %r2; cvt.u64.u32 %rd0, %r0",
        |a, b, _| {
            let h = |x: f32| {
                if x.is_nan() {
                    0x7fff
                } else {
                    f16::from_f32(x).to_bits()
                }
            };
            u64::from(h(f(a))) << 16 | u64::from(h(f(b)))
        },
    ),
    (
        "fns.b32 %r0, %r1, 3, 2; cvt.u64.u32 %rd0, %r0",
        |a, _, _| {
            (3..32)
                .filter(|i| a >> i & 1 == 1)
                .nth(1)
                .unwrap_or(0xffff_ffff)
        },
    ),
];

/// Rounds f64 to f32 towards the odd neighbour, so that a second rounding is right.
fn odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || !near.is_finite() || near.to_bits() & 1 == 1 {
        return near;
    }
    if (f64::from(near) < x) == (x > 0.0) {
        f32::from_bits(near.to_bits() + 1)
    } else {
        f32::from_bits(near.to_bits() - 1)
    }
}

/// Values that edges are made of, mixed with random ones.
fn interesting() -> impl Strategy<Value = u64> {
    let edges = [
        0,
        1,
        2,
        31,
        32,
        33,
        63,
        64,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x0000_0001_0000_0000,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        u64::MAX,
        0x3ff0_0000_0000_0000,
    ];
    prop_oneof![
        proptest::sample::select(edges.to_vec()),
        any::<u64>(),
        any::<u32>().prop_map(u64::from)
    ]
}

fn warp() -> impl Strategy<Value = Lanes> {
    proptest::collection::vec(interesting(), 32).prop_map(|v| v.try_into().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn instructions_do_what_their_models_do(a in warp(), b in warp(), c in warp()) {
        let predicate = "setp.lt.s32 %p1, %r3, 0;";
        let words = WORDS.iter().map(|(text, model)| {
            (format!("{predicate} {text}; cvt.u64.u32 %rd0, %r0;"), *model)
        });
        let longs = LONGS.iter().map(|(text, model)| (format!("{predicate} {text};"), *model));
        for (text, model) in words.chain(longs) {
            let got = lanes(&text, &a, &b, &c);
            for lane in 0..32 {
                let want = model(a[lane], b[lane], c[lane]);
                prop_assert_eq!(
                    got[lane], want,
                    "{} of {:#x} {:#x} {:#x}: {:#x}, not {:#x}",
                    text, a[lane], b[lane], c[lane], got[lane], want
                );
            }
        }
    }
}
