//! A product whose factors pass through registers into shared memory, a tile along k at a time.

use crate::error::Result;
use crate::ir::tile::build::product::Product;
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::build::{WorkTile, epilogue, sync};
use crate::ir::tile::{Bounds, Op, Stage, Sync, View, WHOLE};
use crate::plan::data::moves::Hop;

/// What a CTA does with a work tile.
pub(in crate::ir::tile::build) fn work_tile(
    tiles: &Tiles<'_>,
    product: &Product<'_>,
) -> Result<WorkTile> {
    let plan = tiles.plan();
    let stage = Stage::Fixed(0);
    let mut trip = Vec::new();
    for factor in &product.factors {
        let views = [factor.gmem, factor.passing(tiles)?];
        trip.push(tiles.step_of(factor.operand, Hop::G2r, views, Bounds::Checked)?);
    }
    trip.push(sync(Sync::Meet));
    for factor in &product.factors {
        let views = [factor.passing(tiles)?, factor.slot(stage, None)];
        trip.push(tiles.step_of(factor.operand, Hop::R2s, views, Bounds::Inside)?);
    }
    trip.extend([sync(Sync::Meet), Op::NextTile]);
    for block in 0..plan.k_blocks() {
        for factor in &product.factors {
            let slot = factor.slot(stage, Some(block));
            let views = [slot, View::Rmem(factor.loaded, 0)];
            trip.push(tiles.step_of(factor.operand, Hop::S2r, views, Bounds::Inside)?);
        }
        trip.extend(product.widen(0));
        trip.extend(product.multiply(0, WHOLE));
    }
    Ok(WorkTile {
        begins: product.clear().collect(),
        trip: Some(trip),
        ends: Vec::new(),
        results: epilogue::results(tiles, product)?,
    })
}
