//! Plan to tile IR: the algorithm of each kernel family, in tiles.
//!
//! A multistage gemm keeps `stages - 1` tiles along k in flight and reads the fragments of the next
//! k-block from shared memory while the current one is multiplied. The buffer filled in a trip is
//! the one all threads finished reading before the barrier of the trip before.

mod specialized;

use crate::ir::tile::{Bounds, Kernel, Op, Share, Stage, TileIndex, View, WHOLE};
use crate::plan::model::{Hop, Plan};
use crate::spec::model::Family;

/// Writes the plan down as tile operations.
pub fn build(plan: &Plan) -> Kernel {
    let body = match plan.family {
        Family::Copy => copy(plan),
        Family::Gemm if plan.roles.is_some() => specialized::body(plan),
        Family::Gemm if plan.step("a", Hop::G2s).is_some() => gemm_multistage(plan),
        Family::Gemm => gemm_synchronous(plan),
    };
    Kernel {
        id: plan.id.clone(),
        body,
    }
}

const TILE_MN: View = View::Gmem([TileIndex::M, TileIndex::N]);

fn copy(plan: &Plan) -> Vec<Op> {
    let mut body = vec![Op::Raster(plan.raster)];
    let (tile, ring, registers) = (TILE_MN, View::Smem(Stage::Fixed(0), None), View::Rmem(0));
    if plan.step("s", Hop::G2s).is_some() {
        body.push(step("s", Hop::G2s, tile, ring, Bounds::Checked));
        body.extend([Op::Commit, Op::Wait(0), Op::Barrier]);
    } else if plan.step("s", Hop::R2s).is_some() {
        body.push(step("s", Hop::G2r, tile, registers, Bounds::Checked));
        body.push(step("s", Hop::R2s, registers, ring, Bounds::Inside));
        body.push(Op::Barrier);
    }
    let (hop, from) = match plan.step("s", Hop::S2r) {
        Some(_) => (Hop::S2r, ring),
        None => (Hop::G2r, tile),
    };
    body.push(by_edge(|bounds| {
        vec![
            step("s", hop, from, registers, bounds),
            step("d", Hop::R2g, registers, tile, bounds),
        ]
    }));
    body
}

fn gemm_multistage(plan: &Plan) -> Vec<Op> {
    let mut body = vec![Op::Raster(plan.raster)];
    for stage in 0..plan.stages - 1 {
        body.extend(load_tile(Stage::Fixed(stage), WHOLE));
    }
    body.push(Op::ClearAccumulators);
    body.extend([Op::Wait(plan.stages - 2), Op::Barrier]);
    body.extend(load_fragments(0, 0));
    body.push(Op::ForEachKTile(multistage_trip(plan)));
    body.push(Op::Wait(0));
    body.extend(store(plan));
    body
}

/// One trip of the main loop. The next tile's copies are spread over all blocks but the last; of
/// the last block's products, half are issued before the barrier, so that the tensor cores have
/// work while the threads meet.
fn multistage_trip(plan: &Plan) -> Vec<Op> {
    let blocks = plan.k_blocks();
    let loads = (blocks - 1).max(1);
    let mut trip = Vec::new();
    for block in 0..blocks {
        let (buffer, next) = (
            block % 2,
            load_fragments((block + 1) % blocks, (block + 1) % 2),
        );
        if block + 1 < blocks {
            trip.extend(next);
            trip.extend(load_tile(Stage::Write, Share(block, loads)));
            trip.push(Op::Mma(buffer, WHOLE));
        } else {
            trip.push(Op::Mma(buffer, Share(0, 2)));
            trip.extend([Op::NextRead, Op::Wait(plan.stages - 2), Op::Barrier]);
            trip.extend(next);
            trip.push(Op::Mma(buffer, Share(1, 2)));
        }
    }
    trip
}

fn gemm_synchronous(plan: &Plan) -> Vec<Op> {
    let mut body = vec![Op::Raster(plan.raster), Op::ClearAccumulators];
    let stage = Stage::Fixed(0);
    let mut trip = Vec::new();
    for (operand, tile) in [("a", TileIndex::M), ("b", TileIndex::N)] {
        let tile = View::Gmem([tile, TileIndex::K]);
        trip.push(step(
            operand,
            Hop::G2r,
            tile,
            View::Rmem(0),
            Bounds::Checked,
        ));
    }
    trip.push(Op::Barrier);
    for operand in ["a", "b"] {
        let ring = View::Smem(stage, None);
        trip.push(step(operand, Hop::R2s, View::Rmem(0), ring, Bounds::Inside));
    }
    trip.extend([Op::Barrier, Op::NextTile]);
    for block in 0..plan.k_blocks() {
        for operand in ["a", "b"] {
            let ring = View::Smem(stage, Some(block));
            trip.push(step(operand, Hop::S2r, ring, View::Rmem(0), Bounds::Inside));
        }
        if plan.mma.as_ref().is_some_and(|mma| mma.widen.is_some()) {
            trip.push(Op::Widen(0));
        }
        trip.push(Op::Mma(0, WHOLE));
    }
    body.push(Op::ForEachKTile(trip));
    body.extend(store(plan));
    body
}

/// Starts a share of the copies of the next tile along k into that buffer; the last share closes
/// their group.
fn load_tile(stage: Stage, share: Share) -> Vec<Op> {
    let mut ops = Vec::new();
    for (operand, tile) in [("a", TileIndex::M), ("b", TileIndex::N)] {
        ops.push(Op::Copy {
            operand,
            hop: Hop::G2s,
            src: View::Gmem([tile, TileIndex::K]),
            dst: View::Smem(stage, None),
            bounds: Bounds::Checked,
            share,
        });
    }
    if share.0 + 1 == share.1 {
        ops.extend([Op::Commit, Op::NextTile]);
    }
    ops
}

fn load_fragments(block: u32, buffer: u32) -> Vec<Op> {
    let ring = View::Smem(Stage::Read, Some(block));
    ["a", "b"]
        .map(|operand| step(operand, Hop::S2r, ring, View::Rmem(buffer), Bounds::Inside))
        .to_vec()
}

fn store(plan: &Plan) -> Vec<Op> {
    vec![
        Op::Raster(plan.raster),
        by_edge(|bounds| {
            vec![
                Op::Convert(bounds, WHOLE),
                step("d", Hop::R2g, View::Rmem(0), TILE_MN, bounds),
            ]
        }),
    ]
}

fn by_edge(body: impl Fn(Bounds) -> Vec<Op>) -> Op {
    Op::IfInside(body(Bounds::Inside), body(Bounds::Checked))
}

fn step(operand: &'static str, hop: Hop, src: View, dst: View, bounds: Bounds) -> Op {
    Op::Copy {
        operand,
        hop,
        src,
        dst,
        bounds,
        share: WHOLE,
    }
}
