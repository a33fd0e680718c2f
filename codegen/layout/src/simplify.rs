//! Fewer modes for the same function.
//!
//! In: any layout. Out: the shortest flat layout of the same values. Invariant: `coalesce` never
//! changes a value inside the domain; `filter` drops what has stride 0.

use crate::error::{Error, Result};
use crate::inline::Inline;
use crate::int::{Int, Stride};
use crate::layout::Layout;
use crate::tuple::{Node, Profile};

/// Merges leaves whose strides continue one another. `keep_last` keeps a trailing extent of 1, so
/// that the values past the end stay the same too.
pub(crate) fn merged<I: Int, D: Stride<I>>(
    leaves: &Layout<I, D>,
    keep_last: bool,
) -> Result<Inline<(I, D), 8>> {
    let mut out: Inline<(I, D), 8> = Inline::new();
    let count = leaves.shape.len();
    for (i, (s, d)) in leaves.leaves().enumerate() {
        let last = i + 1 == count;
        if s.is(1) && !(last && keep_last) {
            continue;
        }
        if let Some((size, step)) = out.last_mut()
            && step.scaled(size).is_ok_and(|next| next == *d)
        {
            *size = size.try_mul(s)?;
            continue;
        }
        out.push((s.clone(), d.clone()));
    }
    Ok(out)
}

/// The flat layout of fewest modes with the same values: `(2,(3,1)):(1,(2,6))` becomes `6:1`.
///
/// # Errors
/// [`Error::Overflow`] when a merged extent does not fit.
pub fn coalesce<I: Int, D: Stride<I>>(a: &Layout<I, D>) -> Result<Layout<I, D>> {
    Ok(Layout::from_leaves(merged(a, false)?.iter().cloned()))
}

/// [`coalesce`] that keeps a trailing mode of extent 1, so that values past the end stay too.
///
/// # Errors
/// As [`coalesce`].
pub fn coalesce_keeping_end<I: Int, D: Stride<I>>(a: &Layout<I, D>) -> Result<Layout<I, D>> {
    Ok(Layout::from_leaves(merged(a, true)?.iter().cloned()))
}

/// [`coalesce`] at each leaf of `profile`; modes that the profile does not name stay as they are.
///
/// # Errors
/// [`Error::Mismatch`] when the profile is no prefix of the layout's.
pub fn coalesce_by<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    profile: &Profile,
) -> Result<Layout<I, D>> {
    by_profile(a, profile, &mut |part| coalesce(&part))
}

/// Applies `f` at each leaf of `profile`.
pub(crate) fn by_profile<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    profile: &Profile,
    f: &mut dyn FnMut(Layout<I, D>) -> Result<Layout<I, D>>,
) -> Result<Layout<I, D>> {
    fn walk<I: Int, D: Stride<I>>(
        a: &Layout<I, D>,
        profile: &Profile,
        node: &Node,
        f: &mut dyn FnMut(Layout<I, D>) -> Result<Layout<I, D>>,
    ) -> Result<Layout<I, D>> {
        if profile.node_is_leaf(node) {
            return f(a.clone());
        }
        let named: Vec<Node> = profile.children(node).collect();
        if a.profile.is_leaf() || named.len() > a.rank() {
            return Err(Error::mismatch(format!(
                "a profile of {} modes for {a}, which has fewer",
                named.len()
            )));
        }
        let mut named = named.iter();
        let modes: Vec<_> = a
            .modes()
            .map(|mode| match named.next() {
                Some(node) => walk(&mode, profile, node, f),
                None => Ok(mode),
            })
            .collect::<Result<_>>()?;
        Layout::from_modes(modes)
    }
    walk(a, profile, &profile.root(), f)
}

/// Sets the extent of every stride-0 leaf to 1.
pub fn filter_zeros<I: Int, D: Stride<I>>(a: &Layout<I, D>) -> Layout<I, D> {
    let mut out = a.clone();
    for (s, d) in out.shape.iter_mut().zip(out.stride.iter()) {
        if d.is_zero() {
            *s = I::constant(1);
        }
    }
    out
}

/// [`filter_zeros`], then [`coalesce`]: the values without repetition.
///
/// # Errors
/// As [`coalesce`].
pub fn filter<I: Int, D: Stride<I>>(a: &Layout<I, D>) -> Result<Layout<I, D>> {
    coalesce(&filter_zeros(a))
}
