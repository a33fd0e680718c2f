//! Sums of products of two factors that each have modes of their own.

use super::{Factor, FoldSite, plain_read};
use crate::dtype::DType;
use crate::formula::{Expr, ExprKind, Formula, ModeSet};
use crate::functions::Op;
use crate::problem::Problem;

/// Such a sum.
#[derive(Debug, Clone)]
pub(super) struct Product {
    pub site: FoldSite,
    pub dtype: DType,
    /// In the order in which they are written.
    pub factors: [Factor; 2],
    pub summed: ModeSet,
}

/// The fold that stands at a site; `None` of one that is written as `+=`.
pub(super) fn fold_at<'f>(formula: &'f Formula, site: &FoldSite) -> Option<&'f Expr> {
    let mut found = None;
    let statement = formula.statements.get(site.statement)?;
    statement.value.visit(&mut |expr| {
        let fold = matches!(expr.kind, ExprKind::Fold { .. });
        if fold && expr.span == site.span && found.is_none() {
            found = Some(expr);
        }
    });
    found
}

/// What an expression multiplies.
pub(super) fn multiplied<'e>(expr: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Apply {
            op: Op::Mul,
            arguments,
        } => arguments.iter().for_each(|one| multiplied(one, out)),
        _ => out.push(expr),
    }
}

/// The product that a sum is of; `None` where it is of something else.
///
/// # Errors
/// When it is of three factors and more that each have modes of their own.
pub(super) fn of(formula: &Formula, site: &FoldSite) -> Result<Option<Product>, Problem> {
    let Some(expr) = fold_at(formula, site) else {
        return Ok(None);
    };
    let ExprKind::Fold { body, dtype, .. } = &expr.kind else {
        return Ok(None);
    };
    let mut values = Vec::new();
    multiplied(body, &mut values);
    let summed = site.modes.iter().fold(0, |set, mode| set | 1 << mode);
    let own = |expr: &Expr| formula.with_groups(expr.free) & !summed;
    let with_modes: Vec<&Expr> = values.iter().copied().filter(|one| own(one) != 0).collect();
    let shared = with_modes
        .iter()
        .fold(ModeSet::MAX, |set, one| set & own(one));
    // Values that share a mode, other than those that all have, are on one side.
    let mut sides: Vec<ModeSet> = Vec::new();
    for value in &with_modes {
        let modes = own(value) & !shared;
        if modes == 0 {
            continue;
        }
        let (meet, apart): (Vec<ModeSet>, _) = sides.iter().partition(|side| **side & modes != 0);
        sides = apart;
        sides.push(meet.into_iter().fold(modes, |all, side| all | side));
    }
    let side_of = |value: &Expr| sides.iter().position(|side| own(value) & side != 0);
    if sides.len() > 2 {
        let message = format!(
            "a sum of products of {} factors with own modes",
            sides.len()
        );
        let help = "the nearest form is a contraction: multiply two, and the third by the result";
        return Err(Problem::new("form-factors", &site.span, message).help(help));
    }
    let order = values.iter().filter_map(|value| side_of(value));
    let (Some(first), 2) = (order.clone().next(), sides.len()) else {
        return Ok(None);
    };
    let factor = |side: usize| {
        // What has modes of no side goes with the first factor.
        let belongs = |value: &&&Expr| side_of(value).unwrap_or(first) == side;
        let values: Vec<Expr> = values
            .iter()
            .filter(belongs)
            .map(|one| (*one).clone())
            .collect();
        Factor {
            operand: match &values[..] {
                [one] => plain_read(one),
                _ => None,
            },
            modes: formula.with_groups(values.iter().fold(0, |set, one| set | one.free)),
            values,
        }
    };
    let factors = [factor(first), factor(1 - first)];
    let both = factors[0].modes & factors[1].modes;
    if both & summed != summed {
        return Ok(None);
    }
    Ok(Some(Product {
        site: site.clone(),
        dtype: *dtype,
        factors,
        summed,
    }))
}
