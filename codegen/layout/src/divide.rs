//! Divides: a layout as tiles and what is left.
//!
//! In: a layout and a tiler. Out: the same values with tile modes and rest modes. When a tile does
//! not divide, the last tile runs past the end, as in CuTe; values inside the domain stay the same.
//! A tile with a gap that no translation of it fills leaves out what lies there, as in CuTe.

use crate::complement::complement;
use crate::composition::composition;
use crate::error::Result;
use crate::int::{Int, Stride};
use crate::layout::Layout;
use crate::tiler::{Tiler, by_mode, check_rank};

/// `a o (b, complement(b, |a|))`: mode 0 is the tile that `b` picks, mode 1 the tiles.
///
/// `logical_divide(&"24:1", &"4:2")` is `(4,(2,3)):(2,(1,8))`. Values of `a` are left out where
/// translations of `b` do not tile ([`complement`] says when):
/// `logical_divide(&"24:1", &"(6,3):(1,8)")` has 18.
///
/// # Errors
/// As [`complement`] and [`composition`].
pub fn logical_divide<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    b: &Layout<I>,
) -> Result<Layout<I, D>> {
    let rest = complement(b, &a.size()?)?;
    composition(a, &Layout::from_modes([b.clone(), rest])?)
}

/// [`logical_divide`] by mode.
///
/// # Errors
/// As [`logical_divide`]; [`Error::Mismatch`](crate::Error) when the tiler names more modes than
/// `a` has.
pub fn logical_divide_by<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
) -> Result<Layout<I, D>> {
    by_mode(a, tiler, &mut |a, b| logical_divide(a, b))
}

/// A divided mode taken apart into its tile and its rest.
struct Parts<I, D> {
    tile: Vec<Layout<I, D>>,
    rest: Vec<Layout<I, D>>,
}

/// Divides each mode; a mode that is kept (`_`, or not named) goes to the rest as a whole.
fn parts<I: Int, D: Stride<I>>(a: &Layout<I, D>, tilers: &[Tiler<I>]) -> Result<Parts<I, D>> {
    check_rank(a, tilers)?;
    let mut out = Parts {
        tile: Vec::new(),
        rest: Vec::new(),
    };
    for (i, mode) in a.modes().enumerate() {
        match tilers.get(i) {
            None => out.rest.push(mode),
            Some(Tiler::Keep) => {
                out.tile.push(Layout::from_leaves([]));
                out.rest.push(mode);
            }
            Some(tiler) => {
                let pair = zipped_divide(&mode, tiler)?;
                out.tile.push(pair.need_mode(0)?);
                out.rest.push(pair.need_mode(1)?);
            }
        }
    }
    Ok(out)
}

/// `((tile of each mode), (rest of each mode))`; modes that the tiler does not name are rest.
///
/// `zipped_divide(&"(6,20):(20,1)", &"<2,4>")` is `((2,4),(3,5)):((20,1),(40,4))`.
///
/// # Errors
/// As [`logical_divide_by`].
pub fn zipped_divide<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
) -> Result<Layout<I, D>> {
    match tiler {
        Tiler::Keep => Layout::from_modes([Layout::from_leaves([]), a.clone()]),
        Tiler::Layout(b) => logical_divide(a, b),
        Tiler::Modes(tilers) => {
            let Parts { tile, rest } = parts(a, tilers)?;
            Layout::from_modes([Layout::from_modes(tile)?, Layout::from_modes(rest)?])
        }
    }
}

/// [`zipped_divide`] with the rest modes unpacked: `((tile...), rest0, rest1, ...)`.
///
/// # Errors
/// As [`zipped_divide`].
pub fn tiled_divide<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
) -> Result<Layout<I, D>> {
    let zipped = zipped_divide(a, tiler)?;
    let (tile, rest) = (zipped.need_mode(0)?, zipped.need_mode(1)?);
    Layout::from_modes(std::iter::once(tile).chain(rest.modes()))
}

/// [`zipped_divide`] with both unpacked: `(tile0, tile1, ..., rest0, rest1, ...)`.
///
/// # Errors
/// As [`zipped_divide`].
pub fn flat_divide<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
) -> Result<Layout<I, D>> {
    let zipped = zipped_divide(a, tiler)?;
    let (tile, rest) = (zipped.need_mode(0)?, zipped.need_mode(1)?);
    Layout::from_modes(tile.modes().chain(rest.modes()))
}
