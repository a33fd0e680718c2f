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

fn with_keep<I: Int>(keep_first: bool, rest: &IntTuple<Slot<I>>) -> IntTuple<Slot<I>> {
    let keep = IntTuple::leaf(Slot::Keep);
    if keep_first {
        IntTuple::tuple([keep, rest.clone()])
    } else {
        IntTuple::tuple([rest.clone(), keep])
    }
}

/// The tile at `coord` of `a` cut by `tiler`: its layout and its offset in `a`.
///
/// `_` in the coordinate keeps that mode of tiles: `local_tile((m,k):(lda,1), <128,64>, (x,_))` has
/// the shape `((128,64),(ceil_div(k,64)))`.
///
/// # Errors
/// As [`zipped_divide`] and [`slice()`].
pub fn local_tile<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
    coord: &IntTuple<Slot<I>>,
) -> Result<(Layout<I, D>, D)> {
    let (tile, offset) = slice(&with_keep(true, coord), &zipped_divide(a, tiler)?)?;
    // A fully fixed coordinate leaves one mode, the tile itself.
    let fixed = coord.leaves.iter().all(|s| *s != Slot::Keep);
    Ok((if fixed { tile.need_mode(0)? } else { tile }, offset))
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
/// `outer_partition((8,6):(1,8), <2,3>, (1,2))` is `(4,2):(2,24)` at offset 17.
///
/// # Errors
/// As [`zipped_divide`] and [`slice()`].
pub fn outer_partition<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
    coord: &IntTuple<Slot<I>>,
) -> Result<(Layout<I, D>, D)> {
    let (rest, offset) = slice(&with_keep(false, coord), &zipped_divide(a, tiler)?)?;
    let fixed = coord.leaves.iter().all(|s| *s != Slot::Keep);
    Ok((if fixed { rest.need_mode(0)? } else { rest }, offset))
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
