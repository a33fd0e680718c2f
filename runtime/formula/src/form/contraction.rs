//! Contractions: what stands around a sum of products.

use super::flow::Flow;
use super::product::{Product, fold_at, multiplied};
use super::{Contraction, Factor, FoldSite, Parts, is_plain};
use crate::affine::{ModeId, Symbol};
use crate::formula::{Expr, ExprKind, Formula, Index, ModeSet, Source, Statement};
use crate::functions::Fold;
use crate::problem::Problem;
use crate::syntax::Combine;

/// A set of modes as a set.
pub(super) fn set_of(modes: &[ModeId]) -> ModeSet {
    modes.iter().fold(0, |set, mode| set | 1 << mode)
}

/// The contraction around one sum of products. Of the first of a chain, `next` is the second.
///
/// # Errors
/// What does not fit.
pub(super) fn of(
    formula: &Formula,
    flow: &Flow,
    product: &Product,
    next: Option<&Product>,
) -> Result<Contraction, Vec<Problem>> {
    let parts = parts(formula, flow, product);
    let outer = parts.as_ref().map_or(0, |parts| set_of(&parts.sum.modes));
    let [a, b] = &product.factors;
    let batch = a.modes & b.modes & !product.summed & !outer;
    let (only_a, only_b) = (a.modes & !b.modes, b.modes & !a.modes);
    let order = output_modes(formula);
    let listed = |set: ModeSet| -> Vec<ModeId> {
        let rest = (0..formula.modes.len()).filter(|mode| !order.contains(mode));
        let all = order.iter().copied().chain(rest);
        all.filter(|mode| set >> mode & 1 == 1).collect()
    };
    // Results have columns last, whatever stands before them; those that have no columns, rows.
    let has = |set: ModeSet| move |mode: &&ModeId| set >> **mode & 1 == 1;
    let both =
        order.iter().any(|mode| has(only_a)(&mode)) && order.iter().any(|mode| has(only_b)(&mode));
    let turned = match order.iter().rfind(has(only_a | only_b)) {
        Some(last) => has(if both { only_a } else { only_b })(&last),
        None => false,
    };
    let mut factors = product.factors.clone();
    let (mut rows, mut columns) = (listed(only_a), listed(only_b));
    if turned && next.is_none() {
        factors.swap(0, 1);
        std::mem::swap(&mut rows, &mut columns);
    }
    let before = |value: &Expr| flow.needs_of(formula, value);
    let values = product.factors.iter().flat_map(|factor| &factor.values);
    let mut prologue: Vec<usize> = values.clone().flat_map(before).collect();
    prologue.sort_unstable();
    prologue.dedup();
    let inside = |at: &usize| !prologue.contains(at) && *at != product.site.statement;
    let epilogue: Vec<usize> = (0..formula.statements.len()).filter(inside).collect();
    let own = |site: &&FoldSite| {
        *site != &product.site && parts.as_ref().is_none_or(|parts| parts.sum != **site)
    };
    let folds: Vec<FoldSite> = flow.folds.iter().filter(own).cloned().collect();
    let written = |at: usize| formula.writer(Source::Operand(at)).is_some();
    let alone = sum_alone(formula, product, &factors);
    let contraction = Contraction {
        sum: product.site.clone(),
        accumulator: product.dtype,
        outputs: (0..formula.signature.operands.len())
            .filter(|at| written(*at))
            .collect(),
        alone,
        plain: alone.filter(|_| batch == 0 && rows.len() == 1 && columns.len() == 1),
        rows,
        columns,
        batch: listed(batch),
        summed: product.site.modes.clone(),
        parts,
        prologue,
        epilogue,
        folds,
        factors,
    };
    let mut problems = indices(formula, product);
    if next.is_none() {
        problems.extend(folds_fit(formula, &contraction));
    }
    match problems.is_empty() {
        true => Ok(contraction),
        false => Err(problems),
    }
}

/// Modes of the first output in the order of operands, on the left of its statement: of one that
/// is written with `=`, where there is any.
fn output_modes(formula: &Formula) -> Vec<ModeId> {
    let operands = 0..formula.signature.operands.len();
    let writers = operands.filter_map(|at| formula.writer(Source::Operand(at)));
    let writers = writers.filter_map(|at| formula.statements.get(at));
    let mut writers = writers.filter(|statement| !statement.left.is_empty());
    let first = writers.clone().next();
    let set = writers.find(|statement| statement.combine == Combine::Set);
    let statement = set.or(first);
    statement.map_or(Vec::new(), |statement| {
        let mut modes: Vec<ModeId> = Vec::new();
        let bare = statement.left.iter().filter_map(Index::bare);
        for mode in bare.chain(statement.loops.iter().copied()) {
            if !modes.contains(&mode) {
                modes.push(mode);
            }
        }
        modes
    })
}

/// The sum over parts that takes a sum of products, times scales.
fn parts(formula: &Formula, flow: &Flow, product: &Product) -> Option<Parts> {
    let inner = &formula.statements[product.site.statement];
    let is_whole = inner.value.span == product.site.span;
    let shared = product.factors[0].modes & product.factors[1].modes & !product.summed;
    let takes = |expr: &Expr| match &expr.kind {
        ExprKind::Read { source, indices } => {
            is_whole && *source == inner.target && indices.iter().all(is_plain)
        }
        ExprKind::Fold { .. } => expr.span == product.site.span,
        _ => false,
    };
    flow.folds
        .iter()
        .filter(|site| site.fold == Fold::Sum)
        .find_map(|site| {
            let expr = fold_at(formula, site)?;
            let ExprKind::Fold { body, dtype, .. } = &expr.kind else {
                return None;
            };
            let mut values = Vec::new();
            multiplied(body, &mut values);
            let here = *site != product.site && values.iter().filter(|one| takes(one)).count() == 1;
            let modes = set_of(&site.modes);
            (here && modes & !shared == 0).then(|| Parts {
                sum: site.clone(),
                accumulator: *dtype,
                scales: values
                    .iter()
                    .filter(|one| !takes(one))
                    .map(|one| (*one).clone())
                    .collect(),
            })
        })
}

/// Operands of `d = a·b` without anything else, whatever modes they have.
fn sum_alone(formula: &Formula, product: &Product, factors: &[Factor; 2]) -> Option<[usize; 3]> {
    let [a, b] = [factors[0].operand?, factors[1].operand?];
    let whole = |statement: &Statement| {
        statement.combine == Combine::Set && statement.left.iter().all(is_plain)
    };
    let sum = &formula.statements[product.site.statement];
    if sum.value.span != product.site.span || !whole(sum) {
        return None;
    }
    let output = match (&formula.statements[..], sum.target) {
        ([_], Source::Operand(output)) => output,
        ([_, last], Source::Local(_)) if whole(last) => match (&last.value.kind, last.target) {
            (ExprKind::Read { source, indices }, Source::Operand(output))
                if *source == sum.target && indices.iter().all(is_plain) =>
            {
                // Each element of the sum is taken where it belongs.
                let taken: Vec<Option<ModeId>> = indices.iter().map(Index::bare).collect();
                let made: Vec<Option<ModeId>> = sum.left.iter().map(Index::bare).collect();
                (taken == made).then_some(output)?
            }
            _ => return None,
        },
        _ => return None,
    };
    Some([a, b, output])
}

/// Reads of factors at indices that no copy of a tile gathers.
fn indices(formula: &Formula, product: &Product) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut check = |expr: &Expr| {
        let ExprKind::Read { indices, .. } = &expr.kind else {
            return;
        };
        for index in indices {
            let Index::Affine(poly) = index else {
                continue;
            };
            let modes = poly
                .symbols()
                .filter(|one| matches!(one, Symbol::Mode(_)))
                .count();
            if modes > 0 && poly.bare().is_none() {
                let message = "a factor is read at sums of modes".to_owned();
                let help = "the nearest form is a contraction, whose factors are read at modes, \
                            quotients, remainders and elements of tables";
                problems.push(Problem::new("form-index", &expr.span, message).help(help));
                break;
            }
        }
    };
    let mut statements = Vec::new();
    for value in product.factors.iter().flat_map(|factor| &factor.values) {
        value.visit(&mut check);
        statements.extend(Flow::of(formula).needs_of(formula, value));
    }
    statements.sort_unstable();
    statements.dedup();
    for at in statements {
        formula.statements[at].value.visit(&mut check);
    }
    problems
}

/// Whether folds beside the sum are along what a tile holds.
fn folds_fit(formula: &Formula, contraction: &Contraction) -> Vec<Problem> {
    let constant = (0..formula.modes.len()).filter(|mode| formula.constant(*mode).is_some());
    let constant: Vec<ModeId> = constant.collect();
    let summed = set_of(&contraction.summed);
    let held = set_of(&contraction.rows) | set_of(&contraction.columns) | set_of(&constant);
    let held = (held | set_of(&contraction.batch)) & !summed;
    let mut problems = Vec::new();
    for site in &contraction.folds {
        let outside = set_of(&site.modes) & !held;
        if contraction.prologue.contains(&site.statement) {
            let message = "a factor of the sum of products is folded itself".to_owned();
            let help = "the nearest form is a contraction of maps of inputs: write what this \
                        fold gives in a kernel of rows before";
            problems.push(Problem::new("form-prologue", &site.span, message).help(help));
        } else if outside != 0 {
            let names = formula.names(outside).join(", ");
            let message = format!("a fold along {names} beside the sum of products");
            let help = "the nearest form is a contraction whose other folds are along its rows \
                        and columns: leave this fold to a kernel of rows";
            problems.push(Problem::new("form-fold", &site.span, message).help(help));
        }
    }
    problems
}
