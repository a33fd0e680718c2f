//! The complement: what is missing for a layout to tile an interval.
//!
//! In: a layout and the size to cover. Out: the increasing layout whose translations of the input
//! do not overlap. Invariant: all sums `a(i) + r(j)` are distinct.

use crate::error::{Error, Result};
use crate::inline::Inline;
use crate::int::Int;
use crate::layout::Layout;
use crate::simplify::coalesce;

/// The increasing layout `r` such that translations of `a` by `r` tile `[0, size)`, rounded up to
/// the last extent of `a`: `complement(&"4:2", 24)` is `(2,3):(1,8)`.
///
/// # Errors
/// [`Error::Domain`] for negative strides, a size below 1, or modes that run into one another.
pub fn complement<I: Int>(a: &Layout<I>, size: &I) -> Result<Layout<I>> {
    if !I::constant(1).le(size)? {
        return Err(Error::domain(format!(
            "complement of {a} in {size}: the size is at least 1"
        )));
    }
    let mut modes: Inline<(I, I), 8> = Inline::new();
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
    let mut out: Inline<(I, I), 8> = Inline::new();
    for (s, d) in modes.iter() {
        if !covered.le(d)? {
            return Err(Error::domain(format!(
                "complement of {a}: its mode {s}:{d} begins inside the {covered} offsets that its \
                 other modes span, so translations would overlap"
            )));
        }
        let (gap, _) = d.div_rem(&covered)?;
        out.push((gap, covered));
        covered = d.try_mul(s)?;
    }
    out.push((size.ceil_div(&covered)?, covered));
    coalesce(&Layout::from_leaves(out.iter().cloned()))
}
