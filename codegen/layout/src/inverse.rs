//! Inverses, and the vectors that two layouts share.
//!
//! In: a layout of integers. Out: the layout that undoes it from the right or from the left.

use crate::composition::composition;
use crate::error::{Error, Result};
use crate::inline::Inline;
use crate::int::Int;
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

/// The largest `r` found by following strides 1, s, s*t, …, with `a(r(i)) == i`.
///
/// `right_inverse(&"(4,8):(8,1)")` is `(8,4):(4,1)`. Without a stride of 1 it is `1:0`.
///
/// # Errors
/// [`Error::Overflow`]; [`Error::Unproven`] when the order of symbolic strides is not known.
pub fn right_inverse<I: Int>(a: &Layout<I>) -> Result<Layout<I>> {
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

/// A layout `r` with `r(a(i)) == i`: values between the points of `a` are free.
///
/// `left_inverse(&"(4,8):(1,5)")` is `(5,8):(1,4)`.
///
/// # Errors
/// [`Error::Unsupported`] when two modes of `a` overlap or its strides do not divide one another.
pub fn left_inverse<I: Int>(a: &Layout<I>) -> Result<Layout<I>> {
    let refuse = |why: String| Err(Error::unsupported(format!("left inverse of {a}: {why}")));
    for (s, d) in merged(a, false)?.iter() {
        if d.is(0) || !I::default().le(d)? {
            return refuse(format!("its mode {s}:{d} does not increase"));
        }
    }
    let modes = placed(a)?;
    let mut out: Inline<(I, I), 8> = Inline::new();
    let (mut unit, mut index) = (I::constant(1), I::default());
    let mut covered = I::constant(1);
    for mode in modes.iter() {
        let (gap, rest) = mode.stride.div_rem(&unit)?;
        if !rest.is(0) || !covered.le(&mode.stride)? {
            return refuse(format!(
                "the stride {} does not follow the modes of smaller stride, which span {covered}",
                mode.stride
            ));
        }
        out.push((gap, index));
        (unit, index) = (mode.stride.clone(), mode.index.clone());
        covered = mode.stride.try_mul(&mode.extent)?;
    }
    if let Some(last) = modes.last() {
        out.push((last.extent.clone(), index));
    }
    coalesce(&Layout::from_leaves(out.iter().cloned()))
}

/// How many consecutive offsets, from 0, hold the same coordinates in both layouts.
///
/// `max_common_vector(&"(8,3):(1,8)", &"(8,3):(1,16)")` is 8.
///
/// # Errors
/// [`Error::Overflow`].
pub fn max_common_vector<I: Int>(a: &Layout<I>, b: &Layout<I>) -> Result<I> {
    let inverse = right_inverse(b)?;
    let leaves: Vec<(I, I)> = inverse
        .leaves()
        .map(|(s, d)| (s.clone(), d.clone()))
        .collect();
    // The longest prefix of modes that composes; a refused longer one shares no more.
    for count in (1..=leaves.len()).rev() {
        let prefix = Layout::from_leaves(leaves[..count].iter().cloned());
        match composition(a, &prefix) {
            Ok(common) => {
                let common = merged(&common, false)?;
                let first = common.first().filter(|(_, d)| d.is(1));
                return Ok(first.map_or(I::constant(1), |(s, _)| s.clone()));
            }
            Err(Error::NotALayout(_)) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(I::constant(1))
}
