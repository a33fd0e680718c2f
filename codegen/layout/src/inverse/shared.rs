//! The vectors that two layouts share.
//!
//! In: two layouts. Out: the longest run of offsets from 0 that both hold at the same indices, as
//! the layout of these indices. How: where one of the layouts holds each offset once, the indices
//! are those of its inverse, and compositions tell how far the other layout follows; anything else
//! is searched for within a bound.

use std::collections::HashMap;

use super::search::{Largest, MOST_VALUES, Search};
use super::{chain_inverse, constant, lift, nested, reachable};
use crate::composition::composition;
use crate::error::{Error, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::simplify::{coalesce, merged};

/// The largest layout `r` of indices of both layouts with `a(r(i)) == b(r(i)) == i`: where the
/// first offsets lie in both. Its size is [`max_common_vector`].
///
/// `max_common_layout(&"(8,3):(1,8)", &"(8,3):(1,16)")` is `8:1`. With symbols it is the largest
/// that follows the strides.
///
/// # Errors
/// [`Error::Undecided`] when modes of both layouts overlap and the search exceeds
/// [`INVERSE_LIMIT`](super::INVERSE_LIMIT); [`Error::Overflow`]; [`Error::Unproven`] when the order
/// of symbolic strides is not known.
pub fn max_common_layout<I: Int>(a: &Layout<I>, b: &Layout<I>) -> Result<Layout<I>> {
    match (constant(a), constant(b)) {
        (Some(a), Some(b)) => coalesce(&lift(&largest(&a, &b)?)?),
        _ => along_strides(a, b),
    }
}

/// How many consecutive offsets, from 0, lie at the same indices in both layouts: the size of
/// [`max_common_layout`].
///
/// `max_common_vector(&"(8,3):(1,8)", &"(8,3):(1,16)")` is 8.
///
/// # Errors
/// As [`max_common_layout`].
pub fn max_common_vector<I: Int>(a: &Layout<I>, b: &Layout<I>) -> Result<I> {
    max_common_layout(a, b)?.size()
}

fn largest(a: &Layout, b: &Layout) -> Result<Layout> {
    let mut best = Layout::from_leaves([]);
    for (one, other) in [(a, b), (b, a)] {
        let shared = followed(one, other)?;
        if shared.size()? > best.size()? {
            best = shared;
        }
        let repeats = one.leaves().any(|(s, d)| *s > 1 && *d == 0);
        if !repeats && nested(one)? {
            // Each offset has one index in `one`, so there is nothing else to choose.
            return Ok(best);
        }
    }
    let ((run_a, near_a), (run_b, near_b)) = (reachable(a)?, reachable(b)?);
    let bound = run_a.into_iter().chain(run_b).min();
    if bound.is_some_and(|run| best.size().is_ok_and(|size| size == run)) {
        return Ok(best);
    }
    let search = Search::new(format!("the largest common layout of {a} and {b}"));
    let near = match near_a.size()? <= near_b.size()? {
        true => near_a,
        false => near_b,
    };
    if near.size()? > MOST_VALUES {
        return Err(search.undecided());
    }
    let indices = a.size()?.min(b.size()?);
    let mut values = HashMap::new();
    for index in near.offsets()?.filter(|i| *i < indices) {
        let value = a.at(index)?;
        if b.at(index)? == value {
            values.insert(index, value);
        }
    }
    let search = &search;
    Largest {
        search,
        values,
        best,
    }
    .run()
}

/// The longest beginning of the inverse along the strides of `one` that `other` follows, too.
fn followed(one: &Layout, other: &Layout) -> Result<Layout> {
    let inverse = chain_inverse(one)?;
    if holds(other, &inverse)? {
        return Ok(inverse);
    }
    let mut modes: Vec<(i64, i64)> = Vec::new();
    for (extent, step) in inverse.leaves() {
        let with = |count: i64| {
            let last = std::iter::once((count, *step));
            Layout::from_leaves(modes.iter().copied().chain(last))
        };
        let (mut low, mut high) = (1, extent.saturating_add(1));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match holds(other, &with(middle))? {
                true => low = middle,
                false => high = middle,
            }
        }
        modes.push((low, *step));
        if low < *extent {
            break;
        }
    }
    coalesce(&Layout::from_leaves(modes))
}

/// Whether `indices` are indices of `a` whose values are 0, 1, 2, ….
fn holds(a: &Layout, indices: &Layout) -> Result<bool> {
    if indices.cosize()? > a.size()? {
        return Ok(false);
    }
    match composition(a, indices) {
        Ok(values) => {
            let modes = merged(&values, false)?;
            Ok(modes.is_empty() || modes.len() == 1 && modes[0].1 == 1)
        }
        Err(Error::NotALayout(_)) => Ok(false),
        Err(e) => Err(e),
    }
}

/// The first values of `r`, at most `most` of them, as far as a layout can hold them.
pub(crate) fn prefix(r: &Layout, most: i64) -> Result<Layout> {
    let (mut modes, mut unit) = (Vec::new(), 1i64);
    for (extent, step) in merged(r, false)?.iter() {
        let count = (*extent).min(most / unit).max(1);
        modes.push((count, *step));
        if count < *extent {
            break;
        }
        unit = unit.try_mul(extent)?;
    }
    coalesce(&Layout::from_leaves(modes))
}

/// The common layout where symbols are: whole modes of the inverse of `b`, as many as compose.
fn along_strides<I: Int>(a: &Layout<I>, b: &Layout<I>) -> Result<Layout<I>> {
    let inverse = chain_inverse(b)?;
    let modes: Vec<(I, I)> = inverse
        .leaves()
        .map(|(s, d)| (s.clone(), d.clone()))
        .collect();
    // A refused longer beginning shares no more than a shorter one.
    for count in (1..=modes.len()).rev() {
        let some = Layout::from_leaves(modes[..count].iter().cloned());
        match composition(a, &some) {
            Ok(common) => {
                let common = merged(&common, false)?;
                let first = common.first().filter(|(_, d)| d.is(1));
                let size = first.map_or(I::constant(1), |(s, _)| s.clone());
                let vector = Layout::single(size, I::constant(1))?;
                return coalesce(&composition(&some, &vector)?);
            }
            Err(Error::NotALayout(_)) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(Layout::from_leaves([]))
}
