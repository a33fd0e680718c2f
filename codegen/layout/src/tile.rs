//! Tiles of a tensor for a block of threads, and the share of one thread of it.
//!
//! In: a layout, a tiler or thread layout, a coordinate. Out: the layout of the part and its
//! offset.

use crate::coord::{Slot, slice};
use crate::divide::zipped_divide;
use crate::error::{Error, Result};
use crate::int::{Int, Stride};
use crate::inverse::right_inverse;
use crate::layout::Layout;
use crate::tiler::Tiler;
use crate::tuple::IntTuple;

/// One of the two modes of a [`zipped_divide`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Tile,
    Rest,
}

/// All of one half of a divided layout and the other at `coord`: the modes that are kept, side by
/// side, or the whole half by itself where nothing else is.
fn part<I: Int, D: Stride<I>>(
    divided: &Layout<I, D>,
    whole: Half,
    coord: &IntTuple<Slot<I>>,
) -> Result<(Layout<I, D>, D)> {
    let half = divided.need_mode(whole as usize)?;
    let keep = match half.profile().is_leaf() || half.rank() == 1 {
        true => IntTuple::leaf(Slot::Keep),
        false => IntTuple::flat(vec![Slot::Keep; half.rank()]),
    };
    let (kept, offset) = match whole {
        Half::Tile => slice(&IntTuple::tuple([keep, coord.clone()]), divided)?,
        Half::Rest => slice(&IntTuple::tuple([coord.clone(), keep]), divided)?,
    };
    let is_fixed = coord.leaves.iter().all(|slot| *slot != Slot::Keep);
    Ok((if is_fixed { half } else { kept }, offset))
}

/// The tile at `coord` of `a` cut by `tiler`: its layout and its offset in `a`.
///
/// `_` in the coordinate keeps that mode of tiles: `local_tile((m,k):(lda,1), <128,64>, (x,_))` has
/// the shape `(128,64,ceil_div(k,64))`.
///
/// # Errors
/// As [`zipped_divide`] and [`slice()`].
pub fn local_tile<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
    coord: &IntTuple<Slot<I>>,
) -> Result<(Layout<I, D>, D)> {
    part(&zipped_divide(a, tiler)?, Half::Tile, coord)
}

/// The tile at `coord`: [`local_tile`] under CuTe's name.
///
/// # Errors
/// As [`local_tile`].
pub fn inner_partition<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
    coord: &IntTuple<Slot<I>>,
) -> Result<(Layout<I, D>, D)> {
    local_tile(a, tiler, coord)
}

/// The element at `coord` within each tile, over all tiles: the rest modes of a [`zipped_divide`].
///
/// `outer_partition((8,6):(1,8), <2,3>, (1,2))` is `(4,2):(2,24)` at offset 17; `_` in the
/// coordinate keeps that mode of the tile, before the rest modes.
///
/// # Errors
/// As [`zipped_divide`] and [`slice()`].
pub fn outer_partition<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
    coord: &IntTuple<Slot<I>>,
) -> Result<(Layout<I, D>, D)> {
    part(&zipped_divide(a, tiler)?, Half::Rest, coord)
}

/// The share of thread `thread` of `a`, when the threads lie on `a` as `threads` says.
///
/// # Errors
/// [`Error::Domain`] when `threads` does not cover `0..size` exactly; as [`zipped_divide`].
pub fn local_partition<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    threads: &Layout<I>,
    thread: &I,
) -> Result<(Layout<I, D>, D)> {
    let place = right_inverse(threads)?;
    if place.size()? != threads.size()? {
        return Err(Error::domain(format!(
            "the thread layout {threads} must hold each of its {} threads once",
            threads.size()?
        )));
    }
    let sizes: Vec<I> = threads.modes().map(|m| m.size()).collect::<Result<_>>()?;
    let shape = IntTuple::flat(sizes);
    let index = place.at(thread.clone())?;
    let coord = crate::coord::idx2crd(&index, &shape)?.map(|x| Slot::At(x.clone()));
    outer_partition(a, &Tiler::by_shape(&shape)?, &coord)
}
