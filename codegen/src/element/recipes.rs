//! Operations that no atom does, in the notation, over operations that atoms do.
//!
//! A recipe is one or more statements, the last of which gives `d`; names in calls are those of
//! [`Does`]. Of the recipes of one operation the first is taken whose every operation has an atom
//! on the architecture. That their errors are within those of the primitives is shown by tests.

use crate::atoms::arithmetic::{Does, NumberType};

/// One of them.
pub(super) struct Recipe {
    /// What it does.
    pub does: Does,
    /// To numbers of that type.
    pub ty: NumberType,
    /// What it is.
    pub text: &'static str,
}

const fn recipe(does: Does, ty: NumberType, text: &'static str) -> Recipe {
    Recipe { does, ty, text }
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
             1.0 - 2.0 * rcp(1.0 + ex2(a * 2.8853900817779268)))",
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
];
