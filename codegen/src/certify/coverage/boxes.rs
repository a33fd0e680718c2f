//! Boxes of tensor maps over one full tile: every element is in exactly one box, each box lies in
//! shared memory where the layout puts its elements, aligned as its swizzle demands, and the bytes
//! of a slot's boxes are those its barrier waits for.

use crate::certify::StepCertificate;
use crate::error::{Error, Result};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{BoxCopy, Hop};
use crate::plan::data::warp_roles::{LoadPipe, Roles};

/// Checks every copy by boxes.
pub(in crate::certify) fn check(
    plan: &Plan,
    roles: &Roles,
    refuse: &impl Fn(String, String) -> Error,
) -> Result<Vec<StepCertificate>> {
    let mut steps = Vec::new();
    // Of a slot of each pipe.
    let mut bytes = vec![0; roles.pipes.len()];
    for copy in plan.box_copies() {
        let name = format!("{}.{}", plan.operand(copy.operand).name, copy.hop.name());
        let checked = match copy.packed {
            true => check_packed(plan, copy),
            false => Ok(()),
        };
        let elements = checked
            .and_then(|()| check_copy(plan, copy))
            .map_err(|message| refuse(format!("{name}: {message}"), plan.to_string()))?;
        let brings = |pipe: &LoadPipe| pipe.loads.iter().any(|load| load.operand == copy.operand);
        let pipes = bytes.iter_mut().zip(&roles.pipes);
        for (bytes, _) in pipes.filter(|(_, pipe)| copy.hop == Hop::G2s && brings(pipe)) {
            *bytes += elements * u64::from(copy.dtype.bytes());
        }
        steps.push(StepCertificate {
            step: name,
            atom: copy.atom.id.clone(),
            elements,
            owners: 1,
            shared_memory: None,
            sectors_per_request: None,
            sectors_ideal: None,
        });
    }
    for (bytes, pipe) in bytes.into_iter().zip(&roles.pipes) {
        let waits = pipe.ring.bytes;
        if bytes != u64::from(waits) {
            let message =
                format!("a slot's boxes bring {bytes} bytes, its barrier waits for {waits}");
            return Err(refuse(message, plan.to_string()));
        }
    }
    Ok(steps)
}

/// Elements of a packed operand lie in the bytes of each box as they do in its place in shared
/// memory. What holds of the first tile holds of all: tiles are whole patterns.
fn check_packed(plan: &Plan, copy: &BoxCopy) -> std::result::Result<(), String> {
    let operand = plan.operand(copy.operand);
    let missing = || format!("{} is not packed", operand.name);
    let order = plan.order(operand)?.ok_or_else(missing)?;
    if let Some(problem) = order.problems(2).first() {
        return Err(format!("its order {order}: {problem}"));
    }
    let tile = plan.smem_tile(operand.id).ok_or_else(missing)?;
    let extents = <[i64; 2]>::try_from(plan.tile_of(operand));
    let extents = extents.map_err(|tile| format!("patterns of {} axes", tile.len()))?;
    let transposed = |mut at: [i64; 2]| {
        if operand.transposed {
            at.reverse();
        }
        at
    };
    let cuts = transposed([order.tile()[0], order.tile()[1]]);
    if extents[0] % cuts[0] != 0 || extents[1] % cuts[1] != 0 {
        return Err(format!("its tile is no whole patterns of {cuts:?}"));
    }
    let bytes = i64::from(copy.dtype.bytes());
    let in_memory = |at: [i64; 2]| order.offset(&transposed(extents), &transposed(at));
    for place in copy.all_places() {
        let first = in_memory(place.coord);
        for row in 0..copy.box_extents[0] {
            for column in 0..copy.box_extents[1] {
                let at = [place.coord[0] + row, place.coord[1] + column];
                let index = at[0] + extents[0] * at[1];
                let here = tile.layout.at(index).map_err(|e| e.to_string())? * bytes;
                let there = in_memory(at).zip(first).map(|(at, first)| at - first);
                if there.map(|there| there * bytes) != Some(here - place.offset_bytes) {
                    return Err(format!(
                        "({},{}) is at byte {here} of the slot, and elsewhere in its bulk copy",
                        at[0], at[1]
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Bytes that a box's place in shared memory is a multiple of (PTX ISA, cp.async.bulk.tensor).
const BOX_ALIGN: i64 = 128;

/// A pattern is eight rows of its width and follows the address (PTX ISA, swizzling modes): a tile
/// begins with one, boxes anywhere that copies may.
fn check_starts(copy: &BoxCopy, start: i64) -> std::result::Result<(), String> {
    let pattern = 8 * i64::from(copy.swizzle_bytes);
    if start % pattern != 0 {
        return Err(format!(
            "the tile starts at byte {start}, no multiple of {pattern}"
        ));
    }
    for place in copy.all_places() {
        let first = place.offset_bytes + start;
        if first % BOX_ALIGN != 0 {
            return Err(format!(
                "the box at ({},{}) starts at byte {first}, no multiple of {BOX_ALIGN}",
                place.coord[0], place.coord[1]
            ));
        }
    }
    Ok(())
}

fn check_copy(plan: &Plan, copy: &BoxCopy) -> std::result::Result<u64, String> {
    let tile = plan
        .smem_tile(copy.operand)
        .ok_or("the operand has no tile in shared memory")?;
    let operand = plan.operand(copy.operand);
    let [rows, columns] = plan.tile_at(operand);
    let planes = plan.plane_count(operand);
    let extents = [rows * planes, columns];
    // Rows of one plane are those of a box at most, which its third coordinate says.
    if copy.plane_rows != (planes > 1).then_some(rows) {
        return Err(format!(
            "boxes of planes of {:?} rows, not {rows}",
            copy.plane_rows
        ));
    }
    let bytes = i64::from(copy.dtype.bytes());
    check_starts(copy, i64::from(tile.offset_bytes))?;
    let mut seen = vec![false; (extents[0] * extents[1]) as usize];
    for place in copy.all_places() {
        let [row, _] = copy.row_and_plane(place);
        if row + copy.box_extents[0] > rows {
            return Err(format!("the box at row {row} of a plane ends behind it"));
        }
        for row in 0..copy.box_extents[0] {
            for column in 0..copy.box_extents[1] {
                let at = [place.coord[0] + row, place.coord[1] + column];
                if at[0] >= extents[0] || at[1] >= extents[1] {
                    return Err(format!("a box reaches ({},{})", at[0], at[1]));
                }
                let index = at[0] + extents[0] * at[1];
                let slot = seen.get_mut(index as usize).ok_or("no such element")?;
                if std::mem::replace(slot, true) {
                    return Err(format!("({},{}) is in two boxes", at[0], at[1]));
                }
                let box_at = [row, column];
                let inside = box_at[copy.contiguous]
                    + copy.box_extents[copy.contiguous] * box_at[1 - copy.contiguous];
                let here = tile.layout.inner.at(index).map_err(|e| e.to_string())? * bytes;
                if here != place.offset_bytes + inside * bytes {
                    return Err(format!(
                        "({},{}) is at byte {here}, its box puts it at {}",
                        at[0],
                        at[1],
                        place.offset_bytes + inside * bytes
                    ));
                }
            }
        }
    }
    match seen.iter().position(|seen| !seen) {
        None => Ok(seen.len() as u64),
        Some(at) => {
            let at = at as i64;
            let (row, column) = (at % extents[0], at / extents[0]);
            Err(format!("({row},{column}) is in no box"))
        }
    }
}
