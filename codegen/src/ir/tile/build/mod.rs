//! Plan to tile IR: the algorithm of each kind of kernel, in tiles.
//!
//! A multistage gemm keeps `stages - 1` tiles along k in flight and reads the fragments of the next
//! k-block from shared memory while the current one is multiplied. The buffer filled in a trip is
//! the one all threads finished reading before the barrier of the trip before.

mod values;
mod product;
mod tiles;
mod chunked_rows;
mod elementwise;
mod epilogue;
mod warp_specialized;

use crate::error::{Error, Result};
use crate::ir::tile::{
    Across, Bounds, End, Engine, Every, Full, Kernel, Op, Pipe, PipeId, Slice, Stage, Sync, Team,
    Trips, View, WHOLE,
};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Hop;
use crate::spec::keys::model::{LaunchKind, Role};
use product::{Factor, Product};
use tiles::Tiles;

/// Writes the plan down as tile operations.
///
/// # Errors
/// Those of the layout algebra, for a plan whose tiled copies and MMA contradict one another.
pub fn build(plan: &Plan) -> Result<Kernel> {
    let mut tiles = Tiles::of(plan)?;
    let mut body = match &plan.mma {
        None => {
            let flow = plan.flow.as_ref();
            let flow = flow.ok_or_else(|| bug(plan, "neither a product nor a flow"))?;
            each_work_tile(elementwise::body(&mut tiles, flow)?)
        }
        Some(mma) => {
            let product = tiles.product(mma)?;
            match &plan.roles {
                Some(roles) => warp_specialized::body(&mut tiles, &product, roles)?,
                None if plan.moves(Role::A, Hop::G2s) => {
                    let held = product.factors.iter();
                    let held = held.map(|factor| factor.slot(Stage::Fixed(0), None));
                    let ring = ring(&mut tiles, held);
                    each_work_tile(multistage(&tiles, &product, ring)?)
                }
                None => each_work_tile(synchronous(&tiles, &product)?),
            }
        }
    };
    if plan.launch == LaunchKind::Programmatic {
        let made = body.iter().take_while(|op| **op == Op::InitPipes).count();
        body.insert(made, sync(Sync::Follow));
    }
    let (tiles, pipes, teams) = tiles.finish();
    Ok(Kernel {
        id: plan.id.clone(),
        work: plan.work.clone(),
        tiles,
        pipes,
        teams,
        body,
    })
}

fn bug(plan: &Plan, message: &str) -> Error {
    Error::bug("tile", &plan.id, message, plan)
}

/// All threads do the same, for one work tile after another.
fn each_work_tile(body: Vec<Op>) -> Vec<Op> {
    vec![Op::ForEachWorkTile(body)]
}

/// The ring of asynchronous copies into those tiles.
fn ring(tiles: &mut Tiles<'_>, held: impl IntoIterator<Item = View>) -> PipeId {
    tiles.pipe(Pipe {
        name: "ring",
        slots: tiles.plan().stages,
        tiles: held.into_iter().map(View::tile).collect(),
        fill: Team::All,
        empty: Team::All,
        full: Full::Group(Engine::Copies),
        every: Every::Trip,
        across: Across::Cta,
    })
}

fn sync(sync: Sync) -> Op {
    Op::Sync(sync)
}

fn multistage(tiles: &Tiles<'_>, product: &Product<'_>, ring: PipeId) -> Result<Vec<Op>> {
    let plan = tiles.plan();
    let mut body = Vec::new();
    for stage in 0..plan.stages - 1 {
        body.extend(load_tile(
            tiles,
            product,
            ring,
            (Stage::Fixed(stage), WHOLE),
        ));
    }
    body.extend(product.clear());
    body.extend([Sync::Await(ring, plan.stages - 2), Sync::Meet].map(Op::Sync));
    body.extend(load_fragments(tiles, product, 0, 0));
    body.push(Op::ForEachKTile(multistage_trip(tiles, product, ring)));
    body.push(sync(Sync::Drain(ring)));
    body.extend(store(tiles, product)?);
    Ok(body)
}

/// One trip of the main loop. The next tile's copies are spread over all blocks but the last; of
/// the last block's products, half are issued before the barrier, so that the tensor cores have
/// work while the threads meet.
fn multistage_trip(tiles: &Tiles<'_>, product: &Product<'_>, ring: PipeId) -> Vec<Op> {
    let plan = tiles.plan();
    let blocks = plan.k_blocks();
    let loads = (blocks - 1).max(1);
    let mut trip = Vec::new();
    for block in 0..blocks {
        let (buffer, next) = (
            block % 2,
            load_fragments(tiles, product, (block + 1) % blocks, (block + 1) % 2),
        );
        if block + 1 < blocks {
            trip.extend(next);
            let place = (Stage::At(End::Fill), Slice(block, loads));
            trip.extend(load_tile(tiles, product, ring, place));
            trip.extend(product.multiply(buffer, WHOLE));
        } else {
            trip.extend(product.multiply(buffer, Slice(0, 2)));
            let landed = [
                Sync::Skip(ring, End::Empty, Trips::One),
                Sync::Await(ring, plan.stages - 2),
                Sync::Meet,
            ];
            trip.extend(landed.map(Op::Sync));
            trip.extend(next);
            trip.extend(product.multiply(buffer, Slice(1, 2)));
        }
    }
    trip
}

fn synchronous(tiles: &Tiles<'_>, product: &Product<'_>) -> Result<Vec<Op>> {
    let plan = tiles.plan();
    let stage = Stage::Fixed(0);
    let mut trip = Vec::new();
    for factor in &product.factors {
        let views = [factor.gmem, View::Rmem(factor.passing, 0)];
        trip.push(tiles.step(factor.role, Hop::G2r, views, Bounds::Checked));
    }
    trip.push(sync(Sync::Meet));
    for factor in &product.factors {
        let views = [View::Rmem(factor.passing, 0), factor.slot(stage, None)];
        trip.push(tiles.step(factor.role, Hop::R2s, views, Bounds::Inside));
    }
    trip.extend([sync(Sync::Meet), Op::NextTile]);
    for block in 0..plan.k_blocks() {
        for factor in &product.factors {
            let slot = factor.slot(stage, Some(block));
            let views = [slot, View::Rmem(factor.loaded, 0)];
            trip.push(tiles.step(factor.role, Hop::S2r, views, Bounds::Inside));
        }
        trip.extend(product.widen(0));
        trip.extend(product.multiply(0, WHOLE));
    }
    let mut body: Vec<Op> = product.clear().collect();
    body.push(Op::ForEachKTile(trip));
    body.extend(store(tiles, product)?);
    Ok(body)
}

/// Starts a share of the copies of the next tile along k into that buffer; the last share closes
/// their group.
fn load_tile(
    tiles: &Tiles<'_>,
    product: &Product<'_>,
    ring: PipeId,
    (stage, share): (Stage, Slice),
) -> Vec<Op> {
    let mut ops = Vec::new();
    for factor in &product.factors {
        let views = [factor.gmem, factor.slot(stage, None)];
        ops.push(tiles.part(factor.role, Hop::G2s, views, Bounds::Checked, share));
    }
    if share.0 + 1 == share.1 {
        let next = Sync::Skip(ring, End::Fill, Trips::One);
        ops.extend([sync(Sync::Commit(ring)), Op::NextTile, sync(next)]);
    }
    ops
}

fn load_fragments(tiles: &Tiles<'_>, product: &Product<'_>, block: u32, buffer: u32) -> Vec<Op> {
    let load = |factor: &Factor| {
        let slot = factor.slot(Stage::At(End::Empty), Some(block));
        let views = [slot, View::Rmem(factor.loaded, buffer)];
        tiles.step(factor.role, Hop::S2r, views, Bounds::Inside)
    };
    product.factors.iter().map(load).collect()
}

fn store(tiles: &Tiles<'_>, product: &Product<'_>) -> Result<Vec<Op>> {
    let [inside, checked] = [Bounds::Inside, Bounds::Checked];
    let mut ops = vec![
        Op::Section,
        Op::IfInside(
            epilogue::direct(tiles, product, inside)?,
            epilogue::direct(tiles, product, checked)?,
        ),
    ];
    ops.extend(product.add_up(tiles)?);
    Ok(ops)
}
