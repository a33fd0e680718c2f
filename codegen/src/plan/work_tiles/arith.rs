//! Numbers that work is reckoned in: those of this process, launch expressions, and in lowering
//! device expressions. What is reckoned is written once, for all of them.

use tilewright_bundle::Expr;

/// Numbers that are counted with.
pub trait Count: Clone {
    /// A constant.
    fn int(value: i64) -> Self;
    /// `a * b`
    fn mul(a: Self, b: Self) -> Self;
    /// `a / by`, rounded up.
    fn ceil_div(a: Self, by: i64) -> Self;
}

/// Numbers that places follow from.
pub trait Index: Count {
    /// Whether something is so.
    type Truth: Clone;
    /// `a + b`
    fn add(a: Self, b: Self) -> Self;
    /// `a - b`
    fn sub(a: Self, b: Self) -> Self;
    /// `a / b` of non-negative numbers, rounded down.
    fn div(a: Self, b: Self) -> Self;
    /// `a % b` of non-negative numbers.
    fn rem(a: Self, b: Self) -> Self;
    /// The lesser.
    fn min(a: Self, b: Self) -> Self;
    /// The greater.
    fn max(a: Self, b: Self) -> Self;
    /// The bits that both have.
    fn and(a: Self, b: Self) -> Self;
    /// The bits that one of them has.
    fn xor(a: Self, b: Self) -> Self;
    /// `a == b`
    fn eq(a: Self, b: Self) -> Self::Truth;
    /// `a < b`
    fn lt(a: Self, b: Self) -> Self::Truth;
    /// `a <= b`
    fn le(a: Self, b: Self) -> Self::Truth;
    /// Whether one is so.
    fn or(a: Self::Truth, b: Self::Truth) -> Self::Truth;
    /// `a` where it is so, else `b`.
    fn select(cond: Self::Truth, a: Self, b: Self) -> Self;
}

/// Names what is used several times: a kernel computes it once.
pub trait Names<N> {
    /// The value, by a name where it gets one.
    fn name(&mut self, name: &str, value: N) -> N;
}

/// Names nothing.
pub struct AsItIs;

impl<N> Names<N> for AsItIs {
    fn name(&mut self, _: &str, value: N) -> N {
        value
    }
}

impl Count for i64 {
    fn int(value: i64) -> i64 {
        value
    }

    fn mul(a: i64, b: i64) -> i64 {
        a.saturating_mul(b)
    }

    fn ceil_div(a: i64, by: i64) -> i64 {
        a.div_euclid(by) + i64::from(a.rem_euclid(by) != 0)
    }
}

impl Index for i64 {
    type Truth = bool;

    fn add(a: i64, b: i64) -> i64 {
        a.saturating_add(b)
    }

    fn sub(a: i64, b: i64) -> i64 {
        a.saturating_sub(b)
    }

    fn div(a: i64, b: i64) -> i64 {
        a.div_euclid(b)
    }

    fn rem(a: i64, b: i64) -> i64 {
        a.rem_euclid(b)
    }

    fn min(a: i64, b: i64) -> i64 {
        Ord::min(a, b)
    }

    fn max(a: i64, b: i64) -> i64 {
        Ord::max(a, b)
    }

    fn and(a: i64, b: i64) -> i64 {
        a & b
    }

    fn xor(a: i64, b: i64) -> i64 {
        a ^ b
    }

    fn eq(a: i64, b: i64) -> bool {
        a == b
    }

    fn lt(a: i64, b: i64) -> bool {
        a < b
    }

    fn le(a: i64, b: i64) -> bool {
        a <= b
    }

    fn or(a: bool, b: bool) -> bool {
        a || b
    }

    fn select(cond: bool, a: i64, b: i64) -> i64 {
        if cond { a } else { b }
    }
}

/// Launches count work, and have no use for places. A factor of 1 is left out.
impl Count for Expr {
    fn int(value: i64) -> Expr {
        Expr::constant(value)
    }

    fn mul(a: Expr, b: Expr) -> Expr {
        match (a.constant_value(), b.constant_value()) {
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => a * b,
        }
    }

    fn ceil_div(a: Expr, by: i64) -> Expr {
        match by {
            1 => a,
            _ => a.ceil_div(by),
        }
    }
}
