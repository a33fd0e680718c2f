//! Constructors of integer expressions, folding constants as they go.

use std::rc::Rc;

use crate::ir::thread::program::{BinOp, CmpOp, Expr, IntType};

/// A 32-bit constant.
pub fn int(value: i64) -> Expr {
    Expr::Int(value, IntType::I32)
}

/// A 64-bit constant.
pub fn long(value: i64) -> Expr {
    Expr::Int(value, IntType::I64)
}

/// `a + b`
pub fn add(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Int(0, _), _) => b,
        (_, Expr::Int(0, _)) => a,
        _ => binary(BinOp::Add, a, b),
    }
}

/// `a - b`
pub fn sub(a: Expr, b: Expr) -> Expr {
    match &b {
        Expr::Int(0, _) => a,
        _ => binary(BinOp::Sub, a, b),
    }
}

/// `a * b`
pub fn mul(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Int(1, _), _) => b,
        (_, Expr::Int(1, _)) => a,
        (Expr::Int(0, _), _) => a,
        (_, Expr::Int(0, _)) => b,
        _ => binary(BinOp::Mul, a, b),
    }
}

/// `a / b` of non-negative values.
pub fn div(a: Expr, b: Expr) -> Expr {
    match &b {
        Expr::Int(1, _) => a,
        _ => binary(BinOp::Div, a, b),
    }
}

/// `a % b` of non-negative values.
pub fn rem(a: Expr, b: Expr) -> Expr {
    match &b {
        Expr::Int(1, ty) => Expr::Int(0, *ty),
        _ => binary(BinOp::Rem, a, b),
    }
}

/// `min(a, b)`, signed.
pub fn min(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Min, a, b)
}

/// `max(a, b)`, signed.
pub fn max(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Max, a, b)
}

/// `a ^ b`
pub fn xor(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Int(0, _), _) => b,
        (_, Expr::Int(0, _)) => a,
        _ => binary(BinOp::Xor, a, b),
    }
}

/// `a & b`
pub fn and(a: Expr, b: Expr) -> Expr {
    binary(BinOp::And, a, b)
}

/// `a << b`
pub fn shl(a: Expr, b: Expr) -> Expr {
    match &b {
        Expr::Int(0, _) => a,
        _ => binary(BinOp::Shl, a, b),
    }
}

/// `a == b`
pub fn eq(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Int(x, _), Expr::Int(y, _)) => truth(x == y),
        _ => Expr::Compare(CmpOp::Eq, Rc::new(a), Rc::new(b)),
    }
}

/// `a | b`
pub fn or(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Or, a, b)
}

/// `a < b`, signed.
pub fn lt(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Int(x, _), Expr::Int(y, _)) => truth(x < y),
        _ => Expr::Compare(CmpOp::Lt, Rc::new(a), Rc::new(b)),
    }
}

/// `a <= b`, signed.
pub fn le(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Int(x, _), Expr::Int(y, _)) => truth(x <= y),
        _ => Expr::Compare(CmpOp::Le, Rc::new(a), Rc::new(b)),
    }
}

/// `if cond { a } else { b }`
pub fn select(cond: Expr, a: Expr, b: Expr) -> Expr {
    match cond {
        Expr::Int(0, _) => b,
        Expr::Int(..) => a,
        cond => Expr::Select(Rc::new(cond), Rc::new(a), Rc::new(b)),
    }
}

/// Sign extension to 64 bits.
pub fn widen(a: Expr) -> Expr {
    match a {
        Expr::Int(value, _) => long(value),
        a => Expr::Convert(IntType::I64, Rc::new(a)),
    }
}

/// `ceil(a / b)` of non-negative `a` and positive constant `b`, without overflow near the largest
/// `a`.
pub fn ceil_div(a: Expr, b: i64) -> Expr {
    let quotient = div(a.clone(), int(b));
    let cut = lt(mul(quotient.clone(), int(b)), a);
    add(quotient, select(cut, int(1), int(0)))
}

fn truth(value: bool) -> Expr {
    Expr::Int(i64::from(value), IntType::I1)
}

fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    if let (Expr::Int(x, ty), Expr::Int(y, _)) = (&a, &b)
        && let Some(value) = fold(op, *x, *y)
    {
        return Expr::Int(value, *ty);
    }
    Expr::Binary(op, Rc::new(a), Rc::new(b))
}

fn fold(op: BinOp, x: i64, y: i64) -> Option<i64> {
    match op {
        BinOp::Add => x.checked_add(y),
        BinOp::Sub => x.checked_sub(y),
        BinOp::Mul => x.checked_mul(y),
        BinOp::Div => x.checked_div(y),
        BinOp::Rem => x.checked_rem(y),
        BinOp::And => Some(x & y),
        BinOp::Or => Some(x | y),
        BinOp::Xor => Some(x ^ y),
        BinOp::Min => Some(x.min(y)),
        BinOp::Max => Some(x.max(y)),
        BinOp::Shl => u32::try_from(y).ok().and_then(|y| x.checked_shl(y)),
    }
}
