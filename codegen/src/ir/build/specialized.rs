//! The warp-specialized gemm: a producer keeps the ring full, consumers multiply what it holds and
//! store finished tiles while the producer already loads the next ones.
//!
//! The ring's state is carried over output tiles: it never starts anew. With one group in flight a
//! consumer gives a slot back a trip late, when the group that read it is done.

use super::store_direct;
use super::tiles::{Product, Tiles};
use crate::ir::tile::{Bounds, Distance, Op, Role, Share, Slot, Stage, Team, WHOLE};
use crate::plan::model::Hop;
use crate::plan::roles::{BoxCopy, Roles};
use crate::spec::model::{self, LaunchKind, Schedule};

/// The kernel of a plan with roles.
pub(super) fn body(tiles: &Tiles<'_>, product: &Product, roles: &Roles) -> Vec<Op> {
    let [producer, consumer] = roles.registers;
    let mut body = vec![Op::InitBarriers];
    body.extend((roles.launch == LaunchKind::Programmatic).then_some(Op::FollowGrid));
    body.push(Op::Roles(vec![
        Role {
            team: Team::Producer,
            registers: producer,
            body: produce(tiles, roles),
        },
        Role {
            team: Team::Consumers,
            registers: consumer,
            body: consume(tiles, product, roles),
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

fn produce(tiles: &Tiles<'_>, roles: &Roles) -> Vec<Op> {
    let mut trip = vec![Op::Acquire, Op::Arm];
    for role in [model::Role::A, model::Role::B] {
        let views = [tiles.gmem(role), tiles.smem(role, Stage::Slot, None)];
        trip.push(tiles.step(role, Hop::G2s, views, Bounds::Checked));
    }
    trip.push(Op::Advance(Distance::Slot));
    vec![for_each(roles, vec![Op::ForEachKTile(trip)]), Op::Drain]
}

fn consume(tiles: &Tiles<'_>, product: &Product, roles: &Roles) -> Vec<Op> {
    let turns = roles.schedule == Schedule::Pingpong;
    let late = roles.in_flight > 0;
    let [a, b] = [model::Role::A, model::Role::B].map(|role| tiles.smem(role, Stage::Slot, None));
    let acc = product.acc;
    let multiply = Op::Mma {
        acc,
        a,
        b,
        share: WHOLE,
    };
    let mut trip = vec![Op::Await, multiply, Op::MmaWait(roles.in_flight)];
    trip.push(Op::Release(if late {
        Slot::Previous
    } else {
        Slot::Current
    }));
    trip.push(Op::Advance(Distance::Slot));
    let pieces = roles.cuts_tiles();
    let skips = |distance| (turns && !pieces).then_some(Op::Advance(distance));
    let mut tile = Vec::new();
    tile.extend(pieces.then(|| product.clear()));
    tile.extend((turns && pieces).then_some(Op::Advance(Distance::Piece)));
    tile.extend(turns.then_some(Op::TakeTurn));
    tile.push(Op::ForEachKTile(trip));
    tile.extend(turns.then_some(Op::PassTurn));
    tile.push(Op::MmaDone(acc));
    tile.extend(late.then_some(Op::Release(Slot::Previous)));
    let direct = |bounds| store_direct(tiles, product, bounds);
    let stores = match &roles.store {
        Some(boxes) => Op::IfBoxesEnd(store(tiles, product, roles, boxes), direct(Bounds::Checked)),
        None => Op::IfInside(direct(Bounds::Inside), direct(Bounds::Checked)),
    };
    tile.push(match pieces {
        true => Op::IfContinues(vec![Op::GivePiece(acc)], vec![Op::TakePieces(acc), stores]),
        false => stores,
    });
    tile.extend(skips(Distance::Tile));
    let mut body = Vec::new();
    body.extend(skips(Distance::Turns));
    body.push(for_each(roles, tile));
    body.extend(roles.store.is_some().then_some(Op::StagingDrain));
    body
}

/// One box after another: round, write it into a staging buffer, send it off.
fn store(tiles: &Tiles<'_>, product: &Product, roles: &Roles, boxes: &BoxCopy) -> Vec<Op> {
    let output = model::Role::Output;
    let boxes = boxes.places.len() as u32;
    let in_flight = (roles.staging.buffers - 1) as u32;
    (0..boxes)
        .flat_map(|number| {
            let staged = tiles.smem(output, Stage::Staging, Some(number));
            let (cast, held) = product.result(true, Share(number, boxes));
            let into = tiles.step(output, Hop::R2s, [held, staged], Bounds::Inside);
            let views = [staged, tiles.gmem(output)];
            let out_of = tiles.step(output, Hop::S2g, views, Bounds::Checked);
            let moved = [Op::StagingFree(in_flight), into, Op::StagingFull, out_of];
            cast.into_iter().chain(moved)
        })
        .collect()
}
