//! What types allow: numbers where numbers are wanted, sums in types that hold them.

use super::Checker;
use crate::dtype::DType;
use crate::formula::{Expr, ExprKind, ValueType};
use crate::functions::Fold;
use crate::problem::{Problem, Span, shown};
use crate::syntax::{Node, Word};

impl Checker<'_> {
    pub(super) fn cast(
        &mut self,
        to: DType,
        name: &Word,
        arguments: &[Node],
        span: &Span,
    ) -> Option<Expr> {
        self.element_type(name)?;
        self.arity(name, 1, arguments, span)?;
        let mut value = self.expr(arguments.first()?, None)?;
        self.number(&value)?;
        widen_literals(&mut value, ValueType::of(to));
        Some(Expr {
            ty: ValueType::of(to),
            free: value.free,
            span: span.clone(),
            kind: ExprKind::Cast {
                to,
                value: Box::new(value),
            },
        })
    }

    pub(super) fn arity(
        &mut self,
        name: &Word,
        wanted: usize,
        found: &[Node],
        span: &Span,
    ) -> Option<()> {
        if found.len() == wanted {
            return Some(());
        }
        let (count, text) = (found.len(), shown(&name.text));
        let arguments = if wanted == 1 { "argument" } else { "arguments" };
        let message = format!("`{text}` takes {wanted} {arguments}; {count} given");
        let help = match Fold::named(&name.text) {
            Some(_) if count == 1 => format!("to fold along a mode write `{text}[n] …`"),
            _ => format!("give it {wanted} {arguments}"),
        };
        self.report(Problem::new("arity", span, message).help(help));
        None
    }

    /// The type of a value that must be a number.
    pub(super) fn number(&mut self, expr: &Expr) -> Option<ValueType> {
        let (message, help) = match expr.ty {
            ValueType::Bool => (
                "a condition is no number".to_owned(),
                "choose numbers by it: `where(condition, 1, 0)`",
            ),
            ValueType::Raw(dtype) => (
                format!("elements of type {dtype} are not computed with"),
                "they can be copied to an operand of the same dtype",
            ),
            ty => return Some(ty),
        };
        self.report(Problem::new("type", &expr.span, message).help(help));
        None
    }

    pub(super) fn condition(&mut self, expr: &Expr) -> Option<()> {
        if expr.ty == ValueType::Bool {
            return Some(());
        }
        let message = format!("a number of type {} is no condition", expr.ty.text());
        let help = "compare it: `x != 0`";
        self.report(Problem::new("type", &expr.span, message).help(help));
        None
    }

    /// The type of a remainder, which is of integers by a constant.
    pub(super) fn remainder(&mut self, arguments: &[Expr], span: &Span) -> Option<ValueType> {
        let fits = matches!(arguments, [of, by] if of.ty == ValueType::S32
            && matches!(by.kind, ExprKind::Integer(1..)));
        if !fits {
            let message = "`%` is the remainder of an integer by a constant above zero";
            let help = "of numbers it is `x - y * floor(x / y)`";
            self.report(Problem::new("type", span, message).help(help));
            return None;
        }
        Some(ValueType::S32)
    }

    /// The type that a fold is kept in.
    pub(super) fn accumulator(
        &mut self,
        fold: Fold,
        body: ValueType,
        sum: Option<DType>,
        span: &Span,
    ) -> Option<DType> {
        let own = body.dtype()?;
        let Some(asked) = sum.filter(|_| fold == Fold::Sum) else {
            return Some(own);
        };
        let allowed: &[DType] = match body {
            ValueType::S32 => &[DType::S32, DType::F32, DType::F64],
            _ => &[DType::F16, DType::F32, DType::F64],
        };
        if allowed.contains(&asked) {
            return Some(asked);
        }
        let names: Vec<&str> = allowed.iter().map(|dtype| dtype.text()).collect();
        let message = format!("a sum of {own} cannot be kept in {asked}");
        let help = format!("it can in {}", names.join(", "));
        self.report(Problem::new("sum-type", span, message).help(help));
        None
    }
}

/// Numbers written beside a value of 64 bits are of 64 bits.
pub(super) fn widen_literals(expr: &mut Expr, ty: ValueType) {
    fn is_literal(expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Integer(_) | ExprKind::Real(_) => true,
            ExprKind::Apply { arguments, .. } => arguments.iter().all(is_literal),
            _ => false,
        }
    }
    if ty != ValueType::F64 || expr.ty != ValueType::F32 || !is_literal(expr) {
        return;
    }
    expr.ty = ty;
    if let ExprKind::Apply { arguments, .. } = &mut expr.kind {
        arguments.iter_mut().for_each(|one| widen_literals(one, ty));
    }
}
