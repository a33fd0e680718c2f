//! Products: a layout repeated in the pattern of another.
//!
//! In: a block and a tiler. Out: the block in mode 0 and its repetitions after it. Invariant: no
//! two repetitions share an offset unless the tiler itself repeats (stride 0).

use crate::complement::open_complement;
use crate::composition::composition;
use crate::edit::{append, zip};
use crate::error::{Error, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::simplify::by_profile;
use crate::tiler::{Tiler, by_mode, check_rank};
use crate::tuple::{IntTuple, Profile};

/// `(a, complement(a, |a| * cosize(b)) o b)`: `a` repeated as `b` says.
///
/// `logical_product(&"(2,2):(4,1)", &"6:1")` is `((2,2),(2,3)):((4,1),(2,8))`.
///
/// # Errors
/// As [`complement`](crate::complement) and [`composition`].
pub fn logical_product<I: Int>(a: &Layout<I>, b: &Layout<I>) -> Result<Layout<I>> {
    // Gaps that do not divide leave the complement short of `b`: its last mode goes on.
    let room = open_complement(a, &a.size()?.try_mul(&b.cosize()?)?)?;
    Layout::from_modes([a.clone(), composition(&room, b)?])
}

/// [`logical_product`] by mode.
///
/// # Errors
/// As [`logical_product`].
pub fn logical_product_by<I: Int>(a: &Layout<I>, tiler: &Tiler<I>) -> Result<Layout<I>> {
    by_mode(a, tiler, &mut |a, b| logical_product(a, b))
}

/// `((block of each named mode), (repetitions of each, modes that are not named...))`.
///
/// # Errors
/// As [`logical_product`].
pub fn zipped_product<I: Int>(a: &Layout<I>, tiler: &Tiler<I>) -> Result<Layout<I>> {
    match tiler {
        Tiler::Keep => Layout::from_modes([a.clone(), Layout::from_leaves([])]),
        Tiler::Layout(b) => logical_product(a, b),
        Tiler::Modes(tilers) => {
            check_rank(a, tilers)?;
            let (mut block, mut copies) = (Vec::new(), Vec::new());
            for (i, mode) in a.modes().enumerate() {
                let Some(tiler) = tilers.get(i) else {
                    copies.push(mode);
                    continue;
                };
                let pair = zipped_product(&mode, tiler)?;
                block.push(pair.need_mode(0)?);
                copies.push(pair.need_mode(1)?);
            }
            Layout::from_modes([Layout::from_modes(block)?, Layout::from_modes(copies)?])
        }
    }
}

/// [`zipped_product`] with the repetitions unpacked.
///
/// # Errors
/// As [`logical_product`].
pub fn tiled_product<I: Int>(a: &Layout<I>, tiler: &Tiler<I>) -> Result<Layout<I>> {
    let zipped = zipped_product(a, tiler)?;
    let (block, copies) = (zipped.need_mode(0)?, zipped.need_mode(1)?);
    Layout::from_modes(std::iter::once(block).chain(copies.modes()))
}

/// [`zipped_product`] with block and repetitions unpacked.
///
/// # Errors
/// As [`logical_product`].
pub fn flat_product<I: Int>(a: &Layout<I>, tiler: &Tiler<I>) -> Result<Layout<I>> {
    let zipped = zipped_product(a, tiler)?;
    let (block, copies) = (zipped.need_mode(0)?, zipped.need_mode(1)?);
    Layout::from_modes(block.modes().chain(copies.modes()))
}

/// Block and tiler of equal rank, and their product.
fn padded_product<I: Int>(a: &Layout<I>, b: &Layout<I>) -> Result<(Layout<I>, Layout<I>)> {
    let rank = a.rank().max(b.rank());
    let pad = |l: &Layout<I>| -> Result<Layout<I>> {
        let mut l = Layout::from_modes(l.modes())?;
        while l.rank() < rank {
            l = append(&l, &Layout::from_leaves([]))?;
        }
        Ok(l)
    };
    let product = logical_product(&pad(a)?, &pad(b)?)?;
    Ok((product.need_mode(0)?, product.need_mode(1)?))
}

/// `a` repeated so that blocks stay whole: mode `i` is `(a_i, b_i)`.
///
/// `blocked_product(&"(2,5):(5,1)", &"(3,4):(1,3)")` is `((2,3),(5,4)):((5,10),(1,30))`.
///
/// # Errors
/// As [`logical_product`].
pub fn blocked_product<I: Int>(a: &Layout<I>, b: &Layout<I>) -> Result<Layout<I>> {
    let (block, copies) = padded_product(a, b)?;
    zip(&block, &copies)
}

/// `a` repeated so that blocks interleave: mode `i` is `(b_i, a_i)`.
///
/// # Errors
/// As [`logical_product`].
pub fn raked_product<I: Int>(a: &Layout<I>, b: &Layout<I>) -> Result<Layout<I>> {
    let (block, copies) = padded_product(a, b)?;
    zip(&copies, &block)
}

/// `block` repeated, first mode fastest, until it has the shape `target`.
///
/// `tile_to_shape(&"(8,8):(8,1)", &"(16,16)")` is `(16,(8,2)):(8,(1,128))`.
///
/// # Errors
/// [`Error::Indivisible`] when a mode of the block does not divide the target,
/// [`Error::Mismatch`] when the block has more modes than the target.
pub fn tile_to_shape<I: Int>(block: &Layout<I>, target: &IntTuple<I>) -> Result<Layout<I>> {
    let order: Vec<i64> = (0..).take(target.rank()).collect();
    tile_to_shape_by(block, target, &order)
}

/// [`tile_to_shape`] with blocks repeated along the mode of smallest order first.
///
/// `tile_to_shape_by(&"(8,8):(8,1)", &"(16,16)", &[2, 1])` is
/// `((8,2),(8,2)):((8,128),(1,64))`.
///
/// # Errors
/// As [`tile_to_shape`]; [`Error::Mismatch`] when the order has not one entry for each mode.
pub fn tile_to_shape_by<I: Int>(
    block: &Layout<I>,
    target: &IntTuple<I>,
    order: &[i64],
) -> Result<Layout<I>> {
    let rank = target.rank();
    if block.rank() > rank {
        return Err(Error::mismatch(format!(
            "a block of {} modes for the shape {target} of {rank}",
            block.rank()
        )));
    }
    let mut modes: Vec<Layout<I>> = block.modes().collect();
    modes.resize_with(rank, || Layout::from_leaves([]));
    let mut repeat = Vec::with_capacity(rank);
    for (i, (mode, whole)) in modes.iter().zip(target.modes()).enumerate() {
        let whole = whole
            .leaves
            .iter()
            .try_fold(I::constant(1), |p, s| p.try_mul(s))?;
        let size = mode.size()?;
        let (q, r) = whole.div_rem(&size)?;
        if !r.is(0) {
            let what = format!("mode {i} of the shape {target} by the block {block}");
            let (size, by) = (whole.to_string(), size.to_string());
            return Err(Error::Indivisible { what, size, by });
        }
        repeat.push(q);
    }
    let copies = Layout::ordered(IntTuple::flat(repeat), order)?;
    let product = blocked_product(&Layout::from_modes(modes)?, &copies)?;
    by_profile(&product, &Profile::flat(rank), &mut |m| {
        crate::simplify::coalesce(&m)
    })
}
