//! The warp-specialized gemm: a producer keeps the ring full, consumers multiply what it holds and
//! store finished tiles while the producer already loads the next ones.
//!
//! The ring's state is carried over output tiles: it never starts anew. With one group in flight a
//! consumer gives a slot back a trip late, when the group that read it is done.

use crate::error::Result;
use crate::ir::tile::build::product::Product;
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::build::values::OfTrips;
use crate::ir::tile::build::{WorkTile, bug, epilogue, hand_on, partials};
use crate::ir::tile::{
    Across, Bounds, End, Engine, Every, Full, Op, Pipe, PipeId, Slice, Stage, Start, Sync, TileId,
    Trips, View, WHOLE,
};
use crate::plan::data::moves::{BoxCopy, Hop};
use crate::plan::data::teams::Team;
use crate::plan::data::warp_roles::{LoadPipe, Roles};

/// The pipes of a kernel.
struct Pipes {
    /// Those that boxes fill, in the plan's order, with what they are filled for.
    loads: Vec<(Every, PipeId)>,
    /// Groups of products.
    products: PipeId,
    /// Whose turn it is at the tensor cores, where consumers take turns.
    turns: Option<PipeId>,
    /// Results on their way out, where they leave by boxes.
    staging: Option<PipeId>,
    /// Partial sums on their way to who began their tile, where tiles are cut along k.
    partials: Option<PipeId>,
}

/// The kernel of a plan with roles.
pub(in crate::ir::tile::build) fn body(
    tiles: &mut Tiles<'_>,
    product: &Product<'_>,
    roles: &Roles,
) -> Result<Vec<Op>> {
    let pipes = Pipes::of(tiles, product, roles)?;
    Ok(vec![
        Op::InitPipes,
        Op::Teams(vec![
            (Team::Producer, produce(tiles, &pipes, roles)?),
            (Team::Consumers, consume(tiles, product, &pipes, roles)?),
        ]),
    ])
}

impl Pipes {
    fn of(tiles: &mut Tiles<'_>, product: &Product<'_>, roles: &Roles) -> Result<Pipes> {
        let consumers = Team::Consumers;
        let loads = roles.pipes.iter().map(|pipe| filled(tiles, pipe));
        let loads = loads.collect::<Result<_>>()?;
        let groups = roles.in_flight + 1;
        let products = tiles.pipe(own_pipe(
            "products",
            groups,
            product.acc.clone(),
            Engine::Products,
        ));
        let turns = roles.takes_turns().then(|| {
            tiles.pipe(Pipe {
                name: "turns",
                slots: roles.consumers(),
                tiles: Vec::new(),
                fill: consumers,
                empty: consumers,
                full: Full::Arrivals,
                every: Every::Trip,
                across: Across::Cta,
            })
        });
        let staging = match &roles.store {
            None => None,
            Some(store) => {
                let staged = vec![tiles.smem_of(store.operand, None)?];
                let buffers = roles.staging_buffers as u32;
                let pipe = own_pipe("staging", buffers, staged, Engine::Stores);
                Some(tiles.pipe(pipe))
            }
        };
        let partials = partials(tiles, consumers);
        Ok(Pipes {
            loads,
            products,
            turns,
            staging,
            partials,
        })
    }

    /// The pipe that boxes fill for that.
    fn filled(&self, every: Every) -> Option<PipeId> {
        let mut loads = self.loads.iter();
        loads.find(|(of, _)| *of == every).map(|(_, pipe)| *pipe)
    }
}

/// A pipe of a warpgroup of consumers, of what an engine does for it.
fn own_pipe(name: &'static str, slots: u32, tiles: Vec<TileId>, engine: Engine) -> Pipe {
    Pipe {
        name,
        slots,
        tiles,
        fill: Team::Consumers,
        empty: Team::Consumers,
        full: Full::Group(engine),
        every: Every::Trip,
        across: Across::Warpgroup,
    }
}

/// A pipe that boxes fill. What is loaded for each trip may come to several CTAs at once.
fn filled(tiles: &mut Tiles<'_>, pipe: &LoadPipe) -> Result<(Every, PipeId)> {
    let clustered = tiles.plan().work.cluster().size() > 1;
    let (name, across) = match pipe.every {
        Every::Trip if clustered => ("ring", Across::Cluster),
        Every::Trip => ("ring", Across::Cta),
        Every::WorkTile => ("ahead", Across::Cta),
    };
    let loads = pipe.loads.iter();
    let held = loads.map(|load| tiles.smem_of(load.operand, None));
    let held = held.collect::<Result<_>>()?;
    let id = tiles.pipe(Pipe {
        name,
        slots: pipe.ring.stages,
        tiles: held,
        fill: Team::Producer,
        empty: Team::Consumers,
        full: Full::Bytes(pipe.ring),
        every: pipe.every,
        across,
    });
    Ok((pipe.every, id))
}

fn produce(tiles: &Tiles<'_>, pipes: &Pipes, roles: &Roles) -> Result<Vec<Op>> {
    let filled = |pipe: PipeId, loads: Vec<Op>| {
        let mut ops = vec![Op::Sync(Sync::Acquire(pipe)), Op::Sync(Sync::Arm(pipe))];
        ops.extend(loads);
        ops.push(Op::Sync(Sync::Skip(pipe, End::Fill, Trips::One)));
        ops
    };
    let load = |copy: &BoxCopy| {
        let operand = copy.operand;
        let slot = tiles.smem(operand, Stage::At(End::Fill), None)?;
        let views = [tiles.gmem_of(operand, None)?, slot];
        tiles.step_of(operand, Hop::G2s, views, Bounds::Checked)
    };
    let (mut tile, mut ends) = (Vec::new(), Vec::new());
    for (pipe, (every, id)) in roles.pipes.iter().zip(&pipes.loads) {
        let loads = pipe.loads.iter().map(load);
        let slot = filled(*id, loads.collect::<Result<_>>()?);
        match every {
            Every::Trip => tile.push(Op::ForEachKTile(slot)),
            Every::WorkTile => tile.extend(slot),
        }
        ends.push(Op::Sync(Sync::Drain(*id)));
    }
    let mut body = vec![Op::ForEachWorkTile(tile)];
    body.extend(ends);
    Ok(body)
}

fn consume(
    tiles: &Tiles<'_>,
    product: &Product<'_>,
    pipes: &Pipes,
    roles: &Roles,
) -> Result<Vec<Op>> {
    let ring = pipes.filled(Every::Trip);
    let ring = ring.ok_or_else(|| bug(tiles.plan(), "boxes fill nothing for a trip"))?;
    let (products, ahead) = (pipes.products, pipes.filled(Every::WorkTile));
    let late = roles.in_flight.min(1);
    let of_trips = product.flow.of_trips(tiles)?;
    let trip = trip(
        tiles,
        product,
        (ring, products, roles.in_flight),
        of_trips.as_ref(),
    )?;
    let parts = pipes.partials.is_some();
    let skip = |trips| Op::Sync(Sync::Skip(ring, End::Empty, trips));
    // What the consumers before this one, or the other ones, take out of the pipes.
    let rings = pipes.loads.iter().map(|(_, pipe)| *pipe);
    let skips = |trips| {
        let others = rings.clone().filter(|_| pipes.turns.is_some() && !parts);
        others.map(move |ring| Op::Sync(Sync::Skip(ring, End::Empty, trips)))
    };
    let loaded = |what: fn(PipeId) -> Sync| ahead.map(|pipe| Op::Sync(what(pipe)));
    let turn = |what: fn(PipeId) -> Sync| pipes.turns.map(|turns| Op::Sync(what(turns)));
    // Results are held over a fold: accumulators that begin with zeros take no registers then.
    let is_held = tiles.plan().folds().next().is_some();
    let mut begins = match of_trips {
        Some(of_trips) => of_trips.before,
        None => product.clear().filter(|_| parts || is_held).collect(),
    };
    begins.extend((pipes.turns.is_some() && parts).then(|| skip(Trips::WorkTile)));
    begins.extend(turn(|turns| Sync::Await(turns, 0)));
    let mut ends: Vec<Op> = turn(Sync::Commit).into_iter().collect();
    ends.push(Op::Sync(Sync::Drain(products)));
    ends.extend((late > 0).then_some(Op::Sync(Sync::Release(ring, late))));
    let direct = |bounds| epilogue::direct(tiles, product, bounds);
    let stores = match (&roles.store, pipes.staging) {
        (Some(boxes), Some(staging)) => {
            let staged = store(tiles, product, boxes, staging)?;
            Op::IfBoxesEnd(staged, direct(Bounds::Checked)?)
        }
        _ => Op::IfInside(direct(Bounds::Inside)?, direct(Bounds::Checked)?),
    };
    let mut results: Vec<Op> = loaded(|pipe| Sync::Await(pipe, 0)).into_iter().collect();
    let stores: Vec<Op> = [stores].into_iter().chain(product.add_up(tiles)?).collect();
    match pipes.partials {
        Some(partials) => results.extend(hand_on(product, tiles.plan(), partials, stores)?),
        None => results.extend(stores),
    }
    results.extend(loaded(|pipe| Sync::Release(pipe, 0)));
    results.extend(loaded(|pipe| Sync::Skip(pipe, End::Empty, Trips::One)));
    results.extend(skips(Trips::Tile));
    let tile = WorkTile {
        begins,
        trip: Some(trip),
        ends,
        results,
    };
    let mut body: Vec<Op> = skips(Trips::Turns).collect();
    body.push(tile.each());
    body.extend(pipes.staging.map(|staging| Op::Sync(Sync::Drain(staging))));
    Ok(body)
}

/// A trip of the main loop. What it computes of its own products waits for each group of them.
fn trip(
    tiles: &Tiles<'_>,
    product: &Product<'_>,
    (ring, products, in_flight): (PipeId, PipeId, u32),
    own: Option<&OfTrips>,
) -> Result<Vec<Op>> {
    let factor = |(_, operand)| tiles.smem(operand, Stage::At(End::Empty), None);
    let [a, b] = product.of.map(factor);
    let (mut a, b) = (a?, b?);
    // What the MMA has from registers comes out of the slot first.
    let mut load = None;
    if let Some(factor) = product.factors.first() {
        let views = [a, View::Rmem(factor.loaded, 0)];
        load = Some(tiles.step_of(factor.operand, Hop::S2r, views, Bounds::Inside)?);
        a = View::Rmem(factor.fragment, 0);
    }
    let multiply = |start, share| {
        let mma = Op::Mma {
            acc: product.acc.clone(),
            a,
            b,
            start,
            share,
        };
        let [before, behind] = [Sync::Acquire(products), Sync::Commit(products)].map(Op::Sync);
        [before, mma, behind]
    };
    let done = [
        Op::Sync(Sync::Release(ring, in_flight.min(1))),
        Op::Sync(Sync::Skip(ring, End::Empty, Trips::One)),
    ];
    let mut trip = Vec::new();
    let Some(own) = own else {
        trip.push(Op::Sync(Sync::Await(ring, 0)));
        trip.extend(load);
        trip.extend(multiply(Start::FirstTrip, WHOLE));
        trip.push(Op::Sync(Sync::Await(products, in_flight)));
        trip.extend(done);
        return Ok(trip);
    };
    trip.extend(own.turn.iter().cloned());
    trip.push(Op::Sync(Sync::Await(ring, 0)));
    trip.extend(load);
    trip.extend(own.slot.iter().cloned());
    let waves = own.values.len() as u32;
    for (number, take) in (1..).zip(&own.values) {
        trip.extend(multiply(Start::EveryTrip, Slice(number - 1, waves)));
        trip.push(Op::Sync(Sync::Drain(products)));
        // The last group has read the slot.
        trip.extend(done.iter().filter(|_| number == waves).cloned());
        trip.push(take.clone());
    }
    Ok(trip)
}

/// One box after another: round, write it into a staging buffer, send it off.
fn store(
    tiles: &Tiles<'_>,
    product: &Product<'_>,
    boxes: &BoxCopy,
    staging: PipeId,
) -> Result<Vec<Op>> {
    let count = boxes.places.len() as u32;
    let send = |number: u32, held: View| -> Result<[Op; 4]> {
        let operand = boxes.operand;
        let staged = tiles.smem(operand, Stage::Turn, Some(number))?;
        let into = tiles.step_of(operand, Hop::R2s, [held, staged], Bounds::Inside)?;
        let views = [staged, tiles.gmem_of(operand, None)?];
        let out_of = tiles.step_of(operand, Hop::S2g, views, Bounds::Checked)?;
        let filled = Op::Sync(Sync::Commit(staging));
        Ok([Op::Sync(Sync::Acquire(staging)), into, filled, out_of])
    };
    let first = boxes.places.first().map_or(0, |place| place.coord[0]);
    let of_a_row = boxes.places.iter().filter(|place| place.coord[0] == first);
    let counts = (boxes.operand, count, of_a_row.count() as u32);
    let computed = epilogue::of_boxes(tiles, &product.flow, counts)?;
    let mut ops = computed.before;
    for (number, part) in (0..).zip(computed.parts) {
        ops.extend(part);
        if let Some(held) = computed.held {
            ops.extend(send(number, held)?);
        }
    }
    Ok(ops)
}
