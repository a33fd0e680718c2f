//! Edits of the tree of modes; no value of a mode changes.
//!
//! In: layouts. Out: layouts with modes grouped, added, dropped or paired.

use crate::error::{Error, Result};
use crate::int::{Int, Stride};
use crate::layout::Layout;
use crate::tuple::Profile;

/// All leaves as one flat tuple: `(2,(3,4))` becomes `(2,3,4)`; a bare mode stays bare.
pub fn flatten<I: Int, D: Stride<I>>(a: &Layout<I, D>) -> Layout<I, D> {
    if a.profile.is_leaf() {
        return a.clone();
    }
    let profile = Profile::flat(a.shape.len());
    a.clone().reprofiled(profile)
}

/// The layout with the given layouts as its modes: `make_layout(a, b)`.
///
/// # Errors
/// [`Error::Domain`] beyond the limits of trees.
pub fn concatenate<I: Int, D: Stride<I>>(parts: &[Layout<I, D>]) -> Result<Layout<I, D>> {
    Layout::from_modes(parts.iter().cloned())
}

/// `a` with `mode` after its last mode.
///
/// # Errors
/// As [`concatenate`].
pub fn append<I: Int, D: Stride<I>>(a: &Layout<I, D>, mode: &Layout<I, D>) -> Result<Layout<I, D>> {
    Layout::from_modes(a.modes().chain(std::iter::once(mode.clone())))
}

/// `a` with `mode` before its first mode.
///
/// # Errors
/// As [`concatenate`].
pub fn prepend<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    mode: &Layout<I, D>,
) -> Result<Layout<I, D>> {
    Layout::from_modes(std::iter::once(mode.clone()).chain(a.modes()))
}

/// The modes with the given indices, as a tuple.
///
/// # Errors
/// [`Error::Mismatch`] for an index beyond the rank.
pub fn select<I: Int, D: Stride<I>>(a: &Layout<I, D>, indices: &[usize]) -> Result<Layout<I, D>> {
    let modes: Vec<_> = indices
        .iter()
        .map(|&i| a.need_mode(i))
        .collect::<Result<_>>()?;
    Layout::from_modes(modes)
}

/// The modes `begin..end`, as a tuple.
///
/// # Errors
/// [`Error::Mismatch`] for a range beyond the rank.
pub fn take<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    begin: usize,
    end: usize,
) -> Result<Layout<I, D>> {
    select(a, &(begin..end).collect::<Vec<_>>())
}

/// `a` with mode `i` replaced.
///
/// # Errors
/// [`Error::Mismatch`] for an index beyond the rank.
pub fn replace<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    i: usize,
    mode: &Layout<I, D>,
) -> Result<Layout<I, D>> {
    a.need_mode(i)?;
    Layout::from_modes(
        a.modes()
            .enumerate()
            .map(|(j, m)| if i == j { mode.clone() } else { m }),
    )
}

/// The modes `begin..end` gathered into one mode: `group((2,3,4), 1, 3)` is `(2,(3,4))`.
///
/// # Errors
/// [`Error::Mismatch`] for a range beyond the rank.
pub fn group<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    begin: usize,
    end: usize,
) -> Result<Layout<I, D>> {
    if begin > end || end > a.rank() {
        return Err(Error::mismatch(format!(
            "modes {begin}..{end} of {a}, which has {} modes",
            a.rank()
        )));
    }
    let modes: Vec<_> = a.modes().collect();
    let middle = Layout::from_modes(modes[begin..end].iter().cloned())?;
    let (head, tail) = (modes[..begin].iter().cloned(), modes[end..].iter().cloned());
    Layout::from_modes(head.chain(std::iter::once(middle)).chain(tail))
}

/// Pairs the modes of two layouts: mode `i` of the result is `(a_i, b_i)`.
///
/// # Errors
/// [`Error::Mismatch`] when the ranks differ.
pub fn zip<I: Int, D: Stride<I>>(a: &Layout<I, D>, b: &Layout<I, D>) -> Result<Layout<I, D>> {
    if a.rank() != b.rank() {
        return Err(Error::mismatch(format!(
            "zip of {a} and {b}: their ranks {} and {} differ",
            a.rank(),
            b.rank()
        )));
    }
    let pairs: Vec<_> = a
        .modes()
        .zip(b.modes())
        .map(|(x, y)| Layout::from_modes([x, y]))
        .collect::<Result<_>>()?;
    Layout::from_modes(pairs)
}

/// Transposes modes of modes: `((a,b),(c,d))` becomes `((a,c),(b,d))`.
///
/// # Errors
/// [`Error::Mismatch`] when the modes have different ranks.
pub fn zip_modes<I: Int, D: Stride<I>>(a: &Layout<I, D>) -> Result<Layout<I, D>> {
    let modes: Vec<_> = a.modes().collect();
    let rank = modes.first().map_or(0, Layout::rank);
    if modes.iter().any(|m| m.rank() != rank) {
        return Err(Error::mismatch(format!(
            "the modes of {a} have different ranks"
        )));
    }
    let columns: Vec<_> = (0..rank)
        .map(|i| {
            let column: Vec<_> = modes
                .iter()
                .map(|m| m.need_mode(i))
                .collect::<Result<_>>()?;
            Layout::from_modes(column)
        })
        .collect::<Result<_>>()?;
    Layout::from_modes(columns)
}
