//! The tiles of a product in registers, and the operations on them.

use std::sync::Arc;

use crate::element::Element;
use crate::error::Result;
use crate::ir::tile::build::bug;
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::build::values::FlowTiles;
use crate::ir::tile::{Op, Slice, Stage, Start, TileId, View, WHOLE};
use crate::plan::data::values::Staged;

/// What a product is made of.
pub(super) struct Product<'p> {
    /// The factors that pass through registers: a, then b of each plane, or none where the MMA
    /// reads shared memory.
    pub factors: Vec<Factor>,
    /// The accumulators, of each plane.
    pub acc: Vec<TileId>,
    /// What they begin with.
    pub(super) zero: Arc<Element>,
    /// Accumulators of a thread.
    pub values: usize,
    /// What is computed of them before they are stored.
    pub flow: FlowTiles<'p>,
    /// Its factors among the nodes, with their operands: that of rows, and that of columns.
    pub(super) of: [(usize, &'p str); 2],
}

/// One factor of a product, as it comes through registers.
pub(super) struct Factor {
    /// Its operand.
    pub operand: String,
    /// Its tile in global memory.
    pub gmem: View,
    /// Its tile in shared memory.
    pub(super) smem: TileId,
    /// On its way from global to shared memory, where it passes through registers.
    pub(super) passing: Option<TileId>,
    /// As it comes out of shared memory.
    pub loaded: TileId,
    /// As the MMA takes it.
    pub(super) fragment: TileId,
    /// What makes the one of the other, where they differ.
    pub(super) widen: Option<Arc<Element>>,
}

impl Factor {
    /// A buffer of its tile in shared memory, or a block of it.
    pub fn slot(&self, stage: Stage, block: Option<u32>) -> View {
        View::Smem(self.smem, stage, block)
    }

    /// Its registers on its way from global to shared memory.
    pub fn passing(&self, tiles: &Tiles<'_>) -> Result<View> {
        let missing = || bug(tiles.plan(), "a factor that passes no registers");
        Ok(View::Rmem(self.passing.ok_or_else(missing)?, 0))
    }
}

impl Product<'_> {
    /// The names of its factors' operands.
    pub fn names(&self) -> [&str; 2] {
        self.of.map(|(_, name)| name)
    }

    /// How its factors come into shared memory.
    pub fn staged(&self) -> Option<&Staged> {
        let [(first, _), _] = self.of;
        self.flow.staged(first)
    }

    /// Sets the accumulators to zero.
    pub fn clear(&self) -> impl Iterator<Item = Op> + '_ {
        self.acc.iter().map(|acc| Op::Map {
            to: View::Rmem(*acc, 0),
            from: Vec::new(),
            element: self.zero.clone(),
            share: WHOLE,
        })
    }

    /// The only tile of what a work tile's trips add up: accumulators, or the sums of parts.
    pub fn total(&self) -> Option<TileId> {
        self.flow.carried().or_else(|| self.acc.first().copied())
    }

    /// Widens the fragments of a buffer to the MMA's types, where they are stored narrower.
    pub fn widen(&self, buffer: u32) -> impl Iterator<Item = Op> + '_ {
        let widens =
            |factor: &Factor| Some((factor.fragment, factor.loaded, factor.widen.clone()?));
        let factors = self.factors.iter().filter_map(widens);
        factors.map(move |(fragment, loaded, element)| Op::Map {
            to: View::Rmem(fragment, buffer),
            from: vec![View::Rmem(loaded, buffer)],
            element,
            share: WHOLE,
        })
    }

    /// Multiplies the fragments of a buffer, or a share of the atoms, plane after plane.
    pub fn multiply(&self, buffer: u32, share: Slice) -> impl Iterator<Item = Op> + '_ {
        let fragment = move |factor: &Factor| View::Rmem(factor.fragment, buffer);
        let (a, planes) = match self.factors.split_first() {
            Some((a, planes)) => (Some(fragment(a)), planes),
            None => (None, &[][..]),
        };
        let planes = self.acc.iter().zip(planes);
        planes.filter_map(move |(acc, b)| {
            Some(Op::Mma {
                acc: vec![*acc],
                a: a?,
                b: fragment(b),
                start: Start::Held,
                share,
            })
        })
    }

    /// What adds up, in a fixed order, what threads have of results.
    pub fn add_up(&self, tiles: &Tiles<'_>) -> Result<Option<Op>> {
        self.flow.add_up(tiles, |_| true)
    }
}
