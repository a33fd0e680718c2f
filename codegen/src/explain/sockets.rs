//! Where in its skeleton a kernel computes each part of its formula.
//!
//! Comes in: a plan. Goes out: the formula in the kernel's own names; the skeleton, which is the
//! main loop written by hand; what is computed at each of the skeleton's sockets, and by which
//! instructions; which mode is what, with its stride in each operand.

use serde::Serialize;
use tilewright_formula::Formula;
use tilewright_formula::form::{Contraction, Form};

use crate::plan::data::model::{MmaPlan, Plan};
use crate::plan::data::moves::Hop;
use crate::plan::data::values::{Does, Every, Flow};
use crate::plan::work_tiles::{Fate, ModeFate};
use crate::spec::keys::model::OperandId;

/// A formula in its skeleton.
#[derive(Clone, Debug, Serialize)]
pub struct Sockets {
    /// The formula, a statement each.
    pub formula: Vec<String>,
    /// Its form.
    pub form: &'static str,
    /// The skeleton that computes it.
    pub skeleton: &'static str,
    /// What the skeleton does.
    pub does: &'static str,
    /// What is computed where, in the order of a run.
    pub sockets: Vec<Socket>,
    /// Modes, in the order of the tile's extents.
    pub modes: Vec<ModeUse>,
}

/// One place of a skeleton that takes an expression.
#[derive(Clone, Debug, Serialize)]
pub struct Socket {
    /// Where: `main loop`.
    pub place: &'static str,
    /// What is computed there.
    pub expression: String,
    /// Instructions that do it.
    pub by: Vec<String>,
}

/// What a mode is to the kernel.
#[derive(Clone, Debug, Serialize)]
pub struct ModeUse {
    /// Its name.
    pub mode: String,
    /// What it is: `rows`.
    pub is: &'static str,
    /// Extent of a CTA's tile along it; 1 of an outer mode.
    pub tile: i64,
    /// Each operand's stride along it, in the order of operands; none where it has no such mode.
    pub strides: Vec<(String, Option<String>)>,
}

/// The sockets of a plan's skeleton.
pub fn sockets(plan: &Plan) -> Sockets {
    let computes = &plan.computes;
    let (skeleton, does) = skeleton(plan);
    Sockets {
        formula: computes.text.lines().map(str::to_owned).collect(),
        form: computes.form.name(),
        skeleton,
        does,
        sockets: match &computes.form {
            Form::Contraction(found) => of_product(plan, &computes.formula, found),
            Form::Chain(chain) => of_product(plan, &computes.formula, &chain.first),
            Form::Rows(_) => of_rows(plan, &computes.formula),
        },
        modes: modes(plan),
    }
}

/// The skeleton of a flow that is no product's.
fn skeleton_of(plan: &Plan, flow: &Flow) -> (&'static str, &'static str) {
    let makes = |hop: Hop| plan.steps.iter().any(|step| step.hop == hop);
    match (&flow.passes, flow.folds.is_empty()) {
        (Some(_), _) => (
            "rows in passes",
            "a CTA goes along its rows by chunks, once for each fold that waits for another",
        ),
        (None, false) => (
            "rows in registers",
            "a CTA holds its rows whole; threads fold what they have and hand the rest on",
        ),
        (None, true) if makes(Hop::R2s) => (
            "map through shared memory",
            "threads load vectors, exchange their elements, compute and store others",
        ),
        (None, true) if makes(Hop::G2s) => (
            "map through shared memory",
            "asynchronous copies fill a tile, threads load vectors of it, compute and store them",
        ),
        (None, true) => (
            "map through registers",
            "threads load vectors, compute and store them",
        ),
    }
}

fn skeleton(plan: &Plan) -> (&'static str, &'static str) {
    let fills = |hop: Hop| plan.steps.iter().any(|step| step.hop == hop);
    match (&plan.mma, &plan.flow) {
        (Some(_), _) if plan.roles.is_some() => (
            "warp-specialized product",
            "one warp fills a ring of slots by boxes of tensor maps, warpgroups multiply out of it",
        ),
        (Some(_), _) if fills(Hop::G2s) => (
            "multistage product",
            "asynchronous copies fill a ring ahead, warps multiply fragments that they load of it",
        ),
        (None, Some(flow)) => skeleton_of(plan, flow),
        _ => (
            "synchronous product",
            "threads load a tile through registers into shared memory, then multiply it",
        ),
    }
}

/// Instructions of those hops of an operand.
fn by(plan: &Plan, operand: OperandId, hops: &[Hop]) -> Vec<String> {
    let steps = plan.steps.iter().filter(|step| step.operand == operand);
    let steps = steps.map(|step| (step.hop, &step.atom.id));
    let boxes = plan.box_copies().filter(|copy| copy.operand == operand);
    let boxes = boxes.map(|copy| (copy.hop, &copy.atom.id));
    let all = steps.chain(boxes).filter(|(hop, _)| hops.contains(hop));
    let mut ids: Vec<String> = all.map(|(_, id)| id.clone()).collect();
    ids.dedup();
    ids
}

/// An element of an operand, with its modes in the order of the formula: `b[h,p,k]`.
fn element(plan: &Plan, operand: OperandId) -> String {
    let operand = plan.operand(operand);
    let axes = operand.formula_axes().into_iter();
    let modes: Vec<&str> = axes.map(|axis| axis.mode.as_str()).collect();
    format!("{}[{}]", operand.name, modes.join(","))
}

fn of_product(plan: &Plan, formula: &Formula, found: &Contraction) -> Vec<Socket> {
    let mut sockets = Vec::new();
    let text = |span: &std::ops::Range<usize>| formula.text.get(span.clone()).unwrap_or_default();
    for operand in found.factors.iter().filter_map(|factor| factor.operand) {
        let operand = OperandId(operand);
        let widen = plan.mma.iter().filter_map(|mma| mma.widen.as_ref());
        sockets.push(Socket {
            place: "load",
            expression: element(plan, operand),
            by: by(plan, operand, &[Hop::G2s, Hop::G2r, Hop::R2s, Hop::S2r])
                .into_iter()
                .chain(widen.map(|atom| atom.id.clone()))
                .collect(),
        });
    }
    let mma = |mma: &MmaPlan| mma.atom.id.clone();
    sockets.push(Socket {
        place: "main loop",
        expression: format!("{} in {}", text(&found.sum.span), found.accumulator),
        by: plan.mma.iter().map(mma).collect(),
    });
    if let Some(flow) = &plan.flow {
        let places = [
            "epilogue, load",
            "epilogue, map",
            "epilogue, fold",
            "epilogue, store",
        ];
        sockets.extend(of_flow(plan, formula, flow, places));
    }
    sockets
}

/// What is loaded, computed, folded and stored of a tile's elements, in the order of its nodes.
fn of_flow(plan: &Plan, formula: &Formula, flow: &Flow, places: [&'static str; 4]) -> Vec<Socket> {
    let [load, map, fold, store] = places;
    let mut sockets = Vec::new();
    let nodes = flow.nodes.iter().enumerate();
    for (at, node) in nodes.filter(|(_, node)| !node.summed) {
        // What is made for each trip is made in the loop, of sums of parts.
        let is_of_trip = node.every == Every::Trip || matches!(node.does, Does::Carried(..));
        let in_loop = plan.computes.part().is_some() && is_of_trip;
        let [load, map] = match in_loop {
            true => ["main loop, load", "main loop, map"],
            false => [load, map],
        };
        let (place, expression, atoms) = match &node.does {
            Does::Product(..) => (map, String::new(), Vec::new()),
            Does::Load(operand) => (
                load,
                element(plan, *operand),
                by(
                    plan,
                    *operand,
                    &[Hop::G2s, Hop::G2r, Hop::G2rLast, Hop::R2s, Hop::S2r],
                ),
            ),
            Does::Map(value, _) | Does::Carried(value, _) => {
                let text = formula.text.get(value.span.clone()).unwrap_or_default();
                let codes = node.element[0].iter();
                let calls = codes.flat_map(|element| &element.code.calls);
                let mut atoms: Vec<String> = Vec::new();
                for call in calls {
                    if !atoms.contains(&call.atom.id) {
                        atoms.push(call.atom.id.clone());
                    }
                }
                (map, format!("{} = {}", node.name, text.trim()), atoms)
            }
            Does::Fold(from, number) => {
                let from = flow.nodes.get(*from).map_or("", |node| &node.name);
                let kind = flow.folds.get(*number);
                let kind = kind.map_or("", |fold| fold.how.fold.name());
                let expression = format!("{} = {kind} of {from}", node.name);
                (fold, expression, Vec::new())
            }
        };
        // A cast and a name alone are no work of their own.
        if !(place == map && atoms.is_empty()) {
            sockets.push(Socket {
                place,
                expression,
                by: atoms,
            });
        }
        if let Some(output) = node.stored {
            let expression = match flow.combined_by(at) {
                Some((_, how)) => format!("{}: {how}", element(plan, output)),
                None => element(plan, output),
            };
            sockets.push(Socket {
                place: store,
                expression,
                by: by(plan, output, &[Hop::R2g, Hop::R2s, Hop::S2g]),
            });
        }
    }
    sockets
}

fn of_rows(plan: &Plan, formula: &Formula) -> Vec<Socket> {
    let flow = plan.flow.as_ref();
    flow.map_or(Vec::new(), |flow| {
        of_flow(plan, formula, flow, ["load", "map", "fold", "store"])
    })
}

/// What each mode of the tile is, then the outer ones and that of the planes, of which a tile has
/// all. The first two are the output's: a product's
/// rows and columns.
fn modes(plan: &Plan) -> Vec<ModeUse> {
    let is = |at: usize| match at {
        0 => "rows",
        1 => "columns",
        _ => "summed",
    };
    let of = |mode: &String, is: &'static str, tile: i64| ModeUse {
        mode: mode.clone(),
        is,
        tile,
        strides: plan
            .operands
            .iter()
            .map(|operand| {
                let axis = operand.all_axes().find(|axis| axis.mode == *mode);
                (
                    operand.name.clone(),
                    axis.map(|axis| axis.stride.to_string()),
                )
            })
            .collect(),
    };
    let fates = plan.work.fates().into_iter().enumerate();
    let uses = fates.map(|(at, ModeFate { mode, fate })| {
        let is = match fate {
            Fate::One => "outer",
            Fate::Unrolled(_) => "products",
            Fate::Tiled(_) | Fate::Whole(_) | Fate::Looped(_) => is(at),
        };
        of(&mode, is, fate.extent())
    });
    uses.collect()
}
