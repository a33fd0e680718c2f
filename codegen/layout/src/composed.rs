//! Composed layouts: a swizzle after an offset after a layout.
//!
//! In: `Sw<3,3,3> o 0 o (8,64):(64,1)`. Out: the same operations as on plain layouts, acting on the
//! inner one. Invariant: slicing moves into the offset, which stays inside the swizzle because the
//! swizzle is not linear.

mod ops;

pub use ops::InverseLayout;

use std::fmt;

use crate::composition::{composition, composition_by};
use crate::coord::{Slot, crd2idx, slice};
use crate::divide::{logical_divide, logical_divide_by, zipped_divide};
use crate::error::{Error, Result};
use crate::int::{Int, Stride};
use crate::layout::Layout;
use crate::recast::{downcast, upcast};
use crate::swizzle::Swizzle;
use crate::tiler::Tiler;
use crate::tuple::IntTuple;

/// `swizzle(offset + inner(c))`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ComposedLayout<I = i64> {
    /// The outer map.
    pub swizzle: Swizzle,
    /// Added before the swizzle.
    pub offset: I,
    /// The layout whose domain this has.
    pub inner: Layout<I>,
}

impl<I: Int> From<Layout<I>> for ComposedLayout<I> {
    fn from(inner: Layout<I>) -> Self {
        Self {
            swizzle: Swizzle::NONE,
            offset: I::default(),
            inner,
        }
    }
}

impl<I: Int> ComposedLayout<I> {
    /// `swizzle o 0 o inner`.
    pub fn new(swizzle: Swizzle, inner: Layout<I>) -> Self {
        Self {
            swizzle,
            offset: I::default(),
            inner,
        }
    }

    /// The plain layout, when there is no swizzle and no offset.
    pub fn as_layout(&self) -> Option<&Layout<I>> {
        (self.swizzle.is_none() && self.offset.is(0)).then_some(&self.inner)
    }

    /// Number of coordinates.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn size(&self) -> Result<I> {
        self.inner.size()
    }

    /// The same swizzle and offset with another inner layout.
    pub fn with_inner(&self, inner: Layout<I>) -> Self {
        Self {
            inner,
            ..self.clone()
        }
    }

    /// Keeps the modes marked `_`; the offset of the fixed ones goes inside the swizzle.
    ///
    /// # Errors
    /// As [`slice()`].
    pub fn slice(&self, coord: &IntTuple<Slot<I>>) -> Result<Self> {
        let (inner, offset) = slice(coord, &self.inner)?;
        Ok(Self {
            swizzle: self.swizzle,
            offset: self.offset.try_add(&offset)?,
            inner,
        })
    }

    /// The composition with a layout on the right.
    ///
    /// # Errors
    /// As [`composition`].
    pub fn composition(&self, b: &Layout<I>) -> Result<Self> {
        composition(&self.inner, b).map(|inner| self.with_inner(inner))
    }

    /// The composition by mode.
    ///
    /// # Errors
    /// As [`composition_by`].
    pub fn composition_by(&self, tiler: &Tiler<I>) -> Result<Self> {
        composition_by(&self.inner, tiler).map(|inner| self.with_inner(inner))
    }

    /// [`logical_divide`] of the inner layout.
    ///
    /// # Errors
    /// As [`logical_divide`].
    pub fn logical_divide(&self, b: &Layout<I>) -> Result<Self> {
        logical_divide(&self.inner, b).map(|inner| self.with_inner(inner))
    }

    /// [`logical_divide_by`] of the inner layout.
    ///
    /// # Errors
    /// As [`logical_divide_by`].
    pub fn logical_divide_by(&self, tiler: &Tiler<I>) -> Result<Self> {
        logical_divide_by(&self.inner, tiler).map(|inner| self.with_inner(inner))
    }

    /// [`zipped_divide`] of the inner layout.
    ///
    /// # Errors
    /// As [`zipped_divide`].
    pub fn zipped_divide(&self, tiler: &Tiler<I>) -> Result<Self> {
        zipped_divide(&self.inner, tiler).map(|inner| self.with_inner(inner))
    }
}

impl ComposedLayout<i64> {
    /// The offset at a linear index.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn at(&self, index: i64) -> Result<i64> {
        Ok(self
            .swizzle
            .apply(self.offset.plus(&self.inner.at(index)?)?))
    }

    /// The offset at a coordinate.
    ///
    /// # Errors
    /// As [`crd2idx`].
    pub fn at_coord(&self, coord: &IntTuple<i64>) -> Result<i64> {
        Ok(self
            .swizzle
            .apply(self.offset.plus(&crd2idx(coord, &self.inner)?)?))
    }

    /// All values, in the order of the linear index.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn offsets(&self) -> Result<impl Iterator<Item = i64> + use<>> {
        let (swizzle, offset) = (self.swizzle, self.offset);
        let far = self.inner.cosize()?;
        far.try_add(&offset)?;
        offset.try_sub(&far)?;
        Ok(self
            .inner
            .offsets()?
            .map(move |x| swizzle.apply(offset + x)))
    }

    /// The layout over elements `n` times larger.
    ///
    /// # Errors
    /// [`Error::Domain`] when `n` is no power of two or the offset is no multiple of it; as
    /// [`upcast`].
    pub fn upcast(&self, n: i64) -> Result<Self> {
        let log2 = log2(n)?;
        let (offset, rest) = self.offset.div_rem(&n)?;
        if rest != 0 {
            return Err(Error::domain(format!(
                "{self}: its offset is no multiple of {n}"
            )));
        }
        let inner = upcast(&self.inner, &n)?;
        Ok(Self {
            swizzle: self.swizzle.upcast(log2),
            offset,
            inner,
        })
    }

    /// The layout over elements `n` times smaller.
    ///
    /// # Errors
    /// [`Error::Domain`] when `n` is no power of two; as [`downcast`].
    pub fn downcast(&self, n: i64) -> Result<Self> {
        let swizzle = self.swizzle.downcast(log2(n)?)?;
        Ok(Self {
            swizzle,
            offset: self.offset.try_mul(&n)?,
            inner: downcast(&self.inner, &n)?,
        })
    }
}

fn log2(n: i64) -> Result<u32> {
    if n > 0 && n.count_ones() == 1 {
        return Ok(n.trailing_zeros());
    }
    Err(Error::domain(format!(
        "a swizzled layout cast by {n}: use a power of two"
    )))
}

impl<I: Int> fmt::Display for ComposedLayout<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} o {} o {}", self.swizzle, self.offset, self.inner)
    }
}
