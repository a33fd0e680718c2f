//! Pieces of planning that products and copies share: vector copies over a tile, shared-memory
//! placement, assumptions.

use std::sync::Arc;

use tilewright_layout::{
    ComposedLayout, CopyAtom, IntTuple, Layout, Swizzle, TiledCopy, make_tiled_copy,
};

use crate::atoms::model::Atom;
use crate::dtype::DType;
use crate::error::Result;
use crate::plan::choose::{Chooser, STRIDE_CODE};
use crate::plan::model::{Assumption, Plan, SmemTile, Step};
use crate::plan::partition::SmemAccesses;
use crate::plan::smem;
use crate::spec::model::{Auto, Operand, Stride};

/// The layouts of a copy atom in elements of that type; `None` when an element is wider than the
/// atom's access.
pub(super) fn copy_of(atom: &Atom, dtype: DType) -> Result<Option<CopyAtom>> {
    let Some(facts) = &atom.copy else {
        return Ok(None);
    };
    let bits = i64::from(dtype.bits());
    if i64::from(facts.access_bytes) * 8 < bits {
        return Ok(None);
    }
    let (src, dst) = (&facts.src_tv_bits, &facts.dst_tv_bits);
    let reference = if facts.ref_is_dst { dst } else { src };
    Ok(CopyAtom::from_bits(facts.thr_id.clone(), src, dst, reference, bits).ok())
}

/// Elements one thread moves in one run of the atom.
pub(super) fn values(copy: &CopyAtom) -> Result<i64> {
    Ok(copy.ref_tv.mode(1).map_or(Ok(1), |values| values.size())?)
}

/// The layouts of a copy atom and the elements one thread moves in one run of it; a violation where
/// the atom is narrower than an element.
pub(super) fn fitting(
    chooser: &mut Chooser<'_>,
    atom: &Atom,
    dtype: DType,
    what: &str,
) -> Result<Option<(CopyAtom, i64)>> {
    let Some(copy) = copy_of(atom, dtype)? else {
        let message = format!(
            "{what}: {} is narrower than one {dtype}: choose auto",
            atom.id
        );
        chooser.violate("atom-width", message);
        return Ok(None);
    };
    let moved = values(&copy)?;
    Ok(Some((copy, moved)))
}

/// How threads share out a tile of vectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sharing {
    /// Extents of the tile.
    pub tile: [i64; 2],
    /// Threads run along this mode first, then across.
    pub along: usize,
    /// How many threads there are.
    pub threads: u32,
    /// Elements that a thread has side by side, where they are more than an atom moves.
    pub together: i64,
    /// Most threads side by side.
    pub most: i64,
}

impl Sharing {
    /// One vector a thread, as many threads side by side as there are vectors.
    pub(super) fn of_vectors(tile: [i64; 2], along: usize, threads: u32) -> Sharing {
        Sharing {
            tile,
            along,
            threads,
            together: 1,
            most: i64::MAX,
        }
    }
}

/// A tiled copy of one vector a thread.
pub(super) fn vector_copy(
    chooser: &mut Chooser<'_>,
    atom: &Arc<Atom>,
    dtype: DType,
    sharing: Sharing,
    what: &str,
) -> Result<Option<TiledCopy>> {
    let Some((copy, moved)) = fitting(chooser, atom, dtype, what)? else {
        return Ok(None);
    };
    let Sharing { tile, along, .. } = sharing;
    let vector = moved.max(sharing.together);
    let threads = i64::from(sharing.threads);
    let across = 1 - along;
    if tile[along] % vector != 0 {
        let message = format!(
            "{what}: the tile's extent {} is no multiple of {vector}, the elements of {}: use {}",
            tile[along],
            atom.id,
            (tile[along] / vector).max(1) * vector
        );
        chooser.violate("vector-divides", message);
        return Ok(None);
    }
    let side_by_side = (tile[along] / vector).min(sharing.most.max(1));
    let threads_along = largest_divisor(side_by_side, threads);
    let threads_across = threads / threads_along;
    if threads % threads_along != 0 || tile[across] % threads_across != 0 {
        let message = format!(
            "{what}: {threads} threads of {vector} elements do not tile ({},{}): change cta_tile \
             or the number of threads",
            tile[0], tile[1]
        );
        chooser.violate("threads-tile", message);
        return Ok(None);
    }
    let mut thr_shape = [0; 2];
    let mut thr_stride = [0; 2];
    (thr_shape[along], thr_stride[along]) = (threads_along, 1);
    (thr_shape[across], thr_stride[across]) = (threads_across, threads_along);
    let mut val_shape = [1; 2];
    val_shape[along] = vector;
    let thr = Layout::flat(&thr_shape, &thr_stride)?;
    let val = Layout::compact(IntTuple::flat(val_shape))?;
    Ok(Some(make_tiled_copy(copy, &thr, &val)?))
}

/// Whether vectors of the atom along that axis of the operand all start at multiples of their size,
/// as far as its constant strides tell.
pub(super) fn check_strides(
    chooser: &mut Chooser<'_>,
    operand: &Operand,
    along: usize,
    atom: &Atom,
    what: &str,
) -> bool {
    let (bytes, element) = (i64::from(atom.align_bytes), operand.dtype.bytes());
    if bytes <= i64::from(element) {
        return true;
    }
    let unit = bytes / i64::from(element);
    let mut good = true;
    if *operand.stride(along) != Stride::Const(1) {
        let message = format!(
            "{what}: {} moves {unit} elements along {}, whose stride is not 1: use one of \
             {element} bytes, or auto",
            atom.id,
            operand.axis(along).mode
        );
        chooser.violate(STRIDE_CODE, message);
        good = false;
    }
    let others = operand.all_axes().enumerate();
    for (_, axis) in others.filter(|(number, _)| *number != along) {
        let Stride::Const(stride) = axis.stride else {
            continue;
        };
        if stride % unit == 0 {
            continue;
        }
        let message = format!(
            "{what}: the stride {stride} of {} is {} bytes; vectors of {} start at multiples of \
             {bytes}: use a multiple of {unit}, or a narrower atom or auto",
            axis.mode,
            stride.saturating_mul(i64::from(element)),
            atom.id
        );
        chooser.violate(STRIDE_CODE, message);
        good = false;
    }
    good
}

/// The largest power of two that divides a number above zero.
pub(super) fn power_of_two_in(number: i64) -> i64 {
    1 << number.max(1).trailing_zeros()
}

/// The largest power of two that is no more than a number, 1 at least.
pub(super) fn power_of_two_below(number: i64) -> i64 {
    1 << number.max(1).ilog2()
}

/// The largest number that divides both.
pub(super) fn largest_divisor(a: i64, b: i64) -> i64 {
    (1..=a.min(b))
        .rev()
        .find(|candidate| a % candidate == 0 && b % candidate == 0)
        .unwrap_or(1)
}

/// Notes what the atom's vectors demand of the operand's pointer and strides.
pub(super) fn assume(plan: &mut Plan, operand: &Operand, atom: &Atom, what: &str) {
    let bytes = atom.align_bytes;
    let reason = format!("{what}: {} moves {bytes} bytes", atom.id);
    assume_bytes(plan, operand, bytes, &reason);
}

/// Notes that the operand's pointer and strides are multiples of that many bytes.
pub(super) fn assume_bytes(plan: &mut Plan, operand: &Operand, bytes: u32, reason: &str) {
    let element = operand.dtype.bytes();
    if bytes <= element {
        return;
    }
    let mut wanted = vec![Assumption::PointerAlignment {
        operand: operand.name.clone(),
        bytes,
        reason: reason.to_string(),
    }];
    for axis in operand.all_axes() {
        if let Stride::Named(stride) = &axis.stride {
            wanted.push(Assumption::StrideMultiple {
                stride: stride.clone(),
                multiple: i64::from(bytes / element),
                reason: reason.to_string(),
            });
        }
    }
    for assumption in wanted {
        if !plan.assumptions.contains(&assumption) {
            plan.assumptions.push(assumption);
        }
    }
}

/// Places the operand's tile in shared memory, that of each plane behind another, with the first
/// swizzle or pitch by which the two steps take the fewest wavefronts.
pub(super) fn place_smem(
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
    tile: [i64; 2],
    lies: Lies,
    swizzle: &Auto<Swizzle>,
    steps: [&Step; 2],
) -> Result<()> {
    let mut best: Option<(u64, ComposedLayout)> = None;
    // Most candidates are one layout under several swizzles.
    let mut known: Option<(Layout<i64>, [SmemAccesses; 2])> = None;
    for layout in candidates(operand.dtype, tile, lies, swizzle)? {
        if known.as_ref().is_none_or(|(of, _)| *of != layout.inner) {
            let of = |step| SmemAccesses::new(plan, step, &layout.inner, operand.dtype);
            let [one, other] = steps.map(of);
            known = Some((layout.inner.clone(), [one?, other?]));
        }
        let accesses = || known.iter().flat_map(|(_, accesses)| accesses);
        let of_both = accesses().map(|access| access.wavefronts(&layout.swizzle));
        let (mut taken, mut least) = (0, 0);
        for wavefronts in of_both {
            (taken, least) = (taken + wavefronts.taken, least + wavefronts.least);
        }
        let better = best.as_ref().is_none_or(|(fewest, _)| taken < *fewest);
        if better && accesses().all(|access| access.whole(&layout.swizzle)) {
            best = Some((taken, layout));
            if taken == least {
                break;
            }
        }
    }
    let Some((_, layout)) = best else {
        torn(chooser, operand, swizzle, steps);
        return Ok(());
    };
    let size_bytes = placed_bytes(layout.inner.cosize()?, operand.dtype);
    for plane in plan.planes_of(operand) {
        plan.smem.push(SmemTile {
            operand: operand.name.clone(),
            plane,
            dtype: operand.dtype,
            layout: layout.clone(),
            offset_bytes: plan.stage_bytes,
            size_bytes,
        });
        plan.stage_bytes = plan.stage_bytes.saturating_add(size_bytes);
    }
    Ok(())
}

/// Notes that no layout of the operand's tile keeps the vectors of both steps whole.
fn torn(chooser: &mut Chooser<'_>, operand: &Operand, swizzle: &Auto<Swizzle>, steps: [&Step; 2]) {
    let name = &operand.name;
    let [one, other] = steps.map(|step| {
        let bytes = step
            .atom
            .copy
            .as_ref()
            .map_or(0, |facts| facts.access_bytes);
        format!(
            "copy.{}.{} ({}, {bytes} bytes)",
            name,
            step.hop.name(),
            step.atom.id
        )
    });
    let (what, way_out) = match swizzle {
        Auto::Given(_) => ("its swizzle does not keep", "use swizzle auto"),
        Auto::Auto => (
            "no layout of its tile keeps",
            "use atoms of one element for one of them, or auto",
        ),
    };
    let message = format!(
        "operand {name}: {what} vectors whole in shared memory, which {one} and {other} move: \
         {way_out}"
    );
    chooser.violate("swizzle", message);
}

/// Bytes that a tile of that many elements takes in shared memory: the next tile starts where every
/// swizzle starts over.
pub(super) fn placed_bytes(elements: i64, dtype: DType) -> u32 {
    let bytes = elements.saturating_mul(i64::from(dtype.bytes()));
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    bytes.checked_next_multiple_of(1024).unwrap_or(u32::MAX)
}

/// How a tile lies in shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lies {
    /// The mode along which elements are neighbours.
    pub contiguous: usize,
    /// Whether it is filled across that mode, as what is transposed is.
    pub turned: bool,
}

/// Layouts to try: the user's swizzle, or without one, as the tile lies, a few pitches, or every
/// swizzle of 16-byte units and narrower ones, or both.
fn candidates(
    dtype: DType,
    tile: [i64; 2],
    Lies { contiguous, turned }: Lies,
    swizzle: &Auto<Swizzle>,
) -> Result<Vec<ComposedLayout>> {
    let extent = tile[contiguous];
    let identity = Swizzle::new(0, 0, 0)?;
    if let Auto::Given(swizzle) = swizzle {
        return Ok(vec![smem::tile_layout(tile, contiguous, extent, *swizzle)?]);
    }
    let mut layouts = Vec::new();
    let pads: &[i64] = match turned || contiguous == 0 {
        true => &[0, 1, 2, 4, 8],
        false => &[0],
    };
    // Rows of what is turned begin at whole words, so that all warps meet the same banks.
    let unit = match turned {
        true => (4 / i64::from(dtype.bytes())).max(1),
        false => 1,
    };
    for pad in pads {
        layouts.push(smem::tile_layout(
            tile,
            contiguous,
            extent + pad * unit,
            identity,
        )?);
    }
    if turned || contiguous == 1 {
        let widest = i64::from((16 / dtype.bytes()).ilog2());
        // What is turned has neighbours a vector of rows apart.
        let most = if turned { 9 } else { 6 };
        // Units of 16 bytes keep all vectors whole, narrower ones narrow vectors; 128 bytes have so
        // many of them.
        let narrowest = i64::from((4 / dtype.bytes()).max(1).ilog2());
        for unit in (narrowest..=widest).rev() {
            for bits in 1..=3 + widest - unit {
                for shift in bits..=most {
                    let swizzle = Swizzle::new(bits, unit, shift)?;
                    layouts.push(smem::tile_layout(tile, contiguous, extent, swizzle)?);
                }
            }
        }
    }
    Ok(layouts)
}
