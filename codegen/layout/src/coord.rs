//! Coordinates both ways, evaluation, and slicing.
//!
//! In: a linear index, or a nested coordinate in which one integer may stand for any subtree. Out:
//! digits, offsets, slices. Invariant: the first leaf runs fastest and the last leaf has no upper
//! limit, so a layout is also defined past its end.

use std::fmt;

use crate::basis::Basis;
use crate::error::{Error, Result};
use crate::inline::Inline;
use crate::int::{Int, Stride};
use crate::layout::Layout;
use crate::tuple::{IntTuple, Node};

/// An entry of a slicing coordinate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Slot<I> {
    /// `_`: the mode is kept.
    #[default]
    Keep,
    /// The mode is fixed at this coordinate.
    At(I),
}

impl<I: fmt::Display> fmt::Display for Slot<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("_"),
            Self::At(i) => i.fmt(f),
        }
    }
}

/// The digits of `index` in the mixed radix of `extents`, the last one without limit.
fn digits<I: Int>(index: &I, extents: &[I]) -> Result<Inline<I, 8>> {
    let mut out = Inline::new();
    let Some((_, head)) = extents.split_last() else {
        return Ok(out);
    };
    let mut left = index.clone();
    for s in head {
        let (q, r) = left.div_rem(s)?;
        out.push(r);
        left = q;
    }
    out.push(left);
    Ok(out)
}

/// Splits a linear index into a coordinate of `shape`: 7 in `(4,8)` is `(3,1)`.
///
/// # Errors
/// [`Error::Unproven`] for symbolic quotients that are not known.
pub fn idx2crd<I: Int>(index: &I, shape: &IntTuple<I>) -> Result<IntTuple<I>> {
    let leaves = digits(index, &shape.leaves)?;
    Ok(IntTuple {
        profile: shape.profile.clone(),
        leaves,
    })
}

/// The digits of a coordinate, one for each leaf of `profile`.
fn coord_digits<I: Int>(coord: &IntTuple<I>, shape: &IntTuple<I>) -> Result<Inline<I, 8>> {
    let mut out = Inline::new();
    let (c, s) = (coord.profile.root(), shape.profile.root());
    walk(coord, &c, shape, &s, &mut out)?;
    return Ok(out);

    fn walk<I: Int>(
        coord: &IntTuple<I>,
        c: &Node,
        shape: &IntTuple<I>,
        s: &Node,
        out: &mut Inline<I, 8>,
    ) -> Result<()> {
        if coord.profile.node_is_leaf(c) {
            let index = &coord.leaves[c.leaves.start];
            out.extend(
                digits(index, &shape.leaves[s.leaves.clone()])?
                    .iter()
                    .cloned(),
            );
            return Ok(());
        }
        let (cs, ss) = (coord.profile.children(c), shape.profile.children(s));
        let (cs, ss): (Vec<Node>, Vec<Node>) = (cs.collect(), ss.collect());
        if shape.profile.node_is_leaf(s) || cs.len() != ss.len() {
            return Err(Error::mismatch(format!(
                "coordinate {coord} does not fit shape {shape}"
            )));
        }
        cs.iter()
            .zip(&ss)
            .try_for_each(|(c, s)| walk(coord, c, shape, s, out))
    }
}

/// The offset of a coordinate: its digits dotted with the strides.
///
/// # Errors
/// [`Error::Mismatch`] when the coordinate is no prefix of the shape, [`Error::Overflow`].
pub fn crd2idx<I: Int, D: Stride<I>>(coord: &IntTuple<I>, layout: &Layout<I, D>) -> Result<D> {
    let digits = coord_digits(coord, &layout.shape())?;
    dot(&digits, &layout.stride)
}

fn dot<I: Int, D: Stride<I>>(digits: &[I], stride: &[D]) -> Result<D> {
    let mut sum = D::default();
    for (x, d) in digits.iter().zip(stride) {
        if !x.is(0) {
            sum = sum.plus(&d.scaled(x)?)?;
        }
    }
    Ok(sum)
}

impl<I: Int, D: Stride<I>> Layout<I, D> {
    /// The offset at a linear index.
    ///
    /// # Errors
    /// [`Error::Overflow`], [`Error::Unproven`] for symbols.
    pub fn at(&self, index: I) -> Result<D> {
        let Some((last, head)) = self.stride.split_last() else {
            return Ok(D::default());
        };
        let (mut sum, mut left) = (D::default(), index);
        for (s, d) in self.shape.iter().zip(head) {
            if left.is(0) {
                return Ok(sum);
            }
            let (q, r) = left.div_rem(s)?;
            if !r.is(0) {
                sum = sum.plus(&d.scaled(&r)?)?;
            }
            left = q;
        }
        sum.plus(&last.scaled(&left)?)
    }

    /// The offset at a coordinate: [`crd2idx`].
    ///
    /// # Errors
    /// As [`crd2idx`].
    pub fn at_coord(&self, coord: &IntTuple<I>) -> Result<D> {
        crd2idx(coord, self)
    }

    /// The coordinate of a linear index, in the profile of the layout.
    ///
    /// # Errors
    /// As [`idx2crd`].
    pub fn coord(&self, index: &I) -> Result<IntTuple<I>> {
        idx2crd(index, &self.shape())
    }
}

/// Keeps the modes marked `_` and fixes the others: the kept layout and the offset of the rest.
///
/// Each kept mode is a mode of the result as it is, in its order, however deep its mark stands:
/// the nesting of what is fixed goes with it, as in CuTe. `slice(&"(_,1,_)", &"(2,2,6):(12,6,1)")`
/// is `(2,6):(12,1)` at offset 6, and of `((3,2),((2,3),2)):((4,1),((2,15),100))` the slice at
/// `((_,1),((0,_),1))` is `(3,3):(4,15)` at offset 101. A coordinate that fixes everything leaves
/// `():()`, and `_` by itself the whole layout.
///
/// # Errors
/// [`Error::Mismatch`] when the coordinate is no prefix of the shape, [`Error::Overflow`].
pub fn slice<I: Int, D: Stride<I>>(
    coord: &IntTuple<Slot<I>>,
    layout: &Layout<I, D>,
) -> Result<(Layout<I, D>, D)> {
    if coord.as_leaf() == Some(&Slot::Keep) {
        return Ok((layout.clone(), D::default()));
    }
    let (mut kept, mut offset) = (Vec::new(), D::default());
    let (c, l) = (coord.profile.root(), layout.profile.root());
    slice_node(coord, &c, layout, &l, &mut kept, &mut offset)?;
    Ok((Layout::from_modes(kept)?, offset))
}

/// Keeps the modes that the coordinate fixes and drops those marked `_`: the other half of
/// [`slice()`].
///
/// `dice(&"(_,1,_)", &"(2,2,6):(12,6,1)")` is `(2):(6)`.
///
/// # Errors
/// As [`slice()`].
pub fn dice<I: Int, D: Stride<I>>(
    coord: &IntTuple<Slot<I>>,
    layout: &Layout<I, D>,
) -> Result<Layout<I, D>> {
    // Turned round, fixed entries are kept; index 0 adds no offset.
    let turned = coord.map(|slot| match slot {
        Slot::Keep => Slot::At(I::default()),
        Slot::At(_) => Slot::Keep,
    });
    Ok(slice(&turned, layout)?.0)
}

fn slice_node<I: Int, D: Stride<I>>(
    coord: &IntTuple<Slot<I>>,
    c: &Node,
    layout: &Layout<I, D>,
    l: &Node,
    kept: &mut Vec<Layout<I, D>>,
    offset: &mut D,
) -> Result<()> {
    if coord.profile.node_is_leaf(c) {
        let sub = layout.sub(l);
        match &coord.leaves[c.leaves.start] {
            Slot::Keep => kept.push(sub),
            Slot::At(index) => *offset = offset.plus(&sub.at(index.clone())?)?,
        }
        return Ok(());
    }
    let cs: Vec<Node> = coord.profile.children(c).collect();
    let ls: Vec<Node> = layout.profile.children(l).collect();
    if layout.profile.node_is_leaf(l) || cs.len() != ls.len() {
        return Err(Error::mismatch(format!(
            "coordinate {coord} does not fit shape {}",
            layout.shape()
        )));
    }
    let mut pairs = cs.iter().zip(&ls);
    pairs.try_for_each(|(c, l)| slice_node(coord, c, layout, l, kept, offset))
}

/// Iterator over the values of a layout, the first leaf running fastest.
#[derive(Debug, Clone)]
pub struct Offsets<D> {
    layout: Layout<i64, D>,
    digits: Inline<i64, 8>,
    next: Option<D>,
}

impl<D: Stride<i64>> Iterator for Offsets<D> {
    type Item = D;

    fn next(&mut self) -> Option<D> {
        let value = self.next.take()?;
        let leaves = self.layout.shape.iter().zip(self.layout.stride.iter());
        let mut step = Some(value.clone());
        let mut carried = true;
        for ((s, d), x) in leaves.zip(self.digits.iter_mut()) {
            if *x + 1 < *s {
                *x += 1;
                step = step.and_then(|v| v.plus(d).ok());
                carried = false;
                break;
            }
            // `offsets` has checked that every partial sum fits, so `ok` drops nothing.
            let back = d.scaled(&-*x).ok();
            step = step.zip(back).and_then(|(v, b)| v.plus(&b).ok());
            *x = 0;
        }
        self.next = if carried { None } else { step };
        Some(value)
    }
}

impl<D: Stride<i64>> Layout<i64, D> {
    /// All values, in the order of the linear index.
    ///
    /// # Errors
    /// [`Error::Overflow`] when some sum of steps does not fit.
    pub fn offsets(&self) -> Result<Offsets<D>> {
        self.size()?;
        self.span()?;
        Ok(Offsets {
            layout: self.clone(),
            digits: self.shape.iter().map(|_| 0).collect(),
            next: Some(D::default()),
        })
    }

    /// Checks that every sum of steps fits, whatever their signs: no partial sum exceeds the sum of
    /// the magnitudes.
    fn span(&self) -> Result<()> {
        let mut corner = D::default();
        for (s, d) in self.leaves() {
            corner = corner.plus(&d.scaled(&(s - 1))?.magnitude()?)?;
        }
        Ok(())
    }
}

impl<I: Int> Layout<I, Basis<I>> {
    /// The flat coordinate at a linear index, for strides `c@0 … c@(rank-1)`.
    ///
    /// # Errors
    /// As [`Layout::at`] and [`Basis::to_coord`].
    pub fn coord_at(&self, index: I, rank: usize) -> Result<IntTuple<I>> {
        self.at(index)?.to_coord(rank)
    }
}

impl Layout<i64, Basis<i64>> {
    /// All values as flat coordinates of `rank` entries.
    ///
    /// # Errors
    /// As [`Layout::offsets`]; each item as [`Basis::to_coord`].
    pub fn coords(&self, rank: usize) -> Result<impl Iterator<Item = Result<IntTuple<i64>>>> {
        Ok(self.offsets()?.map(move |v| v.to_coord(rank)))
    }
}
