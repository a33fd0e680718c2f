//! The text form of a flow: a node a line, then what each pass makes.

use std::fmt;

use crate::plan::data::model::Plan;
use crate::plan::data::values::{Does, Every, Flow, Node, Staged};

/// Writes a flow of that plan.
pub(super) fn write(f: &mut fmt::Formatter<'_>, plan: &Plan, flow: &Flow) -> fmt::Result {
    let along = if flow.along == 0 { "first" } else { "second" };
    write!(f, "  vectors of {} along the {along} mode", flow.vector)?;
    for (at, node) in flow.nodes.iter().enumerate() {
        write!(f, "\n    {} {}: ", node.dtype, node.name)?;
        write_made(f, plan, flow, node)?;
        if node.every == Every::Trip {
            f.write_str(", every trip")?;
        }
        let stored = node.stored.map(|operand| &plan.operand(operand).name);
        match (stored, flow.combined_by(at)) {
            (Some(name), None) => write!(f, ", stored to {name}")?,
            (Some(name), Some((_, how))) => write!(f, ", combined with {name}: {how}")?,
            (None, _) => {}
        }
        if let Some(table) = node.table {
            write!(f, " where {} says", flow.nodes[table].name)?;
        }
    }
    if let Some(passes) = &flow.passes {
        for (number, pass) in (1..).zip(&passes.passes) {
            write!(f, "\n    pass {number}: {}", names(flow, &pass.made))?;
        }
    }
    writeln!(f)
}

/// Writes what makes a node.
fn write_made(f: &mut fmt::Formatter<'_>, plan: &Plan, flow: &Flow, node: &Node) -> fmt::Result {
    let name = |at: usize| &flow.nodes[at].name;
    match &node.does {
        Does::Load(operand) => {
            write!(f, "load {}", plan.operand(*operand).name)?;
            f.write_str(match &node.staged {
                None => "",
                Some(Staged::Filled) => " through shared memory",
                Some(Staged::Boxes) => " of a slot of the ring",
                Some(Staged::Turned(_)) if node.summed => " through registers and shared memory",
                Some(Staged::Turned(_)) => ", turned in shared memory",
            })
        }
        Does::Product([a, b], plane) => {
            write!(f, "sums of {} * {}", name(*a), name(*b))?;
            match *plane > 0 {
                true => write!(f, ", of plane {plane}"),
                false => Ok(()),
            }
        }
        Does::Map(_, from) => {
            let calls = node.element[0].as_ref();
            let calls = calls.map_or(0, |element| element.code.calls.len());
            write!(f, "map of {} in {calls} calls", names(flow, from))
        }
        Does::Carried(_, from) => {
            write!(f, "carried from trip to trip, with {}", names(flow, from))
        }
        Does::Fold(from, number) => {
            write!(f, "fold of {}", name(*from))?;
            match flow.folds.get(*number) {
                Some(fold) => write!(f, ": {fold}"),
                None => Ok(()),
            }
        }
    }
}

/// Names of nodes, one after another.
fn names(flow: &Flow, nodes: &[usize]) -> String {
    let names = nodes.iter().map(|at| flow.nodes[*at].name.as_str());
    Vec::from_iter(names).join(", ")
}
