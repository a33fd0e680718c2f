//! What the epilogue of the warp-specialized way reads by boxes: the producer loads an operand's
//! whole tile behind the last tiles of a and b, and the consumers find it in shared memory when
//! their sums are done.

use tilewright_layout::make_tiled_copy_c;

use super::{AHEAD, MAX_BOX, TENSOR_ALIGN, is_of_trips, map_misfit, ring};
use crate::atoms::model::Space;
use crate::error::{Result, message};
use crate::plan::copies::partition;
use crate::plan::copies::tiled_copy::{assume_bytes, fitting};
use crate::plan::data::arena::Holds;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{BoxCopy, BoxPlace, Hop, SmemTile, Step};
use crate::plan::data::teams::WARPS;
use crate::plan::data::values::Every;
use crate::plan::data::warp_roles::{LoadPipe, Ring};
use crate::plan::gemm::warp_specialized::tma_loads::{input_layout, load_atom, swizzle_width};
use crate::plan::instructions::choose::{Chooser, STRIDE_CODE, Wanted};
use crate::plan::smem::accesses::SmemAccesses;
use crate::plan::smem::swizzle_search::placed_bytes;
use crate::spec::keys::model::{Axis, Operand, Role, Spec, Stride};
use crate::spec::keys::paths;

/// Whether the spec asks for boxes of an operand beside the factors.
pub(super) fn asks(spec: &Spec, operand: &Operand) -> bool {
    let path = spec.schedule.copy.get(&operand.name);
    path.is_some_and(|path| path.g2s.is_some() || path.s2r.is_some())
}

/// The loads of what the epilogue reads by boxes, in so many slots that so many consumers share;
/// none where nothing is.
pub(super) fn epilogue_loads(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    (slots, consumers): (u32, u32),
) -> Result<Option<LoadPipe>> {
    let mut loads = Vec::new();
    for operand in &spec.problem.operands {
        let is_later = operand.role == Role::Extra && !is_of_trips(spec, operand);
        if is_later && asks(spec, operand) {
            loads.extend(load(spec, chooser, plan, operand)?);
        }
    }
    let Some(first) = loads.first() else {
        return Ok(None);
    };
    let name = &plan.operand(first.operand).name;
    if plan.work.cuts_tiles() {
        let (key, way_out) = match plan.work.parts() {
            Some(_) => (message!("a {} along k", paths::CLUSTER), "1 CTA along k"),
            None => (message!("{} stream_k", paths::KIND), "kind persistent"),
        };
        let message = message!(
            "{} loads {name} for every work tile, {} cuts tiles into several: use {}, or {way_out}",
            paths::copy(name, "g2s"),
            key,
            paths::copy(name, "g2r")
        );
        chooser.violate("stream-k", message);
        return Ok(None);
    }
    let ring = Ring {
        stages: slots,
        ..ring(AHEAD, &loads, consumers * WARPS)
    };
    Ok(Some(LoadPipe {
        every: Every::WorkTile,
        loads,
        ring,
    }))
}

/// Plans the boxes of an operand, its place in a slot and its way into registers.
fn load(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
) -> Result<Option<BoxCopy>> {
    let name = operand.name.as_str();
    if let Some((code, misfit)) = misfit(spec, operand) {
        let message = message!(
            "{} {misfit}: leave {} out, and threads load it past shared memory",
            paths::operand(name),
            paths::way(name)
        );
        chooser.violate(code, message);
        return Ok(None);
    }
    let tile = [spec.schedule.cta_tile[0], spec.schedule.cta_tile[1]];
    let Some(atom) = load_atom(spec, chooser, operand, false) else {
        return Ok(None);
    };
    let Some(width) = swizzle_width(spec, chooser, operand, tile[1]) else {
        return Ok(None);
    };
    let bytes = i64::from(operand.dtype.bytes());
    let span = width / bytes;
    let layout = input_layout(tile, 1, span, bytes)?;
    let size_bytes = placed_bytes(layout.inner.cosize()?, operand.dtype);
    let slot = Holds::Slots(AHEAD);
    let smem = SmemTile {
        operand: operand.id,
        plane: None,
        dtype: operand.dtype,
        layout,
        within: slot,
        offset_bytes: plan.slot_bytes(slot),
        size_bytes,
    };
    let Some(step) = into_registers(spec, chooser, plan, operand, &smem)? else {
        return Ok(None);
    };
    let reason = format!("copy.{name}.g2s: a tensor map");
    assume_bytes(plan, operand, TENSOR_ALIGN, &reason);
    plan.steps.push(step);
    plan.smem.push(smem);
    // Rows of a box that divide the tile's.
    let mut rows = (1..=tile[0].min(MAX_BOX)).rev();
    let rows = rows.find(|rows| tile[0] % rows == 0).unwrap_or(1);
    let slabs = (0..tile[1] / span).flat_map(|slab| {
        (0..tile[0] / rows).map(move |part| BoxPlace {
            coord: [part * rows, slab * span],
            offset_bytes: (slab * tile[0] + part * rows) * width,
        })
    });
    Ok(Some(BoxCopy {
        operand: operand.id,
        hop: Hop::G2s,
        atom,
        dtype: operand.dtype,
        contiguous: 1,
        plane_rows: None,
        packed: false,
        shared_along: None,
        box_extents: [rows, span],
        swizzle_bytes: width as u32,
        places: slabs.collect(),
        parts: 1,
        part_step: BoxPlace::default(),
    }))
}

/// Why an operand's tile is no matrix of boxes as wide as the sums.
fn misfit(spec: &Spec, operand: &Operand) -> Option<(&'static str, String)> {
    let modes = operand.axes.iter().map(|axis| &axis.mode);
    let is_matrix = modes.eq(spec.problem.modes().iter().take(2));
    let has_planes = spec.problem.compute.has_planes(operand);
    if !is_matrix || has_planes || operand.looked_into().is_some() {
        let message = "is no matrix of the sums' rows and columns, as boxes bring it";
        return Some(("epilogue-operand", message.to_string()));
    }
    if *operand.stride(1) != Stride::Const(1) {
        let message = "is not contiguous along the sums' columns, as boxes bring it";
        return Some(("not-contiguous", message.to_string()));
    }
    Some((STRIDE_CODE, map_misfit(operand)?))
}

/// The load from a slot into the registers of the threads that hold the sums. Of an operand of one
/// axis each thread loads what it has of it, element by element.
pub(super) fn into_registers(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &Plan,
    operand: &Operand,
    smem: &SmemTile,
) -> Result<Option<Step>> {
    let Some(mma) = &plan.mma else {
        return Ok(None);
    };
    let name = operand.name.as_str();
    let what = Hop::S2r.key(name);
    let is_matrix = operand.axes.len() == 2;
    let together = match is_matrix && partition::neighbours_along_n(plan, mma)? {
        true => 2,
        false => 1,
    };
    let wanted = Wanted::vector(Space::Smem, Space::Rmem, together * operand.dtype.bytes());
    let given = spec
        .schedule
        .copy
        .get(name)
        .and_then(|path| path.s2r.clone());
    let Some(atom) = chooser.copy(&what, &given.unwrap_or_default(), wanted) else {
        return Ok(None);
    };
    let Some((copy, _)) = fitting(chooser, &atom, operand.dtype, &what)? else {
        return Ok(None);
    };
    let step = Step {
        operand: operand.id,
        hop: Hop::S2r,
        atom: atom.clone(),
        element_atom: None,
        tiled: make_tiled_copy_c(copy, &mma.tiled)?,
        tile: [spec.schedule.cta_tile[0], spec.schedule.cta_tile[1]],
        axes: coordinates(spec, operand),
    };
    let accesses = SmemAccesses::new(plan, &step, &smem.layout.inner, smem.dtype)?;
    if !accesses.whole(&smem.layout.swizzle) {
        let message = message!(
            "{}: {} loads elements of {name} in a row that the accumulators do not hold so: choose \
             auto",
            paths::named(what),
            atom.id
        );
        chooser.violate("atom-kind", message);
        return Ok(None);
    }
    Ok(Some(step))
}

/// Which of the tile's coordinates runs along each axis of an operand.
fn coordinates(spec: &Spec, operand: &Operand) -> Vec<Option<usize>> {
    let modes = || spec.problem.modes().iter().take(2);
    let along = |axis: &Axis| modes().position(|mode| *mode == axis.mode);
    operand.axes.iter().map(along).collect()
}
