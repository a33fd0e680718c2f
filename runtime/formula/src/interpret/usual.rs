//! Sums, products and quotients of f32 many lanes at a time, where nothing unusual happens.
//!
//! In: two arguments with errors. Out: what [`two`](super::arithmetic) says of each lane, bit for
//! bit. A chunk of lanes is computed without branches, beside whether each lane is usual: finite,
//! with finite errors, within the normal range of the type whatever its error. Where one is not,
//! the chunk is left to the definition, lane by lane.

use super::block::Floats;
use super::keeps::{Keeps, ROUNDOFF};
use crate::functions::Op;

/// Lanes of one chunk: few enough that all of them stay in the first-level cache.
const CHUNK: usize = 64;

/// A chunk of one argument.
struct Part {
    values: [f64; CHUNK],
    errors: [f64; CHUNK],
}

/// What an operation gives in one lane before its own rounding, and how far off it is.
struct Lane {
    value: f64,
    error: f64,
    /// Whether it is exactly what the arguments give.
    is_lossless: bool,
    /// Whether the rules for this lane are those of all.
    is_usual: bool,
}

/// Whether an operation has a way here.
pub(super) fn is_known(op: Op) -> bool {
    matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div)
}

/// Applies an operation of f32 to every lane; `scalar` is its definition.
pub(super) fn each(
    op: Op,
    [a, b]: [&Floats; 2],
    roundoffs: f64,
    keeps: Keeps,
    scalar: impl Fn(usize) -> (f64, f64),
) -> Floats {
    let way = (roundoffs, keeps);
    match op {
        Op::Add => chunks([a, b], way, scalar, sum),
        Op::Sub => chunks([a, b], way, scalar, |a, (b, error)| sum(a, (-b, error))),
        Op::Mul => chunks([a, b], way, scalar, product),
        _ => chunks([a, b], way, scalar, quotient),
    }
}

#[inline(always)]
fn chunks(
    [a, b]: [&Floats; 2],
    (roundoffs, keeps): (f64, Keeps),
    scalar: impl Fn(usize) -> (f64, f64),
    lane: impl Fn((f64, f64), (f64, f64)) -> Lane,
) -> Floats {
    let lanes = a.values.len().max(b.values.len());
    let (mut values, mut errors) = (vec![0.0; lanes], vec![0.0; lanes]);
    let mut inexact = false;
    let parts = values.chunks_mut(CHUNK).zip(errors.chunks_mut(CHUNK));
    for (at, (values, errors)) in parts.enumerate() {
        let start = at * CHUNK;
        let [x, y] = [a, b].map(|one| Part::of(one, start, values.len()));
        let mut found = Part::ONES;
        let (mut unusual, mut some) = (false, false);
        for at in 0..CHUNK {
            let one = lane((x.values[at], x.errors[at]), (y.values[at], y.errors[at]));
            let size = one.value.abs() + one.error;
            let rounding = roundoffs * keeps.roundoff * size + 2.0 * ROUNDOFF * size;
            let is_held = f64::from(one.value as f32) == one.value;
            let exact = (x.errors[at] == 0.0) & (y.errors[at] == 0.0) & one.is_lossless & is_held;
            let error = if exact { 0.0 } else { one.error + rounding };
            let held = keeps.is_normal(one.value, error) | (exact & (one.value == 0.0));
            unusual |= !(keeps.usual(&x, &y, at) & one.is_usual & held);
            some |= !exact;
            found.values[at] = one.value;
            found.errors[at] = error;
        }
        let lanes = values.len();
        values.copy_from_slice(&found.values[..lanes]);
        errors.copy_from_slice(&found.errors[..lanes]);
        if unusual {
            for (at, (value, error)) in values.iter_mut().zip(errors.iter_mut()).enumerate() {
                (*value, *error) = scalar(start + at);
                inexact |= *error != 0.0;
            }
        }
        inexact |= some && !unusual;
    }
    if !inexact {
        errors = Vec::new();
    }
    Floats { values, errors }
}

impl Part {
    /// Lanes that are usual to every operation.
    const ONES: Part = Part {
        values: [1.0; CHUNK],
        errors: [0.0; CHUNK],
    };

    fn of(floats: &Floats, start: usize, lanes: usize) -> Part {
        let mut part = Part::ONES;
        let take = |place: &mut [f64; CHUNK], from: &[f64]| match from {
            [] => (),
            [one] => place.fill(*one),
            all => {
                let from = all.get(start..start + lanes).unwrap_or_default();
                for (place, value) in place.iter_mut().zip(from) {
                    *place = *value;
                }
            }
        };
        take(&mut part.values, &floats.values);
        take(&mut part.errors, &floats.errors);
        part
    }
}

impl Keeps {
    /// Whether both arguments of a lane are numbers that a register holds, with finite errors.
    #[inline(always)]
    fn usual(self, x: &Part, y: &Part, at: usize) -> bool {
        (x.values[at].abs() <= self.largest())
            & (y.values[at].abs() <= self.largest())
            & (x.errors[at] < f64::INFINITY)
            & (y.errors[at] < f64::INFINITY)
    }

    /// Whether all values that far off are normal numbers of the type.
    #[inline(always)]
    fn is_normal(self, value: f64, error: f64) -> bool {
        let size = value.abs();
        (size + error <= self.largest()) & (size - error >= self.least_normal())
    }
}

#[inline(always)]
fn sum((a, ea): (f64, f64), (b, eb): (f64, f64)) -> Lane {
    let value = a + b;
    let shadow = value - a;
    Lane {
        value,
        error: ea + eb,
        is_lossless: (a - (value - shadow)) + (b - shadow) == 0.0,
        is_usual: true,
    }
}

#[inline(always)]
fn product((a, ea): (f64, f64), (b, eb): (f64, f64)) -> Lane {
    // The 48 bits of a product of two numbers of f32 are fewer than f64 has. Of others that are
    // exact the definition asks whether the product is.
    let held = (f64::from(a as f32) == a) & (f64::from(b as f32) == b);
    Lane {
        value: a * b,
        error: ea * b.abs() + eb * a.abs() + ea * eb,
        is_lossless: held,
        is_usual: held | (ea != 0.0) | (eb != 0.0),
    }
}

#[inline(always)]
fn quotient((a, ea): (f64, f64), (b, eb): (f64, f64)) -> Lane {
    let value = a / b;
    let is_power = (b.to_bits() << 12 == 0) & (b.abs() >= f64::MIN_POSITIVE);
    Lane {
        value,
        error: (ea + value.abs() * eb) / (b.abs() - eb),
        is_lossless: is_power & (value * b == a),
        is_usual: b.abs() > eb,
    }
}

#[cfg(test)]
mod tests {
    use super::super::arithmetic::floats;
    use super::*;
    use crate::formula::ValueType;

    /// Numbers of every kind: small, exact, inexact, at the ends of the range, none.
    fn drawn(seed: u64, lanes: usize) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        let one = |_| {
            let (kind, bits) = (next() % 64, next());
            let number = (bits % 4096) as f64 - 2048.0;
            match kind {
                0 => [
                    0.0,
                    -0.0,
                    f64::INFINITY,
                    f64::NAN,
                    3.5e38,
                    1e-39,
                    1e300,
                    2.0,
                ][bits as usize % 8],
                1 => f64::from(f32::from_bits((bits as u32) << 1)),
                2..20 => number,
                20..40 => f64::from((number / 37.0) as f32),
                _ => number / 37.0,
            }
        };
        (0..lanes).map(one).collect()
    }

    fn errors(seed: u64, lanes: usize) -> Vec<f64> {
        let of = |value: f64| match seed % 4 {
            0 => 0.0,
            1 if value == 0.0 => f64::INFINITY,
            _ if value < 0.0 => 0.0,
            _ => value.abs().min(1e3) * 1e-6,
        };
        drawn(seed + 77, lanes).into_iter().map(of).collect()
    }

    #[test]
    fn lanes_together_give_what_each_gives_alone() {
        let bits = |all: &[f64]| all.iter().map(|one| one.to_bits()).collect::<Vec<_>>();
        let mut usual = 0;
        for (seed, op) in (0..400).zip([Op::Add, Op::Sub, Op::Mul, Op::Div].into_iter().cycle()) {
            let lanes = [200, 64, 9, 1000][seed as usize / 4 % 4];
            let part = |seed: u64| {
                let lanes = if seed.is_multiple_of(5) { 1 } else { lanes };
                let errors = match seed.is_multiple_of(3) {
                    true => Vec::new(),
                    false => errors(seed, lanes),
                };
                Floats {
                    values: drawn(seed, lanes),
                    errors,
                }
            };
            let (a, b) = (part(seed), part(seed + 1001));
            let together = floats(op.row(), ValueType::F32, vec![a.clone(), b.clone()]);
            let alone = |lane: usize| {
                let of = |one: &Floats| [one.pair(lane)].into_iter().collect::<Floats>();
                let found = floats(op.row(), ValueType::F32, vec![of(&a), of(&b)]);
                found.pair(0)
            };
            let lanes = a.values.len().max(b.values.len());
            let (values, errors): (Vec<f64>, Vec<f64>) = (0..lanes).map(alone).unzip();
            let found: Vec<f64> = (0..lanes).map(|lane| together.error(lane)).collect();
            assert_eq!(bits(&together.values), bits(&values), "{op:?} {seed}");
            assert_eq!(bits(&found), bits(&errors), "{op:?} {seed}");
            usual += usize::from(errors.iter().any(|error| *error > 0.0));
        }
        assert!(usual > 100, "{usual}");
    }
}
