//! Values alone, without errors: what an expression without reads and folds gives.

use crate::formula::{Expr, ExprKind, ValueType};
use crate::functions::{Meaning, Op};
use crate::number::{stored, wrapped};

/// What the leaves of an expression are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Leaves<'l> {
    /// Its parameters.
    pub parameters: &'l [f64],
    /// Scalars, by their index in the signature.
    pub scalars: &'l [f64],
    /// Coordinates, by mode.
    pub coordinates: &'l [i64],
    /// Extents, by mode.
    pub sizes: &'l [i64],
}

/// The value of an expression, each operation's in its type, conditions as 0 and 1; NaN of what it
/// has no leaf for.
///
/// ```
/// use tilewright_formula::interpret::{Leaves, plain};
/// use tilewright_formula::{DType, Operand, Signature, check};
/// let signature = Signature {
///     operands: vec![Operand::new("d", DType::F32, &["m"])],
///     ..Signature::default()
/// };
/// let formula = check("d[m] = 2 * 3 + m", &signature).map_err(|_| "refused")?;
/// let leaves = Leaves { coordinates: &[4], ..Leaves::default() };
/// assert_eq!(plain(&formula.statements[0].value, &leaves), 10.0);
/// # Ok::<(), &str>(())
/// ```
pub fn plain(expr: &Expr, leaves: &Leaves<'_>) -> f64 {
    let of = |one: &Expr| plain(one, leaves);
    let listed = |list: &[i64], at: usize| list.get(at).map_or(f64::NAN, |value| *value as f64);
    match &expr.kind {
        ExprKind::Integer(value) => *value as f64,
        ExprKind::Real(value) => held(*value, expr.ty),
        ExprKind::Coordinate(mode) => listed(leaves.coordinates, *mode),
        ExprKind::Size(mode) => listed(leaves.sizes, *mode),
        ExprKind::Scalar(at) => leaves.scalars.get(*at).copied().unwrap_or(f64::NAN),
        ExprKind::Parameter(at) => leaves.parameters.get(*at).copied().unwrap_or(f64::NAN),
        ExprKind::Cast { to, value } => stored(*to, of(value)),
        ExprKind::Call {
            arguments, inside, ..
        } => {
            let parameters: Vec<f64> = arguments.iter().map(of).collect();
            let own = Leaves {
                parameters: &parameters,
                ..*leaves
            };
            plain(inside, &own)
        }
        ExprKind::Apply { op, arguments } => {
            let value = applied(*op, arguments, (expr.ty, leaves));
            held(value, expr.ty)
        }
        ExprKind::Read { .. } | ExprKind::Fold { .. } => f64::NAN,
    }
}

fn applied(op: Op, arguments: &[Expr], (ty, leaves): (ValueType, &Leaves<'_>)) -> f64 {
    // Integers among floats are taken as such, as comparisons take what they compare.
    let numbers = arguments.iter().map(|one| one.ty);
    let joined = numbers.filter(|one| *one != ValueType::Bool);
    let joined = joined.reduce(ValueType::joined).unwrap_or(ty);
    let taken = if ty == ValueType::Bool { joined } else { ty };
    let at = |number: usize| {
        let argument = arguments.get(number);
        argument.map_or(f64::NAN, |one| match one.ty {
            ValueType::S32 => held(plain(one, leaves), taken),
            _ => plain(one, leaves),
        })
    };
    let truth = |holds: bool| f64::from(u8::from(holds));
    let whole = |value: f64| match ty {
        ValueType::S32 => wrapped(value as i64) as f64,
        _ => value,
    };
    match (op.row().meaning, op) {
        (_, Op::Rem) => (at(0) as i64)
            .checked_rem_euclid(at(1) as i64)
            .map_or(f64::NAN, |rest| rest as f64),
        (Meaning::Monotone(f) | Meaning::Wave(f), _) => f(at(0)),
        (Meaning::Two(f), _) => whole(f(at(0), at(1))),
        (_, Op::Neg) => whole(-at(0)),
        (_, Op::Abs) => whole(at(0).abs()),
        (_, Op::Not) => truth(at(0) == 0.0),
        (_, Op::And) => truth(at(0) != 0.0 && at(1) != 0.0),
        (_, Op::Or) => truth(at(0) != 0.0 || at(1) != 0.0),
        (_, Op::Eq) => truth(at(0) == at(1)),
        (_, Op::Ne) => truth(at(0) != at(1)),
        (_, Op::Lt) => truth(at(0) < at(1)),
        (_, Op::Le) => truth(at(0) <= at(1)),
        (_, Op::Gt) => truth(at(0) > at(1)),
        (_, Op::Ge) => truth(at(0) >= at(1)),
        (_, Op::Where) => match at(0) != 0.0 {
            true => at(1),
            false => at(2),
        },
        _ => f64::NAN,
    }
}

/// A value as a type of values holds it.
fn held(value: f64, ty: ValueType) -> f64 {
    match ty {
        ValueType::F32 => f64::from(value as f32),
        _ => value,
    }
}
