//! The warp-specialized gemm: a producer keeps the ring full, consumers multiply what it holds and
//! store finished tiles while the producer already loads the next ones.
//!
//! The ring's state is carried over output tiles: it never starts anew. With one group in flight a
//! consumer gives a slot back a trip late, when the group that read it is done.

use crate::ir::tile::{
    Bounds, Distance, Op, Role, Share, Slot, Stage, Team, TileIndex, View, WHOLE,
};
use crate::plan::model::{Hop, Plan};
use crate::plan::roles::{BoxCopy, Roles};
use crate::spec::model::{LaunchKind, Schedule};

/// The kernel of a plan with roles.
pub(super) fn body(plan: &Plan) -> Vec<Op> {
    let Some(roles) = &plan.roles else {
        return Vec::new();
    };
    let [producer, consumer] = roles.registers;
    let mut body = vec![Op::InitBarriers];
    body.extend((roles.launch == LaunchKind::Programmatic).then_some(Op::FollowGrid));
    body.push(Op::Roles(vec![
        Role {
            team: Team::Producer,
            registers: producer,
            body: produce(roles),
        },
        Role {
            team: Team::Consumers,
            registers: consumer,
            body: consume(plan, roles),
        },
    ]));
    body
}

/// The loop over what comes to a CTA: output tiles, or pieces of them.
fn for_each(roles: &Roles, body: Vec<Op>) -> Op {
    match roles.cuts_tiles() {
        true => Op::ForEachPiece(body),
        false => Op::ForEachTile(body),
    }
}

fn produce(roles: &Roles) -> Vec<Op> {
    let mut trip = vec![Op::Acquire, Op::Arm];
    for (operand, tile) in [("a", TileIndex::M), ("b", TileIndex::N)] {
        trip.push(Op::Copy {
            operand,
            hop: Hop::G2s,
            src: View::Gmem([tile, TileIndex::K]),
            dst: View::Smem(Stage::Slot, None),
            bounds: Bounds::Checked,
            share: WHOLE,
        });
    }
    trip.push(Op::Advance(Distance::Slot));
    vec![for_each(roles, vec![Op::ForEachKTile(trip)]), Op::Drain]
}

fn consume(plan: &Plan, roles: &Roles) -> Vec<Op> {
    let turns = roles.schedule == Schedule::Pingpong;
    let late = roles.in_flight > 0;
    let mut trip = vec![Op::Await, Op::MmaSlot, Op::MmaWait(roles.in_flight)];
    trip.push(Op::Release(if late {
        Slot::Previous
    } else {
        Slot::Current
    }));
    trip.push(Op::Advance(Distance::Slot));
    let pieces = roles.cuts_tiles();
    let skips = |distance| (turns && !pieces).then_some(Op::Advance(distance));
    let mut tile = Vec::new();
    tile.extend(pieces.then_some(Op::ClearAccumulators));
    tile.extend((turns && pieces).then_some(Op::Advance(Distance::Piece)));
    tile.extend(turns.then_some(Op::TakeTurn));
    tile.push(Op::ForEachKTile(trip));
    tile.extend(turns.then_some(Op::PassTurn));
    tile.push(Op::MmaDone);
    tile.extend(late.then_some(Op::Release(Slot::Previous)));
    let stores = match &roles.store {
        Some(boxes) => Op::IfBoxesEnd(store(plan, roles, boxes), store_direct(Bounds::Checked)),
        None => Op::IfInside(store_direct(Bounds::Inside), store_direct(Bounds::Checked)),
    };
    tile.push(match pieces {
        true => Op::IfContinues(vec![Op::GivePiece], vec![Op::TakePieces, stores]),
        false => stores,
    });
    tile.extend(skips(Distance::Tile));
    let mut body = Vec::new();
    body.extend(skips(Distance::Turns));
    body.push(for_each(roles, tile));
    body.extend(roles.store.is_some().then_some(Op::StagingDrain));
    body
}

/// From registers to global memory; checked, every element by itself, where it is inside.
fn store_direct(bounds: Bounds) -> Vec<Op> {
    vec![
        Op::Convert(bounds, WHOLE),
        Op::Copy {
            operand: "d",
            hop: Hop::R2g,
            src: View::Rmem(0),
            dst: View::Gmem([TileIndex::M, TileIndex::N]),
            bounds,
            share: WHOLE,
        },
    ]
}

/// One box after another: round, write it into a staging buffer, send it off.
fn store(plan: &Plan, roles: &Roles, boxes: &BoxCopy) -> Vec<Op> {
    let boxes = boxes.places.len() as u32;
    let in_flight = (roles.staging.buffers - 1) as u32;
    let convert = plan.epilogue.is_some();
    (0..boxes)
        .flat_map(|number| {
            let share = Share(number, boxes);
            let staged = View::Smem(Stage::Staging, Some(number));
            let copy = |hop, src, dst| Op::Copy {
                operand: "d",
                hop,
                src,
                dst,
                bounds: match hop {
                    Hop::S2g => Bounds::Checked,
                    _ => Bounds::Inside,
                },
                share: WHOLE,
            };
            let mut ops = Vec::new();
            ops.extend(convert.then_some(Op::Convert(Bounds::Inside, share)));
            ops.push(Op::StagingFree(in_flight));
            ops.push(copy(Hop::R2s, View::Rmem(0), staged));
            ops.push(Op::StagingFull);
            let tile = View::Gmem([TileIndex::M, TileIndex::N]);
            ops.push(copy(Hop::S2g, staged, tile));
            ops
        })
        .collect()
}
