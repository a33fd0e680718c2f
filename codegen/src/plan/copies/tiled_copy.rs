//! Pieces of planning that products and copies share: vector copies over a tile, assumptions.

use std::sync::Arc;

use tilewright_layout::{CopyAtom, IntTuple, Layout, TiledCopy, make_tiled_copy};

use crate::atoms::model::Atom;
use crate::dtype::DType;
use crate::error::{Result, message};
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::plan::instructions::choose::{Chooser, STRIDE_CODE};
use crate::spec::keys::model::{Operand, Stride};
use crate::spec::keys::paths;

/// The layouts of a copy atom in elements of that type; `None` when an element is wider than the
/// atom's access.
pub(in crate::plan) fn copy_of(atom: &Atom, dtype: DType) -> Result<Option<CopyAtom>> {
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
pub(in crate::plan) fn values(copy: &CopyAtom) -> Result<i64> {
    Ok(copy.ref_tv.mode(1).map_or(Ok(1), |values| values.size())?)
}

/// The layouts of a copy atom and the elements one thread moves in one run of it; a violation where
/// the atom is narrower than an element.
pub(in crate::plan) fn fitting(
    chooser: &mut Chooser<'_>,
    atom: &Atom,
    dtype: DType,
    what: &str,
) -> Result<Option<(CopyAtom, i64)>> {
    let Some(copy) = copy_of(atom, dtype)? else {
        let message = message!(
            "{}: {} is narrower than one {dtype}: choose auto",
            paths::named(what),
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
pub(in crate::plan) struct Sharing {
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
    pub(in crate::plan) fn of_vectors(tile: [i64; 2], along: usize, threads: u32) -> Sharing {
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
pub(in crate::plan) fn vector_copy(
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
        let message = message!(
            "{}: the tile's extent {} is no multiple of {vector}, the elements of {}: use {}",
            paths::named(what),
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
        let message = message!(
            "{}: {threads} threads of {vector} elements do not tile ({},{}): change {} or the \
             number of {}",
            paths::named(what),
            tile[0],
            tile[1],
            paths::CTA_TILE,
            paths::THREADS
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
pub(in crate::plan) fn check_strides(
    chooser: &mut Chooser<'_>,
    operand: &Operand,
    along: usize,
    atom: &Atom,
    what: &str,
) -> bool {
    let (bytes, element) = (i64::from(atom.align_bytes), operand.dtype.bytes());
    let bits = i64::from(operand.dtype.bits());
    let unit = bytes * 8 / bits;
    if unit <= 1 {
        return true;
    }
    let mut good = true;
    if *operand.stride(along) != Stride::Const(1) {
        let message = message!(
            "{}: {} moves {unit} elements along {}, whose stride is not 1: use one of {element} \
             bytes, or auto",
            paths::named(what),
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
        let message = message!(
            "{}: the stride {stride} of {} is {}; vectors of {} start at multiples of {bytes}: use \
             a multiple of {unit}, or {}",
            paths::named(what),
            axis.mode,
            in_bytes(stride, operand.dtype),
            atom.id,
            match stride % i64::from(operand.dtype.per_byte()) {
                0 => "a narrower atom or auto",
                _ => "an even one and auto",
            }
        );
        chooser.violate(STRIDE_CODE, message);
        good = false;
    }
    good
}

/// A stride as messages say how long it is.
fn in_bytes(stride: i64, dtype: DType) -> String {
    match stride % i64::from(dtype.per_byte()) {
        0 => {
            let bits = stride.saturating_mul(i64::from(dtype.bits()));
            format!("{} bytes", bits / 8)
        }
        _ => "no whole number of bytes".to_owned(),
    }
}

/// The largest power of two that divides a number above zero.
pub(in crate::plan) fn power_of_two_in(number: i64) -> i64 {
    1 << number.max(1).trailing_zeros()
}

/// The largest power of two that is no more than a number, 1 at least.
pub(in crate::plan) fn power_of_two_below(number: i64) -> i64 {
    1 << number.max(1).ilog2()
}

/// The largest number that divides both.
pub(in crate::plan) fn largest_divisor(a: i64, b: i64) -> i64 {
    (1..=a.min(b))
        .rev()
        .find(|candidate| a % candidate == 0 && b % candidate == 0)
        .unwrap_or(1)
}

/// Notes what the atom's vectors demand of the operand's pointer and strides.
pub(in crate::plan) fn assume(plan: &mut Plan, operand: &Operand, atom: &Atom, what: &str) {
    plan.assume(assumed(operand, atom, what));
}

/// What launches must guarantee for vectors that the atom moves.
pub(in crate::plan) fn assumed(operand: &Operand, atom: &Atom, what: &str) -> Vec<Assumption> {
    let bytes = atom.align_bytes;
    let reason = format!("{what}: {} moves {bytes} bytes", atom.id);
    assumed_bytes(operand, bytes, &reason)
}

/// Notes that the operand's pointer and strides are multiples of that many bytes.
pub(in crate::plan) fn assume_bytes(plan: &mut Plan, operand: &Operand, bytes: u32, reason: &str) {
    plan.assume(assumed_bytes(operand, bytes, reason));
}

fn assumed_bytes(operand: &Operand, bytes: u32, reason: &str) -> Vec<Assumption> {
    let multiple = i64::from(bytes) * 8 / i64::from(operand.dtype.bits());
    let mut wanted = Vec::new();
    if multiple <= 1 {
        return wanted;
    }
    if bytes > operand.dtype.bytes() {
        wanted.push(Assumption::PointerAlignment {
            operand: operand.id,
            bytes,
            reason: reason.to_string(),
        });
    }
    // A packed operand's are padded to more.
    for axis in operand.all_axes().filter(|_| !operand.packed) {
        if let Some(stride) = axis.stride.name() {
            wanted.push(Assumption::StrideMultiple {
                stride: stride.to_owned(),
                multiple,
                reason: reason.to_string(),
            });
        }
    }
    wanted
}
