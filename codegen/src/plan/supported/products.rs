//! What of products is not generated yet: sums that are no product of two matrices, or of one with
//! several side by side, and epilogues that are no map of their elements.

use tilewright_formula::affine::ModeId;
use tilewright_formula::form::{Chain, Contraction, FoldSite, Form};
use tilewright_formula::functions::Fold;
use tilewright_formula::syntax::Combine;
use tilewright_formula::{Expr, ExprKind, Extent, Formula, Source, Statement};

use super::{Misfit, elementwise, fold, multiplies};
use crate::error::{Violation, message};
use crate::plan::supported::atomics::{self, Along};
use crate::plan::supported::limitations::{self, Limit};
use crate::spec::keys::model::Computes;
use crate::spec::keys::paths;
use crate::spec::{LEAST_BLOCK, Planes, ProductModes};

/// Most products side by side: as many as one mma that reads shared memory has columns for.
const MOST_PLANES: i64 = 32;

/// Most modes along which a product is made anew: a tensor map has five.
const MOST_BATCHES: usize = 3;

/// Why the factors of a product are not exchanged: what tells products apart beside the columns is
/// beside the rows then, where a tile has one product.
pub(super) fn exchanged(formula: &Formula, found: &Contraction) -> Option<Violation> {
    let name = |mode: &ModeId| formula.modes.get(*mode).map(|mode| mode.name.as_str());
    let is_beside = |mode: &&ModeId| found.rows.len() > 1 && formula.constant(**mode).is_some();
    let parts = found.parts.as_ref().map(|parts| &parts.sum.modes);
    let mode = found.rows.iter().find(is_beside);
    let mode = mode.or_else(|| parts?.first()).and_then(name)?;
    let message = message!(
        "{} ba makes rows of the columns, and {mode} is told apart beside columns alone: use ab",
        paths::MMA_OPERANDS
    );
    Some(Violation::new("mma-operands", message))
}

/// Why the modes of constant extent beside the rows and columns of a product do not tell products
/// apart: one refusal, whatever else follows from it.
pub(super) fn side_by_side(formula: &Formula, found: &Contraction) -> Option<Violation> {
    let of_results = ProductModes::of(formula, found).columns;
    let constant = |mode: &ModeId| {
        let extent = formula
            .constant(*mode)
            .filter(|_| !of_results.contains(mode))?;
        Some((formula.modes.get(*mode)?.name.as_str(), extent))
    };
    let [rows, columns] = [&found.rows, &found.columns];
    let beside =
        |modes: &[ModeId]| modes.len() > 1 && modes.iter().any(|one| constant(one).is_some());
    let of_rows = beside(rows).then_some(rows);
    let of_columns = beside(columns).then_some(columns);
    let both = without_results(formula, found);
    let all = of_rows.into_iter().chain(of_columns).flatten().chain(&both);
    let all: Vec<(&str, i64)> = all.filter_map(constant).collect();
    let (mode, count) = *all.first()?;
    let named = |modes: &[ModeId]| match modes
        .iter()
        .filter(|mode| constant(mode).is_none())
        .filter_map(|mode| formula.modes.get(*mode))
        .collect::<Vec<_>>()[..]
    {
        [one] => Some(one.name.as_str()),
        _ => None,
    };
    let is_of = |modes: &[ModeId]| modes.iter().filter_map(constant).any(|one| one.0 == mode);
    let (limit, what) = if let Some((mode, _)) = all.iter().find(|(_, count)| *count == 1) {
        let what = message!(
            "is 1 and tells no products apart: take {mode} out of `modes` and of the formula"
        );
        (&limitations::PLANE_ONE, what)
    } else if let Some((other, _)) = all.get(1) {
        let what = message!(
            "and {} both tell products apart, and one mode may: make one of them, as the operands \
             lie in memory",
            paths::mode(other)
        );
        (&limitations::PLANE_MODES, what)
    } else if is_of(&both) {
        let what = message!(
            "is {count}, and both factors have it: products side by side have one left factor: let \
             only the right one have {mode}, or launch a kernel for each"
        );
        (&limitations::PLANE_BOTH, what)
    } else if is_of(rows) {
        let (first, second) = (named(rows)?, named(columns)?);
        let output = Source::Operand(*found.outputs.first()?);
        let way_out = of_left(formula, output, [mode, first, second]);
        let what = message!(
            "is {count} and tells products apart whose left factor has it, for {first} comes first \
             in {}: {way_out}",
            formula.name(output)
        );
        (&limitations::PLANE_LEFT, what)
    } else if count > MOST_PLANES {
        let what = message!(
            "is {count}: at most {MOST_PLANES} products are computed side by side: use \
             {MOST_PLANES} at most, and a kernel for each part"
        );
        (&limitations::PLANES, what)
    } else {
        return None;
    };
    let (mode, _) = all.iter().find(|(_, count)| *count == 1).unwrap_or(&all[0]);
    let message = message!("{} {}", paths::mode(mode), what);
    Some(Violation::new(limit.code, message))
}

/// What to do where a constant mode of the left factor tells products apart, whose results have it
/// or not.
fn of_left(formula: &Formula, output: Source, [mode, first, second]: [&str; 3]) -> String {
    let own = formula.mode(mode);
    match own.is_some() && formula.axis_modes(output).contains(&own) {
        true => format!("take {mode} out of `modes`, so that there is a product for each"),
        false => format!(
            "write {}[{second},{first}], or let the factor with {second} have {mode}",
            formula.name(output)
        ),
    }
}

/// The modes of both factors that no result has: those of results are batches.
fn without_results(formula: &Formula, found: &Contraction) -> Vec<ModeId> {
    let outputs = found.outputs.iter();
    let of_outputs = outputs.flat_map(|at| formula.axis_modes(Source::Operand(*at)));
    let of_outputs: Vec<ModeId> = of_outputs.flatten().collect();
    let both = found.batch.iter().copied();
    both.filter(|mode| !of_outputs.contains(mode)).collect()
}

/// A sum of rows that multiplies as a product of matrices does, but is none.
pub(in crate::plan) struct Almost {
    /// Where it stands.
    pub part: std::ops::Range<usize>,
    /// How it becomes a product.
    pub way_out: &'static str,
}

/// A sum of rows that multiplies as a product of matrices does, but is none, for all that it says
/// besides.
pub(in crate::plan) fn almost(formula: &Formula) -> Option<Almost> {
    let mut found = None;
    let mut look = |expr: &Expr| {
        let ExprKind::Fold {
            fold: fold @ (Fold::Sum | Fold::Mean),
            modes,
            body,
            ..
        } = &expr.kind
        else {
            return;
        };
        let way_out = match fold {
            Fold::Mean => {
                "write `sum` in the place of `mean`, in parentheses, times a scalar that has 1 by \
                 the extent"
            }
            _ => "let a sum of two factors stand alone, in parentheses where more is done to it",
        };
        let summed = modes.iter().fold(0, |set, mode| set | 1 << mode);
        body.visit(&mut |product| {
            if multiplies(product, summed) {
                let part = expr.span.clone();
                found = found.take().or(Some(Almost { part, way_out }));
            }
        });
    };
    for statement in &formula.statements {
        statement.value.visit(&mut look);
    }
    found
}

/// What a contraction does beyond a product of two matrices.
pub(super) fn of_contraction(
    formula: &Formula,
    found: &Contraction,
    planes: Option<&Planes>,
) -> Vec<Misfit> {
    let mut misfits = sum(formula, found, planes);
    let statement = |at: &usize| formula.statements.get(*at);
    for one in found.prologue.iter().filter_map(statement) {
        misfits.push(Misfit {
            part: one.span.clone(),
            what: "this computes a factor of the product".into(),
            limit: &limitations::PROLOGUE,
        });
    }
    misfits.extend(parts(formula, found, planes));
    let behind = found.epilogue.iter().chain([&found.sum.statement]);
    let plane = planes.and_then(|planes| formula.mode(&planes.mode));
    let modes = found.rows.iter().chain(&found.columns).chain(&found.batch);
    let modes = modes.copied();
    let modes = Along {
        cut: modes.filter(|mode| Some(*mode) != plane).collect(),
        whole: Vec::new(),
    };
    for one in behind.filter_map(statement) {
        misfits.extend(elementwise(formula, one, (&modes, plane)));
        let factor = found.factors[1].operand;
        misfits.extend(
            plane
                .into_iter()
                .flat_map(|mode| along(formula, one, mode, factor)),
        );
    }
    misfits.extend(atomics::read_again(formula));
    // Rows and columns are those of an output that is written: what follows from another misleads.
    if let Some(alone) = atomics::alone(formula) {
        misfits.push(alone);
        return misfits;
    }
    // What is combined with an output was judged by its statement.
    misfits.extend(folds(formula, found));
    misfits.extend(no_results(formula, found));
    misfits
}

/// What of a sum of parts is none of parts of one constant length, each scaled and then forgotten.
fn parts(formula: &Formula, found: &Contraction, planes: Option<&Planes>) -> Vec<Misfit> {
    let Some(parts) = &found.parts else {
        return Vec::new();
    };
    let text = fold(&parts.sum, formula);
    let modes = ProductModes::of(formula, found);
    let extent = |mode: &ModeId| formula.modes.get(*mode).map(|facts| &facts.extent);
    let constant = |mode: &ModeId| formula.constant(*mode).is_some();
    let what = if planes.is_some() {
        Some(format!(
            "`{text}` adds parts of several products side by side"
        ))
    } else if modes
        .part
        .is_none_or(|part| extent(&part) != Some(&Extent::Named))
    {
        Some(format!(
            "`{text}` adds parts along other than one mode of the problem"
        ))
    } else if !found.summed.iter().all(constant) {
        Some(format!("`{text}` adds parts whose length no constant says"))
    } else {
        None
    };
    let misfit = |what: String, part: &std::ops::Range<usize>| Misfit {
        part: part.clone(),
        what,
        limit: &limitations::SCALED_PARTS,
    };
    let of_parts = what.map(|what| misfit(what, &parts.sum.span));
    let stored = formula.statements.iter().filter(|one| {
        matches!(one.target, Source::Operand(_))
            && modes.part.is_some_and(|part| one.loops.contains(&part))
    });
    let stored = stored.map(|one| {
        let name = formula.name(one.target);
        misfit(format!("{name} has an element for each part"), &one.span)
    });
    of_parts.into_iter().chain(stored).collect()
}

/// Outputs none of which has an element for each result: tiles are those of one that has.
fn no_results(formula: &Formula, found: &Contraction) -> Option<Misfit> {
    let modes_of = ProductModes::of(formula, found);
    let modes = || {
        let both = found.rows.iter().chain(&modes_of.columns);
        both.chain(&found.batch).copied()
    };
    let mut writers = found.outputs.iter().filter_map(|at| {
        let writer = formula.writer(Source::Operand(*at))?;
        formula.statements.get(writer)
    });
    let has_all = |one: &Statement| modes().all(|mode| one.loops.contains(&mode));
    let first = writers.clone().find(|one| one.combine == Combine::Set)?;
    if modes_of.column.is_none() || writers.any(has_all) {
        return None;
    }
    let names: Vec<&str> = modes()
        .filter_map(|mode| formula.modes.get(mode))
        .map(|mode| mode.name.as_str())
        .collect();
    Some(Misfit {
        part: first.span.clone(),
        what: format!("no output has an element for each ({})", names.join(",")),
        limit: &limitations::NO_RESULTS,
    })
}

/// Folds of results along other than the columns that a tile has.
fn folds(formula: &Formula, found: &Contraction) -> Vec<Misfit> {
    let modes = ProductModes::of(formula, found);
    let behind = |site: &FoldSite| {
        found.epilogue.contains(&site.statement) || site.statement == found.sum.statement
    };
    let along_columns = |site: &FoldSite| {
        behind(site) && matches!(site.modes.as_slice(), [mode] if Some(*mode) == modes.column)
    };
    // What is combined with an output was judged by its statement.
    let by_sign = |site: &&FoldSite| atomics::is_by_sign(formula, site);
    let others = found.folds.iter().filter(|site| !by_sign(site));
    let misfit = |site: &FoldSite| {
        let text = fold(site, formula);
        let (what, limit) = match modes.blocks {
            Some(blocks) if site.modes.contains(&blocks) => (
                format!(
                    "`{text}` folds results of the product across the blocks along {}",
                    formula.modes[blocks].name
                ),
                &limitations::FOLD_BLOCKS,
            ),
            _ => (
                format!(
                    "`{text}` folds results of the product along other than its columns{}",
                    site.modes
                        .iter()
                        .find_map(|mode| no_block(formula, *mode))
                        .unwrap_or_default()
                ),
                &limitations::FOLD_ROWS,
            ),
        };
        Misfit {
            part: site.span.clone(),
            what,
            limit,
        }
    };
    others
        .filter(|site| !along_columns(site))
        .map(misfit)
        .collect()
}

/// What the statement with the sum does beyond it, and what of the sum is no product of matrices.
fn sum(formula: &Formula, found: &Contraction, planes: Option<&Planes>) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    let names = |modes: &[usize]| {
        let names = modes.iter().filter_map(|mode| formula.modes.get(*mode));
        let names: Vec<&str> = names.map(|mode| mode.name.as_str()).collect();
        names.join(", ")
    };
    let mut of_sum = |what: String, limit: &'static Limit| {
        misfits.push(Misfit {
            part: found.sum.span.clone(),
            what,
            limit,
        });
    };
    let is_plane = |mode: &ModeId| {
        let name = formula.modes.get(*mode).map(|mode| &mode.name);
        planes.is_some_and(|planes| Some(&planes.mode) == name)
    };
    let modes = ProductModes::of(formula, found);
    let is_apart = |mode: &&ModeId| {
        is_plane(mode) || modes.blocks == Some(**mode) || modes.batch.contains(mode)
    };
    let own = |modes: &[ModeId]| -> Vec<ModeId> {
        let own = modes.iter().filter(|mode| !is_apart(mode));
        own.copied().collect()
    };
    let along = [
        ("rows", own(&found.rows)),
        ("columns", own(&found.columns)),
        ("summed", found.summed.clone()),
    ];
    if modes.batch.len() > MOST_BATCHES {
        let what = format!("this sum is made anew along {}", names(&modes.batch));
        of_sum(what, &limitations::BATCH);
    }
    for (what, modes) in along.iter().filter(|(_, modes)| modes.len() != 1) {
        let count = modes.len();
        let what = format!("{count} modes of this sum are {what} ({})", names(modes));
        of_sum(what, &limitations::PRODUCT_MODES);
    }
    for factor in found.factors.iter().filter(|one| one.values.len() > 1) {
        let are_read = |value: &Expr| matches!(value.kind, ExprKind::Read { .. });
        if let ([first, .., last], true) = (&factor.values[..], factor.values.iter().all(are_read))
        {
            misfits.push(Misfit {
                part: first.span.start.min(last.span.start)..first.span.end.max(last.span.end),
                what: format!(
                    "{} operands are one factor of this product",
                    factor.values.len()
                ),
                limit: &limitations::FACTORS,
            });
        }
    }
    let factors = found.factors.iter().filter(|one| one.operand.is_none());
    for value in factors.flat_map(|factor| &factor.values) {
        // What is read at other places is told by its modes, a local by its own statement.
        if !matches!(value.kind, ExprKind::Read { .. }) {
            misfits.push(Misfit {
                part: value.span.clone(),
                what: "this factor is no element of an operand".into(),
                limit: &limitations::FACTOR,
            });
        }
    }
    misfits
}

/// Why a mode of constant extent is none of blocks of columns, where it is too short.
fn no_block(formula: &Formula, mode: ModeId) -> Option<String> {
    let short = formula
        .constant(mode)
        .filter(|extent| *extent < LEAST_BLOCK);
    short.map(|extent| {
        format!(", as {extent} columns are no block, which has {LEAST_BLOCK} or more")
    })
}

/// What a statement writes and reads along the mode that tells products apart, but the factor.
fn along(
    formula: &Formula,
    statement: &Statement,
    plane: ModeId,
    factor: Option<usize>,
) -> Vec<Misfit> {
    let short = no_block(formula, plane).unwrap_or_default();
    let misfit = |source: Source, part: &std::ops::Range<usize>, does: &str| Misfit {
        part: part.clone(),
        what: format!(
            "{} is {does} along {}, which tells products apart{short}",
            formula.name(source),
            formula.modes[plane].name
        ),
        limit: &limitations::PLANE_BESIDE,
    };
    let mut misfits = Vec::new();
    if matches!(statement.target, Source::Operand(_)) && statement.loops.contains(&plane) {
        misfits.push(misfit(statement.target, &statement.span, "written"));
    }
    statement.value.visit(&mut |expr| match expr.kind {
        ExprKind::Read { source, .. }
            if matches!(source, Source::Operand(at) if Some(at) != factor)
                && expr.free >> plane & 1 == 1 =>
        {
            misfits.push(misfit(source, &expr.span, "read"));
        }
        _ => {}
    });
    misfits
}

/// What to do where an operand beside products side by side is read at the number of one of them.
pub(super) fn of_each(computes: &Computes, misfit: &Misfit) -> Option<String> {
    let (formula, planes) = (&computes.formula, computes.planes()?);
    if misfit.limit.code != limitations::READ_PLACE.code {
        return None;
    }
    let plane = formula.mode(&planes.mode)?;
    let mut read = None;
    for statement in &formula.statements {
        statement.value.visit(&mut |expr| match expr.kind {
            ExprKind::Read { source, .. } if expr.span == misfit.part => read = Some(source),
            _ => {}
        });
    }
    let source = read.filter(|source| matches!(source, Source::Operand(_)))?;
    let axes = formula.axis_modes(source);
    let others = axes.iter().copied().collect::<Option<Vec<ModeId>>>()?;
    let others = others.iter().filter(|mode| **mode != plane);
    let others = others.filter_map(|mode| formula.modes.get(*mode));
    let others = Vec::from_iter(others.map(|mode| mode.name.as_str())).join(",");
    let name = formula.name(source);
    axes.contains(&Some(plane)).then(|| {
        format!(
            "make an operand of each coordinate along {}, `{name}0[{others}]` to \
             `{name}{}[{others}]`, of which launches give views",
            planes.mode,
            planes.count - 1
        )
    })
}

/// What to do where a factor is the same for all that is summed.
pub(super) fn out_of_sum(computes: &Computes, misfit: &Misfit) -> Option<String> {
    let Form::Contraction(found) = &computes.form else {
        return None;
    };
    if misfit.limit.code != limitations::FACTOR.code {
        return None;
    }
    let values = found.factors.iter().flat_map(|factor| &factor.values);
    let factor = values
        .filter(|value| value.free == 0)
        .find(|value| value.span == misfit.part)?;
    let formula = &computes.formula;
    let text = formula.text.get(factor.span.clone())?;
    let summed = found
        .summed
        .iter()
        .filter_map(|mode| formula.modes.get(*mode));
    let summed = Vec::from_iter(summed.map(|mode| mode.name.as_str())).join(",");
    Some(format!(
        "take it out of the sum, `{text} * (sum[{summed}] …)`"
    ))
}

/// What a chain does beyond its first product.
pub(super) fn of_chain(formula: &Formula, chain: &Chain) -> Vec<Misfit> {
    let mut misfits: Vec<Misfit> = Vec::new();
    for site in &chain.normalizer {
        misfits.push(Misfit {
            part: site.span.clone(),
            what: format!("`{}` folds rows of a product", fold(site, formula)),
            limit: &limitations::FOLDED_PRODUCT,
        });
    }
    for (number, found) in ["first", "second"]
        .iter()
        .zip([&chain.first, &chain.second])
    {
        misfits.push(Misfit {
            part: found.sum.span.clone(),
            what: format!("this is the {number} of two sums of products"),
            limit: &limitations::TWO_PRODUCTS,
        });
    }
    misfits
}
