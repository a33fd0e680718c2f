//! What is computed of the sums of a product before they are stored: every operand that is read
//! beside the factors comes to the threads that hold the sums it belongs to.

use tilewright_formula::form::Form;
use tilewright_layout::make_tiled_copy_c;

use crate::arch::WARP;
use crate::element::Packing;
use crate::error::{Result, message};
use crate::plan::copies::partition;
use crate::plan::copies::thread_digits::Part;
use crate::plan::copies::tiled_copy::assume;
use crate::plan::copies::vector_width::{self, Shared};
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::folds::Spread;
use crate::plan::data::model::{MmaPlan, Plan};
use crate::plan::data::moves::Hop;
use crate::plan::data::moves::Step;
use crate::plan::data::values::{Does, Every, Flow, Node, Staged};
use crate::plan::instructions::arithmetic::{computed, elements};
use crate::plan::instructions::choose::Chooser;
use crate::plan::limits::overlapping_outputs;
use crate::plan::values::graph::{self, Begins, ProductSite};
use crate::plan::values::{atomics, whole_rows};
use crate::plan::work_tiles::{COLUMNS, Fate};
use crate::spec::keys::model::{Operand, Spec};
use crate::spec::keys::paths;

/// What is computed of a product's sums and where it is stored.
pub(super) fn flow(spec: &Spec) -> Option<Flow> {
    let computes = &spec.problem.compute;
    let formula = &computes.formula;
    let Form::Contraction(found) = &computes.form else {
        return None;
    };
    let modes = [0, 1].map(|at| {
        spec.problem
            .modes()
            .get(at)
            .and_then(|name| formula.mode(name))
    });
    let statements = formula.statements.iter().enumerate();
    let behind =
        statements.filter(|(at, _)| *at == found.sum.statement || found.epilogue.contains(at));
    let behind = behind.map(|(_, statement)| statement);
    let product = ProductSite {
        sum: &found.sum,
        parts: found.parts.as_ref().map(|parts| &parts.sum),
        factors: spec.problem.factors()?.map(|factor| factor.id),
        planes: computes.planes(),
    };
    Some(graph::of(formula, behind, modes, Begins::Product(product)))
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
    for at in 0..flow.nodes.len() {
        flow.nodes[at].staged = staged(plan, &flow.nodes[at]);
        if flow.nodes[at].summed {
            continue;
        }
        let Some((id, hop)) = flow.nodes[at].moved() else {
            continue;
        };
        let operand = spec.problem.operand(id);
        let combined = flow.combined_by(at);
        let shared = Shared {
            along: COLUMNS,
            together,
            tile: [spec.schedule.cta_tile[0], spec.schedule.cta_tile[1]],
            combined: combined.and_then(|(_, combining)| combining.in_memory()),
            by_element: combined.is_some(),
            tiled: &|copy| Ok(make_tiled_copy_c(copy, &mma.tiled)?),
        };
        // The store of the first output is planned already, and so is what loads from slots.
        let known = plan.step(id, hop).cloned();
        let is_known = plan.is_output(id) || flow.nodes[at].staged.is_some();
        let step = match is_known {
            true => known,
            false => {
                let step = vector_width::step(spec, chooser, (operand, hop), &shared)?;
                if let Some(step) = &step {
                    assume(plan, operand, &step.atom, &hop.key(&operand.name));
                    plan.steps.push(step.clone());
                }
                step
            }
        };
        let Some(step) = step else { continue };
        // What boxes store is held as it goes into their buffers.
        let into = plan
            .step(id, Hop::R2s)
            .filter(|_| flow.nodes[at].stored.is_some());
        if let Some((number, _)) = combined {
            atomics::plan(chooser, &mut flow, number, (at, &step, plan))?;
        }
        flow.nodes[at].held = match into {
            Some(into) => [held(operand, into)[0], held(operand, &step)[1]],
            None => held(operand, &step),
        };
    }
    elements(chooser, &mut flow);
    plan_folds(chooser, plan, &mma, &mut flow)?;
    flow.along = COLUMNS;
    flow.vector = i64::from(together);
    plan.flow = Some(flow);
    Ok(())
}

/// How what a node loads for each trip of the main loop comes into shared memory, where it does.
fn staged(plan: &Plan, node: &Node) -> Option<Staged> {
    let (Does::Load(operand), Every::Trip) = (&node.does, node.every) else {
        return None;
    };
    let mut boxes = (plan.roles.iter()).flat_map(|roles| roles.loads(Every::Trip));
    if boxes.any(|load| load.operand == *operand) {
        return Some(Staged::Boxes);
    }
    let by_copies = plan.step(*operand, Hop::G2s).is_some();
    node.summed.then_some(match by_copies {
        true => Staged::Filled,
        false => Staged::Turned(None),
    })
}

/// Whether the epilogue folds results along the columns.
pub(super) fn folds(plan: &Plan) -> bool {
    plan.folds().next().is_some()
}

/// Notes that a tile has all columns that there are, where they are folded, or come in blocks.
pub(super) fn hold_columns(spec: &Spec, chooser: &mut Chooser<'_>, plan: &mut Plan) {
    let is_in_blocks = plan.work.blocks().is_some();
    let why = match (folds(plan), is_in_blocks) {
        (_, true) => "is a block of columns",
        (true, false) => "is folded",
        (false, false) => return,
    };
    if !is_in_blocks {
        plan.work.hold(COLUMNS, Fate::Whole);
    }
    overlapping_outputs::check_blocks(chooser, plan, COLUMNS);
    let words = (why, "fold in a kernel behind this one");
    whole_rows::held(
        chooser,
        plan,
        (COLUMNS, spec.schedule.cta_tile[COLUMNS]),
        words,
    );
    let [m, n, k] = spec.schedule.cluster;
    if n > 1 && is_in_blocks {
        blocks_of_clusters(chooser, plan, n);
    } else if n > 1 {
        let mode = plan.mode(COLUMNS).unwrap_or_default();
        let message = message!(
            "{} ({m},{n},{k}) has {n} CTAs along {mode}, which {why} and of which each tile has \
             all: use ({m},1,{k})",
            paths::CLUSTER
        );
        chooser.violate("cluster", message);
    }
}

/// CTAs of a cluster along the columns make blocks side by side: there are whole clusters of them.
fn blocks_of_clusters(chooser: &mut Chooser<'_>, plan: &mut Plan, count: i64) {
    let Some(blocks) = plan.work.blocks() else {
        return;
    };
    let mode = blocks.mode.clone();
    match plan.computes.formula.constant_of(&mode) {
        Some(extent) if extent % count != 0 => {
            let message = message!(
                "{} has {count} CTAs along {mode}, each of which makes a block of its own, and {} \
                 is {extent}: use 1 along it",
                paths::CLUSTER,
                paths::mode(&mode)
            );
            chooser.violate("cluster", message);
        }
        _ => plan.assumptions.push(Assumption::ExtentMultiple {
            mode,
            multiple: count,
            reason: "CTAs of a cluster make blocks of columns side by side".to_owned(),
        }),
    }
}

/// Decides how folds along the columns are made: threads that have parts of a row are lanes of one
/// warp.
fn plan_folds(
    chooser: &mut Chooser<'_>,
    plan: &Plan,
    mma: &MmaPlan,
    flow: &mut Flow,
) -> Result<()> {
    if flow.folds.is_empty() {
        return Ok(());
    }
    let part = partition::of_mma(plan, mma)?.sums;
    let spread = lanes_of_a_row(&part, i64::from(plan.threads));
    if spread.is_none() {
        let layout = mma.tiled.atom_layout_mnk();
        let along = |mode: usize| layout.mode(mode).and_then(|mode| mode.size().ok());
        let [m, n] = [0, 1].map(|mode| along(mode).unwrap_or(1));
        let mode = plan.mode(COLUMNS).unwrap_or_default();
        let message = message!(
            "{} ({m},{n},1) gives parts of a row to several warps, and {mode} is folded by the \
             lanes of one: use 1 along {mode}",
            paths::MMA_ATOMS
        );
        chooser.violate("fold-threads", message);
    }
    for fold in &mut flow.folds {
        whole_rows::combined(chooser, fold);
        fold.spread = spread.unwrap_or(fold.spread);
    }
    Ok(())
}

/// How lanes stand that have parts of a row of results; nothing where several warps have, or lanes
/// that are no power of two apart.
fn lanes_of_a_row(part: &Part<2>, threads: i64) -> Option<Spread> {
    let warp = i64::from(WARP);
    let row = |thread: i64| part.base(thread)[0];
    let bits = (0..).map(|bit| 1 << bit).take_while(|bit| *bit < warp);
    let same = |bit: &i64| (0..threads).all(|one| row(one) == row(one ^ bit));
    let lanes: i64 = bits.filter(same).sum();
    let apart = match lanes {
        0 => 1,
        lanes => lanes & -lanes,
    };
    let count = lanes / apart + 1;
    let holders = (0..threads).filter(|thread| row(*thread) == row(0)).count() as i64;
    (holders == count && count & (count - 1) == 0).then_some(Spread { apart, count })
}

/// How registers hold what a step moves; what is as wide as the sums is held as they are.
fn held(operand: &Operand, step: &Step) -> [Option<Packing>; 2] {
    match operand.dtype.bits() >= 32 {
        true => [Some(computed(operand.dtype)); 2],
        false => vector_width::held(operand, step),
    }
}
