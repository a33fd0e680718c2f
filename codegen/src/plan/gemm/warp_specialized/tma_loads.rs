//! The inputs of the warp-specialized way: boxes into the ring, and how the tensor cores find them.

use std::sync::Arc;

use tilewright_layout::{ComposedLayout, IntTuple, Layout};

use super::{MAX_BOX, TENSOR_ALIGN, TRIPS, by_mode, map_misfit, rank, swizzle_of};
use crate::atoms::model::{Atom, BulkFacts, Space, TensorFacts};
use crate::error::{Message, Result, message};
use crate::plan::copies::packed_weights::{PADDED_ROWS, PATTERN_ROWS};
use crate::plan::copies::tiled_copy::assume_bytes;
use crate::plan::data::arena::Holds;
use crate::plan::data::matrix_descriptor::{Descriptor, Major};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{BoxCopy, BoxPlace, Hop, SmemTile};
use crate::plan::gemm::tiled_mma::reads_across;
use crate::plan::instructions::choose::{Chooser, STRIDE_CODE, Wanted};
use crate::plan::smem::swizzle_search::placed_bytes;
use crate::plan::smem::wgmma_descriptor;
use crate::spec::keys::model::{Auto, MmaOperands, Operand, Spec};
use crate::spec::keys::paths;

/// Bytes of the rows of each swizzle's pattern, the widest first, and of a core matrix.
const WIDTHS: [i64; 4] = [128, 64, 32, 16];

/// Most boxes of one slab that a CTA loads: tiles have 512 rows at most.
const MOST_BOXES: i64 = 2;

/// Bytes that a box's place in shared memory is a multiple of (PTX ISA, cp.async.bulk.tensor).
const SMEM_ALIGN: i64 = 128;

/// What is known of an input before its copies are.
pub(super) struct Input<'s> {
    /// The operand.
    pub operand: &'s Operand,
    /// Extents of the CTA's tile.
    pub tile: [i64; 2],
    /// Rows of one MMA, and its extent along k.
    pub mma: [i64; 2],
    /// Planes that the rows of the tile are of, one after another.
    pub planes: i64,
    /// The MMA.
    pub atom: &'s Atom,
    /// The mode along which CTAs of the cluster share the tile, which the operand does not have.
    pub shared_along: usize,
    /// CTAs that share it.
    pub parts: u32,
}

impl Input<'_> {
    /// Whether several CTAs share it.
    fn is_shared(&self) -> bool {
        self.parts > 1
    }

    /// Whether the MMA reads it in shared memory.
    fn in_smem(&self) -> bool {
        let facts = self.atom.mma.as_ref().zip(self.operand.factor());
        facts.is_some_and(|(facts, factor)| facts.smem[factor])
    }
}

/// The load of an input, its place in shared memory and its descriptor, where the MMA reads it
/// there.
pub(super) fn input(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    input: &Input<'_>,
) -> Result<Option<(BoxCopy, Option<Descriptor>)>> {
    let (operand, tile) = (input.operand, input.tile);
    let name = operand.name.as_str();
    let Some(contiguous) = contiguous(spec, chooser, input) else {
        return Ok(None);
    };
    let Some(atom) = load_atom(spec, chooser, operand, input.is_shared()) else {
        return Ok(None);
    };
    let bytes = i64::from(operand.dtype.bytes());
    // What is of one plane in the tile.
    let own = [tile[0] / input.planes, tile[1]];
    let Some(width) = swizzle_width(spec, chooser, operand, own[contiguous]) else {
        return Ok(None);
    };
    let span = width / bytes;
    let layout = input_layout(tile, contiguous, span, bytes)?;
    let descriptor = match input.in_smem() {
        true => descriptor_of(chooser, input, &layout, contiguous)?,
        false => None,
    };
    if input.in_smem() && descriptor.is_none() {
        return Ok(None);
    }
    if operand.packed && !packs(chooser, input) {
        return Ok(None);
    }
    let Some(share) = share_of(spec, chooser, input, [own[1 - contiguous], width]) else {
        return Ok(None);
    };
    let boxed = share.rows / share.boxes;
    let what = ["a tensor map", "bulk copies"][usize::from(operand.packed)];
    let reason = format!("copy.{name}.g2s: {what}");
    assume_bytes(plan, operand, TENSOR_ALIGN, &reason);
    let size_bytes = placed_bytes(layout.inner.cosize()?, operand.dtype);
    let slot = Holds::Slots(TRIPS);
    plan.smem.push(SmemTile {
        operand: operand.id,
        plane: None,
        dtype: operand.dtype,
        layout,
        within: slot,
        offset_bytes: plan.slot_bytes(slot),
        size_bytes,
    });
    let load = BoxCopy {
        operand: operand.id,
        hop: Hop::G2s,
        atom,
        dtype: operand.dtype,
        contiguous,
        plane_rows: (input.planes > 1).then_some(own[0]),
        packed: operand.packed,
        shared_along: Some(input.shared_along),
        box_extents: by_mode(contiguous, span, boxed),
        swizzle_bytes: width as u32,
        places: places(input, contiguous, [span, width], &share),
        parts: input.parts,
        part_step: BoxPlace {
            coord: by_mode(contiguous, 0, share.rows),
            offset_bytes: share.rows * width,
        },
    };
    Ok(Some((load, descriptor)))
}

/// The mode that an input lies along, if boxes and the MMA take it so.
fn contiguous(spec: &Spec, chooser: &mut Chooser<'_>, input: &Input<'_>) -> Option<usize> {
    let operand = input.operand;
    let contiguous = operand.contiguous_axis();
    let misfit = map_misfit(operand);
    let (None, Some(mode)) = (&misfit, contiguous) else {
        let code = contiguous.map_or("not-contiguous", |_| STRIDE_CODE);
        let misfit = misfit.unwrap_or_default();
        chooser.violate(code, message!("{} {misfit}", paths::operand(&operand.name)));
        return None;
    };
    let read = mode != 0 || !input.in_smem() || reads_either_way(spec, chooser, input);
    read.then_some(mode)
}

/// What a CTA loads of each slab of a tile.
struct Share {
    /// Rows.
    rows: i64,
    /// Boxes of as many rows each, one behind the other.
    boxes: i64,
}

/// What each CTA that shares a tile loads of it, of rows of so many bytes, in as few boxes as there
/// can be. A swizzle follows the address, so that a part may begin anywhere in a pattern; what is
/// packed is so by whole ones, and lies in one.
fn share_of(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    input: &Input<'_>,
    [rows, width]: [i64; 2],
) -> Option<Share> {
    let unit = match input.operand.packed {
        true => PATTERN_ROWS,
        false => (SMEM_ALIGN / width).max(1),
    };
    let most = if input.operand.packed { 1 } else { MOST_BOXES };
    let split = |parts: i64| {
        let share = rows / parts;
        let fits = |boxes: &i64| share % (boxes * unit) == 0 && share / boxes <= MAX_BOX;
        let boxes = (1..=most).find(fits).filter(|_| rows % parts == 0)?;
        Some(Share { rows: share, boxes })
    };
    let parts = i64::from(input.parts);
    let share = split(parts);
    if share.is_none() {
        let fewer = (1..parts).rev().find(|fewer| split(*fewer).is_some());
        let way_out = match fewer {
            Some(fewer) => {
                let mut cluster = spec.schedule.cluster;
                cluster[input.shared_along] = fewer;
                let [m, n, k] = cluster;
                message!(
                    "use {} ({m},{n},{k}), or change {}",
                    paths::CLUSTER,
                    paths::CTA_TILE
                )
            }
            None => message!("change {} or {}", paths::CTA_TILE, paths::CLUSTER),
        };
        let message = message!(
            "{}: its tile's {rows} rows do not split into {parts} boxes of a multiple of {unit}, \
             at most {MAX_BOX}: {}",
            paths::operand(&input.operand.name),
            way_out
        );
        chooser.violate("box", message);
    }
    share
}

/// Whether an operand's tile is some of the patterns that it is packed by.
fn packs(chooser: &mut Chooser<'_>, input: &Input<'_>) -> bool {
    let (operand, [rows, columns]) = (input.operand, input.tile);
    let name = &operand.name;
    let divides = PADDED_ROWS % rows == 0;
    if !divides {
        let [mode, k] = [0, 1].map(|axis| &operand.axis(axis).mode);
        let message = message!(
            "{} is packed in rows by {PADDED_ROWS}, which its tile of {rows} along {mode} and \
             {columns} along {k} does not divide: use a {} of 8, 16, 32, 64, 128 or {PADDED_ROWS} \
             along {mode}",
            paths::operand(name),
            paths::CTA_TILE
        );
        chooser.violate("packed-tile", message);
    }
    divides
}

/// Where the boxes of part 0 lie: slabs as wide as the swizzle, of each the planes one below the
/// other, of each the boxes of the part.
fn places(
    input: &Input<'_>,
    contiguous: usize,
    [span, width]: [i64; 2],
    share: &Share,
) -> Vec<BoxPlace> {
    let tile = input.tile;
    let slabs = (0..tile[contiguous] / span).map(|number| BoxPlace {
        coord: by_mode(contiguous, number * span, 0),
        offset_bytes: number * width * tile[1 - contiguous],
    });
    // Rows that are contiguous are in slabs already.
    let planes = if contiguous == 0 { 1 } else { input.planes };
    let rows = tile[0] / input.planes;
    let below = BoxPlace {
        coord: [rows, 0],
        offset_bytes: rows * width,
    };
    let boxed = share.rows / share.boxes;
    let next = BoxPlace {
        coord: by_mode(contiguous, 0, boxed),
        offset_bytes: boxed * width,
    };
    let planes = slabs.flat_map(|slab| (0..planes).map(move |plane| slab.after(below, plane)));
    let boxes = |plane: BoxPlace| (0..share.boxes).map(move |number| plane.after(next, number));
    planes.flat_map(boxes).collect()
}

/// The roles in which the operand would be the MMA's A, from registers, if there are such.
fn exchanged(spec: &Spec, chooser: &Chooser<'_>, input: &Input<'_>) -> Message {
    let Some([a, b]) = spec.problem.factors() else {
        return Message::default();
    };
    let types = [spec.problem.accumulator, b.dtype, a.dtype];
    let is_b = input.operand.id == b.id && a.contiguous_axis() != Some(0);
    if !is_b || input.planes > 1 || chooser.rows_mma(types, 8).is_none() {
        return Message::default();
    }
    let other = match spec.schedule.mma.operands {
        Auto::Given(MmaOperands::Exchanged) => MmaOperands::AsWritten,
        _ => MmaOperands::Exchanged,
    };
    message!(", or {} {}", paths::MMA_OPERANDS, other.name())
}

/// Whether the MMA reads the operand contiguous along m or n as well.
fn reads_either_way(spec: &Spec, chooser: &mut Chooser<'_>, input: &Input<'_>) -> bool {
    let (operand, atom) = (input.operand, input.atom);
    let name = &operand.name;
    let factor = operand.factor();
    let either = factor.is_some_and(|factor| reads_across(atom, factor));
    if !either {
        let exchanged = exchanged(spec, chooser, input);
        let copied = match input.planes == 1 && !operand.packed {
            true => message!(
                ", or {} transposed, which copies it first",
                paths::copy(name, "realign")
            ),
            false => Message::default(),
        };
        let message = message!(
            "{}: {} reads {} contiguous along {} only: use layout {}{}{}",
            paths::operand(name),
            atom.id,
            operand.dtype,
            operand.axis(1).mode,
            operand.layout_along(1),
            exchanged,
            copied
        );
        chooser.violate("major", message);
    }
    either
}

/// The load of a box, to one CTA or to several.
pub(super) fn load_atom(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    operand: &Operand,
    several: bool,
) -> Option<Arc<Atom>> {
    let name = operand.name.as_str();
    let given = spec
        .schedule
        .copy
        .get(name)
        .and_then(|path| path.g2s.clone());
    let boxes = TensorFacts {
        rank: rank(operand),
        multicast: several,
    };
    let bulk = operand.packed.then_some(BulkFacts {
        multicast: several,
        remote: false,
    });
    let tensor = (!operand.packed).then_some(boxes);
    let what = Hop::G2s.key(name);
    let wanted = Wanted {
        from: Space::Gmem,
        to: Space::Smem,
        bytes: None,
        asynchronous: true,
        collective: false,
        tensor,
        bulk,
        combined: None,
    };
    let atom = chooser.copy(&what, &given.unwrap_or_default(), wanted)?;
    let facts = atom.copy.as_ref();
    if facts.is_some_and(|copy| (copy.tensor, copy.bulk) == (tensor, bulk)) {
        return Some(atom);
    }
    let way = if several { "several CTAs" } else { "one CTA" };
    let message = message!(
        "{}: {} does not load a box to {way}: choose auto",
        paths::named(what),
        atom.id
    );
    chooser.violate("atom-kind", message);
    None
}

fn descriptor_of(
    chooser: &mut Chooser<'_>,
    input: &Input<'_>,
    layout: &ComposedLayout,
    contiguous: usize,
) -> Result<Option<Descriptor>> {
    let (name, tile) = (&input.operand.name, input.tile);
    let major = if contiguous == 1 { Major::K } else { Major::Mn };
    let bytes = i64::from(input.operand.dtype.bytes());
    match wgmma_descriptor::derive(layout, major, tile, input.mma, bytes)? {
        Ok(descriptor) => Ok(Some(descriptor)),
        Err(message) => {
            chooser.violate(
                "descriptor",
                message!("{}: {message}", paths::operand(name)),
            );
            Ok(None)
        }
    }
}

/// Rows of the swizzle's width one after another; a contiguous mode longer than that in slabs.
pub(super) fn input_layout(
    tile: [i64; 2],
    contiguous: usize,
    span: i64,
    bytes: i64,
) -> Result<ComposedLayout> {
    let across = tile[1 - contiguous];
    let slabs = IntTuple::flat([span, tile[contiguous] / span]);
    let slab_strides = IntTuple::flat([1, span * across]);
    let (shape, stride) = if contiguous == 1 {
        (
            IntTuple::tuple([IntTuple::leaf(across), slabs]),
            IntTuple::tuple([IntTuple::leaf(span), slab_strides]),
        )
    } else {
        (
            IntTuple::tuple([slabs, IntTuple::leaf(across)]),
            IntTuple::tuple([slab_strides, IntTuple::leaf(span)]),
        )
    };
    Ok(ComposedLayout::new(
        swizzle_of(span * bytes, bytes)?,
        Layout::new(shape, stride)?,
    ))
}

/// Bytes of the rows of the widest swizzle whose pattern divides the tile's rows, or of the one
/// asked for; 16 without a swizzle.
pub(super) fn swizzle_width(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    operand: &Operand,
    row_elems: i64,
) -> Option<i64> {
    let bytes = i64::from(operand.dtype.bytes());
    let given = spec.schedule.swizzle.get(&operand.name);
    let asked = |width: &i64| match given {
        Some(Auto::Given(swizzle)) => swizzle_of(*width, bytes).is_ok_and(|own| own == *swizzle),
        _ => true,
    };
    let divides = |width: &i64| row_elems * bytes % width == 0;
    let mut widths = WIDTHS.into_iter().filter(asked);
    if let Some(width) = widths.clone().find(divides) {
        return Some(width);
    }
    let name = &operand.name;
    let message = match widths.next_back() {
        Some(width) => message!(
            "{}: {row_elems} elements of its tile are contiguous, no multiple of the {} of {width} \
             bytes: change {} or the swizzle",
            paths::operand(name),
            width / bytes,
            paths::CTA_TILE
        ),
        None => message!(
            "{}: the swizzle is none of those that the tensor cores read: use auto, none, 32B, 64B \
             or 128B",
            paths::operand(name)
        ),
    };
    chooser.violate("swizzle", message);
    None
}
