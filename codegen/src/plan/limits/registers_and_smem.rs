//! Limits a plan must keep, each reported with both numbers and the way out.

use crate::arch::{MAX_THREADS_PER_CTA, REGISTER_BITS, WARP};
use crate::dtype::DType;
use crate::error::{Message, Result, message};
use crate::plan::copies::partition;
use crate::plan::copies::thread_digits::Part;
use crate::plan::data::arena::{Arena, Holds};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Hop, Rows, Step};
use crate::plan::data::values::{Does, Every, Flow, Node, Pass, Staged};
use crate::plan::data::warp_roles::BARRIER_BYTES;
use crate::plan::instructions::choose::Chooser;
use crate::plan::values::atomics;
use crate::plan::work_tiles::SUMMED;
use crate::spec::keys::model::{Auto, Axis, OperandId, Spec};
use crate::spec::keys::paths;

/// Registers a thread needs besides accumulators and fragments: addresses, predicates, loop state.
const OTHER_REGISTERS: i64 = 40;

/// Shared memory of the whole ring.
pub(in crate::plan) fn check_smem(chooser: &mut Chooser<'_>, plan: &Plan) {
    check_arena(chooser, plan, (&plan.arena, plan.stages));
}

/// The same of an arena with so many stages, as the plan may have it.
pub(in crate::plan) fn check_arena(
    chooser: &mut Chooser<'_>,
    plan: &Plan,
    (arena, stages): (&Arena, u32),
) {
    let allowed = plan.arch.smem_max_bytes;
    let all = arena.bytes();
    if all > allowed {
        let tile: Vec<String> = plan.cta_tile().iter().map(i64::to_string).collect();
        let roles = plan.roles.as_ref();
        let barriers = roles.map_or(0, |_| 2 * BARRIER_BYTES);
        let slots = arena.find(Holds::Slots(0));
        let slot = slots.map_or(0, |slots| slots.each);
        let each = slot.saturating_add(barriers).max(1);
        let fixed = all.saturating_sub(each.saturating_mul(stages));
        let of_tiles = roles.and_then(|roles| roles.pipe(Every::WorkTile));
        let past_smem = of_tiles.map_or(Message::default(), |pipe| {
            let loads = pipe.loads.iter().map(|load| plan.operand(load.operand));
            let paths = loads.map(|operand| paths::copy(&operand.name, "g2r").into());
            let paths = Message::join(paths, " and ");
            message!(", or {}, which loads past shared memory", paths)
        });
        // Stages of which one alone fits leave none to load into.
        let fitting = allowed.saturating_sub(fixed) / each;
        let way_out = match stages == 0 || fitting < stages.min(2) {
            true => message!("use a smaller {}{}", paths::CTA_TILE, past_smem),
            false => {
                let fewer = paths::STAGES
                    .with(fitting)
                    .shown(format!("{fitting} stages"));
                message!("use at most {}{}", fewer, past_smem)
            }
        };
        let stages = match stages {
            0 => "what threads hand on of".to_owned(),
            1 => "1 stage of".to_owned(),
            stages => format!("{stages} stages of"),
        };
        let message = message!(
            "{stages} {} {} need {all} bytes of smem; {} allows {allowed}: {}",
            paths::CTA_TILE,
            tile.join("x"),
            plan.arch,
            way_out
        );
        chooser.violate("smem-capacity", message);
    }
}

/// Threads of a CTA, asked for and possible. Whether a CTA can have them.
pub(in crate::plan) fn check_threads(spec: &Spec, chooser: &mut Chooser<'_>, threads: u32) -> bool {
    if threads > MAX_THREADS_PER_CTA {
        let message = message!(
            "the tiled mma has {threads} threads; a CTA has at most {MAX_THREADS_PER_CTA}: use \
             fewer {}",
            paths::MMA_ATOMS
        );
        chooser.violate("threads", message);
    }
    if let Auto::Given(asked) = spec.schedule.threads
        && asked != threads
    {
        let message = match &spec.schedule.mma.atoms {
            Auto::Given(_) => {
                message!(
                    "{} {asked} is not what the tiled mma has: use {threads} or auto",
                    paths::THREADS
                )
            }
            Auto::Auto => message!(
                "{} {asked} is not what the {threads} of the atoms side by side are that the plan \
                 takes first: use auto",
                paths::THREADS
            ),
        };
        chooser.violate("threads", message);
    }
    threads <= MAX_THREADS_PER_CTA
}

/// Threads of a CTA whose warpgroups have roles against those asked for.
pub(in crate::plan) fn check_cta_threads(spec: &Spec, chooser: &mut Chooser<'_>, threads: u32) {
    if let Auto::Given(asked) = spec.schedule.threads
        && asked != threads
    {
        let message = message!(
            "{} {asked} is not what the producer and the consumers have: use {threads} or auto",
            paths::THREADS
        );
        chooser.violate("threads", message);
    }
}

/// Whole warps, and the CTAs that an SM is to hold at a time.
pub(in crate::plan) fn check_residency(chooser: &mut Chooser<'_>, plan: &Plan) {
    let (arch, threads) = (plan.arch, plan.cta_threads());
    if !threads.is_multiple_of(WARP) {
        let message = message!(
            "{} are {threads}, no multiple of a warp's {WARP}: use other {}",
            paths::THREADS,
            paths::MMA_ATOMS
        );
        chooser.violate("threads", message);
    }
    let Some(ctas) = plan.min_ctas_per_sm else {
        return;
    };
    let own = plan.arena.bytes();
    let smem = own.saturating_add(arch.smem_reserved_bytes);
    let by_smem = if own == 0 {
        arch.sm_ctas
    } else {
        arch.sm_smem_bytes / smem
    };
    let limits = [
        (arch.sm_ctas, format!("{arch} holds {} CTAs", arch.sm_ctas)),
        (
            arch.sm_threads / threads.max(1),
            format!(
                "{arch} holds {} threads, a CTA has {threads}",
                arch.sm_threads
            ),
        ),
        (
            by_smem,
            format!(
                "{arch} has {} bytes of smem, a CTA takes {smem}",
                arch.sm_smem_bytes
            ),
        ),
    ];
    for (most, why) in limits.iter().filter(|(most, _)| *most > 0 && ctas > *most) {
        let message = message!(
            "{} is {ctas}; an SM of {why}: use {most} or less",
            paths::MIN_CTAS
        );
        chooser.violate("residency", message);
    }
}

/// Registers that a thread may have, where so many CTAs of such threads share an SM.
fn available_registers(plan: &Plan) -> i64 {
    i64::from(plan.registers_of_a_thread())
}

/// Keys that are written and keep a thread from more registers, or from fewer sums, as the first
/// of ways out. Where they are not, all that there is was tried.
fn more_registers(spec: &Spec, then: &str) -> Message {
    let is_given = [
        (
            "more",
            paths::MMA_ATOMS,
            spec.schedule.mma.atoms != Auto::Auto,
        ),
        ("other", paths::THREADS, spec.schedule.threads != Auto::Auto),
        (
            "a smaller",
            paths::MIN_CTAS,
            spec.schedule.min_ctas_per_sm != Auto::Auto,
        ),
    ];
    let given = is_given.into_iter().filter(|(_, _, given)| *given);
    let all = given.map(|(what, key, _)| message!("{what} {}{then}", key));
    Message::join(all, "")
}

/// Accumulators against the register file.
pub(in crate::plan) fn check_registers(spec: &Spec, chooser: &mut Chooser<'_>, plan: &Plan) {
    let threads = i64::from(plan.threads.max(1));
    let accumulators = spec.schedule.cta_tile[0] * spec.schedule.cta_tile[1] / threads
        * spec.problem.compute.plane_count();
    let accumulators = accumulators * i64::from(spec.problem.accumulator.bits()) / 32;
    let available = available_registers(plan);
    if accumulators + OTHER_REGISTERS > available {
        let message = message!(
            "{accumulators} accumulator registers a thread and {OTHER_REGISTERS} more exceed the \
             {available} of {threads} threads: use {}a smaller {}",
            more_registers(spec, " or "),
            paths::CTA_TILE
        );
        chooser.violate("registers", message);
    }
}

/// Everything that a thread of a gemm whose warps are all alike holds at once, against the register
/// file: accumulators, the fragments of a block along k, or the elements on their way into shared
/// memory. Where the addresses of its copies do not fit beside these, each trip computes them.
pub(in crate::plan) fn check_fragments(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
) -> Result<()> {
    /// Copies of a tile whose addresses are among the other registers, and such where results are
    /// folded behind the loop: with 12 of them and 248 registers counted, ptxas 13.0 spills 4 to 20
    /// bytes of kernels that fold or combine, and nothing of those that do not; with 8, nothing.
    const FEW_COPIES: i64 = 16;
    const FEW_BESIDE_FOLDS: i64 = 8;
    const ADDRESS_REGISTERS: i64 = 2;
    let Some((mma, facts)) = plan
        .mma
        .as_ref()
        .and_then(|mma| Some((mma, mma.atom.mma.as_ref()?)))
    else {
        return Ok(());
    };
    let parts = partition::of_mma(plan, mma)?;
    let held = |part: &Part<2>, dtype: DType| {
        part.values.len() as i64 * i64::from(dtype.bits()) / REGISTER_BITS
    };
    let [_, a, b, c] = facts.types;
    let buffers = if plan.stages > 1 { 2 } else { 1 };
    let planes = plan.planes();
    let [of_a, of_b] = &parts.factors;
    let elements = of_a.values.len() as i64 + planes * of_b.values.len() as i64;
    let raw = if mma.widen.is_some() { elements } else { 0 };
    let fragments = (held(of_a, a) + planes * held(of_b, b) + raw) * buffers;
    let [passing, copies] = on_their_way(plan)?;
    let accumulators = planes * held(&parts.sums, c);
    let folds = plan.folds().next().is_some() || plan.combinings().next().is_some();
    let few = if folds { FEW_BESIDE_FOLDS } else { FEW_COPIES };
    let addresses = (copies - few).max(0) * ADDRESS_REGISTERS;
    let needed = accumulators + fragments.max(passing);
    let available = available_registers(plan);
    if needed + addresses + OTHER_REGISTERS > available {
        plan.rows = Rows::Computed;
    }
    // Accumulators that exceed it by themselves are told already.
    let told = accumulators + OTHER_REGISTERS > available;
    if !told && needed + OTHER_REGISTERS > available {
        let fewer = match plan.computes.planes() {
            Some(planes) => message!(", or a smaller {}", paths::mode(planes.mode)),
            None => Message::default(),
        };
        let message = message!(
            "{accumulators} accumulator registers a thread, {} of fragments and {OTHER_REGISTERS} \
             more exceed the {available} of {} threads: use {}wider copies, a smaller {} or {}{}",
            fragments.max(passing),
            plan.threads,
            more_registers(spec, ", "),
            paths::PERMUTATION,
            paths::CTA_TILE,
            fewer
        );
        chooser.violate("registers", message);
    }
    Ok(())
}

/// Registers of what a thread of a product has on its way through them into shared memory, or for
/// its epilogue; and its copies of factors whose rows are so far apart as a launch says.
fn on_their_way(plan: &Plan) -> Result<[i64; 2]> {
    let [mut passing, mut copies] = [0; 2];
    let is_load = |step: &&Step| matches!(step.hop, Hop::G2r | Hop::G2s);
    for step in plan.steps.iter().filter(is_load) {
        let operand = plan.operand(step.operand);
        let instances = plan.plane_count(operand) * partition::of_step(step)?.instances() as i64;
        if step.hop == Hop::G2r {
            passing += instances;
        }
        // Constant strides are part of the instructions, and what is loaded behind the loop has its
        // addresses there.
        let named = |axis: &Axis| axis.stride.name().is_some();
        if operand.factor().is_some() && operand.axes.iter().any(named) {
            copies += instances;
        }
    }
    Ok([passing, copies])
}

/// What a thread holds at once of the tiles of a flow, against the register file. Where that is too
/// much, operands that all rows share are loaded late.
pub(in crate::plan) fn check_flow_registers(chooser: &mut Chooser<'_>, plan: &mut Plan) {
    /// Registers besides tiles: addresses, which are few where all is in vectors of one row.
    const OTHERS: i64 = 24;
    let available = available_registers(plan);
    let Some(mut flow) = plan.flow.take() else {
        return;
    };
    let mut most = live_registers(plan, &flow);
    if most + OTHERS > available {
        let tables: Vec<usize> = flow.nodes.iter().filter_map(|node| node.table).collect();
        for (at, node) in flow.nodes.iter_mut().enumerate() {
            let is_load = matches!(node.does, Does::Load(_)) && node.keeps != [true; 2];
            // What lies where a table says needs its entries.
            node.late = is_load && node.table.is_none() && !tables.contains(&at);
        }
        most = live_registers(plan, &flow);
    }
    plan.flow = Some(flow);
    if most + OTHERS > available {
        let threads = plan.cta_threads();
        let more = match threads < MAX_THREADS_PER_CTA {
            true => message!(" or more {}", paths::THREADS),
            false => Message::default(),
        };
        let message = message!(
            "a thread holds {most} registers of tiles at once and {OTHERS} more, which exceed the \
             {available} of {threads} threads on an SM: use a smaller {}{}",
            paths::CTA_TILE,
            more
        );
        chooser.violate("registers", message);
    }
}

/// Most registers that what is turned takes on its way into shared memory, of what its node takes.
fn staging_registers(flow: &Flow, held: impl Fn(usize) -> i64) -> i64 {
    let nodes = flow.nodes.iter().enumerate();
    let transposed = nodes.filter(|(_, node)| matches!(node.staged, Some(Staged::Turned(_))));
    // What leaves one by one has a register each.
    let of = |(at, node): (usize, &Node)| {
        let bits = i64::from(node.dtype.bits());
        held(at) * (REGISTER_BITS / bits).max(1)
    };
    transposed.map(of).max().unwrap_or(0)
}

/// Whether an operand's elements come from global memory each alone.
fn comes_one_by_one(plan: &Plan, operand: OperandId) -> bool {
    let step = plan.step(operand, Hop::G2r);
    let facts = step.and_then(|step| step.atom.copy.as_ref());
    facts.is_some_and(|facts| facts.access_bytes == plan.operand(operand).dtype.bytes())
}

/// Most registers that the tiles of a flow take in a thread at once.
fn live_registers(plan: &Plan, flow: &Flow) -> i64 {
    let threads = i64::from(plan.threads.max(1));
    let held = |at: usize| {
        let node = &flow.nodes[at];
        let extent = |mode: usize| match node.keeps[mode] {
            true => plan.extent(mode),
            false => 1,
        };
        // What comes one by one has a register each.
        let bits = match &node.does {
            Does::Load(operand) if comes_one_by_one(plan, *operand) => REGISTER_BITS,
            _ => i64::from(node.dtype.bits()),
        };
        (extent(0) * extent(1) / threads).max(1) * bits / REGISTER_BITS
    };
    // A tile is held until the last of those that read it is made.
    let most = |made: &[usize], few: &dyn Fn(usize) -> bool| {
        let last = |at: usize| {
            let reads = |one: &usize| flow.nodes[*one].reads().any(|from| from == made[at]);
            made.iter().rposition(reads).unwrap_or(at)
        };
        let begins = |at: usize| match &flow.nodes[made[at]] {
            Node {
                does: Does::Load(_),
                late: false,
                ..
            } => 0,
            _ => at,
        };
        // What is stored is made of a few elements at a time.
        let live = |now: usize| -> i64 {
            let alive = 0..made.len();
            let alive = alive.filter(|at| begins(*at) < now && last(*at) >= now);
            let whole = alive.filter(|at| !few(made[*at]));
            whole.map(|at| held(made[at])).sum()
        };
        (0..made.len()).map(live).max().unwrap_or(0)
    };
    let staging = staging_registers(flow, held);
    let combined = atomics::registers(plan, flow);
    let Some(passes) = &flow.passes else {
        let all: Vec<usize> = (0..flow.nodes.len()).collect();
        return (combined + most(&all, &|_| false)).max(staging);
    };
    // What is made once stays, and so do values that are folded so far.
    let once: i64 = passes.once.iter().flatten().map(|at| held(*at)).sum();
    let of_pass = |pass: &Pass| {
        let so_far = pass.made.iter().map(|at| match flow.nodes[*at].does {
            Does::Fold(from, number) if passes.carries(flow, &flow.nodes[*at]) => {
                let fold = &flow.folds[number];
                let few = fold.spread.count * flow.together(fold.over);
                (held(from) * few / plan.extent(fold.over).max(1)).max(1)
            }
            _ => 0,
        });
        // So is what is folded at once.
        let by_shares = passes.by_shares(flow, pass);
        let few = |at: usize| {
            let is_early = matches!(flow.nodes[at].does, Does::Load(_)) && !flow.nodes[at].late;
            let readers = pass.made.iter().map(|one| &flow.nodes[*one]);
            let mut readers = readers.filter(|node| node.reads().any(|from| from == at));
            let is_fold = |node: &Node| matches!(node.does, Does::Fold(..));
            !is_early && (by_shares || readers.all(is_fold))
        };
        combined + once + so_far.sum::<i64>() + most(&pass.made, &few)
    };
    passes.passes.iter().map(of_pass).max().unwrap_or(0)
}

/// Blocks along k of one tile: fragments are double-buffered in the multistage way, so their number
/// is even.
pub(in crate::plan) fn check_blocks(chooser: &mut Chooser<'_>, plan: &Plan) {
    let blocks = plan.k_blocks();
    if plan.stages > 1 && !blocks.is_multiple_of(2) {
        let k = plan.extent(SUMMED);
        let message = message!(
            "{} k {k} holds {blocks} mma blocks; double-buffered fragments need an even number: \
             use {}",
            paths::CTA_TILE,
            k * 2
        );
        chooser.violate("k-blocks", message);
    }
}
