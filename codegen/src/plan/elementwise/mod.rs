//! Planning rows: maps and folds of the elements of a tile, all in registers.
//!
//! Threads share out a tile in vectors along the mode in which results are contiguous
//! (`thread_tiles`); every operand follows that one partition, those without a mode with elements
//! that repeat along it. What is contiguous along the other mode passes through shared memory, as
//! does what the spec says so of (`staged`, `through_smem`). A mode that is folded is held whole by
//! a CTA, or gone along in chunks: its threads combine what they have, then lanes, then warps
//! through shared memory.

mod staged;
mod thread_tiles;
mod through_smem;

use crate::arch::{MAX_THREADS_PER_CTA, WARP};
use crate::atoms::model::Space;
use crate::error::{Result, message};
use crate::plan::copies::sub_byte;
use crate::plan::copies::tiled_copy::assume;
use crate::plan::copies::vector_width::{self, Shared};
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::folds::{Combination, Scratch, Spread};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Hop, Step};
use crate::plan::data::values::{Flow, Passes};
use crate::plan::elementwise::staged::is_staged;
use crate::plan::elementwise::thread_tiles::Shares;
use crate::plan::instructions::arithmetic::elements;
use crate::plan::instructions::choose::{Chooser, Wanted};
use crate::plan::limits::registers_and_smem;
use crate::plan::smem::arena;
use crate::plan::undecided::undecided;
use crate::plan::values::graph::Begins;
use crate::plan::values::{atomics, chunked_rows, deterministic_sums, graph, whole_rows};
use crate::plan::work_tiles::Fate;
use crate::spec::keys::model::{self, Auto, Point, Spec};
use crate::spec::keys::paths;

/// Plans the point. `None` when the chooser has violations that leave nothing to plan.
pub(super) fn plan(point: &Point, chooser: &mut Chooser<'_>) -> Result<Option<Plan>> {
    let spec = &point.spec;
    let formula = &spec.problem.compute.formula;
    let known = chooser.violations.len();
    let modes = [0, 1].map(|at| {
        spec.problem
            .modes()
            .get(at)
            .and_then(|name| formula.mode(name))
    });
    let one = [Auto::Auto, Auto::Given(model::Passes::One)];
    let begins = Begins::Loads {
        second_first: !one.contains(&spec.schedule.scheduler.passes),
    };
    let mut flow = graph::of(formula, &formula.statements, modes, begins);
    let Some(shares) = Shares::of(spec, chooser, &flow)? else {
        return Ok(None);
    };
    let threads = u32::try_from(shares.threads).unwrap_or(MAX_THREADS_PER_CTA);
    (flow.vector, flow.along) = (shares.vector, shares.along);
    flow.passes = passes(spec, chooser, &flow);
    let mut plan = undecided(point, threads);
    plan.work.shared_by = u32::try_from(shares.ctas).unwrap_or(1);
    for at in 0..flow.nodes.len() {
        moves(point, chooser, &mut plan, &mut flow, (at, &shares))?;
    }
    if chooser.violations.len() > known {
        return Ok(None);
    }
    elements(chooser, &mut flow);
    folds(chooser, &mut plan, &mut flow, &shares);
    deterministic_sums::pass_by(&mut flow);
    plan.flow = Some(flow);
    arena::place(&mut plan);
    registers_and_smem::check_smem(chooser, &plan);
    registers_and_smem::check_flow_registers(chooser, &mut plan);
    Ok(Some(plan))
}

/// How the mode that is folded is gone along in chunks, where the spec wants that.
fn passes(spec: &Spec, chooser: &mut Chooser<'_>, flow: &Flow) -> Option<Passes> {
    let alternate = match spec.schedule.scheduler.passes {
        Auto::Auto | Auto::Given(model::Passes::One) => return None,
        Auto::Given(model::Passes::Many) => false,
        Auto::Given(model::Passes::Alternating) => true,
    };
    let word = if alternate { "alternating" } else { "many" };
    // Of two the second, along which folds go first.
    let over = [1, 0].into_iter().find(|over| flow.has_fold(*over))?;
    if spec.schedule.cluster != [1; 3] {
        let [m, n, k] = spec.schedule.cluster;
        let message = message!(
            "{} ({m},{n},{k}): the CTAs of a cluster hold folded modes whole, which {} {word} does \
             not: use (1,1,1), or passes one",
            paths::CLUSTER,
            paths::PASSES
        );
        chooser.violate("cluster", message);
    }
    Some(chunked_rows::of(flow, over, alternate))
}

/// Plans how a node's elements come from memory and go there, if they do.
fn moves(
    point: &Point,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    flow: &mut Flow,
    (at, shares): (usize, &Shares),
) -> Result<()> {
    let moved = flow.nodes[at].moved();
    let Some((operand, hop)) = moved else {
        return Ok(());
    };
    let operand = point.spec.problem.operand(operand);
    sub_byte::assume(chooser, plan, operand);
    if is_staged(&point.spec, flow, at, (shares.along, shares.ctas)) {
        let known = chooser.violations.len();
        let found = through_smem::plan(&point.spec, chooser, plan, operand, shares)?;
        if let Some((staged, load)) = found {
            flow.nodes[at].staged = Some(staged);
            flow.nodes[at].held = vector_width::held(operand, &load);
            plan.steps.push(load);
        }
        if flow.nodes[at].staged.is_some() || chooser.violations.len() > known {
            return Ok(());
        }
    }
    let combined = flow.combined_by(at);
    let shared = Shared {
        along: shares.along,
        together: u32::try_from(shares.vector).unwrap_or(1),
        tile: shares.tile,
        combined: combined.and_then(|(_, combining)| combining.in_memory()),
        by_element: combined.is_some(),
        tiled: &|copy| shares.tiled(copy),
    };
    let Some(step) = vector_width::step(&point.spec, chooser, (operand, hop), &shared)? else {
        return Ok(());
    };
    assume(plan, operand, &step.atom, &hop.key(&operand.name));
    let looked_into = operand.looked_into().map(|axis| operand.axis(axis));
    let looked_into = looked_into.and_then(|axis| Some((&axis.mode, axis.table?)));
    if let (Hop::R2g, Some((mode, table))) = (hop, looked_into) {
        let distinct = Assumption::DistinctEntries {
            table,
            reason: format!(
                "threads store to {} at once; those outside {mode} store nothing",
                operand.name
            ),
        };
        plan.assumptions.push(distinct);
    }
    if let Some((number, _)) = combined {
        atomics::plan(chooser, flow, number, (at, &step, plan))?;
    }
    flow.nodes[at].held = vector_width::held(operand, &step);
    plan.steps.push(step);
    let last = point.spec.schedule.copy.get(&operand.name);
    let last = last.and_then(|path| path.g2r_last.as_ref());
    match (last, hop) {
        (Some(last), Hop::G2r) => load_last(point, chooser, plan, (flow, at), (last, &shared)),
        _ => Ok(()),
    }
}

/// Plans how the last pass loads a node's elements, where it does so in a way of its own.
fn load_last(
    point: &Point,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    (flow, at): (&Flow, usize),
    (given, shared): (&Auto<String>, &Shared<'_>),
) -> Result<()> {
    let (Some(passes), Some((operand, _))) = (&flow.passes, flow.nodes[at].moved()) else {
        return Ok(());
    };
    let operand = point.spec.problem.operand(operand);
    let name = &operand.name;
    let key = Hop::G2rLast.key(name);
    let last = passes.passes.last();
    if !last.is_some_and(|pass| pass.made.contains(&at)) {
        let message = message!(
            "{}: the last pass does not load {name}: leave it out",
            paths::named(&key)
        );
        chooser.violate("schedule", message);
        return Ok(());
    }
    let last = match (given, plan.steps.last()) {
        // It loads as the passes before it do.
        (Auto::Auto, Some(first)) => Some(Step {
            hop: Hop::G2rLast,
            ..first.clone()
        }),
        _ => vector_width::step(&point.spec, chooser, (operand, Hop::G2rLast), shared)?,
    };
    let Some(last) = last else { return Ok(()) };
    if vector_width::held(operand, &last) != flow.nodes[at].held {
        let first = Hop::G2r.key(name);
        let message = message!(
            "{}: {} fills other registers than {first} does: use one that moves as many bytes",
            paths::named(&key),
            last.atom.id
        );
        chooser.violate("atom-width", message);
    }
    assume(plan, operand, &last.atom, &key);
    plan.steps.push(last);
    Ok(())
}

/// Decides how folds combine values and where warps hand them on, and what launches guarantee.
fn folds(chooser: &mut Chooser<'_>, plan: &mut Plan, flow: &mut Flow, shares: &Shares) {
    let warp = i64::from(WARP);
    let threads_across = shares.threads / shares.threads_along;
    for fold in &mut flow.folds {
        let Combination { dtype, .. } = fold.how;
        whole_rows::combined(chooser, fold);
        // Threads that have parts of a row: how far apart they are, and how many.
        let [apart, count] = match fold.over == shares.along {
            true => [1, shares.threads_along],
            false => [shares.threads_along, threads_across],
        };
        if count & (count - 1) != 0 || apart & (apart - 1) != 0 {
            let message = message!(
                "{}: {} is of {count} threads' values, which are combined in pairs: use a power of \
                 two of {}",
                paths::COMPUTE,
                fold.how.fold.name(),
                paths::THREADS
            );
            chooser.violate("fold-threads", message);
        }
        fold.spread = Spread { apart, count };
        let rows = shares.tile[1 - fold.over] / (shares.threads / count).max(1);
        if fold.spread.crosses_warps() {
            let values = shares.threads / warp * fold.spread.rows_of_a_warp() * rows;
            let bytes = values * i64::from(dtype.bytes());
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            let mut by = |from: Space, to: Space| {
                let wanted = Wanted::vector(from, to, dtype.bytes());
                chooser.copy("compute", &Auto::Auto, wanted)
            };
            let atoms = (by(Space::Rmem, Space::Smem), by(Space::Smem, Space::Rmem));
            if let (Some(write), Some(read)) = atoms {
                fold.scratch = Some(Scratch {
                    size_bytes: bytes,
                    write,
                    read,
                });
            }
        }
        let in_chunks = flow.passes.as_ref().map(|passes| passes.over) == Some(fold.over);
        if !in_chunks {
            let most = shares.tile[fold.over];
            let words = ("is folded", "scheduler.passes many");
            whole_rows::held(chooser, plan, (fold.over, most), words);
        }
        let fate = if in_chunks { Fate::Looped } else { Fate::Whole };
        plan.work.hold(fold.over, fate);
    }
}
