//! A multistage product keeps `stages - 1` tiles along k in flight and reads the fragments of the
//! next k-block from shared memory while the current one is multiplied. The buffer filled in a trip
//! is the one all threads finished reading before the barrier of the trip before. Where tiles are
//! cut along k a CTA makes one part after another, each with the ring as it was at first.

use crate::error::Result;
use crate::ir::tile::build::product::{Factor, Product};
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::build::{WorkTile, epilogue, hand_on, partials, ring, sync};
use crate::ir::tile::{Bounds, End, Op, PipeId, Slice, Stage, Sync, Trips, View, WHOLE};
use crate::plan::data::moves::Hop;
use crate::plan::data::teams::Team;

/// What a CTA does with a work tile.
pub(in crate::ir::tile::build) fn work_tile(
    tiles: &mut Tiles<'_>,
    product: &Product<'_>,
) -> Result<WorkTile> {
    let held = product.factors.iter();
    let held: Vec<View> = held
        .map(|factor| factor.slot(Stage::Fixed(0), None))
        .collect();
    let ring = ring(tiles, held);
    let partials = partials(tiles, Team::All);
    let stages = tiles.plan().stages;
    let mut begins = Vec::new();
    if partials.is_some() {
        begins.extend([Sync::Meet, Sync::Restart(ring)].map(Op::Sync));
    }
    for stage in 0..stages - 1 {
        let place = (Stage::Fixed(stage), WHOLE);
        begins.extend(load_tile(tiles, product, ring, place)?);
    }
    begins.extend(product.clear());
    begins.extend([Sync::Await(ring, stages - 2), Sync::Meet].map(Op::Sync));
    begins.extend(load_fragments(tiles, product, 0, 0)?);
    let mut stores = epilogue::results(tiles, product)?;
    // A section begins with the CTA's number, and a part is one of several that it has.
    stores.retain(|op| partials.is_none() || *op != Op::Section);
    Ok(WorkTile {
        begins,
        trip: Some(trip(tiles, product, ring)?),
        ends: vec![sync(Sync::Drain(ring))],
        results: match partials {
            Some(partials) => hand_on(product, tiles.plan(), partials, stores)?,
            None => stores,
        },
    })
}

/// One trip of the main loop. The next tile's copies are spread over all blocks but the last; of
/// the last block's products, half are issued before the barrier, so that the tensor cores have
/// work while the threads meet.
fn trip(tiles: &Tiles<'_>, product: &Product<'_>, ring: PipeId) -> Result<Vec<Op>> {
    let plan = tiles.plan();
    let blocks = plan.k_blocks();
    let loads = (blocks - 1).max(1);
    let mut ops = Vec::new();
    for block in 0..blocks {
        let (buffer, next) = (
            block % 2,
            load_fragments(tiles, product, (block + 1) % blocks, (block + 1) % 2)?,
        );
        if block + 1 < blocks {
            ops.extend(next);
            let place = (Stage::At(End::Fill), Slice(block, loads));
            ops.extend(load_tile(tiles, product, ring, place)?);
            ops.extend(product.multiply(buffer, WHOLE));
        } else {
            ops.extend(product.multiply(buffer, Slice(0, 2)));
            let landed = [
                Sync::Skip(ring, End::Empty, Trips::One),
                Sync::Await(ring, plan.stages - 2),
                Sync::Meet,
            ];
            ops.extend(landed.map(Op::Sync));
            ops.extend(next);
            ops.extend(product.multiply(buffer, Slice(1, 2)));
        }
    }
    Ok(ops)
}

/// Starts a share of the copies of the next tile along k into that buffer; the last share closes
/// their group.
fn load_tile(
    tiles: &Tiles<'_>,
    product: &Product<'_>,
    ring: PipeId,
    (stage, share): (Stage, Slice),
) -> Result<Vec<Op>> {
    let mut ops = Vec::new();
    for factor in &product.factors {
        let views = [factor.gmem, factor.slot(stage, None)];
        ops.push(tiles.part(factor.operand, Hop::G2s, views, Bounds::Checked, share)?);
    }
    if share.0 + 1 == share.1 {
        let next = Sync::Skip(ring, End::Fill, Trips::One);
        ops.extend([sync(Sync::Commit(ring)), Op::NextTile, sync(next)]);
    }
    Ok(ops)
}

fn load_fragments(
    tiles: &Tiles<'_>,
    product: &Product<'_>,
    block: u32,
    buffer: u32,
) -> Result<Vec<Op>> {
    let load = |factor: &Factor| {
        let slot = factor.slot(Stage::At(End::Empty), Some(block));
        let views = [slot, View::Rmem(factor.loaded, buffer)];
        tiles.step_of(factor.operand, Hop::S2r, views, Bounds::Inside)
    };
    product.factors.iter().map(load).collect()
}
