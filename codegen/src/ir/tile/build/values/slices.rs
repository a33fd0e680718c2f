//! Tiles of a flow made a share at a time, so that a thread holds few values at once: folds with
//! all that they are of, then what is left.

use super::{Edge, FlowTiles};
use crate::error::Result;
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::{Bounds, Op, Slice, WHOLE};
use crate::plan::data::values::{Does, Every, Node};
use crate::spec::keys::model::OperandId;

/// Which nodes are made.
pub(in crate::ir::tile::build) type Made = Vec<bool>;

impl FlowTiles<'_> {
    /// Nodes that are made before any other: what trips of the main loop make and carry on.
    fn made_by_trips(&self) -> Made {
        let nodes = self.flow.nodes.iter();
        let made =
            nodes.map(|node| node.every == Every::Trip || matches!(node.does, Does::Carried(..)));
        made.collect()
    }

    /// Makes every fold and what they are of, and stores what is stored of that to operands other
    /// than that one. Tells what is made then.
    pub fn folded(
        &self,
        tiles: &Tiles<'_>,
        (way, bounds, count): (Edge, Bounds, u32),
        but: Option<OperandId>,
    ) -> Result<(Vec<Op>, Made)> {
        let mut made = self.made_by_trips();
        let mut ops = Vec::new();
        let along = self.goes_along_columns(count);
        for (at, node) in self.flow.nodes.iter().enumerate() {
            let Does::Fold(from, number) = node.does else {
                continue;
            };
            let needed = self.needed(at, &made);
            let once = |one: usize, node: &Node| needed[one] && is_made_once(node, along);
            ops.extend(self.loads(tiles, once, (way, bounds, WHOLE))?);
            ops.extend(self.values(tiles, once, (way, bounds, WHOLE), but)?);
            let rest = |one: usize, node: &Node| needed[one] && !is_made_once(node, along);
            let inside = self.bounds_of(number, bounds);
            let fold = |share| vec![self.fold((at, from, number), (way, inside, share))];
            ops.extend(self.by_shares(tiles, &rest, ((way, bounds, count), but), &fold)?);
            for (made, needed) in made.iter_mut().zip(needed) {
                *made |= needed;
            }
            made[at] = true;
        }
        Ok((ops, made))
    }

    /// Nodes that one is made of and that are not made.
    fn needed(&self, node: usize, made: &Made) -> Made {
        let mut needed = vec![false; self.flow.nodes.len()];
        needed[node] = true;
        for at in (0..=node).rev().filter(|at| !made[*at]) {
            if needed[at] {
                for from in self.flow.nodes[at].reads().filter(|from| !made[*from]) {
                    needed[from] = true;
                }
            }
        }
        needed[node] = false;
        needed
    }

    /// Makes the nodes that `takes` says a share after the other, while the operands of the next
    /// are on their way, and adds to each share what `then` says.
    pub fn by_shares(
        &self,
        tiles: &Tiles<'_>,
        takes: &dyn Fn(usize, &Node) -> bool,
        ((way, bounds, count), but): ((Edge, Bounds, u32), Option<OperandId>),
        then: &dyn Fn(Slice) -> Vec<Op>,
    ) -> Result<Vec<Op>> {
        let load = |share| self.loads(tiles, takes, (way, bounds, Slice(share, count)));
        let mut ops = load(0)?;
        for share in 0..count {
            if share + 1 < count {
                ops.extend(load(share + 1)?);
            }
            let how = (way, bounds, Slice(share, count));
            ops.extend(self.values(tiles, takes, how, but)?);
            ops.extend(then(Slice(share, count)));
        }
        Ok(ops)
    }

    /// What a fold tests: nothing where every problem has as much of its mode as the tile.
    fn bounds_of(&self, fold: usize, bounds: Bounds) -> Bounds {
        let over = self.flow.folds.get(fold).map(|fold| fold.over);
        let mode = over.and_then(|over| self.plan.mode(over));
        let extent = over.map(|over| self.plan.extent(over));
        let known = mode.and_then(|mode| self.plan.computes.formula.constant_of(mode));
        match known.is_some() && known == extent {
            true => Bounds::Inside,
            false => bounds,
        }
    }
}

/// Whether all of a node is made at once: what each row has one element of, and what each column
/// has where shares are not of other columns each.
pub(in crate::ir::tile::build) fn is_made_once(node: &Node, along: bool) -> bool {
    !node.keeps[1] || !along && !node.keeps[0]
}
