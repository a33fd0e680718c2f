//! The table of primitives.
//!
//! Errors of f32 are the largest of the instructions that kernels may use, from the PTX ISA manual
//! (chapter "Floating Point Instructions": `div.full`, `sqrt.approx`, `rsqrt.approx`, `lg2.approx`,
//! `ex2.approx`, `tanh.approx`) and, for `exp` and `log` made of them, from the CUDA programming
//! guide's table of intrinsic functions (`__expf`, `__logf`). Errors of f64 are those of CUDA's
//! functions of double precision, from the same guide. Subnormal results are lost where an
//! instruction flushes them, as exponentials by `ex2.approx.ftz`. All others take and give
//! subnormals.

use super::{Meaning, Notation, Op, Primitive, Slack, Takes};

/// Nothing is rounded.
const EXACT: Slack = of(0.0);
/// Rounded once, to nearest.
const ROUNDED: Slack = of(1.0);
/// Errors of waves within one turn and as far as turns are taken off before the instruction, beside
/// the rounding: of all f32 there the largest are 4.13e-7 and 7.10e-7, by the instruction as an
/// H200 has it.
const WAVES: &[[f64; 2]] = &[[std::f64::consts::TAU, 4.2e-7], [1e6, 7.2e-7]];

const fn of(roundoffs: f64) -> Slack {
    Slack {
        roundoffs,
        by_argument: 0.0,
        absolute: &[],
        flushes: false,
    }
}

/// That of `ex2.approx.ftz` of an argument that is multiplied before.
const POWER: Slack = Slack {
    by_argument: 2.4,
    flushes: true,
    ..of(4.0)
};

const fn absolute(roundoffs: f64, absolute: &'static [[f64; 2]]) -> Slack {
    Slack {
        absolute,
        ..of(roundoffs)
    }
}

/// A row that the evaluator gives its meaning, and that rounds nothing.
const fn plain(
    op: Op,
    name: &'static str,
    notation: Notation,
    arity: usize,
    takes: Takes,
    doc: &'static str,
) -> Primitive {
    Primitive {
        op,
        name,
        notation,
        arity,
        takes,
        meaning: Meaning::Evaluator,
        f32: EXACT,
        f64: EXACT,
        doc,
    }
}

const fn call(
    op: Op,
    name: &'static str,
    meaning: Meaning,
    slack: [Slack; 2],
    doc: &'static str,
) -> Primitive {
    let arity = if matches!(meaning, Two(_)) { 2 } else { 1 };
    let [f32, f64] = slack;
    let takes = if f32.roundoffs > 0.0 || !f32.absolute.is_empty() {
        Takes::Floats
    } else {
        Takes::Numbers
    };
    Primitive {
        op,
        name,
        notation: Notation::Call,
        arity,
        takes,
        meaning,
        f32,
        f64,
        doc,
    }
}

const fn infix(
    op: Op,
    name: &'static str,
    binds: u8,
    meaning: fn(f64, f64) -> f64,
    slack: [Slack; 2],
    doc: &'static str,
) -> Primitive {
    Primitive {
        notation: Infix(binds),
        arity: 2,
        takes: Takes::Numbers,
        ..call(op, name, Two(meaning), slack, doc)
    }
}

fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a == 0.0 && b == 0.0 {
        // +0 is larger than -0, as in PTX.
        a + b
    } else {
        a.max(b)
    }
}

fn smallest(a: f64, b: f64) -> f64 {
    -largest(-a, -b)
}

fn one_over_root(x: f64) -> f64 {
    1.0 / x.sqrt()
}

use Meaning::{Monotone, Two, Wave};
use Notation::{Infix, Prefix};

/// Every primitive, those written between operands by how tightly they bind.
#[rustfmt::skip]
pub const PRIMITIVES: &[Primitive] = &[
    plain(Op::Neg, "-", Prefix, 1, Takes::Numbers, "the negative"),
    plain(Op::Not, "not", Prefix, 1, Takes::Conditions, "whether a condition does not hold"),
    infix(Op::Mul, "*", 6, |a, b| a * b, [ROUNDED; 2], "product; `0 * NaN` is NaN"),
    Primitive {
        takes: Takes::Floats,
        ..infix(Op::Div, "/", 6, |a, b| a / b, [of(4.0), ROUNDED],
            "quotient, never of integers; in an index `/ 2` is the floor")
    },
    plain(Op::Rem, "%", Infix(6), 2, Takes::Integers,
        "remainder by a constant above zero, from 0 up"),
    infix(Op::Add, "+", 5, |a, b| a + b, [ROUNDED; 2], "sum"),
    infix(Op::Sub, "-", 5, |a, b| a - b, [ROUNDED; 2], "difference"),
    plain(Op::Eq, "==", Infix(4), 2, Takes::Comparison, "equal; NaN equals nothing"),
    plain(Op::Ne, "!=", Infix(4), 2, Takes::Comparison, "not equal"),
    plain(Op::Lt, "<", Infix(4), 2, Takes::Comparison, "less"),
    plain(Op::Le, "<=", Infix(4), 2, Takes::Comparison, "less or equal"),
    plain(Op::Gt, ">", Infix(4), 2, Takes::Comparison, "greater"),
    plain(Op::Ge, ">=", Infix(4), 2, Takes::Comparison, "greater or equal"),
    plain(Op::And, "and", Infix(2), 2, Takes::Conditions, "whether both hold"),
    plain(Op::Or, "or", Infix(1), 2, Takes::Conditions, "whether one holds"),
    call(Op::Min, "min", Two(smallest), [EXACT; 2], "the smaller; NaN where one is"),
    call(Op::Max, "max", Two(largest), [EXACT; 2], "the larger; NaN where one is"),
    plain(Op::Abs, "abs", Notation::Call, 1, Takes::Numbers, "magnitude"),
    call(Op::Exp, "exp", Monotone(f64::exp),
        [POWER, of(2.0)], "e to a power"),
    call(Op::Log, "log", Monotone(f64::ln),
        [absolute(6.0, &[[f64::INFINITY, 3.6e-7]]), of(2.0)], "natural logarithm"),
    call(Op::Sqrt, "sqrt", Monotone(f64::sqrt), [of(2.0), ROUNDED], "square root"),
    call(Op::Rsqrt, "rsqrt", Monotone(one_over_root), [of(2.2), of(3.0)], "1 over the square root"),
    call(Op::Tanh, "tanh", Monotone(f64::tanh), [of(8270.0), of(2.0)],
        "hyperbolic tangent; away from 0 `2 * sigmoid(2 * x) - 1` is closer in f32"),
    call(Op::Erf, "erf", Monotone(libm::erf),
        [absolute(4.0, &[[f64::INFINITY, 2.4e-7]]), of(4.0)], "error function"),
    call(Op::Sin, "sin", Wave(f64::sin), [absolute(1.0, WAVES), of(4.0)], "sine of radians"),
    call(Op::Cos, "cos", Wave(f64::cos), [absolute(1.0, WAVES), of(4.0)], "cosine of radians"),
    call(Op::Floor, "floor", Monotone(f64::floor), [EXACT; 2], "the integer below, as a float"),
    call(Op::Round, "round", Monotone(f64::round_ties_even), [EXACT; 2],
        "the nearest integer, the even one of two, as a float"),
    plain(Op::Where, "where", Notation::Call, 3, Takes::Choice,
        "the second where the first holds, else the third; what is not chosen is not read"),
];
