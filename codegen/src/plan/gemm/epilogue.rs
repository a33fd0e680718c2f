//! What is computed of the sums of a product before they are stored: every operand that is read
//! beside the factors comes to the threads that hold the sums it belongs to.

use std::sync::Arc;

use tilewright_formula::form::Form;
use tilewright_layout::make_tiled_copy_c;

use crate::atoms::model::{Atom, OperandKind, RegType};
use crate::element::Packing;
use crate::error::Result;
use crate::plan::choose::{Chooser, Wanted};
use crate::plan::code::elements;
use crate::plan::flow::{self, Does, Flow};
use crate::plan::model::{Hop, MmaPlan, Plan, Step};
use crate::plan::partition;
use crate::plan::tiled::{assume, check_strides, copy_of, values};
use crate::spec::model::{Auto, Operand, Spec, Stride};

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
    Some(flow::of(formula, behind, modes, Some(&found.sum)))
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
    let first = plan.output().map(|output| output.name.clone());
    for at in 0..flow.nodes.len() {
        let node = &flow.nodes[at];
        let (name, hop) = match (&node.does, &node.stored) {
            (Does::Load(name), _) => (name.clone(), Hop::G2r),
            (_, Some(name)) => (name.clone(), Hop::R2g),
            _ => continue,
        };
        let Some(operand) = spec.operand(&name) else {
            continue;
        };
        // The store of the first output is planned already.
        let known = plan.step(&name, hop).cloned();
        let step = match known {
            Some(step) if first.as_ref() == Some(&name) => Some(step),
            _ => {
                let step = step(spec, chooser, &mma, (operand, hop, pairs))?;
                if let Some(step) = &step {
                    let what = format!("copy.{name}.{}", hop.name());
                    assume(plan, operand, &step.atom, &what);
                    plan.steps.push(step.clone());
                }
                step
            }
        };
        let Some(step) = step else { continue };
        flow.nodes[at].held = held(operand, &step);
    }
    elements(chooser, &mut flow);
    flow.along = 1;
    flow.vector = if pairs { 2 } else { 1 };
    plan.flow = Some(flow);
    Ok(())
}

/// How registers hold what a step moves, whole vectors and single elements.
fn held(operand: &Operand, step: &Step) -> [Option<Packing>; 2] {
    let dtype = operand.dtype;
    let packing = |ty: RegType| Packing { dtype, ty };
    if dtype.bits() >= 32 {
        return [Some(crate::plan::code::computed(dtype)); 2];
    }
    let register = |atom: &Atom| {
        let types = atom.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::RegsIn { ty, .. } | OperandKind::RegsOut { ty, .. } => Some(ty),
            _ => None,
        });
        types.map(packing)
    };
    let whole = register(&step.atom);
    let edge = step.element_atom.as_ref().and_then(|atom| register(atom));
    [whole, edge.or(whole)]
}

/// Which coordinate of the results runs along each axis of an operand; none of one along what is
/// summed.
fn axes_of(spec: &Spec, operand: &Operand) -> Option<Vec<usize>> {
    let modes = spec.modes();
    (operand.axes.iter())
        .map(|axis| modes.iter().take(2).position(|mode| *mode == axis.mode))
        .collect()
}

/// The copy of an operand between memory and the threads that hold the sums.
fn step(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    mma: &MmaPlan,
    (operand, hop, pairs): (&Operand, Hop, bool),
) -> Result<Option<Step>> {
    let name = &operand.name;
    let what = format!("copy.{name}.{}", hop.name());
    let axes = axes_of(spec, operand);
    let Some(axes) = axes else {
        let message = format!(
            "operand {name} lies along a mode that is summed: compute with it in a kernel before"
        );
        chooser.violate("epilogue-operand", message);
        return Ok(None);
    };
    let path = spec.copy.get(name).cloned().unwrap_or_default();
    let given = match hop {
        Hop::G2r => path.g2r,
        _ => path.r2g,
    };
    let given = given.unwrap_or_default();
    let along = axes.iter().position(|coordinate| *coordinate == 1);
    let together = match along {
        Some(axis) if pairs && *operand.stride(axis) == Stride::Const(1) => 2,
        _ => 1,
    };
    let (from, to) = hop.spaces();
    let element = operand.dtype.bytes();
    let wanted = |count: u32| Wanted::vector(from, to, count * element);
    let candidates: Vec<Arc<Atom>> = match &given {
        Auto::Given(_) => (chooser.copy(&what, &given, wanted(together)))
            .into_iter()
            .collect(),
        Auto::Auto => chooser.widest(&what, (1..=together).rev().map(wanted)),
    };
    chooser.first(&what, candidates, |chooser, atom| {
        let Some(copy) = copy_of(atom, operand.dtype)? else {
            let message = format!(
                "{what}: {} is narrower than one {}: choose auto",
                atom.id, operand.dtype
            );
            chooser.violate("atom-width", message);
            return Ok(None);
        };
        let count = values(&copy)?;
        if count > i64::from(together) {
            let message = format!(
                "{what}: {} moves {count} elements, a thread holds {together} side by side: \
                 choose auto",
                atom.id
            );
            chooser.violate("atom-width", message);
            return Ok(None);
        }
        if !check_strides(chooser, operand, along.unwrap_or(0), atom, &what) {
            return Ok(None);
        }
        let single = Wanted::vector(from, to, element);
        Ok(Some(Step {
            operand: name.clone(),
            hop,
            atom: atom.clone(),
            element_atom: match count > 1 {
                true => chooser.copy(&what, &Auto::Auto, single),
                false => None,
            },
            tiled: make_tiled_copy_c(copy, &mma.tiled)?,
            tile: [spec.cta_tile[0], spec.cta_tile[1]],
            axes: axes.clone(),
        }))
    })
}
