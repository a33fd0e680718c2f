//! Tilers: what to do with each mode.
//!
//! In: one layout, or an entry for each mode from the left. Out: the operation applied by mode.
//! Invariant: modes that a tiler does not name stay as they are.

use std::fmt;

use crate::error::{Error, Result};
use crate::int::{Int, Stride};
use crate::layout::Layout;
use crate::tuple::{IntTuple, Node};

/// A layout, or one tiler for each mode: `<4:1,_,(2,2):(1,8)>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tiler<I = i64> {
    /// `_`: leave the mode alone.
    Keep,
    /// Apply this layout to the mode as a whole.
    Layout(Layout<I>),
    /// Apply one tiler to each mode, from the left.
    Modes(Vec<Tiler<I>>),
}

impl<I: Int> Tiler<I> {
    /// The tiler of a tile shape: `(128,64)` is `<128:1,64:1>`; one number is `128:1`.
    ///
    /// # Errors
    /// [`Error::Domain`] for an extent below 1.
    pub fn by_shape(shape: &IntTuple<I>) -> Result<Self> {
        fn walk<I: Int>(shape: &IntTuple<I>, node: &Node) -> Result<Tiler<I>> {
            if shape.profile.node_is_leaf(node) {
                let extent = shape.leaves[node.leaves.start].clone();
                return Layout::single(extent, I::constant(1)).map(Tiler::Layout);
            }
            let modes = shape.profile.children(node).map(|n| walk(shape, &n));
            modes.collect::<Result<_>>().map(Tiler::Modes)
        }
        shape.profile.check()?;
        walk(shape, &shape.profile.root())
    }

    /// The tiler of a flat tile shape.
    ///
    /// # Errors
    /// [`Error::Domain`] for an extent below 1.
    pub fn tile(extents: &[I]) -> Result<Self> {
        Self::by_shape(&IntTuple::flat(extents.iter().cloned()))
    }
}

impl<I: Int> From<Layout<I>> for Tiler<I> {
    fn from(layout: Layout<I>) -> Self {
        Self::Layout(layout)
    }
}

/// An operation on a mode and the layout a tiler has for it.
pub(crate) type OnMode<'a, I, D> =
    &'a mut dyn FnMut(&Layout<I, D>, &Layout<I>) -> Result<Layout<I, D>>;

/// Applies `f` where the tiler has a layout.
pub(crate) fn by_mode<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
    f: OnMode<'_, I, D>,
) -> Result<Layout<I, D>> {
    match tiler {
        Tiler::Keep => Ok(a.clone()),
        Tiler::Layout(b) => f(a, b),
        Tiler::Modes(tilers) => {
            check_rank(a, tilers)?;
            let mut tilers = tilers.iter();
            let modes: Vec<_> = a
                .modes()
                .map(|mode| match tilers.next() {
                    Some(t) => by_mode(&mode, t, f),
                    None => Ok(mode),
                })
                .collect::<Result<_>>()?;
            Layout::from_modes(modes)
        }
    }
}

pub(crate) fn check_rank<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tilers: &[Tiler<I>],
) -> Result<()> {
    if tilers.len() > a.rank() {
        return Err(Error::mismatch(format!(
            "a tiler of {} modes for {a}, which has {}",
            tilers.len(),
            a.rank()
        )));
    }
    Ok(())
}

impl<I: Int> fmt::Display for Tiler<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("_"),
            Self::Layout(layout) => layout.fmt(f),
            Self::Modes(modes) => {
                f.write_str("<")?;
                for (i, mode) in modes.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    mode.fmt(f)?;
                }
                f.write_str(">")
            }
        }
    }
}
