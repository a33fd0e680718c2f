//! The operations of plain layouts on composed ones, and their inverses.
//!
//! In: a composed layout and the operands of the plain operation. Out: the same swizzle and offset
//! around the result for the inner layout. Invariant: every operation here changes coordinates
//! only, so the values are those of the plain operation taken through offset and swizzle.

use super::ComposedLayout;
use crate::coord::Slot;
use crate::divide::{flat_divide, tiled_divide};
use crate::edit::{flatten, group};
use crate::error::{Error, Result};
use crate::int::Int;
use crate::inverse::{
    left_inverse, left_pseudo_inverse, max_common_layout, nullspace, prefix, right_inverse,
};
use crate::layout::Layout;
use crate::product::{
    blocked_product, flat_product, logical_product, logical_product_by, raked_product,
    tile_to_shape, tile_to_shape_by, tiled_product, zipped_product,
};
use crate::recast::recast;
use crate::simplify::{coalesce, coalesce_by, filter, filter_zeros};
use crate::swizzle::Swizzle;
use crate::tile::{local_partition, local_tile, outer_partition};
use crate::tiler::Tiler;
use crate::tuple::{IntTuple, Profile};

/// Methods that apply a function of layouts to the inner layout.
macro_rules! inner {
    ($($(#[$doc:meta])* $name:ident ( $($arg:ident : $type:ty),* );)*) => {
        impl<I: Int> ComposedLayout<I> {
            $($(#[$doc])*
            ///
            /// # Errors
            /// As the function of the same name.
            pub fn $name(&self $(, $arg: $type)*) -> Result<Self> {
                $name(&self.inner $(, $arg)*).map(|inner| self.with_inner(inner))
            })*
        }
    };
}

inner! {
    /// [`coalesce`] of the inner layout.
    coalesce();
    /// [`coalesce_by`] of the inner layout.
    coalesce_by(profile: &Profile);
    /// [`filter`] of the inner layout.
    filter();
    /// [`group`] of the inner layout.
    group(begin: usize, end: usize);
    /// [`tiled_divide`] of the inner layout.
    tiled_divide(tiler: &Tiler<I>);
    /// [`flat_divide`] of the inner layout.
    flat_divide(tiler: &Tiler<I>);
    /// [`logical_product`] of the inner layout: repetitions are laid out before the swizzle.
    logical_product(b: &Layout<I>);
    /// [`logical_product_by`] of the inner layout.
    logical_product_by(tiler: &Tiler<I>);
    /// [`zipped_product`] of the inner layout.
    zipped_product(tiler: &Tiler<I>);
    /// [`tiled_product`] of the inner layout.
    tiled_product(tiler: &Tiler<I>);
    /// [`flat_product`] of the inner layout.
    flat_product(tiler: &Tiler<I>);
    /// [`blocked_product`] of the inner layout.
    blocked_product(b: &Layout<I>);
    /// [`raked_product`] of the inner layout.
    raked_product(b: &Layout<I>);
    /// [`tile_to_shape`] of the inner layout, as smem layouts are made from a swizzled block.
    tile_to_shape(target: &IntTuple<I>);
    /// [`tile_to_shape_by`] of the inner layout.
    tile_to_shape_by(target: &IntTuple<I>, order: &[i64]);
}

/// The layout with `offset` moved inside the swizzle.
fn moved<I: Int>(
    whole: &ComposedLayout<I>,
    part: Result<(Layout<I>, I)>,
) -> Result<ComposedLayout<I>> {
    let (inner, offset) = part?;
    Ok(ComposedLayout {
        swizzle: whole.swizzle,
        offset: whole.offset.try_add(&offset)?,
        inner,
    })
}

impl<I: Int> ComposedLayout<I> {
    /// Number of top-level modes.
    pub fn rank(&self) -> usize {
        self.inner.rank()
    }

    /// Nesting depth of the shape.
    pub fn depth(&self) -> usize {
        self.inner.depth()
    }

    /// The shape.
    pub fn shape(&self) -> IntTuple<I> {
        self.inner.shape()
    }

    /// Mode `i` of the inner layout, with the same swizzle and offset.
    pub fn mode(&self, i: usize) -> Option<Self> {
        self.inner.mode(i).map(|inner| self.with_inner(inner))
    }

    /// [`flatten`] of the inner layout.
    #[must_use]
    pub fn flatten(&self) -> Self {
        self.with_inner(flatten(&self.inner))
    }

    /// [`filter_zeros`] of the inner layout.
    #[must_use]
    pub fn filter_zeros(&self) -> Self {
        self.with_inner(filter_zeros(&self.inner))
    }

    /// [`nullspace`] of the inner layout: a swizzle takes different offsets to different ones.
    ///
    /// # Errors
    /// As [`nullspace`].
    pub fn nullspace(&self) -> Result<Layout<I>> {
        nullspace(&self.inner)
    }

    /// [`local_tile`]; the offset of the tile goes inside the swizzle.
    ///
    /// # Errors
    /// As [`local_tile`].
    pub fn local_tile(&self, tiler: &Tiler<I>, coord: &IntTuple<Slot<I>>) -> Result<Self> {
        moved(self, local_tile(&self.inner, tiler, coord))
    }

    /// [`outer_partition`]; the offset goes inside the swizzle.
    ///
    /// # Errors
    /// As [`outer_partition`].
    pub fn outer_partition(&self, tiler: &Tiler<I>, coord: &IntTuple<Slot<I>>) -> Result<Self> {
        moved(self, outer_partition(&self.inner, tiler, coord))
    }

    /// [`local_partition`]; the offset of the thread goes inside the swizzle.
    ///
    /// # Errors
    /// As [`local_partition`].
    pub fn local_partition(&self, threads: &Layout<I>, thread: &I) -> Result<Self> {
        moved(self, local_partition(&self.inner, threads, thread))
    }

    /// The map `r` with `self(r(i)) == i` wherever `swizzle(i) - offset` is below the size of the
    /// inner layout's [`right_inverse`]; a swizzle is its own inverse.
    ///
    /// # Errors
    /// As [`right_inverse`].
    pub fn right_inverse(&self) -> Result<InverseLayout<I>> {
        right_inverse(&self.inner).map(|l| self.inverse_with(l))
    }

    /// The map `r` with `r(self(i)) == i`.
    ///
    /// # Errors
    /// As [`left_inverse`].
    pub fn left_inverse(&self) -> Result<InverseLayout<I>> {
        left_inverse(&self.inner).map(|l| self.inverse_with(l))
    }

    /// The map `r` with `self(r(self(i))) == self(i)`.
    ///
    /// # Errors
    /// As [`left_pseudo_inverse`].
    pub fn left_pseudo_inverse(&self) -> Result<InverseLayout<I>> {
        left_pseudo_inverse(&self.inner).map(|l| self.inverse_with(l))
    }

    fn inverse_with(&self, layout: Layout<I>) -> InverseLayout<I> {
        InverseLayout {
            layout,
            offset: self.offset.clone(),
            swizzle: self.swizzle,
        }
    }
}

impl ComposedLayout<i64> {
    /// The same storage in elements of another width.
    ///
    /// # Errors
    /// As [`recast`](fn@recast), [`ComposedLayout::upcast`] and [`ComposedLayout::downcast`].
    pub fn recast(&self, from_bits: i64, to_bits: i64) -> Result<Self> {
        if from_bits > 0 && to_bits > 0 && to_bits % from_bits == 0 {
            return self.upcast(to_bits / from_bits);
        }
        if from_bits > 0 && to_bits > 0 && from_bits % to_bits == 0 {
            return self.downcast(from_bits / to_bits);
        }
        recast(&self.inner, from_bits, to_bits).map(|inner| self.with_inner(inner))
    }

    /// [`max_common_layout`] of two composed layouts: how many consecutive offsets from 0 lie at
    /// the same coordinates in both. Unequal swizzles agree on the offsets below their lowest
    /// changed bit and their lowest read bit.
    ///
    /// # Errors
    /// As [`max_common_layout`]; [`Error::Domain`] when an offset is not 0 and they differ.
    pub fn max_common_layout(&self, other: &Self) -> Result<Layout> {
        let same = self.swizzle == other.swizzle && self.offset == other.offset;
        if same && self.swizzle.is_none() && self.offset == 0 {
            return max_common_layout(&self.inner, &other.inner);
        }
        if self.offset != 0 || other.offset != 0 {
            return Err(Error::domain(format!(
                "the common vector of {self} and {other}: slice at offset 0"
            )));
        }
        let common = max_common_layout(&self.inner, &other.inner)?;
        let plain = |s: &Swizzle| {
            let low = (s.source_mask() | s.target_mask()).trailing_zeros();
            if s.is_none() {
                i64::MAX
            } else {
                1 << low.min(62)
            }
        };
        prefix(&common, plain(&self.swizzle).min(plain(&other.swizzle)))
    }
}

/// `layout(swizzle(x) - offset)`: what undoes a [`ComposedLayout`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InverseLayout<I = i64> {
    /// The inverse of the inner layout.
    pub layout: Layout<I>,
    /// Subtracted after the swizzle.
    pub offset: I,
    /// Applied first.
    pub swizzle: Swizzle,
}

impl InverseLayout<i64> {
    /// The index of an offset.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn at(&self, offset: i64) -> Result<i64> {
        let inner = self.swizzle.apply(offset).try_sub(&self.offset)?;
        self.layout.at(inner)
    }
}
