//! The text form of what a map computes: the notation of formulas, over the names of tiles.

use tilewright_formula::functions::Notation;
use tilewright_formula::{Expr, ExprKind};

/// An expression whose parameters have those names.
pub(in crate::ir) fn value(expr: &Expr, names: &[String]) -> String {
    let list = |arguments: &[Expr]| {
        let texts = arguments.iter().map(|one| value(one, names));
        texts.collect::<Vec<_>>().join(", ")
    };
    match &expr.kind {
        ExprKind::Integer(number) => number.to_string(),
        ExprKind::Real(number) => format!("{number:?}"),
        ExprKind::Parameter(at) => names.get(*at).map_or("?", String::as_str).to_owned(),
        ExprKind::Coordinate(mode) => format!("coordinate {mode}"),
        ExprKind::Size(mode) => format!("size {mode}"),
        ExprKind::Scalar(at) => format!("scalar {at}"),
        ExprKind::Apply { op, arguments } => {
            let row = op.row();
            match (row.notation, arguments.as_slice()) {
                (Notation::Infix(_), [left, right]) => {
                    let (left, right) = (value(left, names), value(right, names));
                    format!("({left} {} {right})", row.name)
                }
                (Notation::Prefix, [one]) => format!("{}{}", row.name, value(one, names)),
                _ => format!("{}({})", row.name, list(arguments)),
            }
        }
        ExprKind::Call {
            function,
            arguments,
            ..
        } => format!("{}({})", function.name, list(arguments)),
        ExprKind::Cast { to, value: inner } => format!("{to}({})", value(inner, names)),
        // Maps have neither.
        ExprKind::Read { .. } | ExprKind::Fold { .. } => "?".to_owned(),
    }
}
