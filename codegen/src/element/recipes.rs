//! Operations that no atom does, in the notation, over operations that atoms do.
//!
//! A recipe is one or more statements, the last of which gives `d`; names in calls are those of
//! [`Does`]. Of the recipes of one operation the first is taken whose every operation has an atom
//! on the architecture. That their errors are within those of the primitives is shown by tests.

use crate::atoms::arithmetic::{Does, NumberType};

/// One of them.
pub(super) struct Recipe {
    /// What it makes.
    pub of: Of,
    /// Of numbers of that type.
    pub ty: NumberType,
    /// What it is.
    pub text: &'static str,
}

/// What a recipe makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// An operation.
    Operation(Does),
    /// A derived function of formulas, cheaper than by its definition.
    Function(&'static str),
}

const fn recipe(does: Does, ty: NumberType, text: &'static str) -> Recipe {
    let of = Of::Operation(does);
    Recipe { of, ty, text }
}

const fn function(name: &'static str, ty: NumberType, text: &'static str) -> Recipe {
    let of = Of::Function(name);
    Recipe { of, ty, text }
}

use NumberType::{F32, F64, S32};

/// All of them, over `a` and `b`.
pub(super) const RECIPES: &[Recipe] = &[
    recipe(Does::Exp, F32, "d = ex2(a * 1.4426950408889634)"),
    recipe(Does::Log, F32, "d = lg2(a) * 0.6931471805599453"),
    recipe(
        Does::Tanh,
        F32,
        "q = a * a
         d = where(q < 0.01, a * fma(q, -0.3333333, 1.0),
             1.0 - 2.0 * rcp_flushed(1.0 + ex2(a * 2.8853900817779268)))",
    ),
    // 1 - 2^(p |a|), in which p |a| is the logarithm of the complement, fitted to 1.4e-8; it falls
    // to -inf.
    recipe(
        Does::Erf,
        F32,
        "x = abs(a)
         p = fma(x, fma(x, fma(x, fma(x, fma(x, fma(x, fma(x, -5.24964901e-05,
             0.000502074251), -0.00166481944), -0.00050323444), 0.0280321945),
             -0.148389268), -0.918433729), -1.62790756)
         d = with_sign(1.0 - ex2(p * x), a)",
    ),
    // Less the nearest number of turns (within a few hundredths of one up to 1e6), a turn in two
    // parts: with the first nothing is rounded, as what is left is less than 4.
    recipe(
        Does::Sin,
        F32,
        "n = fma(a, 0.15915494309189535, 12582912.0) - 12582912.0
         d = sin_near(fma(n, 1.7484556000744883e-7, fma(n, -6.2831854820251465, a)))",
    ),
    recipe(
        Does::Cos,
        F32,
        "n = fma(a, 0.15915494309189535, 12582912.0) - 12582912.0
         d = cos_near(fma(n, 1.7484556000744883e-7, fma(n, -6.2831854820251465, a)))",
    ),
    recipe(Does::Rsqrt, F64, "d = 1.0 / sqrt(a)"),
    recipe(
        Does::Max,
        F32,
        "d = where(unordered(a, b), a + b, larger(a, b))",
    ),
    recipe(
        Does::Min,
        F32,
        "d = where(unordered(a, b), a + b, smaller(a, b))",
    ),
    recipe(
        Does::Max,
        F64,
        "d = where(unordered(a, b), a + b, larger(a, b))",
    ),
    recipe(
        Does::Min,
        F64,
        "d = where(unordered(a, b), a + b, smaller(a, b))",
    ),
    recipe(
        Does::Rem,
        S32,
        "r = truncated(a, b)
         d = where(r < 0, r + b, r)",
    ),
    // The denominator is 1 and more: its inverse is flushed where the result may be.
    function(
        "sigmoid",
        F32,
        "d = rcp_flushed(1.0 + ex2(a * -1.4426950408889634))",
    ),
    // A quarter of the denominator, whose inverse is flushed where the exponential overflows.
    function(
        "silu",
        F32,
        "d = 0.25 * a * rcp_flushed(0.25 + ex2(fma(a, -1.4426950408889634, -2.0)))",
    ),
    // relu(a) less |a| times half the complement of the error function, as in `erf`; beyond 6 that
    // is nothing.
    function(
        "gelu",
        F32,
        "x = smaller(abs(a), 6.0)
         p = fma(x, fma(x, fma(x, fma(x, fma(x, fma(x, 1.14088815e-05,
             -8.05060366e-05), -0.000330560947), 0.00724300441), -0.0525761014),
             -0.459193816), -1.15110586)
         d = fma(-x, ex2(fma(p, x, -1.0)), max(a, 0.0))",
    ),
];
