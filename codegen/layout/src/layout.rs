//! The layout: shape and stride of one profile, a function from coordinates to offsets.
//!
//! In: congruent nested tuples, extents of at least 1. Out: queries and modes. Invariant: shape and
//! stride share one profile by construction, so no operation can make them incongruent.

use std::fmt;

use crate::basis::{Basis, Path};
use crate::error::{Error, Result};
use crate::inline::Inline;
use crate::int::{Int, Stride};
use crate::tuple::{IntTuple, Node, Profile};

/// `shape:stride`, for example `(4,8):(1,4)`.
///
/// `I` is the integer of the extents, `D` the module of the strides: `I` itself, or
/// [`Basis<I>`] for coordinate layouts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout<I = i64, D = I> {
    pub(crate) profile: Profile,
    pub(crate) shape: Inline<I, 8>,
    pub(crate) stride: Inline<D, 8>,
}

impl<I: Int, D: Stride<I>> Layout<I, D> {
    /// The layout `shape:stride`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when they are not congruent, [`Error::Domain`] for an extent below 1 or
    /// a tree beyond the limits.
    pub fn new(shape: IntTuple<I>, stride: IntTuple<D>) -> Result<Self> {
        if shape.profile != stride.profile {
            return Err(Error::mismatch(format!(
                "shape {shape} and stride {stride} are not congruent"
            )));
        }
        Self::from_parts(shape.profile, shape.leaves, stride.leaves)
    }

    /// A flat layout from slices of extents and strides.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn flat(shape: &[I], stride: &[D]) -> Result<Self> {
        Self::new(
            IntTuple::flat(shape.iter().cloned()),
            IntTuple::flat(stride.iter().cloned()),
        )
    }

    /// The layout `extent:stride` of one mode without parentheses.
    ///
    /// # Errors
    /// [`Error::Domain`] for an extent below 1.
    pub fn single(extent: I, stride: D) -> Result<Self> {
        Self::new(IntTuple::leaf(extent), IntTuple::leaf(stride))
    }

    pub(crate) fn from_parts(
        profile: Profile,
        shape: Inline<I, 8>,
        stride: Inline<D, 8>,
    ) -> Result<Self> {
        profile.check()?;
        if let Some(s) = shape.iter().find(|s| s.as_i64().is_some_and(|s| s < 1)) {
            return Err(Error::domain(format!(
                "an extent of {s}: extents are at least 1"
            )));
        }
        debug_assert!(profile.leaves() == shape.len() && shape.len() == stride.len());
        Ok(Self {
            profile,
            shape,
            stride,
        })
    }

    /// From leaves that are known to be legal; one leaf gives a bare mode, none gives `1:0`.
    pub(crate) fn from_leaves(leaves: impl IntoIterator<Item = (I, D)>) -> Self {
        let (mut shape, mut stride) = (Inline::new(), Inline::new());
        for (s, d) in leaves {
            shape.push(s);
            stride.push(d);
        }
        let profile = match shape.len() {
            0 => {
                shape.push(I::constant(1));
                stride.push(D::default());
                Profile::leaf()
            }
            1 => Profile::leaf(),
            n => Profile::flat(n),
        };
        Self {
            profile,
            shape,
            stride,
        }
    }

    /// The nesting of shape and stride.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The shape.
    pub fn shape(&self) -> IntTuple<I> {
        IntTuple {
            profile: self.profile.clone(),
            leaves: self.shape.clone(),
        }
    }

    /// The strides.
    pub fn stride(&self) -> IntTuple<D> {
        IntTuple {
            profile: self.profile.clone(),
            leaves: self.stride.clone(),
        }
    }

    /// Number of top-level modes; 1 for a bare mode.
    pub fn rank(&self) -> usize {
        self.profile.rank()
    }

    /// Nesting depth: 0 for a bare mode, 1 for a flat tuple.
    pub fn depth(&self) -> usize {
        self.profile.depth()
    }

    /// Number of coordinates: the product of the extents.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn size(&self) -> Result<I> {
        self.shape
            .iter()
            .try_fold(I::constant(1), |p, s| p.try_mul(s))
    }

    /// The leaves, first to last, as (extent, stride).
    pub fn leaves(&self) -> impl DoubleEndedIterator<Item = (&I, &D)> + ExactSizeIterator + Clone {
        self.shape.iter().zip(self.stride.iter())
    }

    /// The `i`-th top-level mode; a bare mode is its own mode 0.
    pub fn mode(&self, i: usize) -> Option<Self> {
        self.profile.modes().nth(i).map(|node| self.sub(&node))
    }

    /// The top-level modes.
    pub fn modes(&self) -> impl Iterator<Item = Self> + '_ {
        self.profile.modes().map(|node| self.sub(&node))
    }

    pub(crate) fn sub(&self, node: &Node) -> Self {
        Self {
            profile: self.profile.sub(node),
            shape: self.shape[node.leaves.clone()].iter().cloned().collect(),
            stride: self.stride[node.leaves.clone()].iter().cloned().collect(),
        }
    }

    pub(crate) fn need_mode(&self, i: usize) -> Result<Self> {
        self.mode(i).ok_or_else(|| {
            Error::mismatch(format!(
                "{self} has {} modes; mode {i} was asked for",
                self.rank()
            ))
        })
    }

    /// The layout whose top-level modes are the given layouts.
    ///
    /// # Errors
    /// [`Error::Domain`] when the tree goes beyond the limits.
    pub fn from_modes(modes: impl IntoIterator<Item = Self>) -> Result<Self> {
        let (mut shape, mut stride) = (Inline::new(), Inline::new());
        let mut profiles: Inline<Option<Profile>, 4> = Inline::new();
        for mode in modes {
            shape.extend(mode.shape.iter().cloned());
            stride.extend(mode.stride.iter().cloned());
            profiles.push(Some(mode.profile));
        }
        let profile = Profile::tuple(profiles.iter().flatten().cloned());
        Self::from_parts(profile, shape, stride)
    }

    /// The same leaves under another profile of as many leaves.
    pub(crate) fn reprofiled(self, profile: Profile) -> Self {
        debug_assert_eq!(profile.leaves(), self.shape.len());
        Self { profile, ..self }
    }

    /// The same layout with every stride replaced.
    ///
    /// # Errors
    /// Whatever `f` reports.
    pub fn map_stride<E: Stride<I>>(&self, f: impl FnMut(&D) -> Result<E>) -> Result<Layout<I, E>> {
        let stride = self
            .stride
            .iter()
            .map(f)
            .collect::<Result<Inline<E, 8>>>()?;
        Ok(Layout {
            profile: self.profile.clone(),
            shape: self.shape.clone(),
            stride,
        })
    }
}

impl<I: Int> Layout<I> {
    /// The compact layout of a shape with the first mode fastest: `(4,8)` gives `(4,8):(1,4)`.
    ///
    /// # Errors
    /// [`Error::Domain`] for an extent below 1, [`Error::Overflow`].
    pub fn compact(shape: IntTuple<I>) -> Result<Self> {
        let mut stride = Inline::new();
        let mut next = I::constant(1);
        for s in shape.leaves.iter() {
            stride.push(next.clone());
            next = next.try_mul(s)?;
        }
        Self::from_parts(shape.profile, shape.leaves, stride)
    }

    /// The compact layout of a shape with the last mode fastest: `(4,8)` gives `(4,8):(8,1)`.
    ///
    /// # Errors
    /// [`Error::Domain`] for an extent below 1, [`Error::Overflow`].
    pub fn compact_right(shape: IntTuple<I>) -> Result<Self> {
        let mut stride: Vec<I> = Vec::with_capacity(shape.leaves.len());
        let mut next = I::constant(1);
        for s in shape.leaves.iter().rev() {
            stride.push(next.clone());
            next = next.try_mul(s)?;
        }
        stride.reverse();
        Self::from_parts(shape.profile, shape.leaves, stride.into_iter().collect())
    }

    /// The compact layout of a shape whose leaves follow one another by rising `order`, equal
    /// entries from the left: `(2,4,8)` by `[2,0,1]` gives `(2,4,8):(32,1,4)`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the order has not one entry for each leaf; as [`Layout::compact`].
    pub fn ordered(shape: IntTuple<I>, order: &[i64]) -> Result<Self> {
        if order.len() != shape.leaves.len() {
            return Err(Error::mismatch(format!(
                "an order of {} entries for the shape {shape} of {} leaves",
                order.len(),
                shape.leaves.len()
            )));
        }
        let mut by_order: Vec<usize> = (0..order.len()).collect();
        by_order.sort_by_key(|&i| order[i]);
        let mut stride = shape.leaves.clone();
        let mut next = I::constant(1);
        for i in by_order {
            stride[i] = next.clone();
            next = next.try_mul(&shape.leaves[i])?;
        }
        Self::from_parts(shape.profile, shape.leaves, stride)
    }

    /// A compact layout of the same shape whose modes follow one another as those of `self` do:
    /// modes of stride 0 keep stride 0. This is `make_layout_like`.
    ///
    /// `(8,2,4):(16,0,2)` gives `(8,2,4):(4,0,1)`.
    ///
    /// # Errors
    /// [`Error::Unproven`] when the order of symbolic strides is not known; [`Error::Overflow`].
    pub fn compact_like(&self) -> Result<Self> {
        let mut by_stride: Vec<usize> = Vec::with_capacity(self.stride.len());
        for (i, d) in self.stride.iter().enumerate().filter(|(_, d)| !d.is(0)) {
            let mut place = by_stride.len();
            let size = d.magnitude()?;
            while place > 0 && !self.stride[by_stride[place - 1]].magnitude()?.le(&size)? {
                place -= 1;
            }
            by_stride.insert(place, i);
        }
        let mut stride: Inline<I, 8> = self.shape.iter().map(|_| I::default()).collect();
        let mut next = I::constant(1);
        for i in by_stride {
            stride[i] = next.clone();
            next = next.try_mul(&self.shape[i])?;
        }
        Self::from_parts(self.profile.clone(), self.shape.clone(), stride)
    }

    /// One past the largest offset between two coordinates: `1 + sum (s-1)*|d|`.
    ///
    /// # Errors
    /// [`Error::Overflow`]; [`Error::Unproven`] when the sign of a symbolic stride is not known.
    pub fn cosize(&self) -> Result<I> {
        self.leaves().try_fold(I::constant(1), |sum, (s, d)| {
            sum.try_add(&s.try_sub(&I::constant(1))?.try_mul(&d.magnitude()?)?)
        })
    }

    /// The same layout over another integer, for example symbols in place of constants.
    ///
    /// # Errors
    /// Whatever `f` reports.
    pub fn map<J: Int>(&self, mut f: impl FnMut(&I) -> Result<J>) -> Result<Layout<J>> {
        let shape = self
            .shape
            .iter()
            .map(&mut f)
            .collect::<Result<Inline<J, 8>>>()?;
        let stride = self
            .stride
            .iter()
            .map(&mut f)
            .collect::<Result<Inline<J, 8>>>()?;
        Layout::from_parts(self.profile.clone(), shape, stride)
    }
}

impl<I: Int> Layout<I, Basis<I>> {
    /// The layout of a shape whose value at a coordinate is that coordinate: the identity tensor.
    ///
    /// `(4,8)` gives `(4,8):(1@0,1@1)`; nested shapes give nested basis vectors, `1@1@0`.
    ///
    /// # Errors
    /// [`Error::Domain`] for an extent below 1 or a coordinate nested too deep.
    pub fn identity(shape: IntTuple<I>) -> Result<Self> {
        fn walk<I: Int>(
            shape: &IntTuple<I>,
            node: &Node,
            path: &mut Vec<usize>,
            out: &mut Inline<Basis<I>, 8>,
        ) -> Result<()> {
            if shape.profile.node_is_leaf(node) {
                out.push(Basis::scaled_unit(I::constant(1), Path::new(path)?));
                return Ok(());
            }
            for (i, child) in shape.profile.children(node).enumerate() {
                path.push(i);
                walk(shape, &child, path, out)?;
                path.pop();
            }
            Ok(())
        }
        shape.profile.check()?;
        let mut stride = Inline::new();
        walk(&shape, &shape.profile.root(), &mut Vec::new(), &mut stride)?;
        Self::from_parts(shape.profile, shape.leaves, stride)
    }
}

impl<I: Int, D: Stride<I>> fmt::Display for Layout<I, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.profile
            .write(f, &mut |f, i| fmt::Display::fmt(&self.shape[i], f))?;
        f.write_str(":")?;
        self.profile
            .write(f, &mut |f, i| fmt::Display::fmt(&self.stride[i], f))
    }
}
