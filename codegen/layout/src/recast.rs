//! The same storage in elements of another width.
//!
//! In: a layout of elements and a factor. Out: the layout of wider or narrower elements.

use crate::error::{Error, Result};
use crate::inline::Inline;
use crate::int::{Int, Stride};
use crate::layout::Layout;

/// The layout over elements `n` times larger: strides are divided by `n`; where `n` has a part that
/// a stride does not, that part leaves the extent. `(4,2):(2,1)` upcast by 4 is `(2,1):(1,1)`.
///
/// # Errors
/// [`Error::Indivisible`] when neither `n` divides a stride nor the stride divides `n`.
pub fn upcast<I: Int>(a: &Layout<I>, n: &I) -> Result<Layout<I>> {
    let (mut shape, mut stride) = (Inline::new(), Inline::new());
    for (s, d) in a.leaves() {
        let (s, d) = if d.is(0) {
            (s.clone(), d.clone())
        } else {
            upcast_mode(a, s, d, n)?
        };
        shape.push(s);
        stride.push(d);
    }
    Layout::from_parts(a.profile().clone(), shape, stride)
}

fn upcast_mode<I: Int>(a: &Layout<I>, s: &I, d: &I, n: &I) -> Result<(I, I)> {
    let size = d.magnitude()?;
    match d.div_rem(n) {
        Ok((q, r)) if r.is(0) => return Ok((s.clone(), q)),
        // A symbolic stride has no other way: the missing fact is the answer.
        Err(e) if size.as_i64().is_none() => return Err(e),
        _ => {}
    }
    let (share, r) = n.div_rem(&size)?;
    if !r.is(0) {
        return Err(Error::Indivisible {
            what: format!("upcast of {a} by {n}, its stride"),
            size: d.to_string(),
            by: n.to_string(),
        });
    }
    let sign = if &size == d { 1 } else { -1 };
    Ok((s.ceil_div(&share)?, I::constant(sign)))
}

/// The layout over elements `n` times smaller: the stride-1 mode grows, other strides are
/// multiplied. `(3,4,2):(8,2,1)` downcast by 2 is `(3,4,4):(16,4,1)`.
///
/// # Errors
/// [`Error::Overflow`].
pub fn downcast<I: Int>(a: &Layout<I>, n: &I) -> Result<Layout<I>> {
    let (mut shape, mut stride) = (Inline::new(), Inline::new());
    for (s, d) in a.leaves() {
        if d.is(1) || d.is(-1) {
            shape.push(s.try_mul(n)?);
            stride.push(d.clone());
        } else {
            shape.push(s.clone());
            stride.push(d.try_mul(n)?);
        }
    }
    Layout::from_parts(a.profile().clone(), shape, stride)
}

/// The same storage seen as elements of `to_bits` in place of `from_bits`.
///
/// # Errors
/// [`Error::Indivisible`] when neither width divides the other; as [`upcast`] and [`downcast`].
pub fn recast<I: Int>(a: &Layout<I>, from_bits: i64, to_bits: i64) -> Result<Layout<I>> {
    if from_bits < 1 || to_bits < 1 {
        return Err(Error::domain(format!(
            "recast from {from_bits} to {to_bits} bits"
        )));
    }
    if to_bits % from_bits == 0 {
        return upcast(a, &I::constant(to_bits / from_bits));
    }
    if from_bits % to_bits == 0 {
        return downcast(a, &I::constant(from_bits / to_bits));
    }
    let (wide, narrow) = (from_bits.max(to_bits), from_bits.min(to_bits));
    Err(Error::Indivisible {
        what: format!("recast of {a} from {from_bits} to {to_bits} bits"),
        size: wide.to_string(),
        by: narrow.to_string(),
    })
}
