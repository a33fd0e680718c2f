//! The rules once more, by values: big integers in units of 2^-700, divided and compared.

use half::{bf16, f16};
use num_bigint::{BigInt, BigUint, Sign};
use tilewright_emulator::tensor_core::{Element, Step, Sum};

/// The unit is two to minus this.
const UNIT: i32 = 700;

/// How a step sums.
#[derive(Clone, Copy, Debug)]
pub enum Sums {
    /// Products of one alignment, bits kept, bits of an f32 result.
    Fused {
        terms: usize,
        kept: i32,
        bits: i32,
    },
    Widened,
    Chain,
}

/// A finite value by the format it is in: subnormals are aligned by its least exponent.
#[derive(Clone, Copy)]
struct Number {
    value: f64,
    least: i32,
}

impl Number {
    fn of(element: Element, bits: u64) -> Number {
        let small = |fraction: i32, bias: i32| {
            let (sign, magnitude) = (bits >> 7 & 1, (bits & 0x7f) as i32);
            let (exponent, rest) = (magnitude >> fraction, magnitude & ((1 << fraction) - 1));
            let hidden = if exponent > 0 { 1 << fraction } else { 0 };
            let scale = 2f64.powi(exponent.max(1) - bias - fraction);
            let value = f64::from(rest + hidden) * scale;
            let value = if sign == 1 { -value } else { value };
            match (fraction, magnitude) {
                (3, 0x7f) => f64::NAN,
                (2, 0x7c) => f64::INFINITY.copysign(value),
                (2, 0x7d..) => f64::NAN,
                _ => value,
            }
        };
        let (value, least) = match element {
            Element::F16 => (f16::from_bits(bits as u16).to_f64(), -14),
            Element::Bf16 => (bf16::from_bits(bits as u16).to_f64(), -126),
            Element::Tf32 => (f64::from(f32::from_bits(bits as u32 & 0xffff_e000)), -126),
            Element::E4m3 => (small(3, 7), -6),
            Element::E5m2 => (small(2, 15), -14),
            _ => (f64::from(f32::from_bits(bits as u32)), -126),
        };
        Number { value, least }
    }

    fn of_sum(sum: Sum, bits: u64) -> Number {
        match sum {
            Sum::F16 => Number::of(Element::F16, bits),
            _ => Number::of(Element::F32, bits),
        }
    }

    fn exponent(self) -> i32 {
        let biased = self.value.to_bits() >> 52 & 0x7ff;
        (biased as i32 - 1023).max(self.least)
    }
}

fn power(exponent: i32) -> BigInt {
    BigInt::from(1) << (exponent + UNIT) as u32
}

/// A value in units; every one of the tests is a multiple.
pub fn scaled(value: f64) -> BigInt {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let mantissa = bits & ((1 << 52) - 1) | u64::from(exponent > 0) << 52;
    let shift = exponent.max(1) - 1075 + UNIT;
    let magnitude = BigInt::from(mantissa);
    let magnitude = match shift {
        0.. => magnitude << shift as u32,
        _ => magnitude >> (-shift) as u32,
    };
    if value < 0.0 { -magnitude } else { magnitude }
}

/// C and all products, in units.
pub fn exact_sum(
    (a_type, b_type): (Element, Element),
    sum: Sum,
    (a, b): (&[u64], &[u64]),
    c: u64,
) -> BigInt {
    let product = |(a, b): (&u64, &u64)| {
        let (a, b) = (Number::of(a_type, *a).value, Number::of(b_type, *b).value);
        (scaled(a) * scaled(b)) >> UNIT as u32
    };
    let products: BigInt = a.iter().zip(b).map(product).sum();
    products + scaled(Number::of_sum(sum, c).value)
}

/// How far bits are from a sum, in units.
pub fn distance(exact: &BigInt, sum: Sum, bits: u64) -> BigInt {
    let off = exact - scaled(Number::of_sum(sum, bits).value);
    BigInt::from(off.magnitude().clone())
}

/// A distance as part of a bound.
pub fn ratio(error: &BigInt, bound: f64) -> f64 {
    let parts = (error << 20u32) / scaled(bound).max(BigInt::from(1));
    u64::try_from(parts).unwrap_or(u64::MAX) as f64 / f64::from(1 << 20)
}

/// The bits of NaN or an infinity, if a sum is none of the finite ones.
fn special(sum: Sum, values: impl Iterator<Item = (f64, f64)>, c: f64) -> Option<u64> {
    let mut total = c;
    let mut finite = c.is_finite();
    for (a, b) in values {
        finite &= a.is_finite() && b.is_finite();
        total += a * b;
    }
    if finite {
        return None;
    }
    let half = sum == Sum::F16;
    Some(match () {
        () if total.is_nan() && half => 0x7fff,
        () if total.is_nan() => 0x7fff_ffff,
        () if half => u64::from(f16::from_f64(total).to_bits()),
        () => u64::from((total as f32).to_bits()),
    })
}

/// A whole number of units in the format of the sum.
fn rounded(sum: Sum, total: &BigInt, bits: i32) -> u64 {
    let magnitude: &BigUint = total.magnitude();
    if *magnitude == BigUint::ZERO {
        return 0;
    }
    let exponent = magnitude.bits() as i32 - 1 - UNIT;
    let half = sum == Sum::F16;
    let last = match half {
        true => exponent.max(-14) - 10,
        false => exponent.max(-126) - bits,
    };
    let place = (last + UNIT) as u32;
    let mut kept = magnitude >> place;
    if half {
        let twice: BigUint = (magnitude - (&kept << place)) << 1u32;
        let one = BigUint::from(1u32) << place;
        let odd = kept.bit(0);
        if twice > one || twice == one && odd {
            kept += 1u32;
        }
    }
    let value = u64::try_from(kept).unwrap() as f64 * 2f64.powi(last);
    let value = if total.sign() == Sign::Minus {
        -value
    } else {
        value
    };
    match () {
        () if value == 0.0 => 0,
        () if half => u64::from(f16::from_f64(value).to_bits()),
        () => u64::from((value as f32).to_bits()),
    }
}

/// One alignment.
fn fused(sum: Sum, (kept, bits): (i32, i32), pairs: &[(Number, Number)], c: u64) -> u64 {
    let c = Number::of_sum(sum, c);
    let values = pairs.iter().map(|(a, b)| (a.value, b.value));
    if let Some(special) = special(sum, values, c.value) {
        return special;
    }
    let mut highest = if sum == Sum::F16 { -21 } else { -133 };
    if c.value != 0.0 {
        highest = highest.max(c.exponent());
    }
    for (a, b) in pairs {
        if a.value != 0.0 && b.value != 0.0 {
            highest = highest.max(a.exponent() + b.exponent());
        }
    }
    let unit = power(highest - kept);
    // Division is toward zero.
    let mut total = scaled(c.value) / &unit;
    for (a, b) in pairs {
        total += scaled(a.value) * scaled(b.value) / (&unit << UNIT as u32);
    }
    rounded(sum, &(total * unit), bits)
}

impl Sums {
    pub fn fused(terms: usize, kept: i32, bits: i32) -> Sums {
        Sums::Fused { terms, kept, bits }
    }

    /// The bits of a step's sum.
    pub fn sum(self, step: &Step, (a, b): (&[u64], &[u64]), c: u64) -> u64 {
        let (a_type, b_type) = step.elements();
        let sum = step.sum();
        let pairs = a.iter().zip(b);
        let pairs = pairs.map(|(a, b)| (Number::of(a_type, *a), Number::of(b_type, *b)));
        let pairs: Vec<(Number, Number)> = pairs.collect();
        match self {
            Sums::Fused { terms, kept, bits } => {
                let pieces = pairs.chunks(terms);
                pieces.fold(c, |c, piece| fused(sum, (kept, bits), piece, c))
            }
            Sums::Widened => widened(sum, &pairs, c),
            Sums::Chain => {
                let chain =
                    |c: f32, (a, b): &(Number, Number)| (a.value as f32).mul_add(b.value as f32, c);
                let total = pairs.iter().fold(f32::from_bits(c as u32), chain);
                let bits = if total.is_nan() {
                    0x7fff_ffff
                } else {
                    total.to_bits()
                };
                u64::from(bits)
            }
        }
    }
}

/// fp8 as f16: k of remainder 0 and 1, then of 2 and 3, and an addition to nearest.
fn widened(sum: Sum, pairs: &[(Number, Number)], c: u64) -> u64 {
    let mut total = 0;
    for half in [0, 2] {
        let own = |(index, _): &(usize, &(Number, Number))| index & 2 == half;
        let as_half = |number: Number| Number {
            least: -14,
            ..number
        };
        let piece = pairs.iter().enumerate().filter(own);
        let piece: Vec<_> = piece
            .map(|(_, (a, b))| (as_half(*a), as_half(*b)))
            .collect();
        total = fused(sum, (25, 23), &piece, total);
    }
    let (x, y) = (
        Number::of_sum(sum, c).value,
        Number::of_sum(sum, total).value,
    );
    if sum == Sum::F16 {
        let total = f16::from_f64(x + y);
        let bits = if total.is_nan() {
            0x7fff
        } else {
            total.to_bits()
        };
        return u64::from(bits);
    }
    let total = x as f32 + y as f32;
    let bits = if total.is_nan() {
        0x7fff_ffff
    } else {
        total.to_bits()
    };
    u64::from(bits)
}
