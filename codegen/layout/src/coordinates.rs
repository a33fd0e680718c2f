//! Composition through coordinates: the right side's values are coordinates of the left side.
//!
//! In: a layout and a coordinate layout, such as the (thread, value) layout of a tile. Out: a
//! layout of offsets. How: the left side is linear over its modes, so the answer is the sum over
//! modes of the composition of that mode with the coordinates that go to it. Where the parts do not
//! compose or split alike, their sum may still be a layout by accident: the values decide.

mod listed;

use crate::basis::{Basis, Path};
use crate::composition::composition;
use crate::error::{Error, Result};
use crate::inline::Inline;
use crate::int::{Int, Stride};
use crate::layout::Layout;
use crate::tuple::{Node, Profile};

/// The layout `r` that refines the shape of `b` with `r(i) == a(b(i))`, where `b(i)` is a
/// coordinate.
///
/// ```
/// use tilewright_layout::{Basis, Layout, composition_coords};
/// let tensor: Layout = "(16,8):(8,1)".parse()?;
/// let tv: Layout<i64, Basis<i64>> = "((4,8),2):((2@1,1@0),1@1)".parse()?;
/// assert_eq!(composition_coords(&tensor, &tv)?.to_string(), "((4,8),2):((2,8),1)");
/// # Ok::<(), tilewright_layout::Error>(())
/// ```
///
/// # Errors
/// As [`composition`]; [`Error::Mismatch`] when `b` names a mode that `a` does not have;
/// [`Error::Undecided`] when parts that do not fit one another have too many values to list.
pub fn composition_coords<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    b: &Layout<I, Basis<I>>,
) -> Result<Layout<I, D>> {
    let mut paths: Vec<Path> = Vec::new();
    for (path, _) in b.leaves().flat_map(|(_, d)| d.terms().iter()) {
        if !paths.contains(path) {
            paths.push(*path);
        }
    }
    for p in &paths {
        if let Some(q) = paths.iter().find(|q| q.begins_with(p) && *q != p) {
            return Err(Error::mismatch(format!(
                "{b} adds {p} and {q}, which lies inside it: use one kind of coordinate for a mode"
            )));
        }
    }
    match summed(a, b, &paths) {
        Err(Error::NotALayout(_) | Error::Undecided { .. }) if paths.len() > 1 => {
            listed::composition(a, b, &paths)
        }
        done => done,
    }
}

/// The sum of the compositions of each path, over their common splits.
fn summed<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    b: &Layout<I, Basis<I>>,
    paths: &[Path],
) -> Result<Layout<I, D>> {
    let mut sum: Vec<Layout<I, D>> = b
        .leaves()
        .map(|(s, _)| Layout::single(s.clone(), D::default()))
        .collect::<Result<_>>()?;
    for path in paths {
        let mode = subtree(a, path)?;
        let share = b.map_stride(|d| Ok(d.coefficient(path)))?;
        let part = composition(&mode, &share)?;
        for ((total, node), stride) in sum
            .iter_mut()
            .zip(parts(&share, &part))
            .zip(b.stride.iter())
        {
            if !stride.coefficient(path).is(0) {
                *total = add(total, &part.sub(&node), a, b)?;
            }
        }
    }
    let (mut shape, mut stride) = (Inline::new(), Inline::new());
    for part in &sum {
        shape.extend(part.shape.iter().cloned());
        stride.extend(part.stride.iter().cloned());
    }
    let profiles = sum.into_iter().map(|part| part.profile);
    Layout::from_parts(b.profile.graft(profiles), shape, stride)
}

/// The mode of `a` that a path leads to.
fn subtree<I: Int, D: Stride<I>>(a: &Layout<I, D>, path: &Path) -> Result<Layout<I, D>> {
    path.indices().try_fold(a.clone(), |mode, i| {
        if mode.profile.is_leaf() {
            return Err(Error::mismatch(format!("{a} has no mode {path}")));
        }
        mode.need_mode(i)
    })
}

/// The subtree of `refined` that stands for each leaf of `coarse`, which it refines leaf by leaf.
fn parts<I: Int, D: Stride<I>>(coarse: &Layout<I>, refined: &Layout<I, D>) -> Vec<Node> {
    fn walk(coarse: &Profile, x: &Node, refined: &Profile, y: &Node, out: &mut Vec<Node>) {
        if coarse.node_is_leaf(x) {
            out.push(y.clone());
            return;
        }
        for (x, y) in coarse.children(x).zip(refined.children(y)) {
            walk(coarse, &x, refined, &y, out);
        }
    }
    let mut out = Vec::new();
    let (x, y) = (coarse.profile.root(), refined.profile.root());
    walk(&coarse.profile, &x, &refined.profile, &y, &mut out);
    out
}

/// The pointwise sum of two flat layouts of one size, over their common splits.
fn add<I: Int, D: Stride<I>>(
    x: &Layout<I, D>,
    y: &Layout<I, D>,
    a: &Layout<I, D>,
    b: &Layout<I, Basis<I>>,
) -> Result<Layout<I, D>> {
    let mut xs: Vec<(I, D)> = x
        .leaves()
        .map(|(s, d)| (s.clone(), d.clone()))
        .rev()
        .collect();
    let mut ys: Vec<(I, D)> = y
        .leaves()
        .map(|(s, d)| (s.clone(), d.clone()))
        .rev()
        .collect();
    let mut out = Vec::new();
    while let (Some((s, d)), Some((t, e))) = (xs.pop(), ys.pop()) {
        let step = if s.le(&t)? { s.clone() } else { t.clone() };
        for (size, stride, stack) in [(&s, &d, &mut xs), (&t, &e, &mut ys)] {
            let (rest, left) = size.div_rem(&step)?;
            if !left.is(0) {
                return Err(Error::Undecided {
                    what: format!("{a} o {b}"),
                    searched: 0,
                });
            }
            if !rest.is(1) {
                stack.push((rest, stride.scaled(&step)?));
            }
        }
        out.push((step, d.plus(&e)?));
    }
    Ok(Layout::from_leaves(out))
}
