//! Planning rows: maps and folds of the elements of a tile, all in registers.
//!
//! Threads share out a tile in vectors along the mode in which operands are contiguous; every
//! operand follows that one partition, those without a mode with elements that repeat along it. A
//! mode that is folded is held whole by a CTA, or gone along in chunks (`passes`): its threads
//! combine what they have, then lanes, then warps through shared memory.

use tilewright_layout::{CopyAtom, IntTuple, Layout, TiledCopy, make_tiled_copy};

use crate::arch::{MAX_THREADS_PER_CTA, WARP};
use crate::atoms::model::Space;
use crate::error::Result;
use crate::plan::choose::{Chooser, Wanted};
use crate::plan::code::elements;
use crate::plan::combine;
use crate::plan::flow::{self, Flow, Node};
use crate::plan::fold::{Combination, Scratch, Spread};
use crate::plan::model::{Assumption, Hop, Plan, Step};
use crate::plan::moves::{self, Shared, WIDEST_BYTES};
use crate::plan::passes::{self, Passes};
use crate::plan::tiled::{assume, power_of_two_below, power_of_two_in};
use crate::plan::{limits, start, storage, sums, whole};
use crate::spec::model::{self, Auto, Axis, Point, Spec};

/// Vectors that a thread has, unless the spec says how many threads there are.
const VECTORS: i64 = 4;
/// Vectors of a row that a lane has at most where a warp has the whole row.
const MOST_VECTORS: i64 = 8;
/// Threads of a CTA that folds in many vectors a thread before it has more threads.
const FEW_THREADS: i64 = 512;

/// What an operand weighs, against bytes of others, whose elements stand two to a byte.
const SHARED_BYTE: u32 = 1 << 20;

/// How threads share out the tile.
#[derive(Clone, Copy, Debug)]
struct Shares {
    /// The coordinate that vectors run along.
    along: usize,
    /// Threads side by side along it.
    threads_along: i64,
    /// Threads of the CTA, or of the CTAs of a cluster that share the tile.
    threads: i64,
    /// CTAs that share it.
    ctas: i64,
    /// Elements of a vector.
    vector: i64,
    /// The tile.
    tile: [i64; 2],
}

/// Plans the point. `None` when the chooser has violations that leave nothing to plan.
pub(super) fn plan(point: &Point, chooser: &mut Chooser<'_>) -> Result<Option<Plan>> {
    let spec = &point.spec;
    let formula = &spec.compute.formula;
    let known = chooser.violations.len();
    let modes = [0, 1].map(|at| spec.modes().get(at).and_then(|name| formula.mode(name)));
    let mut flow = flow::of(formula, &formula.statements, modes, None, None);
    let Some(shares) = shares(point, chooser, &flow) else {
        return Ok(None);
    };
    let threads = u32::try_from(shares.threads).unwrap_or(MAX_THREADS_PER_CTA);
    (flow.vector, flow.along) = (shares.vector, shares.along);
    flow.passes = passes(spec, chooser, &flow);
    let mut plan = start(point, threads);
    plan.cta_tile = shares.tile.to_vec();
    plan.work.shared_by = u32::try_from(shares.ctas).unwrap_or(1);
    for at in 0..flow.nodes.len() {
        moves(point, chooser, &mut plan, &mut flow, (at, &shares))?;
    }
    if chooser.violations.len() > known {
        return Ok(None);
    }
    elements(chooser, &mut flow);
    folds(chooser, &mut plan, &mut flow, &shares);
    sums::pass_by(&mut flow);
    plan.smem_bytes = sums::place(Some(&mut flow), &plan.cta_tile, (1, plan.smem_bytes));
    plan.flow = Some(flow);
    limits::check_smem(chooser, &plan);
    limits::check_flow_registers(chooser, &mut plan);
    Ok(Some(plan))
}

/// The coordinate that most bytes of the operands are contiguous along.
fn contiguous(spec: &Spec, flow: &Flow) -> usize {
    let mut bytes = [0u32; 2];
    for node in &flow.nodes {
        let operand = node.moved().and_then(|(name, _)| spec.operand(name));
        let Some(operand) = operand else { continue };
        if let Some(at) = moves::contiguous(spec, operand) {
            let weight = match (operand.dtype.per_byte(), node.keeps) {
                // A thread has both elements of a byte, which no other mode gives it.
                (2.., _) => SHARED_BYTE,
                (_, [true, true]) => 64,
                _ => 1,
            };
            bytes[at] += weight * operand.dtype.bytes();
        }
    }
    usize::from(bytes[1] >= bytes[0])
}

/// How threads share out the tile of the spec.
fn shares(point: &Point, chooser: &mut Chooser<'_>, flow: &Flow) -> Option<Shares> {
    let spec = &point.spec;
    let extent = |at: usize| spec.cta_tile.get(at).copied().unwrap_or(1);
    let tile = [extent(0), extent(1)];
    let along = contiguous(spec, flow);
    let across = 1 - along;
    // The widest elements of whole tiles fill the widest vectors.
    let moves = |node: &&Node| node.moved().is_some() && node.combined.is_none();
    let whole = (flow.nodes.iter()).filter(|node| moves(node) && node.keeps[along]);
    let widest = whole.map(|node| node.dtype.bits()).max().unwrap_or(32);
    let mut vector = i64::from((8 * WIDEST_BYTES / widest).max(1));
    while tile[along] % vector != 0 {
        vector /= 2;
    }
    let vectors = tile[0] * tile[1] / vector;
    let ctas = ctas(spec, chooser, flow, along)?;
    let threads = ctas
        * match &spec.threads {
            Auto::Given(threads) => i64::from(*threads),
            Auto::Auto => threads_for(vectors / ctas),
        };
    let vectors_along = tile[along] / vector;
    let folds = folds_along(flow, along);
    // A warp folds a row by itself where its lanes can hold it.
    let wanted = match folds {
        true if ctas == 1 && vectors_along <= i64::from(WARP) * MOST_VECTORS => i64::from(WARP),
        _ => threads,
    };
    let most_along = power_of_two_in(vectors_along).min(power_of_two_in(threads));
    let tiles = |along: i64| threads % along == 0 && tile[across] % (threads / along) == 0;
    let threads_along = match most_along.min(wanted) {
        few if tiles(few) => few,
        _ => most_along,
    };
    let threads_across = threads / threads_along;
    let whole_warps = threads % (ctas * i64::from(WARP)) == 0;
    let shared = ctas == 1 || threads_across == 1;
    if threads % threads_along != 0 || tile[across] % threads_across != 0 || !whole_warps || !shared
    {
        let names = spec.modes();
        let name = |at: usize| names.get(at).map_or("1", String::as_str);
        let message = format!(
            "{threads} threads of {vector} elements do not tile ({},{}): along {} they are \
             {threads_along} side by side, which leaves {threads_across} along {}: change cta_tile \
             or threads",
            tile[0],
            tile[1],
            name(along),
            name(across)
        );
        chooser.violate("threads-tile", message);
        return None;
    }
    Some(Shares {
        along,
        threads_along,
        threads,
        ctas,
        vector,
        tile,
    })
}

/// CTAs that share a tile.
fn ctas(spec: &Spec, chooser: &mut Chooser<'_>, flow: &Flow, along: usize) -> Option<i64> {
    let ctas = spec.cluster[along];
    if spec.cluster[1 - along] * spec.cluster[2] != 1 || ctas > 1 && !folds_along(flow, along) {
        let [m, n, k] = spec.cluster;
        let message = format!(
            "cluster ({m},{n},{k}): CTAs share a tile along the mode that is folded and contiguous \
             alone: use (1,1,1)"
        );
        chooser.violate("cluster", message);
        return None;
    }
    Some(ctas)
}

/// How the mode that is folded is gone along in chunks, where the spec wants that.
fn passes(spec: &Spec, chooser: &mut Chooser<'_>, flow: &Flow) -> Option<Passes> {
    let alternate = match spec.scheduler.passes {
        Auto::Auto | Auto::Given(model::Passes::One) => return None,
        Auto::Given(model::Passes::Many) => false,
        Auto::Given(model::Passes::Alternating) => true,
    };
    let word = if alternate { "alternating" } else { "many" };
    let folded = [0, 1].map(|mode| folds_along(flow, mode));
    let over = folded.iter().position(|folded| *folded)?;
    let names = spec.modes();
    if let (true, [first, second, ..]) = (folded == [true; 2], names) {
        let message = format!(
            "scheduler.passes {word} goes along one mode, {first} and {second} are folded: fold \
             along {second} in a kernel before, or use one"
        );
        chooser.violate("passes", message);
    }
    if spec.cluster != [1; 3] {
        let [m, n, k] = spec.cluster;
        let message = format!(
            "cluster ({m},{n},{k}): the CTAs of a cluster hold folded modes whole, which \
             scheduler.passes {word} does not: use (1,1,1), or passes one"
        );
        chooser.violate("cluster", message);
    }
    Some(passes::of(flow, over, alternate))
}

/// Whether something is folded along that coordinate.
fn folds_along(flow: &Flow, along: usize) -> bool {
    flow.folds.iter().any(|fold| fold.over == along)
}

/// Threads for so many vectors: some vectors for each, and more threads rather than many vectors.
fn threads_for(vectors: i64) -> i64 {
    let warp = i64::from(WARP);
    let few = power_of_two_below(vectors / VECTORS).clamp(warp, FEW_THREADS);
    match vectors / few > 2 * VECTORS {
        true => power_of_two_below(vectors / (2 * VECTORS)).min(i64::from(MAX_THREADS_PER_CTA)),
        false => few,
    }
}

/// The copy of that atom over the tile.
fn tiled(shares: &Shares, copy: CopyAtom) -> Result<TiledCopy> {
    let (along, across) = (shares.along, 1 - shares.along);
    let threads_across = shares.threads / shares.threads_along;
    let (mut shape, mut stride, mut held) = ([0; 2], [0; 2], [1; 2]);
    (shape[along], stride[along]) = (shares.threads_along, 1);
    (shape[across], stride[across]) = (threads_across, shares.threads_along);
    held[along] = shares.vector;
    let threads = Layout::flat(&shape, &stride)?;
    let values = Layout::compact(IntTuple::flat(held))?;
    Ok(make_tiled_copy(copy, &threads, &values)?)
}

/// Plans how a node's elements come from memory and go there, if they do.
fn moves(
    point: &Point,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    flow: &mut Flow,
    (at, shares): (usize, &Shares),
) -> Result<()> {
    let Some((name, hop)) = flow.nodes[at].moved() else {
        return Ok(());
    };
    let Some(operand) = point.spec.operand(name) else {
        return Ok(());
    };
    storage::assume(chooser, plan, operand);
    let combined = flow.combined_by(at);
    let shared = Shared {
        along: shares.along,
        together: u32::try_from(shares.vector).unwrap_or(1),
        tile: shares.tile,
        combined: combined.and_then(|(_, combining)| combining.in_memory()),
        by_element: combined.is_some(),
        tiled: &|copy| tiled(shares, copy),
    };
    let Some(step) = moves::step(&point.spec, chooser, (operand, hop), &shared)? else {
        return Ok(());
    };
    assume(plan, operand, &step.atom, &hop.key(name));
    let looked_into = operand.looked_into().map(|axis| operand.axis(axis));
    if let (Hop::R2g, Some(Axis { mode, table, .. })) = (hop, looked_into) {
        let distinct = Assumption::DistinctEntries {
            table: table.clone().unwrap_or_default(),
            reason: format!("threads store to {name} at once; those outside {mode} store nothing"),
        };
        plan.assumptions.push(distinct);
    }
    if let Some((number, _)) = combined {
        combine::plan(chooser, flow, number, (at, &step, plan))?;
    }
    flow.nodes[at].held = moves::held(operand, &step);
    plan.steps.push(step);
    let last = point.spec.copy.get(&operand.name);
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
    let (Some(passes), Some((name, _))) = (&flow.passes, flow.nodes[at].moved()) else {
        return Ok(());
    };
    let Some(operand) = point.spec.operand(name) else {
        return Ok(());
    };
    let key = Hop::G2rLast.key(name);
    let last = passes.passes.last();
    if !last.is_some_and(|pass| pass.made.contains(&at)) {
        let message = format!("{key}: the last pass does not load {name}: leave it out");
        chooser.violate("schedule", message);
        return Ok(());
    }
    let last = match (given, plan.steps.last()) {
        // It loads as the passes before it do.
        (Auto::Auto, Some(first)) => Some(Step {
            hop: Hop::G2rLast,
            ..first.clone()
        }),
        _ => moves::step(&point.spec, chooser, (operand, Hop::G2rLast), shared)?,
    };
    let Some(last) = last else { return Ok(()) };
    if moves::held(operand, &last) != flow.nodes[at].held {
        let first = Hop::G2r.key(name);
        let message = format!(
            "{key}: {} fills other registers than {first} does: use one that moves as many bytes",
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
        whole::combined(chooser, fold);
        // Threads that have parts of a row: how far apart they are, and how many.
        let [apart, count] = match fold.over == shares.along {
            true => [1, shares.threads_along],
            false => [shares.threads_along, threads_across],
        };
        if count & (count - 1) != 0 || apart & (apart - 1) != 0 {
            let message = format!(
                "compute: {} is of {count} threads' values, which are combined in pairs: use a \
                 power of two of threads",
                fold.how.fold.name()
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
                    offset_bytes: plan.smem_bytes,
                    size_bytes: bytes,
                    write,
                    read,
                });
            }
            let bytes = bytes.checked_next_multiple_of(16).unwrap_or(u32::MAX);
            plan.smem_bytes = plan.smem_bytes.saturating_add(bytes);
        }
        if flow.passes.is_none() {
            let most = shares.tile[fold.over];
            let words = ("is folded", "scheduler.passes many");
            whole::held(chooser, plan, (fold.over, most), words);
        }
        plan.work.held = Some(fold.over);
    }
}
