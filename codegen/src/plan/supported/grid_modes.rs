//! Rows of more modes than a tile has: what their tile may be; and what kernels may write of modes
//! that no tile cuts.
//!
//! A tile cuts two modes, and a CTA has one coordinate along each of the others. So what a CTA has
//! to see as a whole must be of the tile, and every CTA must have a place of its own in every
//! output.

use std::ops::Range;

use tilewright_formula::Statement;
use tilewright_formula::form::Form;

use crate::error::message;
use crate::plan::instructions::choose::Chooser;
use crate::plan::supported::{atomics, products};
use crate::spec::TILE_MODES;
use crate::spec::keys::model::{Operand, Spec};
use crate::spec::keys::paths;

const CODE: &str = "outer-mode";

/// Refuses tiles of other than two modes, and folds along outer modes.
pub(super) fn check(spec: &Spec, chooser: &mut Chooser<'_>) {
    let tile = spec.problem.modes();
    let (folded, wanted) = (folded(spec), wanted(spec));
    let extent = |mode: &String| {
        let at = tile.iter().position(|cut| cut == mode)?;
        spec.schedule.cta_tile.get(at).map(i64::to_string)
    };
    let example = wanted.map(|mode| {
        let extent = extent(&mode).unwrap_or_else(|| "…".to_owned());
        format!("{mode}: {extent}")
    });
    let example = example.join(", ");
    if folded.len() > TILE_MODES {
        let message = message!(
            "{}: {} modes are folded ({}); a CTA has all of {TILE_MODES} at most: make one mode of \
             those that lie behind one another in memory, or fold in two kernels",
            paths::COMPUTE,
            folded.len(),
            folded.join(", ")
        );
        let whole = 0..spec.problem.compute.formula.text.trim_end().len();
        return chooser.violate_formula(CODE, message, whole);
    }
    if tile.len() != TILE_MODES {
        let modes = spec.problem.compute.visited();
        let message = message!(
            "{} has extents along {} of {} modes ({}); a tile of rows cuts {TILE_MODES}, and a CTA \
             has one coordinate along each of the others: {}name {TILE_MODES} modes, such as {{ \
             {example} }}",
            paths::CTA_TILE,
            tile.len(),
            modes.len(),
            tile.join(", "),
            match products::almost(&spec.problem.compute.formula) {
                Some(almost) => format!("for tensor cores {}; for threads ", almost.way_out),
                None => String::new(),
            }
        );
        return chooser.violate("tile-modes", message);
    }
    for mode in folded
        .iter()
        .filter(|mode| !tile.iter().any(|cut| cut == **mode))
    {
        let message = message!(
            "{} has no extent along {mode}, which is folded, so that a CTA has all of it: use {{ \
             {example} }}",
            paths::CTA_TILE
        );
        chooser.violate("tile-modes", message);
    }
}

/// Refuses outputs that have none of a mode which is not folded either: of products those along
/// which there is a product for each coordinate.
pub(super) fn check_outputs(spec: &Spec, chooser: &mut Chooser<'_>) {
    let folded = folded(spec);
    let outer = spec.problem.compute.outer_modes();
    let modes: Vec<&str> = match spec.problem.compute.form {
        Form::Rows(_) => spec.problem.compute.visited(),
        Form::Contraction(_) | Form::Chain(_) => outer.iter().map(String::as_str).collect(),
    };
    let modes: Vec<&str> = (modes.into_iter())
        .filter(|mode| !folded.contains(mode))
        .collect();
    for output in spec.problem.operands.iter().filter(|one| one.is_written()) {
        let along = |axis: usize| spec.problem.modes_along(output, axis);
        let mut own: Vec<&str> = (0..output.axes.len()).flat_map(along).collect();
        own.extend(output.axes_apart().map(|axis| axis.mode.as_str()));
        own.extend(combined_along(spec, &output.name));
        let lacks = |mode: &&&str| !own.contains(*mode);
        for mode in modes.iter().filter(lacks) {
            let name = &output.name;
            let message = message!(
                "{}: {name} has no mode {mode}, which is not folded, so that CTAs of every {mode} \
                 would write all of it: compute {name} in a kernel of its own",
                paths::COMPUTE
            );
            chooser.violate_formula(CODE, message, written(spec, name));
        }
    }
}

/// The modes that values are folded along which are combined with what an output held.
fn combined_along<'s>(spec: &'s Spec, name: &str) -> Vec<&'s str> {
    let folded = writer(spec, name).map_or(&[][..], |statement| &statement.folded);
    let modes = &spec.problem.compute.formula.modes;
    let named = folded.iter().filter_map(|mode| modes.get(*mode));
    named.map(|mode| mode.name.as_str()).collect()
}

/// Where an output is written.
fn written(spec: &Spec, name: &str) -> Range<usize> {
    writer(spec, name).map_or(0..0, |statement| statement.span.clone())
}

fn writer<'s>(spec: &'s Spec, name: &str) -> Option<&'s Statement> {
    let formula = &spec.problem.compute.formula;
    let mut statements = formula.statements.iter();
    statements.find(|one| formula.name(one.target) == name)
}

/// The modes that are folded, each once.
fn folded(spec: &Spec) -> Vec<&str> {
    let formula = &spec.problem.compute.formula;
    let Form::Rows(rows) = &spec.problem.compute.form else {
        return Vec::new();
    };
    let folds = rows.folds.iter();
    let folds = folds.filter(|site| !atomics::is_by_sign(formula, site));
    let modes = folds.flat_map(|site| &site.modes);
    let mut names = Vec::new();
    for mode in modes.filter_map(|mode| formula.modes.get(*mode)) {
        if !names.contains(&mode.name.as_str()) {
            names.push(mode.name.as_str());
        }
    }
    names
}

/// Modes that a tile does well to cut: what is folded, then those that outputs and inputs are
/// contiguous along, then the last ones of outputs.
fn wanted(spec: &Spec) -> [String; TILE_MODES] {
    let along = |operand: &Operand, axis: usize| {
        let modes = spec.problem.modes_along(operand, axis).into_iter();
        modes.map(str::to_owned).collect::<Vec<_>>()
    };
    let contiguous = |operand: &Operand| {
        let axis = operand.contiguous_axis();
        axis.map_or(Vec::new(), |axis| along(operand, axis))
    };
    let by_writing = |is: bool| {
        spec.problem
            .operands
            .iter()
            .filter(move |one| one.is_written() == is)
    };
    let last = by_writing(true).flat_map(|output| {
        let axes = (0..output.axes.len()).rev();
        axes.flat_map(|axis| along(output, axis))
            .collect::<Vec<_>>()
    });
    let mut all: Vec<String> = folded(spec).into_iter().map(str::to_owned).collect();
    let matrices = by_writing(false).filter(|operand| operand.axes.len() >= TILE_MODES);
    let operands = by_writing(true).chain(matrices);
    all.extend(operands.flat_map(contiguous));
    all.extend(last);
    all.extend(
        spec.problem
            .compute
            .visited()
            .into_iter()
            .map(str::to_owned),
    );
    let first = all.first().cloned().unwrap_or_default();
    let second = all.into_iter().find(|mode| *mode != first);
    [second.unwrap_or_default(), first]
}
