//! What trips of the main loop make beside products: they take each group of products when it is
//! done, and carry a sum of parts on. What a trip reads of memory was loaded by the one before, or
//! lies in a slot of the ring, beside what it multiplies.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Edge, FlowTiles, moved, register};
use crate::error::Result;
use crate::ir::tile::build::bug;
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::{Bounds, CopyId, Op, Slice, TileId, View, WHOLE};
use crate::plan::copies::partition;
use crate::plan::data::values::{Every, Flow, Node};
use crate::plan::instructions::arithmetic::computed;
use crate::plan::instructions::casts::zero;

/// What trips of the main loop do beside products.
pub(in crate::ir::tile::build) struct OfTrips {
    /// Before the first.
    pub before: Vec<Op>,
    /// What takes the place of what the trip before read, and what the next one reads.
    pub turn: Vec<Op>,
    /// What is read of a slot of the ring, and what is made of it.
    pub slot: Vec<Op>,
    /// What takes each group of products when it is done.
    pub values: Vec<Op>,
}

/// Registers of what the next trip reads, by the node that it is of.
pub(super) fn ahead(tiles: &mut Tiles<'_>, flow: &Flow) -> Result<BTreeMap<usize, TileId>> {
    let mut ahead = BTreeMap::new();
    for (at, node) in flow.nodes.iter().enumerate() {
        let found = moved(tiles.plan(), node).filter(|_| node.staged.is_none());
        if let (Every::Trip, Some((_, step))) = (node.every, found) {
            let next = Node {
                name: format!("{}_ahead", node.name),
                ..node.clone()
            };
            let tv = partition::whole_of_step(step)?.dst.kept(node.keeps);
            let tile = register(tiles, &next, (Edge::Elements, &tv), None)?;
            ahead.insert(at, tile);
        }
    }
    Ok(ahead)
}

impl FlowTiles<'_> {
    /// What trips of the main loop carry on.
    pub fn carried(&self) -> Option<TileId> {
        let (at, _) = self.flow.carried()?;
        Some(self.held[at][Edge::Vectors as usize])
    }

    /// What makes the nodes that trips of the main loop read, before it and in each trip, and what
    /// they carry on.
    pub fn of_trips(&self, tiles: &Tiles<'_>) -> Result<Option<OfTrips>> {
        let Some((carried, from)) = self.flow.carried() else {
            return Ok(None);
        };
        let how = (Edge::Elements, Bounds::Checked, WHOLE);
        let early = self.flow.before_trips();
        let before = |at: usize, _: &Node| early[at];
        let every = |_: usize, node: &Node| node.every == Every::Trip;
        let waves = self.plan.mma.as_ref().map_or(1, |mma| mma.waves);
        let shares = (0..waves).map(|number| Slice(number, waves));
        let dtype = self.flow.nodes[carried].dtype;
        let mut of_trips = OfTrips {
            before: self.loads(tiles, before, how)?,
            turn: Vec::new(),
            slot: self.loads(tiles, |_, node| node.staged.is_some() && !node.summed, how)?,
            values: Vec::new(),
        };
        for (node, ahead) in &self.ahead {
            let ahead = View::Rmem(*ahead, 0);
            let load = |next: bool| self.load_ahead(tiles, *node, (ahead, next));
            of_trips.before.push(load(false)?);
            let element = self.flow.nodes[*node].element[Edge::Elements as usize].clone();
            of_trips.turn.push(Op::Map {
                to: self.view(*node, Edge::Elements),
                from: vec![ahead],
                element: element.ok_or_else(|| bug(self.plan, "a load of no code"))?,
                share: WHOLE,
            });
            of_trips.turn.push(load(true)?);
        }
        let made = self.values(tiles, every, how, None)?;
        match of_trips.slot.is_empty() {
            true => of_trips.turn.extend(made),
            false => of_trips.slot.extend(made),
        }
        of_trips
            .before
            .extend(self.values(tiles, before, how, None)?);
        of_trips.before.push(Op::Map {
            to: self.view(carried, Edge::Elements),
            from: Vec::new(),
            element: Arc::new(zero(computed(dtype))),
            share: WHOLE,
        });
        let from: Vec<usize> = from.iter().copied().chain([carried]).collect();
        for share in shares {
            self.check_wave(self.held[carried][Edge::Elements as usize], share, tiles)?;
            (of_trips.values).push(self.map(carried, &from, Edge::Elements, share)?);
        }
        Ok(Some(of_trips))
    }

    /// Loads what a trip reads, the first or the next one, into those registers.
    fn load_ahead(
        &self,
        tiles: &Tiles<'_>,
        node: usize,
        (to, is_next): (View, bool),
    ) -> Result<Op> {
        let found = moved(self.plan, &self.flow.nodes[node]);
        let (number, step) = found.ok_or_else(|| bug(self.plan, "a node that nothing moves"))?;
        let here = tiles.gmem_of(step.operand, None)?;
        Ok(Op::Copy {
            from: match is_next {
                true => View::Next(here.tile()),
                false => here,
            },
            to,
            by: CopyId::Tiled(number),
            bounds: Bounds::Checked,
            share: WHOLE,
        })
    }

    /// Whether a share of what threads hold of a tile is what they hold of a group of rows.
    fn check_wave(&self, tile: TileId, share: Slice, tiles: &Tiles<'_>) -> Result<()> {
        let held = tiles.held(tile);
        let held = held.ok_or_else(|| bug(self.plan, "sums in no registers"))?;
        let (values, rows) = (&held.tv.values, held.tv.places(0));
        let own = &rows[share.of(rows.len())];
        let mut taken = values[share.of(values.len())].iter();
        match taken.all(|value| own.contains(&value[0])) {
            true => Ok(()),
            false => Err(bug(
                self.plan,
                "results are stored in another order than made",
            )),
        }
    }
}
