//! What a formula says and its writer may not mean: warnings.
//!
//! In: a checked formula. Out: problems that refuse nothing, each with two spellings that say one
//! thing or the other and are warned of no more. A fold's body reaches as far as it can, so that
//! `sum[k] a*b + bias[n]` adds the bias once for each k; who writes parentheses around the whole
//! body means it. `+=` folds in the same way what the left side lacks. A mode in a value is its
//! coordinate, so that `/ n` divides by 0 first where its extent is meant; `/ 0` always does, as
//! `softcap(x, 0)` within. `clamp` with its ends the wrong way round is one number. Integers of 32
//! bits become f32 beside other numbers, which rounds them before an integer is stored.

use crate::affine::ModeId;
use crate::dtype::DType;
use crate::formula::{Expr, ExprKind, Formula, ModeSet, ValueType};
use crate::functions::{Fold, Notation, Op};
use crate::problem::{Problem, Span};
use crate::syntax::Combine;

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
        let value = &statement.value;
        if statement.combine == Combine::Add {
            let sum = Sum {
                modes: &statement.folded,
                body: value,
                span: value.span.clone(),
                is_fold: false,
                inside: false,
            };
            found.extend(repeated(formula, &sum));
        }
        folds(formula, value, false, &mut found);
        divisors(formula, value, &mut found);
        ranges(formula, value, &mut found);
        if statement.dtype == DType::S32 {
            found.extend(rounded(formula, value));
        }
    }
    found
}

/// Goes through the divisions of an expression for those by a mode's coordinate alone, or by 0.
fn divisors(formula: &Formula, expr: &Expr, found: &mut Vec<Problem>) {
    let divisor = match &expr.kind {
        ExprKind::Apply { .. } => divisor_of(expr),
        ExprKind::Call {
            inside, arguments, ..
        } => parameter_that_divides(inside).and_then(|at| arguments.get(at)),
        _ => None,
    };
    // Parentheses mean it.
    let is_bare = |divisor: &&Expr| {
        behind_parentheses(&formula.text, divisor.span.start) == divisor.span.start
    };
    if let Some(divisor) = divisor.filter(is_bare) {
        found.extend(zero_divisor(formula, divisor));
    }
    for one in expr.children() {
        divisors(formula, one, found);
    }
}

/// What a quotient or a remainder divides by.
fn divisor_of(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Apply {
            op: Op::Div | Op::Rem,
            arguments,
        } => arguments.get(1),
        _ => None,
    }
}

/// The argument that the inside of a derived function divides by.
fn parameter_that_divides(inside: &Expr) -> Option<usize> {
    match divisor_of(inside).map(|divisor| &divisor.kind) {
        Some(ExprKind::Parameter(at)) => Some(*at),
        _ => inside
            .children()
            .into_iter()
            .find_map(parameter_that_divides),
    }
}

/// A constant as it is written, with the sign before it.
fn constant(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        ExprKind::Integer(value) => Some(*value as f64),
        ExprKind::Real(value) => Some(*value),
        ExprKind::Apply {
            op: Op::Neg,
            arguments,
        } => constant(arguments.first()?).map(|value| -value),
        _ => None,
    }
}

/// Goes through the calls of `clamp` for those whose ends are the wrong way round.
fn ranges(formula: &Formula, expr: &Expr, found: &mut Vec<Problem>) {
    if let ExprKind::Call {
        function,
        arguments,
        ..
    } = &expr.kind
        && let ("clamp", [value, least, most]) = (function.name, arguments.as_slice())
        && let (Some(low), Some(high)) = (constant(least), constant(most))
        && low > high
    {
        let text = |one: &Expr| one_line(formula.text.get(one.span.clone()).unwrap_or(""));
        let [value, least, most] = [value, least, most].map(text);
        let message = format!(
            "no number is from {least} to {most}: what is not NaN becomes {most}, whatever it was"
        );
        let other = format!("clamp({value}, {most}, {least})");
        let help = format!("write `{other}`; if one number is meant, `{most}`");
        let problem = Problem::new("empty-range", &expr.span, message).help(help);
        found.push(problem.edit(&expr.span, other));
    }
    for one in expr.children() {
        ranges(formula, one, found);
    }
}

/// The warning of the first integer of 32 bits that an operation makes f32 in a value that is
/// stored as one.
fn rounded(formula: &Formula, expr: &Expr) -> Option<Problem> {
    let operands: &[Expr] = match (&expr.kind, expr.ty) {
        (ExprKind::Cast { .. }, _) => return None,
        (ExprKind::Apply { arguments, .. } | ExprKind::Call { arguments, .. }, ValueType::F32) => {
            arguments
        }
        _ => &[],
    };
    let is_wide = |one: &&Expr| one.ty == ValueType::S32 && reads_words(formula, one);
    let Some(integer) = operands.iter().find(is_wide) else {
        let mut children = expr.children().into_iter();
        return children.find_map(|one| rounded(formula, one));
    };
    let text = one_line(formula.text.get(integer.span.clone())?);
    let message = format!(
        "`{text}` is s32 and becomes f32 here, which has not every integer above 16777216, and \
         what is written is s32"
    );
    let exact = format!("f64({text})");
    let help = format!("to compute exactly write `{exact}`; if they are smaller, `f32({text})`");
    let problem = Problem::new("rounded-integer", &integer.span, message).help(help);
    Some(problem.edit(&integer.span, exact))
}

/// Whether an integer is, or is computed from, elements of 32 bits.
fn reads_words(formula: &Formula, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Read { source, .. } => formula.dtype(*source) == DType::S32,
        _ => (expr.children().into_iter()).any(|one| reads_words(formula, one)),
    }
}

/// The warning of a divisor that is 0, or 0 first.
fn zero_divisor(formula: &Formula, divisor: &Expr) -> Option<Problem> {
    let problem = |message| Problem::new("zero-divisor", &divisor.span, message);
    match divisor.kind {
        ExprKind::Integer(0) => {}
        ExprKind::Real(0.0) => {}
        ExprKind::Coordinate(mode) => {
            let name = &formula.modes.get(mode)?.name;
            let message = format!("`{name}` is the coordinate along {name}, which is 0 at first");
            let help = format!(
                "to divide by the extent of {name} write `size({name})`; if its coordinate is \
                 meant, `({name})`"
            );
            let problem = problem(message).help(help);
            return Some(problem.edit(&divisor.span, format!("size({name})")));
        }
        _ => return None,
    }
    let zero = formula.text.get(divisor.span.clone())?;
    let help =
        format!("divide by another number; if infinities and NaN are meant, write `({zero})`");
    let problem = problem(format!(
        "`{zero}` divides nothing: the quotient is infinite or NaN"
    ));
    Some(problem.help(help).edit(&divisor.span, format!("({zero})")))
}

/// A sum as it is written.
struct Sum<'e> {
    modes: &'e [ModeId],
    body: &'e Expr,
    /// The fold from its word to the end of its body, or the whole value behind `+=`.
    span: Span,
    /// Whether it has a word of its own; `+=` has none.
    is_fold: bool,
    /// Whether an operator stands before it.
    inside: bool,
}

/// A term of a sum.
struct Term<'e> {
    expr: &'e Expr,
    is_taken_away: bool,
    /// The modes summed along that it depends on.
    along: ModeSet,
}

/// Goes through the sums of an expression; `inside` says that an operator stands before it.
fn folds(formula: &Formula, expr: &Expr, inside: bool, found: &mut Vec<Problem>) {
    if let ExprKind::Fold {
        fold: Fold::Sum,
        modes,
        body,
        ..
    } = &expr.kind
    {
        let start = behind_parentheses(&formula.text, expr.span.start);
        let sum = Sum {
            modes,
            body,
            span: start..body.span.end,
            is_fold: true,
            inside: inside && start == expr.span.start,
        };
        found.extend(repeated(formula, &sum));
    }
    // The inside of a derived function is nobody's spelling.
    for (at, one) in expr.children().into_iter().enumerate() {
        let behind = match &expr.kind {
            ExprKind::Apply { op, .. } => match op.row().notation {
                Notation::Infix(_) => at > 0,
                Notation::Prefix => true,
                Notation::Call => false,
            },
            _ => false,
        };
        folds(formula, one, behind, found);
    }
}

/// The warning of a sum some of whose terms lack modes that it goes along, where others have them.
fn repeated(formula: &Formula, sum: &Sum<'_>) -> Option<Problem> {
    let set = sum.modes.iter().fold(0, |set, mode| set | 1 << mode);
    let mut terms = Vec::new();
    terms_of(sum.body, false, set, &mut terms);
    let along: Vec<ModeSet> = terms.iter().map(|term| term.along).collect();
    let lacks = |term: &Term<'_>| {
        let mut others = along.iter();
        others.any(|other| term.along & !other == 0 && term.along != *other)
    };
    let last_whole = terms.iter().rposition(|term| !lacks(term))?;
    let is_led = terms.iter().take(last_whole).any(lacks);
    let (still, moving): (Vec<Term<'_>>, Vec<Term<'_>>) = terms.into_iter().partition(lacks);
    let first = still.first()?;
    let text = |span: &Span| one_line(formula.text.get(span.clone()).unwrap_or(""));
    let modes = |set: ModeSet| {
        let own = sum.modes.iter().filter(|mode| set >> *mode & 1 == 1);
        let own = own.filter_map(|mode| formula.modes.get(*mode));
        let own: Vec<&str> = own.map(|mode| mode.name.as_str()).collect();
        own.join(",")
    };
    let mut once = joined(&moving, &text);
    once = format!("(sum[{}] {once})", modes(set));
    for term in &still {
        let sign = if term.is_taken_away { '-' } else { '+' };
        let own = text(&term.expr.span);
        once += &match modes(term.along) {
            along if along.is_empty() => format!(" {sign} {own}"),
            along => format!(" {sign} (sum[{along}] {own})"),
        };
    }
    if is_led && sum.inside {
        once = format!("({once})");
    }
    let body = text(&sum.body.span);
    let each = match sum.is_fold {
        true => format!("sum[{}] ({body})", modes(set)),
        false => format!("({body})"),
    };
    let help = format!("to add it once write `{once}`; if this is meant, `{each}`");
    let missing = modes(set & !first.along);
    let own = text(&first.expr.span);
    let mut message = format!(
        "`{own}` is summed along {missing} too, which it does not depend on: it is added once for \
         each {missing}"
    );
    let others: Vec<String> = still
        .iter()
        .skip(1)
        .map(|term| text(&term.expr.span))
        .collect();
    if !others.is_empty() {
        message += &format!("; so is `{}`", others.join("`, `"));
    }
    let problem = Problem::new("repeated-term", &first.expr.span, message).help(help);
    Some(problem.edit(&sum.span, once))
}

/// Terms with the signs between them.
fn joined(terms: &[Term<'_>], text: &dyn Fn(&Span) -> String) -> String {
    let mut out = String::new();
    for (at, term) in terms.iter().enumerate() {
        let own = text(&term.expr.span);
        let is_element = matches!(term.expr.kind, ExprKind::Read { .. });
        out += &match (at, term.is_taken_away) {
            (0, false) => own,
            (0, true) if is_element => format!("-{own}"),
            (0, true) => format!("-({own})"),
            (_, false) => format!(" + {own}"),
            (_, true) => format!(" - {own}"),
        };
    }
    out
}

/// The terms of a sum as they are written one behind the other; what stands in parentheses is one.
fn terms_of<'e>(expr: &'e Expr, is_taken_away: bool, set: ModeSet, found: &mut Vec<Term<'e>>) {
    if let ExprKind::Apply { op, arguments } = &expr.kind
        && let (Op::Add | Op::Sub, [left, right]) = (*op, arguments.as_slice())
        && left.span.start == expr.span.start
    {
        terms_of(left, is_taken_away, set, found);
        let is_taken_away = *op == Op::Sub;
        found.push(Term {
            expr: right,
            is_taken_away,
            along: right.free & set,
        });
        return;
    }
    found.push(Term {
        expr,
        is_taken_away,
        along: expr.free & set,
    });
}

/// Where the word behind opening parentheses, blanks and comments stands.
fn behind_parentheses(text: &str, start: usize) -> usize {
    let mut at = start;
    while let Some(rest) = text.get(at..) {
        at += match rest.chars().next() {
            Some('#') => rest.find('\n').unwrap_or(rest.len()),
            Some(c) if c == '(' || c.is_whitespace() => c.len_utf8(),
            _ => break,
        };
    }
    at
}

/// A part of the text on one line, without comments.
fn one_line(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let lines = lines.map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<&str>>().join(" ")
}
