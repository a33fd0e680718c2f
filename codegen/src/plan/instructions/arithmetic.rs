//! The code of a flow's maps and folds: atoms chosen for what is computed.

use std::sync::Arc;

use tilewright_formula::functions::Op;
use tilewright_formula::{Expr, ExprKind, ValueType};

use crate::atoms::model::RegType;
use crate::dtype::DType;
use crate::element::{self, Element, Packing};
use crate::error::message;
use crate::plan::data::values::{Does, Every, Flow};
use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::paths;

/// How registers hold values that are computed.
pub(crate) fn computed(dtype: DType) -> Packing {
    let ty = match ValueType::of(dtype) {
        ValueType::F32 => RegType::F32,
        ValueType::F64 => RegType::F64,
        ValueType::S32 | ValueType::Bool | ValueType::Raw(_) => RegType::B32,
    };
    Packing { dtype, ty }
}

/// Chooses the code of every map, on both ways.
pub(in crate::plan) fn elements(chooser: &mut Chooser<'_>, flow: &mut Flow) {
    for at in 0..flow.nodes.len() {
        let node = &flow.nodes[at];
        // Factors are held as the MMA takes them.
        if node.summed {
            continue;
        }
        if node.held == [None; 2] {
            let held = Some(computed(node.dtype));
            flow.nodes[at].held = [held; 2];
        }
        let (value, from) = match &flow.nodes[at].does {
            Does::Map(value, from) => (value, from.clone()),
            Does::Carried(value, from) => (value, from.iter().copied().chain([at]).collect()),
            // What a trip reads was loaded by the one before, beside what that one read.
            Does::Load(_) if flow.nodes[at].every == Every::Trip => {
                (&itself(flow.nodes[at].dtype), vec![at])
            }
            Does::Load(_) | Does::Product(..) | Does::Fold(..) => continue,
        };
        let mut found = [None, None];
        let mut problems: Vec<String> = Vec::new();
        for (way, found) in found.iter_mut().enumerate() {
            let held = |node: usize| flow.nodes[node].held[way];
            let inputs: Option<Vec<Packing>> = from.iter().map(|node| held(*node)).collect();
            let (Some(inputs), Some(output)) = (inputs, held(at)) else {
                continue;
            };
            match compile(chooser, value, &inputs, output) {
                Ok(element) => *found = Some(element),
                Err(reasons) => problems.extend(reasons),
            }
        }
        refuse(chooser, problems, &format!("{}: ", flow.nodes[at].name));
        flow.nodes[at].element = found;
    }
}

/// The code that combines two values of a fold.
pub(in crate::plan) fn combine(
    chooser: &mut Chooser<'_>,
    op: Op,
    packing: Packing,
) -> Option<Arc<Element>> {
    let ty = ValueType::of(packing.dtype);
    let expr = |kind: ExprKind| Expr {
        kind,
        ty,
        free: 0,
        span: 0..0,
    };
    let arguments = vec![expr(ExprKind::Parameter(0)), expr(ExprKind::Parameter(1))];
    let value = expr(ExprKind::Apply { op, arguments });
    let found = compile(chooser, &value, &[packing; 2], packing);
    found.map_err(|reasons| refuse(chooser, reasons, "")).ok()
}

/// What holds elements otherwise; nothing, with a violation, where no atom does that.
pub(in crate::plan) fn repacked(
    chooser: &mut Chooser<'_>,
    from: Packing,
    to: Packing,
) -> Option<Arc<Element>> {
    let found = compile(chooser, &itself(from.dtype), &[from], to);
    found.map_err(|reasons| refuse(chooser, reasons, "")).ok()
}

/// The only parameter, of that type.
fn itself(dtype: DType) -> Expr {
    Expr {
        kind: ExprKind::Parameter(0),
        ty: ValueType::of(dtype),
        free: 0,
        span: 0..0,
    }
}

/// The code of a value; else a sentence for each operation that no atom does.
fn compile(
    chooser: &Chooser<'_>,
    value: &Expr,
    inputs: &[Packing],
    output: Packing,
) -> Result<Arc<Element>, Vec<String>> {
    let (catalogue, arch) = (chooser.catalogue, chooser.arch);
    element::compile(catalogue, arch, value, inputs, output).map(Arc::new)
}

/// Notes what no atom does, each once, of the tile of that name.
fn refuse(chooser: &mut Chooser<'_>, mut reasons: Vec<String>, of: &str) {
    reasons.sort();
    reasons.dedup();
    for reason in reasons {
        let message = message!("{}: {of}{reason}: use f32 there", paths::COMPUTE);
        chooser.violate("no-arithmetic", message);
    }
}
