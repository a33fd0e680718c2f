//! Primitives on values with errors: running error analysis.
//!
//! In: arguments with the error that they may have. Out: the result in f64 and how far a right
//! kernel's may be: what the arguments' errors become, what the operation may round, what the
//! type's range takes away.

use super::block::{Block, Floats, Integers, Truth, distance};
use super::keeps::{Keeps, ROUNDOFF};
use super::usual;
use crate::formula::ValueType;
use crate::functions::{Meaning, Op, Primitive, Slack};
use crate::number::wrapped;

/// Fewest lanes that are computed together.
const USUAL_LANES: usize = 8;

/// Whether a type of 32 bits holds a value.
#[inline]
fn fits(ty: ValueType, value: f64) -> bool {
    ty == ValueType::F64 || f64::from(value as f32) == value
}

/// What an operation may add to the error of a result, below the normal range as well.
fn slack_of(slack: &Slack, keeps: Keeps, argument: f64, result: f64, error: f64) -> f64 {
    if result == 0.0 && error == 0.0 && slack.absolute.is_empty() {
        return 0.0;
    }
    let size = result.abs() + error;
    let relative = slack.roundoffs * keeps.roundoff * size;
    let argument_part = match slack.by_argument {
        0.0 => 0.0,
        by => by * argument.abs() * keeps.roundoff * size,
    };
    let absolute = match slack.absolute {
        [] => 0.0,
        steps => {
            let step = steps.iter().find(|step| argument.abs() <= step[0]);
            step.map_or(f64::INFINITY, |step| step[1])
        }
    };
    // Functions of f64 are right to a unit in the last place.
    let slack_of_normal = relative + argument_part + absolute + 2.0 * ROUNDOFF * size;
    slack_of_normal + keeps.below(slack, result, error + slack_of_normal)
}

/// A primitive on numbers, elementwise.
pub(super) fn floats(row: &Primitive, ty: ValueType, mut arguments: Vec<Floats>) -> Floats {
    let lanes = arguments
        .iter()
        .map(|one| one.values.len())
        .max()
        .unwrap_or(1);
    let keeps = Keeps::of(ty);
    let slack = if ty == ValueType::F64 {
        &row.f64
    } else {
        &row.f32
    };
    match (row.meaning, &mut arguments[..]) {
        (Meaning::Monotone(f), [x]) => {
            let one = |lane| monotone(f, x.pair(lane), slack, keeps);
            (0..lanes).map(one).collect()
        }
        (Meaning::Wave(f), [x]) => {
            let one = |lane| {
                let (x, e) = x.pair(lane);
                let value = f(x);
                let error = e.min(2.0);
                keeps.range(value, error + slack_of(slack, keeps, x, value, error))
            };
            (0..lanes).map(one).collect()
        }
        (Meaning::Two(f), [a, b]) => {
            let one = |lane| {
                let pairs = [a.pair(lane), b.pair(lane)];
                let of = |pairs| two(row.op, f, pairs, slack, keeps, ty);
                match row.op {
                    Op::Add | Op::Sub => keeps.sum(pairs, of),
                    _ => of(pairs),
                }
            };
            if ty != ValueType::F64 && lanes >= USUAL_LANES && usual::is_known(row.op) {
                return usual::each(row.op, [a, b], slack.roundoffs, keeps, one);
            }
            (0..lanes).map(one).collect()
        }
        (_, [x]) => {
            let change = |value: &mut f64| match row.op {
                Op::Abs => *value = value.abs(),
                _ => *value = -*value,
            };
            x.values.iter_mut().for_each(change);
            std::mem::take(x)
        }
        _ => Floats {
            values: vec![f64::NAN; lanes],
            errors: vec![f64::INFINITY; lanes],
        },
    }
}

fn monotone(f: fn(f64) -> f64, (x, e): (f64, f64), slack: &Slack, keeps: Keeps) -> (f64, f64) {
    let value = f(x);
    let error = match e {
        // Which zero it is, operations do not promise.
        0.0 if x == 0.0 => distance(f(-x), value),
        0.0 => 0.0,
        f64::INFINITY => f64::INFINITY,
        e => {
            let ends = [f(x - e), f(x + e)];
            let unknown = ends.iter().any(|end| end.is_nan()) && !value.is_nan();
            let ends = ends.map(|end| distance(end, value));
            if unknown {
                f64::INFINITY
            } else {
                ends[0].max(ends[1])
            }
        }
    };
    if !value.is_finite() || error == f64::INFINITY {
        return keeps.range(value, error);
    }
    keeps.range(value, error + slack_of(slack, keeps, x, value, error))
}

fn two(
    op: Op,
    f: fn(f64, f64) -> f64,
    [(a, ea), (b, eb)]: [(f64, f64); 2],
    slack: &Slack,
    keeps: Keeps,
    ty: ValueType,
) -> (f64, f64) {
    let value = f(a, b);
    let exact = ea == 0.0 && eb == 0.0;
    if exact && lossless(op, a, b, value) && fits(ty, value) && value.is_finite() {
        let error = match slack.flushes {
            true => keeps.below(slack, value, 0.0),
            false => 0.0,
        };
        return keeps.range(value, error);
    }
    if let Some(value) = settled(op, [(a, ea), (b, eb)], keeps) {
        return (value, 0.0);
    }
    let error = match op {
        // Which zero it is, operations do not promise.
        Op::Div if b == 0.0 && !value.is_nan() => f64::INFINITY,
        _ if exact => 0.0,
        Op::Mul => product_error((a, ea), (b, eb)),
        Op::Div if b.abs() <= eb => f64::INFINITY,
        Op::Div => (ea + value.abs() * eb) / (b.abs() - eb),
        Op::Min | Op::Max => {
            let ends = [f(a - ea, b - eb), f(a + ea, b + eb)];
            let ends = ends.map(|end| distance(end, value));
            let unknown = ea == f64::INFINITY || eb == f64::INFINITY;
            if unknown {
                f64::INFINITY
            } else {
                ends[0].max(ends[1])
            }
        }
        _ => ea + eb,
    };
    let error = if slack.roundoffs == 0.0 || !value.is_finite() {
        error
    } else {
        error + slack_of(slack, keeps, 0.0, value, error)
    };
    match op {
        // What comes of it unrounded f64 does not hold.
        Op::Mul | Op::Div if value.is_infinite() && a.is_finite() && b != 0.0 && b.is_finite() => {
            (value, f64::INFINITY)
        }
        Op::Mul | Op::Div => keeps.product(value, error),
        _ => keeps.range(value, error),
    }
}

/// What NaN and infinities that are sure make sure whatever the other argument is off by: NaN of
/// NaN, and an infinity of one by a number whose sign is known.
fn settled(op: Op, [(a, ea), (b, eb)]: [(f64, f64); 2], keeps: Keeps) -> Option<f64> {
    let is_known = ea < f64::INFINITY && eb < f64::INFINITY;
    if a.is_nan() && ea < f64::INFINITY || b.is_nan() && eb < f64::INFINITY {
        return Some(f64::NAN);
    }
    // A number beyond half the reciprocal of the least normal one may have 0 for its own.
    let has_reciprocal = b.abs() + eb < 0.5 / keeps.least_normal();
    match op {
        Op::Mul if is_known && a.is_infinite() && b.abs() > eb => Some(a * b),
        Op::Mul if is_known && b.is_infinite() && a.abs() > ea => Some(a * b),
        Op::Div if is_known && a.is_infinite() && b.abs() > eb && has_reciprocal => Some(a / b),
        _ => None,
    }
}

/// The error of a product of values with errors, itself not rounded.
#[inline]
pub(super) fn product_error((a, ea): (f64, f64), (b, eb): (f64, f64)) -> f64 {
    let part = |error: f64, by: f64| if error == 0.0 { 0.0 } else { error * by.abs() };
    let error = part(ea, b) + part(eb, a) + part(ea, eb);
    if error.is_nan() { f64::INFINITY } else { error }
}

/// A power of two by which the smaller factor of a product below 1e-270 is an f64 as it was.
const UP: f64 = f64::from_bits((1023 + 600) << 52);

/// Whether f64 computed it without rounding.
fn lossless(op: Op, a: f64, b: f64, value: f64) -> bool {
    match op {
        Op::Add | Op::Sub => {
            let b = if op == Op::Sub { -b } else { b };
            let shadow = value - a;
            (a - (value - shadow)) + (b - shadow) == 0.0
        }
        Op::Mul => {
            // What is lost of a product so small has no place in f64: it is looked for further up.
            let up = if value.abs() < 1e-270 { UP } else { 1.0 };
            let [less, more] = if a.abs() < b.abs() { [a, b] } else { [b, a] };
            (less * up).mul_add(more, -value * up) == 0.0
        }
        Op::Min | Op::Max => true,
        // Quotients may be approximated, unless by a power of two.
        Op::Div => b.to_bits() << 12 == 0 && b.is_normal() && value * b == a,
        _ => false,
    }
}

/// A primitive on integers, elementwise: they wrap around.
pub(super) fn integers(op: Op, arguments: &[Integers]) -> Integers {
    let lanes = arguments
        .iter()
        .map(|one| one.values.len())
        .max()
        .unwrap_or(1);
    let one = |lane: usize| match arguments {
        [a] => {
            let (a, error) = a.pair(lane);
            match op {
                Op::Abs => (a.wrapping_abs(), error),
                Op::Floor | Op::Round => (a, error),
                _ => (a.wrapping_neg(), error),
            }
        }
        [a, b] => {
            let ((a, ea), (b, eb)) = (a.pair(lane), b.pair(lane));
            let sum = ea + eb;
            match op {
                Op::Add => (a.wrapping_add(b), sum),
                Op::Sub => (a.wrapping_sub(b), sum),
                Op::Mul => {
                    let error = product_error((a as f64, ea), (b as f64, eb));
                    (a.wrapping_mul(b), error)
                }
                Op::Rem => {
                    let error = if ea == 0.0 { 0.0 } else { b as f64 };
                    (a.checked_rem_euclid(b).unwrap_or(0), error)
                }
                Op::Min => (a.min(b), ea.max(eb)),
                Op::Max => (a.max(b), ea.max(eb)),
                _ => (0, f64::INFINITY),
            }
        }
        _ => (0, f64::INFINITY),
    };
    Integers::of((0..lanes).map(one).collect()).wrap()
}

/// A comparison, elementwise; `NaN` equals nothing and is less than nothing.
pub(super) fn compared(op: Op, a: &Block, b: &Block) -> Block {
    let lanes = a.len().max(b.len());
    let one = |lane| {
        let ((a, ea), (b, eb)) = (a.at(lane), b.at(lane));
        let holds = match op {
            Op::Eq => a == b,
            Op::Ne => a != b,
            Op::Lt => a < b,
            Op::Le => a <= b,
            Op::Gt => a > b,
            _ => a >= b,
        };
        let apart = if a == b { 0.0 } else { (a - b).abs() };
        let room = ea + eb;
        let known = room == 0.0 || (room < f64::INFINITY && (apart.is_nan() || apart > room));
        Truth { holds, sure: known }
    };
    Block::Condition((0..lanes).map(one).collect())
}

/// `and`, `or`, `not`, elementwise.
pub(super) fn logic(op: Op, arguments: &[Vec<Truth>]) -> Block {
    let lanes = arguments.iter().map(Vec::len).max().unwrap_or(1);
    let at = |truths: &[Truth], lane: usize| truths[if truths.len() == 1 { 0 } else { lane }];
    let one = |lane| match arguments {
        [a, b] => {
            let (a, b) = (at(a, lane), at(b, lane));
            // One side decides alone: false of `and`, true of `or`.
            let decides = op == Op::Or;
            let alone = |one: Truth| one.sure && one.holds == decides;
            Truth {
                holds: if decides {
                    a.holds | b.holds
                } else {
                    a.holds & b.holds
                },
                sure: alone(a) || alone(b) || (a.sure && b.sure),
            }
        }
        [a] => {
            let a = at(a, lane);
            Truth {
                holds: !a.holds,
                sure: a.sure,
            }
        }
        _ => Truth {
            holds: false,
            sure: false,
        },
    };
    Block::Condition((0..lanes).map(one).collect())
}

/// The one that a condition chooses; where errors leave it open, a value that covers both.
pub(super) fn chosen(condition: &[Truth], then: &Block, other: &Block) -> Vec<(f64, f64)> {
    let lanes = condition.len().max(then.len()).max(other.len());
    let one = |lane: usize| {
        let truth = condition[if condition.len() == 1 { 0 } else { lane }];
        let (mut taken, mut left) = (then.at(lane), other.at(lane));
        if !truth.holds {
            std::mem::swap(&mut taken, &mut left);
        }
        if truth.sure {
            return taken;
        }
        (taken.0, taken.1.max(distance(left.0, taken.0) + left.1))
    };
    (0..lanes).map(one).collect()
}

/// The same of integers, which f64 may not hold.
pub(super) fn chosen_integers(condition: &[Truth], then: &Block, other: &Block) -> Integers {
    let pairs = chosen(condition, then, other).into_iter().enumerate();
    let exact = |(lane, (_, error)): (usize, (f64, f64))| {
        let truth = condition[if condition.len() == 1 { 0 } else { lane }];
        let from = if truth.holds { then } else { other };
        (wrapped(from.integer_at(lane)), error)
    };
    Integers::of(pairs.map(exact).collect())
}
