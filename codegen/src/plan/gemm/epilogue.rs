//! What is computed of the sums of a product before they are stored: every operand that is read
//! beside the factors comes to the threads that hold the sums it belongs to.

use tilewright_formula::form::Form;
use tilewright_layout::make_tiled_copy_c;

use crate::element::Packing;
use crate::error::Result;
use crate::plan::choose::Chooser;
use crate::plan::code::{computed, elements};
use crate::plan::combine;
use crate::plan::flow::{self, Flow};
use crate::plan::model::{Plan, Step};
use crate::plan::moves::{self, Shared};
use crate::plan::partition;
use crate::plan::tiled::assume;
use crate::spec::model::{Operand, Spec};

/// What a product's epilogue computes; none where sums are stored as they are.
pub(super) fn flow(spec: &Spec) -> Option<Flow> {
    let computes = &spec.compute;
    let formula = &computes.formula;
    let found = match &computes.form {
        Form::Contraction(found) if !computes.is_plain => found,
        _ => return None,
    };
    let modes = [0, 1].map(|at| spec.modes().get(at).and_then(|name| formula.mode(name)));
    let statements = formula.statements.iter().enumerate();
    let behind =
        statements.filter(|(at, _)| *at == found.sum.statement || found.epilogue.contains(at));
    let behind = behind.map(|(_, statement)| statement);
    let planes = computes.planes.as_ref();
    Some(flow::of(formula, behind, modes, Some(&found.sum), planes))
}

/// Plans how the epilogue's operands come to registers, how its results leave them, and the code of
/// its maps.
pub(super) fn plan(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    mut flow: Flow,
) -> Result<()> {
    let Some(mma) = plan.mma.clone() else {
        return Ok(());
    };
    let pairs = partition::neighbours_along_n(plan, &mma)?;
    let together = if pairs { 2 } else { 1 };
    let first = plan.output().map(|output| output.name.clone());
    for at in 0..flow.nodes.len() {
        let Some((name, hop)) = flow.nodes[at].moved() else {
            continue;
        };
        let Some(operand) = spec.operand(name) else {
            continue;
        };
        let combined = flow.combined_by(at);
        let shared = Shared {
            along: 1,
            together,
            tile: [spec.cta_tile[0], spec.cta_tile[1]],
            combined: combined.and_then(|(_, combining)| combining.in_memory()),
            by_element: combined.is_some(),
            tiled: &|copy| Ok(make_tiled_copy_c(copy, &mma.tiled)?),
        };
        // The store of the first output is planned already.
        let known = plan.step(name, hop).cloned();
        let step = match known {
            Some(step) if first.as_deref() == Some(name) => Some(step),
            _ => {
                let step = moves::step(spec, chooser, (operand, hop), &shared)?;
                if let Some(step) = &step {
                    assume(plan, operand, &step.atom, &hop.key(name));
                    plan.steps.push(step.clone());
                }
                step
            }
        };
        let Some(step) = step else { continue };
        if let Some((number, _)) = combined {
            combine::plan(chooser, &mut flow, number, (at, &step, plan))?;
        }
        flow.nodes[at].held = held(operand, &step);
    }
    elements(chooser, &mut flow);
    flow.along = 1;
    flow.vector = i64::from(together);
    plan.flow = Some(flow);
    Ok(())
}

/// How registers hold what a step moves; what is as wide as the sums is held as they are.
fn held(operand: &Operand, step: &Step) -> [Option<Packing>; 2] {
    match operand.dtype.bits() >= 32 {
        true => [Some(computed(operand.dtype)); 2],
        false => moves::held(operand, step),
    }
}
