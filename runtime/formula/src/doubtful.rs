//! What a formula says and its writer may not mean: warnings.
//!
//! In: a checked formula. Out: problems that refuse nothing. A fold's body reaches as far as it
//! can, so that `sum[k] a*b + bias[n]` adds the bias once for each k; who writes parentheses around
//! the whole body means it.

use crate::formula::{Expr, ExprKind, Formula};
use crate::functions::{Fold, Op};
use crate::problem::Problem;

/// What is doubtful in a formula, in order.
///
/// ```
/// use tilewright_formula::{DType, Operand, Signature, check, doubtful};
/// let operand = |name, modes| Operand::new(name, DType::F32, modes);
/// let signature = Signature {
///     operands: vec![operand("x", &["m", "k"]), operand("y", &["m"]), operand("d", &["m"])],
///     ..Signature::default()
/// };
/// let found = |text| check(text, &signature).map(|formula| doubtful(&formula).len());
/// assert_eq!(found("d[m] = sum[k] x[m,k] + y[m]"), Ok(1));
/// assert_eq!(found("d[m] = (sum[k] x[m,k]) + y[m]"), Ok(0));
/// assert_eq!(found("d[m] = sum[k] (x[m,k] + y[m])"), Ok(0));
/// ```
pub fn doubtful(formula: &Formula) -> Vec<Problem> {
    let mut found = Vec::new();
    for statement in &formula.statements {
        repeated(formula, &statement.value, &mut found);
    }
    found
}

/// Terms of sums that are the same at every coordinate that they are summed along.
fn repeated(formula: &Formula, expr: &Expr, found: &mut Vec<Problem>) {
    if let ExprKind::Fold {
        fold: Fold::Sum,
        modes,
        body,
        ..
    } = &expr.kind
    {
        let set = modes.iter().fold(0, |set, mode| set | 1 << mode);
        let mut terms = Vec::new();
        if !in_parentheses(body) {
            self::terms(body, &mut terms);
        }
        let (moving, still): (Vec<&Expr>, _) =
            terms.into_iter().partition(|term| term.free & set != 0);
        if let (Some(last), Some(term)) = (moving.last(), still.first()) {
            let text = |from: usize, to: usize| formula.text.get(from..to).unwrap_or("").trim();
            let names = formula.names(set);
            let names = names.join(",");
            let own = text(term.span.start, term.span.end);
            let sum = text(expr.span.start, last.span.end);
            let body = text(body.span.start, body.span.end);
            let message = format!(
                "`{own}` is summed along {names} too, which it does not depend on: it is added \
                 once for each {names}"
            );
            let help = format!(
                "to add it once write `({sum}) + {own}`; if this is meant, `sum[{names}] ({body})`"
            );
            let problem = Problem::new("repeated-term", &term.span, message);
            found.push(problem.help(help));
        }
    }
    // The inside of a derived function is nobody's spelling.
    match &expr.kind {
        ExprKind::Call { arguments, .. } => {
            arguments
                .iter()
                .for_each(|one| repeated(formula, one, found));
        }
        _ => {
            let parts = expr.children().into_iter();
            parts.for_each(|one| repeated(formula, one, found));
        }
    }
}

/// Whether a sum of terms is written in parentheses.
fn in_parentheses(body: &Expr) -> bool {
    match &body.kind {
        ExprKind::Apply { arguments, .. } => {
            (arguments.first()).is_some_and(|first| first.span.start > body.span.start)
        }
        _ => false,
    }
}

/// The terms of a sum.
fn terms<'e>(expr: &'e Expr, found: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Apply {
            op: Op::Add | Op::Sub,
            arguments,
        } => arguments.iter().for_each(|one| terms(one, found)),
        _ => found.push(expr),
    }
}
