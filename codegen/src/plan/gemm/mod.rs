//! Planning a product of two matrices: `d = a · bᵀ` with `a: (m,k)`, `b: (n,k)`, `d: (m,n)`.
//!
//! Three ways lead through it. *Specialized*: boxes of tensor maps fill a swizzled ring that the
//! tensor cores read themselves; one warpgroup loads, the others compute. *Multistage*: 16-byte
//! asynchronous copies fill a swizzled ring, ldmatrix and tensor-core MMAs empty it; it takes
//! operands of 16 and 32 bits contiguous along either mode, of 8 along k. *Synchronous*:
//! element by element through registers, one fma a value; it takes every layout and alignment.

mod tiled_mma;
mod epilogue;
mod multistage_copies;
mod warp_specialized;
mod atoms;

use std::sync::Arc;

pub(super) use atoms::{across_by_itself, others as other_atoms, roles_by_itself};

use crate::arch::{ARCHES, Arch};
use crate::atoms::model::Atom;
use crate::error::{Message, Result, message};
use crate::plan::data::arena::Holds;
use crate::plan::data::model::Plan;
use crate::plan::instructions::choose::Chooser;
use crate::plan::limits::registers_and_smem::{
    check_blocks, check_fragments, check_registers, check_smem, check_threads,
};
use crate::plan::smem::arena;
use crate::plan::smem::swizzle_search::placed_bytes;
use crate::plan::supported::main_loops::{self, MainLoop};
use crate::plan::undecided::undecided;
use crate::plan::work_tiles::{SUMMED, Source, Work};
use crate::spec::keys::model::{
    Auto, CopyPath, KernelSchedule, Operand, Point, SchedulerKind, Spec,
};
use crate::spec::keys::paths;

/// Plans the point. What a violation leaves open is not decided, so that everything else that can
/// be known is reported with it; `None` when nothing can.
pub(super) fn plan(point: &Point, chooser: &mut Chooser<'_>) -> Result<Option<Plan>> {
    let spec = &point.spec;
    let Some([a, b, d]) = spec.problem.product() else {
        return Ok(None);
    };
    let inputs = [
        (a, spec.schedule.cta_tile[0]),
        (b, spec.schedule.cta_tile[1]),
    ];
    let mut plan = undecided(point, 0);
    plan.flow = epilogue::flow(spec);
    epilogue::hold_columns(spec, chooser, &mut plan);
    if wants_roles(spec, chooser, [a, b, d]) {
        if !arch_has_roles(spec, chooser) {
            return Ok(None);
        }
        check_part(spec, chooser);
        main_loops::check(spec, chooser, MainLoop::Specialized);
        warp_specialized::plan(point, chooser, &mut plan, [a, b, d])?;
        computed(spec, chooser, &mut plan)?;
        warp_specialized::place(spec, chooser, &mut plan);
        check_smem(chooser, &plan);
        return Ok(Some(plan));
    }
    if let Some(part) = spec.problem.compute.part() {
        parts_want_roles(spec, chooser, &part);
        return Ok(None);
    }
    let multistage = wants_multistage(spec, chooser, a, b);
    let way = if multistage {
        MainLoop::Multistage
    } else {
        MainLoop::Synchronous
    };
    main_loops::check(spec, chooser, way);
    if multistage {
        plan.work = cut_along_k(spec, plan.work);
        warp_specialized::check_partials(spec, chooser, &plan.work);
    }
    plan.stages = stages(spec, chooser, [a, b], multistage);
    let tiles = tiled_threads(spec, chooser, &mut plan, [a, b], multistage)?;
    if tiles {
        for (operand, rows) in inputs {
            let tile = [rows, spec.schedule.cta_tile[2]];
            if multistage {
                multistage_copies::multistage_operand(spec, chooser, &mut plan, operand, tile)?;
            } else {
                multistage_copies::synchronous_operand(spec, chooser, &mut plan, operand, tile)?;
            }
        }
        multistage_copies::store(spec, chooser, &mut plan, d)?;
        computed(spec, chooser, &mut plan)?;
        arena::place(&mut plan);
        check_blocks(chooser, &plan);
        check_fragments(spec, chooser, &mut plan)?;
    } else {
        let bytes = inputs.map(|(operand, rows)| {
            let rows = rows.saturating_mul(plan.plane_count(operand));
            placed_bytes(
                rows.saturating_mul(spec.schedule.cta_tile[2]),
                operand.dtype,
            )
        });
        let (slot, stages) = (bytes[0].saturating_add(bytes[1]), plan.stages.max(1));
        plan.arena.put(Holds::Slots(0), stages, slot);
    }
    check_smem(chooser, &plan);
    Ok(Some(plan))
}

/// The work of a kernel whose warps are all alike, whose tiles may be cut along k.
fn cut_along_k(spec: &Spec, alone: Work) -> Work {
    let scheduler = &spec.schedule.scheduler;
    match scheduler.kind {
        Auto::Given(kind @ SchedulerKind::StreamK) => Work {
            source: Source::of(kind),
            ctas: scheduler.ctas.given(),
            ..alone
        },
        _ => alone,
    }
}

/// A step of the main loop makes a whole part of a sum, where this has parts.
fn check_part(spec: &Spec, chooser: &mut Chooser<'_>) {
    let (Some(part), Some(summed)) = (
        spec.problem.compute.part(),
        spec.problem.modes().get(SUMMED),
    ) else {
        return;
    };
    let Some(extent) = spec.problem.compute.formula.constant_of(summed) else {
        return;
    };
    let tile = spec.schedule.cta_tile[SUMMED];
    if tile != extent {
        let message = message!(
            "{} has {tile} of the {extent} along {summed} that each part along {part} sums: use \
             {extent}",
            paths::CTA_TILE
        );
        chooser.violate("whole-mode", message);
    }
}

/// Refuses sums of parts of a kernel whose warps are all alike.
fn parts_want_roles(spec: &Spec, chooser: &mut Chooser<'_>, part: &str) {
    let arches: Vec<&str> = arches_with_roles(spec, chooser)
        .map(|arch| arch.name)
        .collect();
    let way_out = match arches.is_empty() {
        true => "use types that an mma of sm_90a reads from shared memory".into(),
        false => message!(
            "use {}, with a and b contiguous along what is summed, and leave copy and mma out",
            paths::ARCH.with(arches.join(" or "))
        ),
    };
    let message = message!(
        "sums of parts along {part} are made by warp-specialized kernels alone, and this is none: \
         {}",
        way_out
    );
    chooser.violate("schedule-arch", message);
}

/// Plans the epilogue, where one is computed.
fn computed(spec: &Spec, chooser: &mut Chooser<'_>, plan: &mut Plan) -> Result<()> {
    match plan.flow.take() {
        Some(flow) => epilogue::plan(spec, chooser, plan, flow),
        None => Ok(()),
    }
}

/// Decides the tiled MMA and with it the threads. Whether they can share out the CTA's tile.
fn tiled_threads(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    [a, b]: [&Operand; 2],
    multistage: bool,
) -> Result<bool> {
    let Some((atom, widen)) = tiled_mma::mma_atom(spec, chooser, a, b, multistage) else {
        return Ok(false);
    };
    tiled_mma::check_accumulation(spec, chooser, &atom);
    if let Some(widen) = widen.as_ref().filter(|_| multistage) {
        let message = message!(
            "{}: {} needs operands widened by {}, asynchronous copies bring them as they are \
             stored: leave out {} and {}, or choose auto",
            paths::MMA_ATOM,
            atom.id,
            widen.id,
            paths::copy(&a.name, "g2s"),
            paths::copy(&b.name, "g2s")
        );
        chooser.violate("mma-types", message);
        return Ok(false);
    }
    let folds = epilogue::folds(plan);
    let Some(mma) = tiled_mma::tiled_mma(spec, chooser, (atom, widen), folds)? else {
        return Ok(false);
    };
    plan.threads = u32::try_from(mma.tiled.thread_count()?).unwrap_or(u32::MAX);
    let divides = tiled_mma::check_tile(spec, chooser, &mma, plan.stages)?;
    let fits = check_threads(spec, chooser, plan.threads);
    if fits {
        check_registers(spec, chooser, plan);
    }
    plan.mma = Some(mma);
    Ok(divides && fits)
}

/// The specialized way is taken when the spec names its schedule, or leaves the choice and
/// architecture, types and layouts allow it.
fn wants_roles(spec: &Spec, chooser: &Chooser<'_>, [a, b, d]: [&Operand; 3]) -> bool {
    match spec.schedule.pipeline.schedule {
        Auto::Given(KernelSchedule::Cooperative | KernelSchedule::Pingpong) => return true,
        Auto::Given(KernelSchedule::Multistage) => return false,
        Auto::Auto => {}
    }
    let named = |id: &Option<Auto<String>>| match id {
        Some(Auto::Given(id)) => chooser.catalogue.get(id),
        _ => None,
    };
    // What is read beside the factors comes the same way to both.
    let counts = |name: &String| [a, b, d].iter().any(|one| one.name == *name);
    let otherwise = spec.schedule.copy.iter().any(|(name, path)| {
        if !counts(name) {
            return false;
        }
        let boxes = |atom: &Arc<Atom>| {
            let facts = atom.copy.as_ref();
            facts.is_some_and(|copy| copy.tensor.is_some())
        };
        let direct = path.s2r.is_some() || path.g2r.is_some() || named(&path.r2g).is_some();
        direct || named(&path.g2s).is_some_and(|atom| !boxes(atom))
    });
    let on_registers = match &spec.schedule.mma.atom {
        Auto::Given(id) => chooser.catalogue.get(id).is_some_and(|atom| {
            let facts = atom.mma.as_ref();
            facts.is_some_and(|mma| mma.smem == [false; 2])
        }),
        Auto::Auto => false,
    };
    let types = [spec.problem.accumulator, a.dtype, b.dtype];
    let mapped = |operand| warp_specialized::map_misfit(operand).is_none();
    !otherwise
        && !on_registers
        && chooser.smem_mma(types, 8).is_some()
        && mapped(a)
        && mapped(b)
        && warp_specialized::stores(d)
        && (warp_specialized::leaves_registers(d) || mapped(d))
}

/// The architectures that have an mma of the factors' types which reads shared memory by itself.
fn arches_with_roles(spec: &Spec, chooser: &Chooser<'_>) -> impl Iterator<Item = &'static Arch> {
    let types = spec
        .problem
        .factors()
        .map(|factors| factors.map(|one| one.dtype));
    ARCHES.iter().filter(move |arch| match types {
        Some([a, b]) => chooser.multiplies_smem_of(**arch, [spec.problem.accumulator, a, b]),
        None => chooser.multiplies_smem(**arch),
    })
}

/// Whether the architecture has what the specialized way stands on.
fn arch_has_roles(spec: &Spec, chooser: &mut Chooser<'_>) -> bool {
    let (arch, schedule) = (chooser.arch, &spec.schedule.pipeline.schedule);
    if chooser.multiplies_smem(arch) {
        return true;
    }
    let arches = arches_with_roles(spec, chooser)
        .map(|arch| message!("{}, or ", paths::ARCH.with(arch.name)));
    let arches = Message::join(arches, "");
    let schedule = match schedule {
        Auto::Given(schedule) => schedule.name(),
        Auto::Auto => "auto",
    };
    let said = spec.said();
    let unread: Vec<&str> = main_loops::of_roles(&said).collect();
    let without = match unread.is_empty() {
        true => Message::default(),
        false => {
            let unread = unread.into_iter().map(|key| paths::named(key).into());
            message!(" without {}", Message::join(unread, " and "))
        }
    };
    let message = message!(
        "{} {schedule} needs an mma that reads shared memory by itself, {} has none: use {}{} \
         multistage{}",
        paths::SCHEDULE,
        paths::ARCH.with(arch),
        arches,
        paths::SCHEDULE,
        without
    );
    chooser.violate("schedule-arch", message);
    false
}

/// The multistage way is taken when the spec names an asynchronous copy, or leaves the choice and
/// the operands allow it.
fn wants_multistage(spec: &Spec, chooser: &Chooser<'_>, a: &Operand, b: &Operand) -> bool {
    let paths = [a, b].map(|operand| {
        spec.schedule
            .copy
            .get(&operand.name)
            .cloned()
            .unwrap_or_default()
    });
    let asked = paths.iter().any(|path| path.g2s.is_some());
    let by_registers = |path: &CopyPath| path.g2r.is_some() || path.r2s.is_some();
    let synchronous = paths.iter().any(by_registers);
    let vectors = [a, b].iter().all(|operand| {
        let along = multistage_copies::vectors_along(operand);
        let bytes = along.map_or(0, |along| multistage_copies::vector_bytes(operand, along));
        bytes >= multistage_copies::NARROWEST_BYTES
    });
    let types = [spec.problem.accumulator, a.dtype, b.dtype];
    let atom = match &spec.schedule.mma.atom {
        Auto::Given(id) => chooser.catalogue.get(id).cloned(),
        Auto::Auto => chooser.mma(types),
    };
    let tensor_core = atom.is_some_and(|atom| {
        let facts = atom.mma.as_ref();
        facts.is_some_and(|facts| {
            let warps = facts.thr_id.size().is_ok_and(|threads| threads > 1);
            warps && facts.smem == [false; 2]
        })
    });
    asked || (!synchronous && vectors && tensor_core && chooser.copies_later())
}

fn stages(spec: &Spec, chooser: &mut Chooser<'_>, both: [&Operand; 2], multistage: bool) -> u32 {
    let default = if multistage { 3 } else { 1 };
    let stages = spec.schedule.pipeline.stages.unwrap_or_else(|| default);
    if multistage && stages < 2 {
        let message = message!(
            "{} {stages} leaves no tile in flight: use 2 or more",
            paths::STAGES
        );
        chooser.violate("stages", message);
    }
    if !multistage && stages != 1 {
        let why = match (chooser.copies_later(), tiled_mma::is_along_k(both)) {
            (false, _) => message!(", {} has none", paths::ARCH.with(chooser.arch)),
            (true, false) => " (operands contiguous along k)".into(),
            (true, true) => " that tensor cores read, this kernel has none".into(),
        };
        let message = message!(
            "{} {stages} needs asynchronous copies{}: use 1",
            paths::STAGES,
            why
        );
        chooser.violate("stages", message);
    }
    stages
}
