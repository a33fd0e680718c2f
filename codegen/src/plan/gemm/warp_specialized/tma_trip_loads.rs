//! What trips of the main loop read beside a and b by boxes: the producer loads a row or a column
//! of an operand, such as the scales of a's rows, into the slot of the ring that it is for.

use tilewright_layout::{ComposedLayout, IntTuple, Layout, Swizzle};

use super::tma_epilogue_loads::{asks, into_registers};
use super::tma_loads::load_atom;
use super::{MAX_BOX, TENSOR_ALIGN, TRIPS, is_of_trips, map_misfit};
use crate::error::{Result, message};
use crate::plan::copies::tiled_copy::assume_bytes;
use crate::plan::data::arena::Holds;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{BoxCopy, BoxPlace, Hop, SmemTile};
use crate::plan::instructions::choose::{Chooser, STRIDE_CODE};
use crate::plan::smem::swizzle_search::placed_bytes;
use crate::spec::keys::model::{Operand, Role, Spec, Stride};
use crate::spec::keys::paths;

/// Bytes of an element that registers hold as memory does.
const WHOLE_BYTES: u32 = 4;
/// Bytes of a row of a box without a swizzle.
const UNSWIZZLED: u32 = 16;

/// The loads of what trips read by boxes, each with its place in a slot and its way into registers:
/// of every operand that boxes can bring, but those that the spec loads past shared memory.
pub(super) fn trip_loads(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
) -> Result<Vec<BoxCopy>> {
    let mut loads = Vec::new();
    for operand in &spec.problem.operands {
        if operand.role != Role::Extra || !is_of_trips(spec, operand) {
            continue;
        }
        let path = spec.schedule.copy.get(&operand.name);
        if path.is_some_and(|path| path.g2r.is_some()) {
            continue;
        }
        match misfit(spec, operand) {
            Some((code, misfit)) if asks(spec, operand) => {
                let name = &operand.name;
                let message = message!(
                    "{} {misfit}: use {}, which loads past shared memory",
                    paths::operand(name),
                    paths::copy(name, "g2r")
                );
                chooser.violate(code, message);
            }
            Some(_) => {}
            None => loads.extend(load(spec, chooser, plan, operand)?),
        }
    }
    Ok(loads)
}

/// Why boxes do not bring what a trip reads of an operand.
fn misfit(spec: &Spec, operand: &Operand) -> Option<(&'static str, String)> {
    let mut along = spec.problem.modes().iter().take(2);
    let is_row = operand.axes.len() == 1
        && along.any(|mode| *mode == operand.axis(0).mode)
        && operand.looked_into().is_none()
        && !spec.problem.compute.has_planes(operand);
    if !is_row {
        let message = "is no row or column of the sums in each part, as boxes bring it";
        return Some(("epilogue-operand", message.to_string()));
    }
    let (bytes, dtype) = (operand.dtype.bytes(), operand.dtype);
    if bytes != WHOLE_BYTES {
        let message =
            format!("has {dtype} of {bytes} bytes, and trips read {WHOLE_BYTES} of boxes");
        return Some(("epilogue-operand", message));
    }
    if *operand.stride(0) != Stride::Const(1) {
        let message = format!("is not contiguous along {}", operand.axis(0).mode);
        return Some(("not-contiguous", message));
    }
    Some((STRIDE_CODE, map_misfit(operand)?))
}

/// Plans the boxes of an operand, its place in a slot and its way into registers.
fn load(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
) -> Result<Option<BoxCopy>> {
    let name = operand.name.as_str();
    let Some(atom) = load_atom(spec, chooser, operand, false) else {
        return Ok(None);
    };
    let mode = &operand.axis(0).mode;
    let along = usize::from(spec.problem.modes().get(1) == Some(mode));
    let extent = spec.schedule.cta_tile[along];
    // The extents of a tile that has one element along the other coordinate.
    let tile = |extent: i64| match along {
        0 => [extent, 1],
        _ => [1, extent],
    };
    let slot = Holds::Slots(TRIPS);
    let smem = SmemTile {
        operand: operand.id,
        plane: None,
        dtype: operand.dtype,
        layout: ComposedLayout::new(
            Swizzle::NONE,
            Layout::new(IntTuple::flat(tile(extent)), IntTuple::flat([1, 1]))?,
        ),
        within: slot,
        offset_bytes: plan.slot_bytes(slot),
        size_bytes: placed_bytes(extent, operand.dtype),
    };
    let Some(step) = into_registers(spec, chooser, plan, operand, &smem)? else {
        return Ok(None);
    };
    let reason = format!("copy.{name}.g2s: a tensor map");
    assume_bytes(plan, operand, TENSOR_ALIGN, &reason);
    plan.steps.push(step);
    plan.smem.push(smem);
    // Boxes that divide the tile.
    let mut boxed = (1..=extent.min(MAX_BOX)).rev();
    let boxed = boxed.find(|boxed| extent % boxed == 0).unwrap_or(1);
    let bytes = i64::from(operand.dtype.bytes());
    let places = (0..extent / boxed).map(|number| BoxPlace {
        coord: match along {
            0 => [number * boxed, 0],
            _ => [0, number * boxed],
        },
        offset_bytes: number * boxed * bytes,
    });
    Ok(Some(BoxCopy {
        operand: operand.id,
        hop: Hop::G2s,
        atom,
        dtype: operand.dtype,
        contiguous: along,
        plane_rows: None,
        packed: false,
        shared_along: None,
        box_extents: tile(boxed),
        swizzle_bytes: UNSWIZZLED,
        places: places.collect(),
        parts: 1,
        part_step: BoxPlace::default(),
    }))
}
