//! The tiles of a flow in registers, and the operations that make them.
//!
//! Where a tile is made a share at a time, what lies along its columns goes share by share; what
//! each row has one element of is made once, before them.

mod slices;
mod sums;
mod trips;

use std::collections::BTreeMap;

use crate::error::Result;
use crate::ir::tile::build::bug;
use crate::ir::tile::build::tiles::Tiles;
pub(super) use crate::ir::tile::build::values::slices::is_made_once;
pub(super) use crate::ir::tile::build::values::trips::OfTrips;
use crate::ir::tile::{
    Bounds, CombineId, CopyId, End, FoldId, Held, Op, Place, Slice, Stage, TileId, View, WHOLE,
};
use crate::plan::copies::partition;
use crate::plan::copies::thread_digits::Part;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Hop, Step};
use crate::plan::data::values::{Does, Flow, Node, Staged};
use crate::spec::keys::model::OperandId;

/// A flow whose nodes have registers.
pub(super) struct FlowTiles<'p> {
    plan: &'p Plan,
    flow: &'p Flow,
    /// Of each node, where whole vectors are moved and where single elements are.
    held: Vec<[TileId; 2]>,
    /// Of each fold that goes from chunk to chunk, what is folded so far.
    so_far: BTreeMap<usize, TileId>,
    /// Of each way to combine values with an output, what threads have folded so far.
    folded: BTreeMap<usize, TileId>,
    /// Of each load of a trip of the main loop, what the next one reads.
    ahead: BTreeMap<usize, TileId>,
    /// How threads share out results.
    whole: Part<2>,
}

/// Which registers of nodes: where whole vectors are moved, or where single elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Vectors = 0,
    Elements = 1,
}

impl<'p> FlowTiles<'p> {
    /// Gives every node its tile: of values that are computed, registers as threads share out the
    /// tile; of factors and sums, what the product has.
    pub fn declare(
        tiles: &mut Tiles<'p>,
        flow: &'p Flow,
        whole: &Part<2>,
        of_product: &dyn Fn(usize) -> Option<TileId>,
    ) -> Result<FlowTiles<'p>> {
        let plan = tiles.plan();
        // Values are in the order in which results are stored, so that shares are of the same.
        let result = flow.nodes.iter().rfind(|node| node.is_result());
        let whole = match result.and_then(|node| moved(plan, node)) {
            Some((_, step)) => partition::whole_of_step(step)?.dst,
            None => whole.clone(),
        };
        let mut held = Vec::new();
        for (at, node) in flow.nodes.iter().enumerate() {
            if node.summed || matches!(node.does, Does::Product(..)) {
                let tile = of_product(at);
                held.push([tile.ok_or_else(|| bug(plan, "sums of no product"))?; 2]);
                continue;
            }
            let tv = match moved(plan, node).filter(|_| node.combined.is_none()) {
                Some((_, step)) => partition::whole_of_step(step)?.dst.kept(node.keeps),
                None => whole.kept(node.keeps),
            };
            let vectors = register(tiles, node, (Edge::Vectors, &tv), None)?;
            let elements = match node.held[0] == node.held[1] {
                true => vectors,
                false => register(tiles, node, (Edge::Elements, &tv), None)?,
            };
            held.push([vectors, elements]);
        }
        let ahead = trips::ahead(tiles, flow)?;
        let so_far = so_far(tiles, flow, &whole)?;
        let mut folded = BTreeMap::new();
        for node in &flow.nodes {
            let (Some(number), Some((_, step))) = (node.combined, moved(plan, node)) else {
                continue;
            };
            let parts = Node {
                name: format!("{}_folded", node.name),
                keeps: step.keeps(),
                ..node.clone()
            };
            let tv = partition::of_step(step)?.src;
            let tile = register(tiles, &parts, (Edge::Vectors, &tv), None)?;
            folded.insert(number, tile);
        }
        Ok(FlowTiles {
            plan,
            flow,
            held,
            so_far,
            folded,
            ahead,
            whole,
        })
    }

    /// How a node's elements come into shared memory, where they do.
    pub fn staged(&self, node: usize) -> Option<&Staged> {
        self.flow.nodes.get(node)?.staged.as_ref()
    }

    /// Whether it stores the sums of a product and does nothing else.
    pub fn stores_bare_sums(&self) -> bool {
        self.flow.stores_bare_sums()
    }

    /// Whether each of so many shares of a thread's values of a tile is of other columns than those
    /// before it, in the order in which a thread has its columns.
    pub fn goes_along_columns(&self, shares: u32) -> bool {
        let values = &self.whole.values;
        let columns = self.whole.kept([false, true]).values;
        let shares = shares as usize;
        let [each, wide] = [values.len() / shares, columns.len() / shares];
        let mut numbered = values.iter().enumerate();
        numbered.all(|(at, value)| {
            let column = columns.iter().position(|column| column[1] == value[1]);
            column.is_some_and(|column| column / wide.max(1) == at / each.max(1))
        })
    }

    /// Shares of a thread's values, each a vector's worth of columns that no other share has.
    pub fn vectors_along_columns(&self) -> u32 {
        let columns = self.whole.kept([false, true]).values.len();
        let vectors = columns / usize::try_from(self.flow.vector).unwrap_or(1).max(1);
        let vectors = u32::try_from(vectors).unwrap_or(1).max(1);
        match self.flow.along == 1 && self.goes_along_columns(vectors) {
            true => vectors,
            false => 1,
        }
    }

    /// The node that is stored to that operand.
    pub fn stored_to(&self, operand: OperandId) -> Option<usize> {
        let mut nodes = self.flow.nodes.iter();
        nodes.position(|node| node.stored == Some(operand))
    }

    /// The registers of what a fold has so far, which goes from chunk to chunk.
    pub fn so_far(&self, fold: usize) -> Result<View> {
        let tile = self.so_far.get(&fold);
        let tile = tile.ok_or_else(|| bug(self.plan, "a fold that goes along no chunks"))?;
        Ok(View::Rmem(*tile, 0))
    }

    /// The registers of a node.
    pub fn view(&self, node: usize, way: Edge) -> View {
        View::Rmem(self.held[node][way as usize], 0)
    }

    /// Loads of a share of the nodes that `takes` says.
    pub fn loads(
        &self,
        tiles: &Tiles<'_>,
        takes: impl Fn(usize, &Node) -> bool,
        how: (Edge, Bounds, Slice),
    ) -> Result<Vec<Op>> {
        let nodes = self.flow.nodes.iter().enumerate();
        let is_load = |node: &Node| matches!(node.does, Does::Load(_));
        let loads = nodes.filter(|(at, node)| is_load(node) && takes(*at, node));
        loads.map(|(at, _)| self.copy(tiles, at, how)).collect()
    }

    /// What computes a share of the nodes that `takes` says, in order, and stores what is stored of
    /// them to operands other than that.
    pub fn values(
        &self,
        tiles: &Tiles<'_>,
        takes: impl Fn(usize, &Node) -> bool,
        (way, bounds, share): (Edge, Bounds, Slice),
        but: Option<OperandId>,
    ) -> Result<Vec<Op>> {
        let mut ops = Vec::new();
        let nodes = self.flow.nodes.iter().enumerate();
        for (at, node) in nodes.filter(|(at, node)| takes(*at, node)) {
            match &node.does {
                Does::Load(_) if node.late => {
                    ops.push(self.copy(tiles, at, (way, bounds, share))?);
                }
                Does::Load(_) | Does::Product(..) | Does::Carried(..) => {}
                Does::Map(_, from) => ops.push(self.map(at, from, way, share)?),
                Does::Fold(from, number) => {
                    ops.push(self.fold((at, *from, *number), (way, bounds, WHOLE)));
                }
            }
            if node.stored.is_some() && node.stored != but {
                ops.push(self.copy(tiles, at, (way, bounds, share))?);
            }
        }
        Ok(ops)
    }

    /// Folds a share of a node into another, by the fold of that number.
    pub fn fold(
        &self,
        (to, from, number): (usize, usize, usize),
        (way, bounds, share): (Edge, Bounds, Slice),
    ) -> Op {
        Op::Fold {
            to: self.view(to, way),
            from: self.view(from, way),
            by: FoldId(number),
            bounds,
            share,
        }
    }

    /// Combines a share of a node with what its operand holds.
    fn combine(
        &self,
        (to, node, number): (View, usize, usize),
        (way, bounds, share): (Edge, Bounds, Slice),
        by: CopyId,
    ) -> Result<Op> {
        Ok(Op::Combine {
            to,
            from: self.view(node, way),
            held: View::Rmem(self.folded_by(number)?, 0),
            by,
            how: CombineId(number),
            bounds,
            share,
        })
    }

    /// What computes a share of a node of others.
    pub fn map(&self, at: usize, from: &[usize], way: Edge, share: Slice) -> Result<Op> {
        let element = self.flow.nodes[at].element[way as usize].clone();
        Ok(Op::Map {
            to: self.view(at, way),
            from: from.iter().map(|node| self.view(*node, way)).collect(),
            element: element.ok_or_else(|| bug(self.plan, "a map of no code"))?,
            share,
        })
    }

    /// Moves a share of a node from its operand, or there, or combines it with what is there.
    pub fn copy(
        &self,
        tiles: &Tiles<'_>,
        at: usize,
        (way, bounds, share): (Edge, Bounds, Slice),
    ) -> Result<Op> {
        let node = &self.flow.nodes[at];
        if let Does::Load(operand) = node.does {
            if let Some(load) = self.load_of_slot(tiles, (at, operand), (way, share))? {
                return Ok(load);
            }
            if node.staged.is_some() {
                let buffer = tiles.smem(operand, Stage::Fixed(0), None)?;
                let views = [buffer, self.view(at, way)];
                return tiles.step_of(operand, Hop::S2r, views, bounds);
            }
        }
        let found = moved(self.plan, node);
        let found = found.ok_or_else(|| bug(self.plan, "a node that nothing moves"))?;
        self.copy_by(tiles, at, (way, bounds, share), found)
    }

    /// Loads a share of a node from shared memory, where boxes bring its operand there.
    fn load_of_slot(
        &self,
        tiles: &Tiles<'_>,
        (at, operand): (usize, OperandId),
        (way, share): (Edge, Slice),
    ) -> Result<Option<Op>> {
        let of_slot = match &self.flow.nodes[at].staged {
            None => way == Edge::Vectors,
            Some(staged) => *staged == Staged::Boxes,
        };
        let found = step_of(self.plan, (operand, Hop::S2r));
        let Some((number, _)) = found.filter(|_| of_slot) else {
            return Ok(None);
        };
        Ok(Some(Op::Copy {
            from: tiles.smem(operand, Stage::At(End::Empty), None)?,
            to: self.view(at, way),
            by: CopyId::Tiled(number),
            bounds: Bounds::Inside,
            share,
        }))
    }

    /// Loads a share of a node from its operand for the last time.
    pub fn load_last(
        &self,
        tiles: &Tiles<'_>,
        at: usize,
        how: (Edge, Bounds, Slice),
    ) -> Result<Op> {
        let moved = self.flow.nodes[at].moved();
        let last = moved.and_then(|(operand, _)| step_of(self.plan, (operand, Hop::G2rLast)));
        match last {
            Some(last) => self.copy_by(tiles, at, how, last),
            None => self.copy(tiles, at, how),
        }
    }

    fn copy_by(
        &self,
        tiles: &Tiles<'_>,
        at: usize,
        (way, bounds, share): (Edge, Bounds, Slice),
        (number, step): (usize, &Step),
    ) -> Result<Op> {
        let node = &self.flow.nodes[at];
        let (gmem, view) = (tiles.gmem_of(step.operand, None)?, self.view(at, way));
        if let Some(how) = node.combined {
            let by = CopyId::Tiled(number);
            return self.combine((gmem, at, how), (way, bounds, share), by);
        }
        let gmem = match node.table {
            Some(table) => View::Looked(gmem.tile(), self.view(table, way).tile()),
            None => gmem,
        };
        let [from, to] = match node.does {
            Does::Load(_) => [gmem, view],
            _ => [view, gmem],
        };
        Ok(Op::Copy {
            from,
            to,
            by: CopyId::Tiled(number),
            bounds,
            share,
        })
    }
}

/// What each fold has of the chunks so far that goes on from chunk to chunk, by its number.
fn so_far(tiles: &mut Tiles<'_>, flow: &Flow, whole: &Part<2>) -> Result<BTreeMap<usize, TileId>> {
    let mut so_far = BTreeMap::new();
    let carried = |node: &&Node| {
        let passes = flow.passes.as_ref();
        passes.is_some_and(|passes| passes.carries(flow, node))
    };
    for node in flow.nodes.iter().filter(carried) {
        if let Does::Fold(from, number) = node.does {
            let accumulators = Node {
                name: format!("acc_{number}"),
                keeps: flow.nodes[from].keeps,
                ..node.clone()
            };
            let tv = whole.kept(accumulators.keeps);
            let over = flow.folds[number].over;
            // A vector's worth: the others of a chunk are folded into these.
            let few = tv.first(over, flow.together(over));
            let (tv, extent) = few.map_or((tv, None), |(tv, extent)| (tv, Some(extent)));
            let extent = extent.map(|extent| (over, extent));
            let tile = register(tiles, &accumulators, (Edge::Vectors, &tv), extent)?;
            so_far.insert(number, tile);
        }
    }
    Ok(so_far)
}

/// Registers of a node's tile, whose extent along one coordinate may be another than its mode's.
fn register(
    tiles: &mut Tiles<'_>,
    node: &Node,
    (way, tv): (Edge, &Part<2>),
    other: Option<(usize, i64)>,
) -> Result<TileId> {
    let plan = tiles.plan();
    let packing = node.held[way as usize];
    let packing = packing.ok_or_else(|| bug(plan, "a node in no registers"))?;
    let extents = [0, 1].map(|at| match (node.keeps[at], other) {
        (true, Some((along, extent))) if along == at => extent,
        (true, _) => plan.extent(at),
        (false, _) => 1,
    });
    let name = |at: usize| plan.mode(at).unwrap_or_default().to_owned();
    let modes = [0, 1].map(|at| (name(at), extents[at]));
    let held = Held {
        ty: packing.ty,
        tv: tv.clone(),
        buffers: 1,
    };
    let name = match way {
        Edge::Vectors => node.name.clone(),
        Edge::Elements => format!("{}_edge", node.name),
    };
    Ok(tiles.add(&name, node.dtype, modes.to_vec(), Place::Rmem(held)))
}

/// The step that moves a node between memory and registers.
pub(super) fn moved<'p>(plan: &'p Plan, node: &Node) -> Option<(usize, &'p Step)> {
    step_of(plan, node.moved()?)
}

/// The step of that operand and hop, with its number.
fn step_of(plan: &Plan, (operand, hop): (OperandId, Hop)) -> Option<(usize, &Step)> {
    let mut steps = plan.steps.iter().enumerate();
    steps.find(|(_, step)| step.operand == operand && step.hop == hop)
}
