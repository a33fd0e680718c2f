//! How two shapes relate, and coordinates carried from one shape to another.
//!
//! In: nested tuples. Out: verdicts and coordinates. Invariant: each relation is a partial order,
//! the weaker ones hold wherever the stronger ones do.

use crate::coord::{crd2idx, idx2crd};
use crate::error::Result;
use crate::int::Int;
use crate::layout::Layout;
use crate::tuple::{IntTuple, Node, Profile};

/// Whether two profiles are the same tree.
pub fn congruent(a: &Profile, b: &Profile) -> bool {
    a == b
}

/// Whether `a` is a prefix of `b`: `b` comes from `a` by putting subtrees in place of leaves.
///
/// `(_,(_,_))` is a prefix of `((_,_),(_,_))`; a single leaf is a prefix of everything.
pub fn weakly_congruent(a: &Profile, b: &Profile) -> bool {
    walk(a, &a.root(), b, &b.root(), &mut |_, _| Ok(true)).unwrap_or(false)
}

/// Whether `b` refines `a`: every leaf of `a` is a subtree of `b` of the same size.
///
/// # Errors
/// [`Error::Overflow`](crate::Error).
pub fn compatible<I: Int>(a: &IntTuple<I>, b: &IntTuple<I>) -> Result<bool> {
    leaf_by_leaf(a, b, &mut |leaf, size| Ok(leaf == size))
}

/// Whether `b` refines some multiple of `a`: every leaf of `a` divides the size of the subtree that
/// `b` has in its place. `(2,3)` is weakly compatible with `((2,2),9)`.
///
/// # Errors
/// [`Error::Overflow`](crate::Error); [`Error::Unproven`](crate::Error) when a symbolic quotient is
/// not known; [`Error::Domain`](crate::Error) for a leaf below 1.
pub fn weakly_compatible<I: Int>(a: &IntTuple<I>, b: &IntTuple<I>) -> Result<bool> {
    leaf_by_leaf(a, b, &mut |leaf, size| Ok(size.div_rem(leaf)?.1.is(0)))
}

/// The coordinate of `to` with the linear index that `coord` has in `from`.
///
/// # Errors
/// As [`crd2idx`] and [`idx2crd`].
pub fn crd2crd<I: Int>(
    coord: &IntTuple<I>,
    from: &IntTuple<I>,
    to: &IntTuple<I>,
) -> Result<IntTuple<I>> {
    let index = crd2idx(coord, &Layout::compact(from.clone())?)?;
    idx2crd(&index, to)
}

fn leaf_by_leaf<I: Int>(
    a: &IntTuple<I>,
    b: &IntTuple<I>,
    holds: &mut dyn FnMut(&I, &I) -> Result<bool>,
) -> Result<bool> {
    let (x, y) = (a.profile.root(), b.profile.root());
    walk(&a.profile, &x, &b.profile, &y, &mut |x, y| {
        let part = &b.leaves[y.leaves.clone()];
        let size = part.iter().try_fold(I::constant(1), |p, s| p.try_mul(s))?;
        holds(&a.leaves[x.leaves.start], &size)
    })
}

/// Whether `a` is a prefix of `b` and `holds` is true of each leaf of `a` and its subtree of `b`.
fn walk(
    a: &Profile,
    x: &Node,
    b: &Profile,
    y: &Node,
    holds: &mut dyn FnMut(&Node, &Node) -> Result<bool>,
) -> Result<bool> {
    if a.node_is_leaf(x) {
        return holds(x, y);
    }
    if b.node_is_leaf(y) {
        return Ok(false);
    }
    let xs: Vec<Node> = a.children(x).collect();
    let ys: Vec<Node> = b.children(y).collect();
    if xs.len() != ys.len() {
        return Ok(false);
    }
    for (x, y) in xs.iter().zip(&ys) {
        if !walk(a, x, b, y, holds)? {
            return Ok(false);
        }
    }
    Ok(true)
}
