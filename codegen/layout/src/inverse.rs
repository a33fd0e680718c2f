//! Inverses, and the vectors that two layouts share.
//!
//! In: a layout of integers. Out: the layout that undoes it from the right or from the left, or the
//! smallest counterexample. How: where the strides, sorted, leave each extent before the next
//! stride, the inverse is read off them; anything else is searched for within a bound.

mod search;
mod left;
mod shared;

pub use left::{left_inverse, left_pseudo_inverse};
pub use search::INVERSE_LIMIT;
pub(crate) use shared::prefix;
pub use shared::{max_common_layout, max_common_vector};

use crate::error::{Error, Result};
use crate::inline::Inline;
use crate::int::{Int, Stride};
use search::{Largest, MOST_VALUES, Search};

use crate::layout::Layout;
use crate::simplify::{coalesce, merged};

/// A mode with the linear index at which it begins.
#[derive(Debug, Clone, Default)]
struct Placed<I> {
    extent: I,
    stride: I,
    index: I,
}

/// The coalesced modes with positive strides, sorted by stride.
fn placed<I: Int>(a: &Layout<I>) -> Result<Inline<Placed<I>, 8>> {
    let mut out: Inline<Placed<I>, 8> = Inline::new();
    let mut index = I::constant(1);
    for (s, d) in merged(a, false)?.iter() {
        if !d.is(0) && I::default().le(d)? {
            let placed = Placed {
                extent: s.clone(),
                stride: d.clone(),
                index: index.clone(),
            };
            out.push(placed);
            let mut i = out.len() - 1;
            while i > 0 && !out[i - 1].stride.le(&out[i].stride)? {
                out.swap(i - 1, i);
                i -= 1;
            }
        }
        index = index.try_mul(s)?;
    }
    Ok(out)
}

/// The largest layout `r` with `a(r(i)) == i` and every `r(i)` an index of `a`.
///
/// `right_inverse(&"(4,8):(8,1)")` is `(8,4):(4,1)`. Without an offset 1 it is `1:0`.
///
/// It is read off the strides when they lead as far as offsets go without a gap; else a bounded
/// search decides. With symbols it is the largest that follows strides 1, s, s*t, ….
///
/// # Errors
/// [`Error::Undecided`] when modes overlap and the search exceeds [`INVERSE_LIMIT`];
/// [`Error::Overflow`]; [`Error::Unproven`] when the order of symbolic strides is not known.
pub fn right_inverse<I: Int>(a: &Layout<I>) -> Result<Layout<I>> {
    let chain = chain_inverse(a)?;
    let Some(plain) = constant(a) else {
        return Ok(chain);
    };
    let (run, near) = reachable(&plain)?;
    if run.is_some_and(|run| chain.size().is_ok_and(|size| size.is(run))) {
        return Ok(chain);
    }
    let search = Search::new(format!("the largest right inverse of {a}"));
    if near.size()? > MOST_VALUES {
        return Err(search.undecided());
    }
    let largest = Largest {
        search: &search,
        values: near.offsets()?.zip(plain_values(&plain, &near)?).collect(),
        best: constant(&chain).unwrap_or(Layout::from_leaves([])),
    };
    coalesce(&lift(&largest.run()?)?)
}

/// How far offsets can go without a gap, and the indices, as a layout, that can hold them: a stride
/// beyond all smaller modes together leaves a gap before it. A negative stride beyond all positive
/// modes together leads below 0 for good; one that does not has no such bound.
fn reachable(a: &Layout) -> Result<(Option<i64>, Layout)> {
    let mut modes: Vec<(i64, i64, i64)> = Vec::new();
    let mut index = 1i64;
    for (s, d) in a.leaves() {
        // Steps through a mode of stride 0 carry into the next mode too.
        if *s > 1 {
            modes.push((*d, *s, index));
        }
        index = index.try_mul(s)?;
    }
    let mut up = 0i64;
    for (d, s, _) in modes.iter().filter(|m| m.0 > 0) {
        up = up.try_add(&(s - 1).try_mul(d)?)?;
    }
    modes.retain(|m| m.0 >= -up);
    modes.sort_unstable();
    let indices = |m: &[(i64, i64, i64)]| Layout::from_leaves(m.iter().map(|m| (m.1, m.2)));
    if modes.first().is_some_and(|m| m.0 < 0) {
        return Ok((None, indices(&modes)));
    }
    let mut run = 1i64;
    for (i, (d, s, _)) in modes.iter().enumerate() {
        if *d > run {
            return Ok((Some(run), indices(&modes[..i])));
        }
        run = run.try_add(&(s - 1).try_mul(d)?)?;
    }
    Ok((Some(run), indices(&modes)))
}

/// The values of `a` at the indices that `near` lists.
fn plain_values(a: &Layout, near: &Layout) -> Result<Vec<i64>> {
    near.offsets()?.map(|index| a.at(index)).collect()
}

/// The layout over `i64`, when nothing in it is a symbol.
fn constant<I: Int>(a: &Layout<I>) -> Option<Layout> {
    let missing = || Error::domain("a symbol");
    a.map(|x| x.as_i64().ok_or_else(missing)).ok()
}

fn lift<I: Int>(a: &Layout) -> Result<Layout<I>> {
    a.map(|&x| Ok(I::constant(x)))
}

/// Whether no stride is negative and each extent ends before the next stride, so that an offset has
/// one index up to modes of stride 0.
fn nested(a: &Layout) -> Result<bool> {
    if a.leaves().any(|(s, d)| *s > 1 && *d < 0) {
        return Ok(false);
    }
    let modes = placed(a)?;
    for pair in modes.windows(2) {
        if pair[0].stride.try_mul(&pair[0].extent)? > pair[1].stride {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The largest right inverse found by following strides 1, s, s*t, ….
fn chain_inverse<I: Int>(a: &Layout<I>) -> Result<Layout<I>> {
    let modes = placed(a)?;
    // For each mode, the farthest end of a chain that begins with it, and the mode that follows.
    let mut reach: Vec<(I, Option<usize>)> = Vec::new();
    for j in (0..modes.len()).rev() {
        let mode = &modes[j];
        let mut best = (mode.stride.try_mul(&mode.extent)?, None);
        for k in j + 1..modes.len() {
            let next = &modes[k];
            let (count, rest) = match next.stride.div_rem(&mode.stride) {
                Ok(pair) => pair,
                Err(Error::Unproven { .. }) => continue,
                Err(e) => return Err(e),
            };
            let ends = &reach[modes.len() - 1 - k].0;
            if rest.is(0) && !count.is(1) && count.le(&mode.extent)? && best.0.le(ends)? {
                best = (ends.clone(), Some(k));
            }
        }
        reach.push(best);
    }
    let mut best: Option<usize> = None;
    for (j, _) in modes.iter().enumerate().filter(|(_, m)| m.stride.is(1)) {
        let ends = |j: usize| &reach[modes.len() - 1 - j].0;
        if best.is_none_or(|b| ends(b).le(ends(j)).unwrap_or(false)) {
            best = Some(j);
        }
    }
    let mut out: Inline<(I, I), 8> = Inline::new();
    while let Some(j) = best {
        best = reach[modes.len() - 1 - j].1;
        let count = match best {
            Some(k) => modes[k].stride.div_rem(&modes[j].stride)?.0,
            None => modes[j].extent.clone(),
        };
        out.push((count, modes[j].index.clone()));
    }
    coalesce(&Layout::from_leaves(out.iter().cloned()))
}

/// The layout of the indices that modes of stride 0 alone reach: its values are the indices that
/// share the offset of index 0.
///
/// `nullspace(&"(4,2,8):(1,0,4)")` is `2:4`; without a mode of stride 0 it is `1:0`.
///
/// # Errors
/// [`Error::Overflow`].
pub fn nullspace<I: Int, D: Stride<I>>(a: &Layout<I, D>) -> Result<Layout<I>> {
    let mut out: Inline<(I, I), 8> = Inline::new();
    let mut index = I::constant(1);
    for (s, d) in a.leaves() {
        if d.is_zero() && !s.is(1) {
            out.push((s.clone(), index.clone()));
        }
        index = index.try_mul(s)?;
    }
    coalesce(&Layout::from_leaves(out.iter().cloned()))
}
