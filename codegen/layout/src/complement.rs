//! The complement: what is missing for a layout to tile an interval.
//!
//! In: a layout and the size to cover. Out: the increasing layout whose translations of the input
//! do not overlap. Invariant: all sums `a(i) + r(j)` are distinct, modes of stride 0 left out.
//!
//! How it is decided: two sets tile an interval only when they alternate along a chain of
//! divisors. So sorted strides, each a multiple of what the modes below it span, give the one
//! tiling there is; where a stride is no multiple, a gap is left that no translation fills, and the
//! answer has as many translations as fit below it, as CuTe's has; and modes that run into one
//! another have no tiling, which the first offset out of reach shows.

use std::collections::BTreeMap;

use crate::error::{Counterexample, Error, Reason, Result};
use crate::inline::Inline;
use crate::int::Int;
use crate::layout::Layout;
use crate::simplify::{coalesce, filter};

/// Modes: extents and strides.
type Modes<I> = Inline<(I, I), 8>;

/// The increasing layout `r` such that translations of `a` by `r` do not overlap.
///
/// They tile `[0, size)`, rounded up to what `a` spans, whenever any translations do: when each
/// stride of `a`, in order, is a multiple of what the modes below it span.
/// `complement(&"4:2", 24)` is `(2,3):(1,8)`. Else offsets are left that are in no translation, as
/// in CuTe: `complement(&"(6,3):(1,8)", 24)` is `1:0`, and 6, 7, 14, 15, 22 and 23 are in none.
///
/// # Errors
/// [`Error::NotALayout`] for modes that run into one another, with the first offset that cannot be
/// covered once; [`Error::Domain`] for negative strides or a size below 1, and for such modes when
/// they are too large to list or symbolic.
pub fn complement<I: Int>(a: &Layout<I>, size: &I) -> Result<Layout<I>> {
    let (gaps, spanned) = gaps(a, size)?;
    let Some(spanned) = spanned else {
        // What `a` spans is past the largest integer, and so past the size: once is enough.
        return coalesce(&Layout::from_leaves(gaps.iter().cloned()));
    };
    coalesce(&with_rest(gaps, size, spanned)?)
}

/// The complement with its last mode, whatever its extent, so that its values past the end go on
/// clear of `a`.
pub(crate) fn open_complement<I: Int>(a: &Layout<I>, size: &I) -> Result<Layout<I>> {
    match gaps(a, size)? {
        (gaps, Some(spanned)) => with_rest(gaps, size, spanned),
        _ => Err(Error::Overflow {
            what: format!("what {a} spans"),
        }),
    }
}

/// The modes of the gaps, and the one behind all that `a` spans, up to the size.
fn with_rest<I: Int>(mut gaps: Modes<I>, size: &I, spanned: I) -> Result<Layout<I>> {
    gaps.push((size.ceil_div(&spanned)?, spanned));
    Ok(Layout::from_leaves(gaps.iter().cloned()))
}

/// The modes that fill the gaps below each stride of `a`, and what it spans with them; `None` where
/// that is more than the largest integer.
fn gaps<I: Int>(a: &Layout<I>, size: &I) -> Result<(Modes<I>, Option<I>)> {
    if !I::constant(1).le(size)? {
        return Err(Error::domain(format!(
            "complement of {a} in {size}: the size is at least 1"
        )));
    }
    let mut modes: Modes<I> = Inline::new();
    for (s, d) in a.leaves().filter(|(s, d)| !s.is(1) && !d.is(0)) {
        if !I::default().le(d)? {
            return Err(Error::domain(format!(
                "complement of {a}: the stride {d} is negative; use positive strides"
            )));
        }
        modes.push((s.clone(), d.clone()));
        let mut i = modes.len() - 1;
        while i > 0 && !modes[i - 1].1.le(&modes[i].1)? {
            modes.swap(i - 1, i);
            i -= 1;
        }
    }
    let mut covered = I::constant(1);
    let mut out: Modes<I> = Inline::new();
    for (index, (s, d)) in modes.iter().enumerate() {
        if !covered.le(d)? {
            if let Some(witness) = witness(a)? {
                return Err(witness);
            }
            return Err(Error::domain(format!(
                "complement of {a}: its mode {s}:{d} begins inside the {covered} offsets that its \
                 other modes span, so translations would overlap"
            )));
        }
        let (gap, _) = d.div_rem(&covered)?;
        out.push((gap, covered));
        let known = [s, d, size].iter().all(|x| x.as_i64().is_some());
        covered = match d.try_mul(s) {
            Err(Error::Overflow { .. }) if known && index + 1 == modes.len() => {
                return Ok((out, None));
            }
            spanned => spanned?,
        };
    }
    Ok((out, Some(covered)))
}

/// Most values of a layout whose first overlap is looked for.
const MOST_VALUES: i64 = 1 << 12;

/// The first offset that cannot be covered exactly once by translations of `a`.
fn witness<I: Int>(a: &Layout<I>) -> Result<Option<Error>> {
    let a = &filter(a)?;
    let plain = a.map(|x| x.as_i64().ok_or_else(|| Error::domain("a symbol")));
    let Ok(plain) = plain else { return Ok(None) };
    if plain.size()? > MOST_VALUES {
        return Ok(None);
    }
    let refuse = |at: i64, want: &str, sum: String, reason| {
        Some(Error::NotALayout(Box::new(Counterexample {
            what: format!("complement of {a}"),
            at,
            want: want.to_owned(),
            sum_of_modes: sum,
            reason,
        })))
    };
    let mut at: BTreeMap<i64, i64> = BTreeMap::new();
    for (second, offset) in (0..).zip(plain.offsets()?) {
        if let Some(first) = at.insert(offset, second) {
            let sum = format!("the indices {first} and {second}");
            return Ok(refuse(
                offset,
                "one index",
                sum,
                Reason::Shared { first, second },
            ));
        }
    }
    // The first offset that is not covered has to be the next translation.
    let offsets: Vec<i64> = at.keys().copied().collect();
    let mut covered: BTreeMap<i64, i64> = offsets.iter().map(|&x| (x, 0)).collect();
    let mut next = 0;
    for _ in 0..MOST_VALUES {
        while covered.contains_key(&next) {
            next += 1;
        }
        for &x in &offsets {
            let sum = x.try_add(&next)?;
            if let Some(first) = covered.insert(sum, next) {
                let text = format!("{first}+{} and {next}+{x}", sum - first);
                let (first, second) = (first, next);
                return Ok(refuse(
                    sum,
                    "one sum",
                    text,
                    Reason::Overlap { first, second },
                ));
            }
        }
    }
    Ok(None)
}
