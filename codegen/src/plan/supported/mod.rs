//! Which formulas become kernels: products of two matrices, or of one with several side by side,
//! maps and folds of up to five modes, of which a tile cuts two, and of rows that lie where tables
//! say.
//!
//! Comes in: a spec, whose formula has a form. Goes out: nothing where it is one of those, else
//! every part of it that is none of theirs, each with its place in the formula's text, a way out,
//! and the nearest formula that is generated. This is the list of what is not generated yet: a
//! skeleton that takes more takes a row of it away.

pub(super) mod limitations;
mod atomics;
pub(super) mod products;
mod grid_modes;
mod gather_scatter;
pub(super) mod element_types;
pub(super) mod main_loops;

use tilewright_formula::affine::ModeId;
use tilewright_formula::form::{Contraction, FoldSite, Form, Rows};
use tilewright_formula::formula::ModeSet;
use tilewright_formula::functions::Op;
use tilewright_formula::{Axis, Expr, ExprKind, Extent, Formula, Index, Role, Source, Statement};

use crate::error::{Message, Violation, message};
use crate::plan::supported::atomics::Along;
use crate::plan::supported::limitations::Limit;
use crate::spec::keys::paths;

use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::model::{Computes, Operand, Spec};
use crate::spec::{ProductModes, TILE_MODES, default_formula};

/// A part of a formula that is not generated.
struct Misfit {
    /// Its place in the formula's text.
    part: std::ops::Range<usize>,
    /// What it is.
    what: String,
    /// What of kernels it is beyond.
    limit: &'static Limit,
}

/// Most modes of rows: those of a tile and, of each of its elements, some outer ones.
const MODES: usize = 5;
/// An extent that is named for a mode without one.
const USUAL_EXTENT: i64 = 64;
/// Most points of modes of constant extent, all of which certificates go along.
const MAX_CONSTANT: i64 = 1 << 20;

/// Refuses what is not generated.
pub(super) fn check(spec: &Spec, chooser: &mut Chooser<'_>) {
    let computes = &spec.problem.compute;
    let formula = &computes.formula;
    if let Form::Contraction(found) = &computes.form {
        let exchanged = (computes.is_exchanged).then(|| products::exchanged(formula, found));
        let violation = exchanged.flatten();
        let violation = violation.or_else(|| products::side_by_side(formula, found));
        if let Some(violation) = violation {
            return chooser.violations.push(violation);
        }
    }
    let misfits = match &computes.form {
        _ if computes.is_plain => Vec::new(),
        Form::Rows(rows) => of_rows(formula, rows),
        Form::Contraction(found) => {
            products::of_contraction(formula, found, computes.planes().as_ref())
        }
        Form::Chain(chain) => products::of_chain(formula, chain),
    };
    let is_rows = matches!(computes.form, Form::Rows(_));
    let extents = match computes.is_plain {
        true => Vec::new(),
        false => extents(computes),
    };
    if !misfits.is_empty() || !extents.is_empty() {
        return refuse(computes, chooser, misfits, extents);
    }
    if !computes.is_plain {
        grid_modes::check_outputs(spec, chooser);
    }
    if is_rows && !computes.is_plain {
        gather_scatter::check(spec, chooser);
    }
    if is_rows && computes.visited().len() > TILE_MODES {
        return grid_modes::check(spec, chooser);
    }
    check_tile_modes(spec, chooser, is_rows);
}

/// Refuses tiles that have extents along other modes than theirs, or lack one.
fn check_tile_modes(spec: &Spec, chooser: &mut Chooser<'_>, is_rows: bool) {
    let computes = &spec.problem.compute;
    let outer = computes.outer_modes();
    let mut cut = outer.iter().filter(|mode| computes.modes.contains(mode));
    if let Some(mode) = cut.next() {
        let names = computes.tile_modes();
        let tile = || computes.modes.iter().zip(&spec.schedule.cta_tile);
        let extent = |mode: &String| tile().find(|(name, _)| *name == mode).map(|(_, one)| *one);
        let example = names
            .iter()
            .map(|mode| format!("{mode}: {}", extent(mode).unwrap_or(USUAL_EXTENT)));
        let what = match computes.blocks().as_ref() == Some(mode) {
            true => "the mode of blocks of columns, of which a tile has one",
            false => "along which there is a product for each coordinate",
        };
        let message = message!(
            "{} has an extent along {mode}, {what}: use {{ {} }}{}",
            paths::CTA_TILE,
            Vec::from_iter(example).join(", "),
            batch_first(spec, mode).unwrap_or_default()
        );
        return chooser.violate("tile-modes", message);
    }
    let mut missing = match is_rows {
        true => computes.visited().into_iter().map(str::to_owned).collect(),
        false => computes.tile_modes(),
    };
    missing.retain(|mode| !computes.modes.contains(mode));
    if !missing.is_empty() {
        let names = missing.join(", ");
        let message = message!(
            "{} has no extent along {names}: tiles that are whole along a mode are not generated: \
             add {names} to {}",
            paths::CTA_TILE,
            paths::CTA_TILE
        );
        chooser.violate("whole-mode", message);
    }
}

/// How rows along a mode that is taken for the batch are written, where another one is the last of
/// them: the batch first, of the same memory.
fn batch_first(spec: &Spec, mode: &str) -> Option<String> {
    let Form::Contraction(found) = &spec.problem.compute.form else {
        return None;
    };
    let formula = &spec.problem.compute.formula;
    let row = ProductModes::of(formula, found).row?;
    let is_row = found.rows.iter().any(|at| formula.modes[*at].name == mode);
    let row = formula.modes.get(row)?.name.as_str();
    if !is_row || row == mode {
        return None;
    }
    let first = |operand: &Operand| {
        let mut axes = operand.formula_axes();
        let place = |wanted: &str| axes.iter().position(|axis| axis.mode == wanted);
        let (from, to) = (place(row)?, place(mode)?);
        let batch = (to < from).then(|| axes.remove(from))?;
        axes.insert(to, batch);
        let modes = Vec::from_iter(axes.iter().map(|axis| axis.mode.as_str()));
        let strides = Vec::from_iter(axes.iter().map(|axis| axis.stride.to_string()));
        let (modes, strides) = (modes.join(","), strides.join(","));
        Some(format!("{} `({modes}):({strides})`", operand.name))
    };
    let all: Vec<String> = spec.problem.operands.iter().filter_map(first).collect();
    (!all.is_empty()).then(|| {
        format!(
            "; tiles have rows along {row}, the last mode of them: for tiles along {mode} write \
             the same memory with {row} before {mode}, {}, and so in the formula",
            all.join(", ")
        )
    })
}

fn refuse(
    computes: &Computes,
    chooser: &mut Chooser<'_>,
    mut misfits: Vec<Misfit>,
    extents: Vec<Violation>,
) {
    misfits.sort_by_key(|misfit| (misfit.part.start, misfit.part.end));
    misfits.dedup_by_key(|misfit| misfit.part.clone());
    let mut nearest = format!("; the nearest that is generated is `{}`", nearest(computes));
    for misfit in misfits {
        let (form, limit) = (computes.kind().facts().name, misfit.limit);
        let spelled = atomics::in_place(&computes.formula, &computes.form, &misfit);
        let of_products = || {
            let of_each = products::of_each(computes, &misfit);
            of_each.or_else(|| products::out_of_sum(computes, &misfit))
        };
        let spelled = spelled.or_else(|| of_products().map(Message::from));
        let message = message!(
            "{}: {}, which kernels of the form {form} do not do yet: {}{}",
            paths::COMPUTE,
            misfit.what,
            spelled.unwrap_or_else(|| limit.way_out.into()),
            std::mem::take(&mut nearest)
        );
        chooser.violate_formula(limit.code, message, misfit.part);
    }
    chooser.violations.extend(extents);
}

/// Whether an expression, summed along those modes, is a product of matrices: of two elements that
/// have summed modes in common, and other modes that are each one's own.
fn multiplies(product: &Expr, summed: ModeSet) -> bool {
    let ExprKind::Apply {
        op: Op::Mul,
        arguments,
    } = &product.kind
    else {
        return false;
    };
    let are_read = |one: &Expr| matches!(one.kind, ExprKind::Read { .. });
    let [a, b] = &arguments[..] else {
        return false;
    };
    are_read(a)
        && are_read(b)
        && a.free & b.free & summed != 0
        && a.free & !b.free & !summed != 0
        && b.free & !a.free & !summed != 0
}

fn fold(site: &FoldSite, formula: &Formula) -> String {
    let modes = site
        .modes
        .iter()
        .filter_map(|mode| formula.modes.get(*mode));
    let modes: Vec<&str> = modes.map(|mode| mode.name.as_str()).collect();
    format!("{}[{}]", site.fold.name(), modes.join(","))
}

/// What rows do beyond maps and folds of the elements of one matrix of coordinates.
fn of_rows(formula: &Formula, rows: &Rows) -> Vec<Misfit> {
    let mut misfits = gather_scatter::several_places(formula);
    let modes = formula.names(formula.visited());
    if modes.len() > MODES {
        misfits.push(Misfit {
            part: 0..formula.text.trim_end().len(),
            what: format!(
                "this has {} modes ({}), more than {MODES}",
                modes.len(),
                modes.join(", ")
            ),
            limit: &limitations::MODES,
        });
    }
    misfits.extend(atomics::read_again(formula));
    let folds = rows.folds.iter();
    let folds = folds.filter(|site| !atomics::is_by_sign(formula, site));
    let folded: Vec<ModeId> = folds.flat_map(|site| &site.modes).copied().collect();
    let (whole, cut) = (0..formula.modes.len())
        .filter(|mode| formula.visited() >> mode & 1 == 1)
        .partition(|mode| folded.contains(mode));
    let along = Along { cut, whole };
    for statement in &formula.statements {
        misfits.extend(atomics::misfit(formula, statement, &along));
        let mut place = |source: Source, indices: &[Index], part: &std::ops::Range<usize>| {
            if let Some((what, limit)) = gather_scatter::misfit(formula, source, indices) {
                misfits.push(Misfit {
                    part: part.clone(),
                    what,
                    limit,
                });
            }
        };
        place(statement.target, &statement.left, &statement.span);
        statement.value.visit(&mut |expr| {
            if let ExprKind::Read { source, indices } = &expr.kind {
                place(*source, indices, &expr.span);
            }
        });
    }
    misfits
}

/// Whether something is taken at its own modes, but that of the plane, which may be a number: with
/// equal constant extents it may be taken at others.
fn is_at_its_own(
    formula: &Formula,
    source: Source,
    indices: &[Index],
    plane: Option<ModeId>,
) -> bool {
    let of_plane = |index: &Index, mode: ModeId| {
        let is_number = matches!(index, Index::Affine(poly) if poly.as_constant().is_some());
        Some(mode) == plane && is_number && matches!(source, Source::Local(_))
    };
    let own = formula.axis_modes(source);
    let fits = |(index, mode): (&Index, &Option<ModeId>)| {
        mode.is_some_and(|mode| index.bare() == Some(mode) || of_plane(index, mode))
    };
    own.len() == indices.len() && indices.iter().zip(&own).all(fits)
}

/// What a statement beside a product does beyond giving each element a value of the elements there.
fn elementwise(
    formula: &Formula,
    statement: &Statement,
    (modes, plane): (&Along, Option<ModeId>),
) -> Vec<Misfit> {
    let misfit = atomics::misfit(formula, statement, modes);
    let mut misfits: Vec<Misfit> = misfit.into_iter().collect();
    if !is_at_its_own(formula, statement.target, &statement.left, None) {
        misfits.push(Misfit {
            part: statement.span.clone(),
            what: format!(
                "{} is written elsewhere than at its coordinates",
                formula.name(statement.target)
            ),
            limit: &limitations::WRITTEN_PLACE,
        });
    }
    statement.value.visit(&mut |expr| {
        let ExprKind::Read { source, indices } = &expr.kind else {
            return;
        };
        if !is_at_its_own(formula, *source, indices, plane) {
            misfits.push(Misfit {
                part: expr.span.clone(),
                what: format!(
                    "{} is read elsewhere than at its coordinates",
                    formula.name(*source)
                ),
                limit: &limitations::READ_PLACE,
            });
        }
    });
    misfits
}

/// Modes whose extent is no size of the problem, nor a constant where that is generated.
fn extents(computes: &Computes) -> Vec<Violation> {
    let (formula, planes) = (&computes.formula, computes.planes());
    let is_rows = matches!(computes.form, Form::Rows(_));
    // Columns in blocks, and what is summed of each part of a sum.
    let constant: Vec<ModeId> = match &computes.form {
        Form::Contraction(found) => {
            let modes = ProductModes::of(formula, found);
            let summed = found.summed.iter().filter(|_| modes.part.is_some());
            modes.column.iter().chain(summed).copied().collect()
        }
        Form::Rows(_) | Form::Chain(_) => Vec::new(),
    };
    let mut points = 1i64;
    let mut violations = Vec::new();
    for (number, mode) in formula.modes.iter().enumerate() {
        let name = &mode.name;
        let (limit, message) = match mode.extent {
            Extent::Named => continue,
            Extent::Constant(extent) if is_rows => {
                points = points.saturating_mul(extent);
                if points <= MAX_CONSTANT {
                    continue;
                }
                let message = message!(
                    "{} is {extent}: constant extents are {points} together, and kernels are \
                     proved on problems of up to {MAX_CONSTANT}: take {name} out of `modes`, so \
                     that a launch says its extent",
                    paths::mode(name)
                );
                (&limitations::CONSTANT_EXTENTS, message)
            }
            Extent::Constant(_) if planes.as_ref().is_some_and(|planes| planes.mode == *name) => {
                continue;
            }
            Extent::Constant(_) if constant.contains(&number) => continue,
            Extent::Constant(extent) => {
                let message = message!(
                    "{} is {extent}: products with constant extents are not generated yet: take \
                     {name} out of `modes`, so that a launch says its extent",
                    paths::mode(name)
                );
                (&limitations::PRODUCT_EXTENT, message)
            }
            Extent::Ragged { .. } => {
                let message = message!(
                    "{} is ragged: kernels over groups are not generated yet: launch a kernel for \
                     each group",
                    paths::mode(name)
                );
                (&limitations::GROUPS, message)
            }
        };
        violations.push(Violation::new(limit.code, message));
    }
    violations
}

/// The formula nearest to one that is generated, in the names of this one where they are known.
fn nearest(computes: &Computes) -> String {
    let formula = &computes.formula;
    let written = match &computes.form {
        Form::Contraction(found) => nearest_product(formula, found),
        Form::Chain(chain) => nearest_product(formula, &chain.first),
        Form::Rows(_) => nearest_copy(formula),
    };
    written.unwrap_or_else(|| default_formula(computes.kind()))
}

fn nearest_product(formula: &Formula, found: &Contraction) -> Option<String> {
    let mode = |mode: &usize| Some(formula.modes.get(*mode)?.name.as_str());
    let ProductModes { row, column, .. } = ProductModes::of(formula, found);
    let (m, n, k) = (
        mode(row.as_ref().or(found.rows.first())?)?,
        mode(column.as_ref().or(found.columns.first())?)?,
        mode(found.summed.first()?)?,
    );
    let operand = |at: Option<usize>, otherwise: &'static str| match at {
        Some(at) => formula.name(Source::Operand(at)).to_owned(),
        None => otherwise.to_owned(),
    };
    let [a, b] = found.factors.each_ref().map(|factor| factor.operand);
    let (a, b) = (operand(a, "a"), operand(b, "b"));
    let mut outputs = found.outputs.iter().copied();
    let output = operand(outputs.find(|at| formula.role(*at) == Role::Output), "d");
    Some(format!(
        "{output}[{m},{n}] = sum[{k}] {a}[{m},{k}] * {b}[{n},{k}]"
    ))
}

fn nearest_copy(formula: &Formula) -> Option<String> {
    let operands = || formula.signature.operands.iter().enumerate();
    let (_, output) = operands().find(|(at, one)| {
        let written = formula.role(*at) != Role::Input;
        written && matches!(one.axes.as_slice(), [Axis::Mode(_), Axis::Mode(_)])
    })?;
    let (_, source) =
        operands().find(|(at, one)| formula.role(*at) == Role::Input && one.axes == output.axes)?;
    let modes: Vec<String> = output.axes.iter().map(ToString::to_string).collect();
    let modes = modes.join(",");
    Some(format!(
        "{}[{modes}] = {}[{modes}]",
        output.name, source.name
    ))
}
