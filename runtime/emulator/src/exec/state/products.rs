//! Tensor-core products: those of a warpgroup that are not taken, and room for operands.

use std::collections::VecDeque;
use std::sync::Arc;

use super::race::ProductClock;
use super::site::Site;
use crate::inst::Lanes;
use crate::tensor_core::Columns;

/// The warps of a warpgroup, as bits.
pub(crate) const ALL_WARPS: u8 = 0xf;

/// Dense operands of a product.
#[derive(Debug, Default)]
pub(crate) struct Operands {
    /// 64 rows of k elements; empty when A comes from registers.
    pub(crate) a: Vec<f32>,
    /// n columns of k elements.
    pub(crate) b: Columns,
}

/// A product that not every warp has taken.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) site: Site,
    /// The descriptors of A and B.
    pub(crate) descriptors: (u64, u64),
    pub(crate) issued: u8,
    pub(crate) taken: u8,
    pub(crate) clock: ProductClock,
    pub(crate) operands: Option<Arc<Operands>>,
}

/// The products of four warps.
#[derive(Debug, Default)]
pub(crate) struct Warpgroup {
    pub(crate) products: VecDeque<Product>,
    /// The number of the first one.
    pub(crate) first: u64,
}

impl Warpgroup {
    pub(crate) fn product(&mut self, number: u64) -> Option<&mut Product> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.products.get_mut(index)
    }

    /// Forgets the products that all warps have taken.
    pub(crate) fn retire(&mut self) {
        while let Some(product) = self.products.front()
            && product.taken == ALL_WARPS
        {
            self.products.pop_front();
            self.first += 1;
        }
    }
}

/// A product that this warp has issued and not taken.
#[derive(Clone, Debug)]
pub(crate) struct Issued {
    pub(crate) number: u64,
    pub(crate) pc: u32,
    pub(crate) accumulates: bool,
    /// The registers of A at issue, when they are read early.
    pub(crate) a: Option<Vec<Lanes>>,
}

/// What a warp remembers of its products.
#[derive(Clone, Debug, Default)]
pub(crate) struct Products {
    pub(crate) issued: Vec<Issued>,
    pub(crate) count: u64,
    /// The products before each committed group's end.
    pub(crate) groups: Vec<u64>,
    /// Counts `wgmma.fence`; a register touched in the current count needs a fence.
    pub(crate) fences: u32,
}

/// The operands of a product that is summed in floats.
pub(crate) struct Tile {
    pub(crate) a: [f32; 16 * 32],
    pub(crate) b: Columns,
    pub(crate) c: [f32; 16 * 8],
}
