//! Rows that lie where a table says: gathers and scatters, and which of them are generated.
//!
//! One axis of an operand may be looked into by a table of s32, whose own modes are coordinates, of
//! which a tile cuts one at most: then a thread has one entry for each of its rows.

use tilewright_formula::affine::ModeId;
use tilewright_formula::{DType, Expr, ExprKind, Extent, Formula, Index, Source, Statement};

use super::{Misfit, is_at_its_own};
use crate::error::{Violation, message};
use crate::plan::instructions::choose::Chooser;
use crate::plan::supported::limitations::{self, Limit};
use crate::spec::TILE_MODES;
use crate::spec::keys::model::{Axis, Spec, Stride};
use crate::spec::keys::paths;

/// What of a place is not generated, and what to do.
pub(super) fn misfit(
    formula: &Formula,
    source: Source,
    indices: &[Index],
) -> Option<(String, &'static Limit)> {
    let name = formula.name(source);
    let tables: Vec<(usize, &[Index])> = indices.iter().filter_map(looked_up).collect();
    let own = formula.axis_modes(source);
    let fits = |(index, mode): (&Index, &Option<ModeId>)| {
        looked_up(index).is_some() || mode.is_some() && index.bare() == *mode
    };
    if own.len() != indices.len() || !indices.iter().zip(&own).all(fits) {
        let hint = match is_of_one(formula, &own) {
            true => format!(" (one element is laid out `()` and read as `{name}`)"),
            false => String::new(),
        };
        let what = format!("{name} is taken elsewhere than at its coordinates{hint}");
        return Some((what, &limitations::PLACE));
    }
    let bare = |at: usize| indices[at].bare();
    let is_again = |at: &usize| bare(*at).is_some() && (0..*at).any(|one| bare(one) == bare(*at));
    if let Some(at) = (0..indices.len()).find(is_again) {
        let mode = bare(at).map_or("", |mode| formula.modes[mode].name.as_str());
        let what = format!("{name} is taken where two of its axes are at the same {mode}");
        return Some((what, &limitations::PLACE));
    }
    let (table, at) = match tables.as_slice() {
        [] => return None,
        [one] => *one,
        _ => {
            let count = tables.len();
            let what = format!("{name} is looked into by {count} tables");
            return Some((what, &limitations::TABLES));
        }
    };
    let table_at = table;
    let dtype = formula.dtype(Source::Operand(table));
    let table = formula.name(Source::Operand(table));
    if matches!(source, Source::Local(_)) {
        let what = format!("{table} looks into {name}, of which a thread has its own elements");
        return Some((what, &limitations::TABLE_OF_LOCALS));
    }
    if dtype != DType::S32 {
        let what = format!("the table {table} holds {dtype}");
        return Some((what, &limitations::TABLE_TYPE));
    }
    (!is_at_its_own(formula, Source::Operand(table_at), at, None)).then(|| {
        let what = format!("the table {table} is looked up elsewhere than at its coordinates");
        (what, &limitations::TABLE_PLACE)
    })
}

/// Whether something has one axis, of a constant, or axes of one element each.
fn is_of_one(formula: &Formula, modes: &[Option<ModeId>]) -> bool {
    let extent = |mode: &Option<ModeId>| mode.map(|mode| formula.modes[mode].extent);
    let is_one = |mode: &Option<ModeId>| extent(mode) == Some(Extent::Constant(1));
    matches!(modes, [None]) || !modes.is_empty() && modes.iter().all(is_one)
}

/// The table of an index, and where it is looked up.
fn looked_up(index: &Index) -> Option<(usize, &[Index])> {
    match index {
        Index::Table { operand, indices } => Some((*operand, indices.as_slice())),
        _ => None,
    }
}

/// Operands that are taken at several places, one of them by a table.
pub(super) fn several_places(formula: &Formula) -> Vec<Misfit> {
    let operands = 0..formula.signature.operands.len();
    let several = operands.filter(|at| {
        let places = formula.places(*at);
        let mut indices = places.iter().flat_map(|place| place.iter());
        let by_table = indices.any(|index| looked_up(index).is_some());
        let source = Source::Operand(*at);
        // What a table wrote is there for the entries that are inside alone; and a table that is
        // looked into is taken at two places.
        let read_again = formula.writer(source).is_some() && is_read(formula, source);
        by_table && (places.len() > 1 || read_again || is_table(formula, *at))
    });
    let misfit = |at: usize| {
        let (source, name) = (Source::Operand(at), formula.name(Source::Operand(at)));
        let written = formula.writer(source).is_some();
        Misfit {
            part: last_taken(formula, source),
            what: match written {
                true => format!("{name} is written where a table says, and read again"),
                false => format!("{name} is read at several places"),
            },
            limit: match written {
                true => &limitations::SCATTERED_AGAIN,
                false => &limitations::SEVERAL_PLACES,
            },
        }
    };
    several.map(misfit).collect()
}

/// Whether something is read.
fn is_read(formula: &Formula, source: Source) -> bool {
    let mut values = formula.statements.iter().map(|statement| &statement.value);
    values.any(|value| value.reads().contains(&source))
}

/// Whether an operand looks into others.
fn is_table(formula: &Formula, operand: usize) -> bool {
    let looks = |indices: &[Index]| {
        indices
            .iter()
            .filter_map(looked_up)
            .any(|(at, _)| at == operand)
    };
    let mut found = false;
    for statement in &formula.statements {
        found |= looks(&statement.left);
        statement.value.visit(&mut |expr| {
            found |= matches!(&expr.kind, ExprKind::Read { indices, .. } if looks(indices));
        });
    }
    found
}

/// Where something is read last.
fn last_taken(formula: &Formula, source: Source) -> std::ops::Range<usize> {
    let mut found = 0..0;
    for statement in &formula.statements {
        statement.value.visit(&mut |expr| {
            if matches!(&expr.kind, ExprKind::Read { source: of, .. } if *of == source) {
                found = expr.span.clone();
            }
        });
    }
    found
}

/// Refuses tables of which a tile cuts both modes, and scatters by entries that are one.
pub(super) fn check(spec: &Spec, chooser: &mut Chooser<'_>) {
    check_repeats(spec, chooser);
    let formula = &spec.problem.compute.formula;
    let modes = spec.problem.modes();
    let cut = |index: &Index| {
        let name = index.bare().and_then(|mode| formula.modes.get(mode));
        name.is_some_and(|mode| modes.contains(&mode.name))
    };
    let mut wide = |indices: &[Index], part: &std::ops::Range<usize>| {
        for (table, at) in indices.iter().filter_map(looked_up) {
            if at.iter().filter(|index| cut(index)).count() < TILE_MODES {
                continue;
            }
            let table = formula.name(Source::Operand(table));
            let own = |mode: &&str| {
                let mut bare = at.iter().filter_map(Index::bare);
                bare.any(|at| formula.modes.get(at).is_some_and(|own| own.name == **mode))
            };
            let others = spec.problem.compute.visited().into_iter();
            let others = Vec::from_iter(others.filter(|mode| !own(mode)));
            let way_out = match others.first() {
                Some(mode) => message!("let {} have {mode}, which {table} lacks", paths::CTA_TILE),
                None => "make one mode of these in all operands, or gather along one".into(),
            };
            let message = message!(
                "{}: the table {table} has an entry for each element of a tile of ({}); kernels \
                 take one for each row or column: {}",
                paths::COMPUTE,
                modes.join(","),
                way_out
            );
            let mut violation = Violation::new("table-modes", message);
            violation.involve(paths::CTA_TILE.path());
            let part = Some(part.clone());
            chooser.violations.push(Violation { part, ..violation });
        }
    };
    for statement in &formula.statements {
        let Statement { left, span, .. } = statement;
        wide(left, span);
        statement.value.visit(&mut |expr: &Expr| {
            if let ExprKind::Read { indices, .. } = &expr.kind {
                wide(indices, &expr.span);
            }
        });
    }
}

/// Refuses scatters by tables that have one entry for several coordinates.
fn check_repeats(spec: &Spec, chooser: &mut Chooser<'_>) {
    for output in spec.problem.operands.iter().filter(|one| one.is_written()) {
        let Some(table) = output.axes.iter().find_map(|axis| axis.table) else {
            continue;
        };
        let table = spec.problem.operand(table);
        let repeats = |axis: &&Axis| axis.stride == Stride::Const(0);
        if let Some(axis) = table.axes.iter().find(repeats) {
            let (name, mode, output) = (&table.name, &axis.mode, &output.name);
            let message = message!(
                "{}: the table {name} has one entry for every {mode}, whose stride is 0, so that \
                 threads store to one row of {output} at once: use a stride of 1 or more",
                paths::COMPUTE
            );
            let layout = paths::of_operand(name, "layout");
            chooser.violations.push(Violation {
                keys: vec![layout.path().to_owned()],
                ..Violation::new("table-repeats", message)
            });
        }
    }
}
