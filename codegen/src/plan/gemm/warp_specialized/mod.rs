//! The warp-specialized way: boxes of tensor maps fill a swizzled ring, the tensor cores read it
//! through descriptors, and results leave through staging buffers as boxes again.

mod fragments;
mod registers;
mod tma_loads;
mod tma_epilogue_loads;
mod tma_trip_loads;
mod tma_store;
mod warpgroup_mma;

use tilewright_layout::Swizzle;

use crate::arch::WARPGROUP;
use crate::dtype::DType;
use crate::error::{Result, Violation, message};
use crate::plan::data::arena::Holds;
use crate::plan::data::choices::{Choice, LeftOut};
use crate::plan::data::matrix_descriptor::Descriptor;
use crate::plan::data::model::{MmaPlan, Plan};
use crate::plan::data::moves::{BoxCopy, Rows};
use crate::plan::data::teams::{WARPS, specialized};
use crate::plan::data::values::Every;
use crate::plan::data::warp_roles::{BARRIER_BYTES, LoadPipe, Ring, Roles};
use crate::plan::gemm::multistage_copies;
use crate::plan::gemm::warp_specialized::tma_loads::Input;
pub(super) use crate::plan::gemm::warp_specialized::tma_store::stores;
use crate::plan::gemm::warp_specialized::warpgroup_mma::{check_planes, consumers, tiled_mma};
use crate::plan::instructions::choose::Chooser;
use crate::plan::limits::registers_and_smem::check_cta_threads;
use crate::plan::smem::arena;
use crate::plan::work_tiles::parts::PartRule;
use crate::plan::work_tiles::{COLUMNS, Cluster, Source, Work};
use crate::spec::keys::model::{
    Auto, Axis, CopyPath, KernelSchedule, Operand, Point, Raster, SchedulerKind, Spec, Stride,
};
use crate::spec::keys::paths;
use registers::registers;

/// Bytes that tensor maps demand of pointers and strides (PTX ISA, tensor map; CUDA driver API,
/// cuTensorMapEncodeTiled).
const TENSOR_ALIGN: u32 = 16;
/// Largest extent of a box (as above).
const MAX_BOX: i64 = 256;
/// Most slots of the ring that `auto` takes; more have not paid anywhere.
const MOST_STAGES: u32 = 8;
/// Rows of a warpgroup's MMA.
const MMA_ROWS: i64 = 64;
/// Number of the pipe of what each trip reads.
const TRIPS: usize = 0;
/// Number of the pipe of what an epilogue reads.
const AHEAD: usize = 1;
/// Accumulators of a thread beside which the addresses of columns of results are held through the
/// loop where these are far apart: with 152 of them ptxas 13.0 spills a thousand bytes.
const MOST_BESIDE_ADDRESSES: i64 = 128;

/// Plans the point this way. What a violation leaves open is not decided.
pub(super) fn plan(
    point: &Point,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    [a, b, d]: [&Operand; 3],
) -> Result<()> {
    let spec = &point.spec;
    let schedule = match spec.schedule.pipeline.schedule {
        Auto::Given(schedule) => schedule,
        Auto::Auto => KernelSchedule::Cooperative,
    };
    let [along_m, along_n] = consumers(spec, schedule);
    check_planes(spec, chooser, along_n);
    let Some(mma) = tiled_mma(spec, chooser, [a, b], [along_m, along_n])? else {
        return Ok(());
    };
    let consumers = match schedule {
        KernelSchedule::Pingpong => 2,
        _ => (along_m * along_n) as u32,
    };
    plan.threads = (along_m * along_n) as u32 * WARPGROUP;
    check_cta_threads(spec, chooser, (consumers + 1) * WARPGROUP);
    plan.min_ctas_per_sm = Some(1);
    plan.work = work(spec, &plan.work);
    let held = held(spec, plan, &mma, [a, d], [along_m, along_n]);
    let registers = registers(spec, chooser, &plan.work, consumers, held);
    let (mut loads, descriptors) = inputs(spec, chooser, plan, [a, b], &mma)?;
    plan.mma = Some(mma);
    fragments::fragments(spec, chooser, plan, a)?;
    loads.extend(tma_trip_loads::trip_loads(spec, chooser, plan)?);
    multistage_copies::store(spec, chooser, plan, d)?;
    let path = spec.schedule.copy.get(&d.name);
    let by_boxes = path.is_some_and(|path| path.r2s.is_some() || path.s2g.is_some());
    let past_smem = path.is_some_and(CopyPath::is_direct) || leaves_registers(d) && !by_boxes;
    let stored = match past_smem {
        true => None,
        false => tma_store::output(spec, chooser, plan, d, [along_m, along_n])?,
    };
    let descriptors = <[Option<Descriptor>; 2]>::try_from(descriptors);
    let (true, Ok(descriptors)) = (past_smem || stored.is_some(), descriptors) else {
        return Ok(());
    };
    let (store, staging_buffers) = stored.unzip();
    let mut roles = Roles {
        pipes: Vec::new(),
        schedule,
        teams: specialized(consumers, registers),
        in_flight: in_flight(spec, chooser, plan),
        descriptors,
        store,
        staging_buffers: staging_buffers.unwrap_or_default(),
    };
    let warps = roles.consumers_of_a_tile() * WARPS;
    roles.pipes.push(LoadPipe {
        every: Every::Trip,
        ring: ring(TRIPS, &loads, warps * plan.work.cluster().neighbours()),
        loads,
    });
    check_partials(spec, chooser, &plan.work);
    let slots = roles.staging_sets();
    let sharers = (slots, roles.consumers_of_a_tile());
    let epilogue_loads = tma_epilogue_loads::epilogue_loads(spec, chooser, plan, sharers)?;
    roles.pipes.extend(epilogue_loads);
    plan.roles = Some(roles);
    Ok(())
}

/// What a thread holds in registers, accumulators and a step's fragments, and the columns of its
/// products; decides where the addresses of results are computed.
fn held(
    spec: &Spec,
    plan: &mut Plan,
    mma: &MmaPlan,
    [a, d]: [&Operand; 2],
    [along_m, along_n]: [i64; 2],
) -> [i64; 2] {
    let planes = spec.problem.compute.plane_count();
    let atom_n = spec.schedule.cta_tile[1] / along_n;
    // Groups of rows, each with accumulators; sums of parts are beside those of one.
    let rows = spec.schedule.cta_tile[0] / (MMA_ROWS * along_m);
    let part = spec.problem.compute.part().map_or(0, |_| atom_n / 2);
    let accumulators = rows * planes * atom_n / 2 + part;
    if accumulators > MOST_BESIDE_ADDRESSES && d.contiguous_axis() != Some(COLUMNS) {
        plan.rows = Rows::Computed;
    }
    let fragments = match mma.from_registers() {
        true => rows * fragments::registers(spec, a),
        false => 0,
    };
    [accumulators + fragments, planes * atom_n]
}

/// Whether an operand has other elements for each part of the sums.
fn is_of_trips(spec: &Spec, operand: &Operand) -> bool {
    let part = spec.problem.compute.part();
    let mut apart = operand.axes_apart();
    part.is_some_and(|part| apart.any(|axis| axis.mode == part))
}

/// Groups of products that run on while the next are issued: one where a second slot holds what the
/// next read.
fn in_flight(spec: &Spec, chooser: &mut Chooser<'_>, plan: &Plan) -> u32 {
    let single = spec.schedule.pipeline.stages == Auto::Given(1);
    let in_parts = spec.problem.compute.part();
    let in_registers = plan.mma.as_ref().is_some_and(MmaPlan::from_registers);
    if let (true, Auto::Given(groups @ 1..)) = (in_registers, &spec.schedule.pipeline.in_flight) {
        let message = message!(
            "{} {groups} lets products run on while registers that they read are loaded for the \
             next trip: use 0",
            paths::IN_FLIGHT
        );
        chooser.violate("schedule", message);
    }
    if let (Some(part), Auto::Given(groups @ 1..)) = (&in_parts, &spec.schedule.pipeline.in_flight)
    {
        let message = message!(
            "{} {groups} lets products run on into the next trip, and each part along {part} is \
             scaled when its own are done: use 0",
            paths::IN_FLIGHT
        );
        chooser.violate("schedule", message);
    }
    let most = u32::from(!single && in_parts.is_none() && !in_registers);
    spec.schedule.pipeline.in_flight.unwrap_or_else(|| most)
}

/// A slot that products in flight read is released when they are done: the next ones need another.
fn check_slots(chooser: &mut Chooser<'_>, stages: u32, in_flight: u32) {
    if stages <= in_flight {
        let message = message!(
            "{} {stages} leaves no slot to load into while {} {in_flight} groups of products read \
             theirs: use {} stages, or in_flight {}",
            paths::STAGES,
            paths::IN_FLIGHT,
            in_flight + 1,
            stages.saturating_sub(1)
        );
        chooser.violate("stages", message);
    }
}

/// How output tiles come to the CTAs of a warp-specialized kernel.
fn work(spec: &Spec, alone: &Work) -> Work {
    Work {
        source: match u32::try_from(spec.schedule.cluster[2]) {
            Ok(ctas @ 2..) => Source::Parts(PartRule { ctas }),
            _ => Source::of(
                (spec.schedule.scheduler.kind).unwrap_or_else(|| SchedulerKind::Persistent),
            ),
        },
        ctas: spec.schedule.scheduler.ctas.given(),
        cluster: Some(Cluster([
            spec.schedule.cluster[0] as u32,
            spec.schedule.cluster[1] as u32,
        ])),
        ..alone.clone()
    }
}

/// What tiles cut along k for a cluster demand.
fn check_parts(spec: &Spec, chooser: &mut Chooser<'_>, work: &Work) {
    let [m, n, k] = spec.schedule.cluster;
    if work.parts().is_none() {
        return;
    }
    if let Auto::Given(kind @ (SchedulerKind::Persistent | SchedulerKind::StreamK)) =
        spec.schedule.scheduler.kind
    {
        let message = message!(
            "{} ({m},{n},{k}): each CTA of a cluster along k has a part of one tile, by {} {} \
             several of them: use kind single, or {} ({m},{n},1)",
            paths::CLUSTER,
            paths::KIND,
            kind.name(),
            paths::CLUSTER
        );
        chooser.violate("cluster", message);
    }
    if spec.schedule.pipeline.schedule == Auto::Given(KernelSchedule::Pingpong) {
        let message = message!(
            "{} ({m},{n},{k}): each CTA of a cluster along k has a part of one tile, and by \
             pingpong each consumer has tiles of its own: use {} cooperative, or {} ({m},{n},1)",
            paths::CLUSTER,
            paths::SCHEDULE,
            paths::CLUSTER
        );
        chooser.violate("cluster", message);
    }
}

/// What sums that are handed on demand.
pub(super) fn check_partials(spec: &Spec, chooser: &mut Chooser<'_>, work: &Work) {
    check_parts(spec, chooser, work);
    let whole = match work.cluster {
        Some(_) => SchedulerKind::Persistent.name(),
        None => SchedulerKind::Single.name(),
    };
    if work.cuts_tiles() && spec.problem.accumulator != DType::F32 {
        let (key, way_out) = match work.parts() {
            Some(_) => (
                paths::CLUSTER.into(),
                message!("{} (1,1,1)", paths::CLUSTER),
            ),
            None => (
                message!("{} stream_k", paths::KIND),
                message!("kind {whole}"),
            ),
        };
        let message = message!(
            "{} adds partial sums of f32, accumulator is {}: use {}",
            key,
            spec.problem.accumulator,
            way_out
        );
        chooser.violate("stream-k", message);
    }
    if work.spans().is_none() {
        return;
    }
    // Where a number that is one of two lies on so short a curve, no proof is found that it does.
    if let Raster::Hilbert(side @ (2 | 4)) = work.raster {
        let message = message!(
            "{} hilbert_{side} is not shown to stay inside where {} stream_k cuts tiles: use \
             hilbert_8, or kind {whole}",
            paths::RASTER,
            paths::KIND
        );
        chooser.violate("stream-k", message);
    }
}

/// The loads of a and b and how the MMA finds them; none of what violates a limit.
fn inputs(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    [a, b]: [&Operand; 2],
    mma: &MmaPlan,
) -> Result<(Vec<BoxCopy>, Vec<Option<Descriptor>>)> {
    let [m, n, k] = [
        spec.schedule.cta_tile[0],
        spec.schedule.cta_tile[1],
        spec.schedule.cta_tile[2],
    ];
    let planes = spec.problem.compute.plane_count();
    let (mut loads, mut descriptors) = (Vec::new(), Vec::new());
    let Some(facts) = &mma.atom.mma else {
        return Ok((loads, descriptors));
    };
    let [mma_m, mma_n, mma_k] = facts.mnk;
    for (operand, rows, planes, mma_rows, shared_along) in
        [(a, m, 1, mma_m, 1), (b, n, planes, mma_n, 0)]
    {
        let input = Input {
            operand,
            tile: [planes * rows, k],
            planes,
            mma: [mma_rows, mma_k],
            atom: &mma.atom,
            shared_along,
            parts: spec.schedule.cluster[shared_along] as u32,
        };
        if let Some((load, descriptor)) = tma_loads::input(spec, chooser, plan, &input)? {
            loads.push(load);
            descriptors.push(descriptor);
        }
    }
    Ok((loads, descriptors))
}

/// The ring of the pipe of that number, for those loads; how many slots it has is decided when all
/// else has its place.
fn ring(number: usize, loads: &[BoxCopy], empty_arrivals: u32) -> Ring {
    let bytes: i64 = loads
        .iter()
        .map(|load| load.box_bytes() * load.all_places().count() as i64)
        .sum();
    Ring {
        number,
        stages: 0,
        full_arrivals: 1,
        bytes: bytes as u32,
        empty_arrivals,
    }
}

/// Lays out shared memory, when all is known that has a place there: the first pipe has as many
/// slots as fit beside all else.
pub(super) fn place(spec: &Spec, chooser: &mut Chooser<'_>, plan: &mut Plan) {
    arena::place(plan);
    let slot = plan.slot_bytes(Holds::Slots(TRIPS)).max(1) + 2 * BARRIER_BYTES;
    let room = plan.arch.smem_max_bytes.saturating_sub(plan.arena.bytes());
    let stages =
        (spec.schedule.pipeline.stages).unwrap_or_else(|| (room / slot).clamp(2, MOST_STAGES));
    let Some(roles) = &mut plan.roles else {
        return;
    };
    if let Some(first) = roles.pipes.first_mut() {
        first.ring.stages = stages;
    }
    plan.stages = stages;
    check_slots(chooser, stages, roles.in_flight);
    arena::place(plan);
    if spec.schedule.pipeline.stages == Auto::Auto && stages < MOST_STAGES {
        chooser.choices.push(Choice {
            key: "pipeline.stages".to_owned(),
            taken: stages.to_string(),
            left_out: vec![LeftOut {
                candidate: (stages + 1).to_string(),
                reasons: vec![Violation::new("smem-capacity", one_more(plan, slot))],
            }],
        });
    }
}

/// What a slot more of so many bytes would need.
fn one_more(plan: &Plan, slot: u32) -> String {
    format!(
        "{} stages need {} bytes of smem; {} allows {}",
        plan.stages + 1,
        plan.arena.bytes().saturating_add(slot),
        plan.arch,
        plan.arch.smem_max_bytes
    )
}

/// The hardware's swizzle of that width, on elements of that size; none for 16 bytes.
fn swizzle_of(width: i64, bytes: i64) -> Result<Swizzle> {
    let bits = i64::from((width / 16).ilog2());
    if bits == 0 {
        return Ok(Swizzle::NONE);
    }
    Ok(Swizzle::new(bits, 4 - i64::from(bytes.ilog2()), 3)?)
}

/// Modes of the tensor that an operand is to its boxes: those of its tile, then those apart.
fn rank(operand: &Operand) -> u32 {
    u32::try_from(operand.all_axes().count()).unwrap_or(u32::MAX)
}

/// Whether results leave from registers where nothing is said: no boxes have rows of theirs.
pub(super) fn leaves_registers(d: &Operand) -> bool {
    *d.stride(1) != Stride::Const(1) && tma_store::stored_along(d).is_none()
}

/// Why no tensor map describes the operand, whatever the problem (CUDA driver API,
/// cuTensorMapEncodeTiled).
pub(super) fn map_misfit(operand: &Operand) -> Option<String> {
    let Some(contiguous) = operand.contiguous_axis() else {
        let mut apart = operand.axes_apart();
        return Some(match apart.find(|axis| axis.stride == Stride::Const(1)) {
            Some(Axis { mode, .. }) => format!(
                "has stride 1 along {mode}, of which a box has one: tensor maps need it along \
                 {} or {}: use another layout, or schedule multistage",
                operand.axis(0).mode,
                operand.axis(1).mode
            ),
            None => no_stride_one(operand),
        });
    };
    let element = i64::from(operand.dtype.bytes());
    let unit = i64::from(TENSOR_ALIGN);
    let misfit = |axis: &Axis| {
        let Stride::Const(stride) = axis.stride else {
            return None;
        };
        let bytes = stride.saturating_mul(element);
        let mode = &axis.mode;
        match (stride, bytes % unit) {
            // No other stride repeats elements.
            (0, _) => Some(format!(
                "has stride 0 along {mode}: tensor maps need a positive one: use schedule \
                 multistage"
            )),
            (_, 0) => None,
            _ => {
                let multiple = unit / element;
                Some(format!(
                    "has stride {stride} along {mode}, {bytes} bytes: tensor maps need a positive \
                     multiple of {unit}: use {}, or schedule multistage",
                    (stride.max(1) - 1)
                        .saturating_div(multiple)
                        .saturating_add(1)
                        * multiple
                ))
            }
        }
    };
    let others = operand.all_axes().enumerate();
    let mut others = others.filter(|(at, _)| *at != contiguous);
    others.find_map(|(_, axis)| misfit(axis))
}

/// That no axis of an operand is contiguous, and the axes along which one may be: tensor cores read
/// 16-bit elements either way, all others along what is summed alone.
fn no_stride_one(operand: &Operand) -> String {
    const WIDENED: [DType; 3] = [DType::F16, DType::BF16, DType::F32];
    let [rows, summed] = [0, 1].map(|axis| operand.axis(axis).mode.as_str());
    let along = match operand.dtype.bits() {
        16 => format!("{summed} or {rows}"),
        _ => summed.to_owned(),
    };
    let by_registers = match WIDENED.contains(&operand.dtype) {
        true => ", or name an mma of registers in mma.atom, for which elements come one by one",
        false => "",
    };
    format!("has no stride 1: tensor maps need one: give it stride 1 along {along}{by_registers}")
}

/// One value for the contiguous mode, one for the other.
fn by_mode(contiguous: usize, along: i64, across: i64) -> [i64; 2] {
    if contiguous == 0 {
        [along, across]
    } else {
        [across, along]
    }
}
