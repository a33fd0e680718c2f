//! Chains: a contraction on the normalized rows of another.

use super::contraction::{of, set_of};
use super::flow::Flow;
use super::product::Product;
use super::{Chain, Contraction, Factor, FoldSite};
use crate::formula::Formula;
use crate::problem::Problem;

/// Whether a factor is made of what a sum gives.
fn takes(formula: &Formula, flow: &Flow, factor: &Factor, sum: &Product) -> bool {
    factor.values.iter().any(|value| {
        let mut inside = false;
        value.visit(&mut |expr| inside |= expr.span == sum.site.span);
        inside || flow.needs_of(formula, value).contains(&sum.site.statement)
    })
}

/// The chain of two sums of products.
///
/// # Errors
/// What does not fit.
pub(super) fn chain(
    formula: &Formula,
    flow: &Flow,
    one: &Product,
    other: &Product,
) -> Result<Chain, Vec<Problem>> {
    let follows = |second: &Product, first: &Product| {
        let mut factors = second.factors.iter();
        factors.any(|factor| takes(formula, flow, factor, first))
    };
    let (first, second) = match (follows(other, one), follows(one, other)) {
        (true, _) => (one, other),
        (_, true) => (other, one),
        _ => {
            let message = "two sums of products that do not follow one another";
            let has = |operand| {
                let mut factors = other.factors.iter();
                factors.any(|factor| factor.operand == Some(operand))
            };
            let mut operands = one.factors.iter().filter_map(|factor| factor.operand);
            let share = operands.any(has);
            let help = match share {
                true => {
                    "both take one factor: give the other two one operand with a mode that tells \
                     them apart, w[p,n,k] with modes: { p: 2 }; then u[m,n,p] = sum[k] x[m,k] * \
                     w[p,n,k] is both sums, u[m,n,0] and u[m,n,1]"
                }
                false => "the nearest form is a contraction: leave one to another kernel",
            };
            let problem = Problem::new("form-sums", &other.site.span, message);
            return Err(vec![problem.help(help)]);
        }
    };
    let mut before = of(formula, flow, first, Some(second))?;
    let mut after = of(formula, flow, second, Some(second))?;
    // The factor made of the first sum has the rows of the second, which goes along its columns.
    if !takes(formula, flow, &after.factors[0], first) {
        turn(&mut after);
    }
    let summed = set_of(&after.summed);
    if set_of(&before.columns) & summed != summed {
        turn(&mut before);
    }
    let columns = set_of(&before.columns);
    let beside = |site: &&FoldSite| **site != first.site && **site != second.site;
    let normalizer: Vec<FoldSite> = flow.folds.iter().filter(beside).cloned().collect();
    let mut problems = folds_fit(formula, &normalizer, columns);
    if columns & summed != summed {
        let message = "the second sum of products is not along columns of the first";
        let help = "the nearest form is a contraction: leave this sum to another kernel";
        problems.push(Problem::new("form-sums", &second.site.span, message).help(help));
    }
    before
        .epilogue
        .retain(|at| flow.needs[second.site.statement].contains(at));
    before.folds.clear();
    after.folds.clear();
    let own = |at: &usize| {
        let earlier = before.epilogue.contains(at) || before.prologue.contains(at);
        !earlier && *at != first.site.statement
    };
    after.prologue.retain(own);
    after.epilogue.retain(own);
    match problems.is_empty() {
        true => Ok(Chain {
            first: before,
            normalizer,
            second: after,
        }),
        false => Err(problems),
    }
}

/// Makes rows of columns.
fn turn(contraction: &mut Contraction) {
    contraction.factors.swap(0, 1);
    std::mem::swap(&mut contraction.rows, &mut contraction.columns);
}

/// Whether the folds between are along the columns of the first sum.
fn folds_fit(formula: &Formula, folds: &[FoldSite], columns: u64) -> Vec<Problem> {
    let mut problems = Vec::new();
    for site in folds {
        let outside = set_of(&site.modes) & !columns;
        if outside != 0 {
            let names = formula.names(outside).join(", ");
            let message = format!("a fold along {names} between two sums of products");
            let help = "the nearest form is a chain, whose folds are along the columns of the \
                        first sum";
            problems.push(Problem::new("form-fold", &site.span, message).help(help));
        }
    }
    problems
}
