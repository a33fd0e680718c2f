//! Outputs that may take the place of an input (`over`).
//!
//! An element of the input is read by the thread that stores the output's there, before it does:
//! nobody else reads it, and nobody reads it again. Results that leave by boxes are stored when all
//! threads of the warpgroup have staged theirs, which they made of what they had read.

use std::collections::BTreeSet;

use tilewright_formula::{ExprKind, Formula, Index, Source};

use crate::error::{Message, Result, message};
use crate::plan::copies::partition;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Hop, Step};
use crate::plan::data::values::{Does, Node, Pass};
use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::model::{Auto, Operand, Spec, Stride};
use crate::spec::keys::paths;

/// Refuses outputs that may not take the place that the spec says. Of a plan that is refused for
/// other reasons nobody knows who reads and stores what.
pub(in crate::plan) fn check(spec: &Spec, chooser: &mut Chooser<'_>, plan: &Plan) -> Result<()> {
    let is_planned = chooser.violations.is_empty();
    for operand in &plan.operands {
        let Some(name) = &operand.over else { continue };
        // Some loads take it that nobody writes there.
        let path = spec.schedule.copy.get(name);
        let loads = path.map_or([&None; 2], |path| [&path.g2r, &path.g2r_last]);
        if loads
            .iter()
            .any(|load| matches!(load, Some(Auto::Given(_))))
        {
            let message = message!(
                "{}: {} may be stored where {name} is, which a load that is named need not heed: \
                 choose auto",
                paths::way(name),
                operand.name
            );
            chooser.violate("over", message);
        }
        let input = plan.over(operand).filter(|other| !other.is_written());
        let misfit = match input {
            None => Some("is no input".into()),
            Some(input) => match misfit_of_formula(plan, operand, input) {
                None if is_planned => misfit_of_plan(plan, operand, input)?,
                found => found.map(Message::from),
            },
        };
        if let Some(misfit) = misfit {
            let before = match misfit.text.contains(": ") {
                true => ", or",
                false => ":",
            };
            let message = message!(
                "{} lies over {name}, which {}{} leave out {}",
                paths::operand(&operand.name),
                &misfit,
                before,
                paths::of_operand(&operand.name, "over")
            );
            chooser.violate("over", message);
        }
    }
    Ok(())
}

/// Why an output may not take the place of an input, whatever the plan is.
fn misfit_of_formula(plan: &Plan, output: &Operand, input: &Operand) -> Option<String> {
    if !output.is_written() {
        return Some("nothing is written to".to_string());
    }
    let mut others = plan.operands.iter().filter(|one| one.over == output.over);
    if others.any(|other| other.id != output.id) {
        return Some("another output lies over as well".to_string());
    }
    if input.packed {
        return Some(format!(
            "is packed, in an order that {} does not lie in: write its strides",
            output.name
        ));
    }
    if !lie_alike(output, input) {
        return Some(format!(
            "has layout {}, not {}: both need the same constant strides",
            input.layout(),
            output.layout()
        ));
    }
    read_elsewhere(&plan.computes.formula, output, input)
}

/// Why an output may not take the place of an input, by who reads and stores what.
fn misfit_of_plan(plan: &Plan, output: &Operand, input: &Operand) -> Result<Option<Message>> {
    let nodes = plan.flow.iter().flat_map(|flow| &flow.nodes);
    let nodes = || nodes.clone().filter(|node| !node.summed);
    let is_load = |node: &Node| node.does == Does::Load(input.id);
    let loads: Vec<_> = nodes().filter(|node| is_load(node)).collect();
    if read_after(plan, output, is_load) {
        let message = message!(
            "a later pass over the rows reads again: read {} there instead, which is what was \
             stored, or let one pass do, by {} and a {} that holds whole rows",
            output.name,
            paths::PASSES.with("one"),
            paths::CTA_TILE
        );
        return Ok(Some(message));
    }
    let stores = plan.step(output.id, Hop::R2g);
    if plan.flow.is_none() && plan.mma.is_none() {
        let message = "is copied as it is, so that nothing would change in its place";
        return Ok(Some(message.into()));
    }
    let (false, Some(stores)) = (loads.is_empty(), stores) else {
        return Ok(Some(
            "does not come past shared memory into registers of its own".into(),
        ));
    };
    // Threads that differ along a mode that there is none of have no elements of their own.
    let has_all = |load: &Node| (0..plan.modes().len().min(2)).all(|mode| load.keeps[mode]);
    let whole = loads
        .iter()
        .all(|load| load.table.is_none() && has_all(load));
    if !loads.iter().all(|load| has_all(load)) {
        let message = format!(
            "has one element for several threads, which all read it, while one of them stores {} \
             there: leave that to a kernel behind this one",
            output.name
        );
        return Ok(Some(message.into()));
    }
    let of_input =
        |step: &&Step| step.operand == input.id && matches!(step.hop, Hop::G2r | Hop::G2rLast);
    let stored = owners(plan, stores)?;
    let mut alike = whole;
    for step in plan.steps.iter().filter(of_input) {
        alike = alike && owners(plan, step)? == stored;
    }
    Ok((!alike).then(|| "other threads read than those that store there".into()))
}

/// Whether a pass over rows loads what one before it has stored an output in the place of.
fn read_after(plan: &Plan, output: &Operand, is_load: impl Fn(&Node) -> bool) -> bool {
    let Some(flow) = &plan.flow else { return false };
    let made = |pass: &Pass, is: &dyn Fn(&Node) -> bool| {
        let nodes = pass.made.iter().filter_map(|at| flow.nodes.get(*at));
        nodes.into_iter().any(is)
    };
    let is_stored = |node: &Node| node.stored == Some(output.id);
    let passes = flow.passes.iter().flat_map(|passes| &passes.passes);
    let mut later = passes.rev().take_while(|pass| !made(pass, &is_stored));
    later.any(|pass| made(pass, &is_load))
}

/// Whether elements of two operands of the same modes lie alike, where launches give both the same
/// start and strides.
fn lie_alike(one: &Operand, other: &Operand) -> bool {
    let alike = |(own, of_other): (&Stride, &Stride)| match (own, of_other) {
        (Stride::Const(own), Stride::Const(of_other)) => own == of_other,
        (Stride::Product { value: own, .. }, Stride::Product { value, .. }) => own == value,
        (own, of_other) => own.name().is_some() && of_other.name().is_some(),
    };
    let strides = |operand: &Operand| {
        let axes = operand.formula_axes().into_iter();
        axes.map(|axis| (axis.mode.clone(), axis.stride.clone()))
            .collect::<Vec<_>>()
    };
    let (own, of_other) = (strides(one), strides(other));
    own.len() == of_other.len()
        && own
            .iter()
            .zip(&of_other)
            .all(|(a, b)| a.0 == b.0 && alike((&a.1, &b.1)))
}

/// Where the formula reads an element of the input that it does not write there.
fn read_elsewhere(formula: &Formula, output: &Operand, input: &Operand) -> Option<String> {
    let is = |source: Source, operand: &Operand| source == Source::Operand(operand.id.0);
    let written = formula
        .statements
        .iter()
        .find(|one| is(one.target, output))?;
    let place: Vec<_> = written.left.iter().map(Index::bare).collect();
    if place.iter().any(Option::is_none) {
        return Some(format!("is read where {} is not written", output.name));
    }
    let mut elsewhere = false;
    for statement in &formula.statements {
        statement.value.visit(&mut |expr| {
            let ExprKind::Read { source, indices } = &expr.kind else {
                return;
            };
            let own = indices.iter().map(Index::bare).collect::<Vec<_>>();
            elsewhere |= is(*source, input) && own != place;
            let is_table = |index: &Index| match index {
                Index::Table { operand, .. } => *operand == input.id.0,
                _ => false,
            };
            elsewhere |= indices.iter().any(is_table);
        });
    }
    elsewhere.then(|| format!("is read elsewhere than {} is written", output.name))
}

/// Which thread moves which element of the tile between global memory and registers.
fn owners(plan: &Plan, step: &Step) -> Result<BTreeSet<(i64, [i64; 2])>> {
    let partition = partition::whole_of_step(step)?;
    let part = match step.hop {
        Hop::R2g => partition.src,
        _ => partition.dst,
    };
    let threads = 0..i64::from(plan.threads);
    let elements = threads.flat_map(|thread| {
        let [row, column] = part.base(thread);
        let values = part.values.iter();
        values.map(move |value| (thread, [row + value[0], column + value[1]]))
    });
    Ok(elements.collect())
}
