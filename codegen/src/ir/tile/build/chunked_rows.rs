//! Rows of any length: passes along the mode that is folded, a chunk at a time.
//!
//! Each pass begins its folds at what folds begin with, and goes on with the values of every chunk,
//! each thread with its own; behind the last chunk threads hand on what they have. Chunks but the
//! last are wholly inside along the mode; the last one may be cut, between vectors or in one.

use std::sync::Arc;

use crate::error::Result;
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::build::values::{Edge, FlowTiles};
use crate::ir::tile::{Bounds, FoldId, Op, Slice, WHOLE};
use crate::plan::data::values::{Does, Flow, Node, Pass, Passes};
use crate::plan::instructions::arithmetic::computed;
use crate::plan::instructions::casts::fill;

/// A kernel's passes, under construction.
pub(super) struct Passing<'p, 't> {
    pub tiles: &'t Tiles<'p>,
    pub flow: &'p Flow,
    pub held: &'t FlowTiles<'p>,
    pub passes: &'p Passes,
}

/// Which registers take part, and what is tested.
type How = (Edge, Bounds);

impl Passing<'_, '_> {
    /// All passes over a tile that is cut, or not, along the other mode.
    pub fn body(&self, how: How) -> Result<Vec<Op>> {
        let mut ops = Vec::new();
        for (number, once) in self.passes.once.iter().enumerate() {
            ops.extend(self.once(once, how)?);
            let Some(pass) = self.passes.passes.get(number) else {
                continue;
            };
            for at in &pass.made {
                let node = &self.flow.nodes[*at];
                if let (Does::Fold(_, fold), true) = (&node.does, self.carries(node)) {
                    let fold = *fold;
                    let plan = &self.flow.folds[fold].how;
                    ops.push(Op::Map {
                        to: self.held.so_far(fold)?,
                        from: Vec::new(),
                        element: Arc::new(fill(plan.identity(), computed(plan.dtype))),
                        share: WHOLE,
                    });
                }
            }
            let mut whole = self.chunk(number, how, Bounds::Inside)?;
            let mut rest = self.rest(number, how)?;
            for chunk in [&mut whole, &mut rest] {
                chunk.extend(self.add_up(number)?);
            }
            ops.push(Op::ForEachChunk(pass.order, whole, rest));
        }
        Ok(ops)
    }

    /// What is made once, from loads to stores; of a fold, what threads have of it comes together.
    fn once(&self, made: &[usize], (way, bounds): How) -> Result<Vec<Op>> {
        let mut ops = Vec::new();
        for at in made {
            if let Does::Load(_) = self.flow.nodes[*at].does {
                ops.push(self.copy(*at, (way, bounds, WHOLE))?);
            }
        }
        for at in made {
            let node = &self.flow.nodes[*at];
            match &node.does {
                Does::Map(_, from) => ops.push(self.held.map(*at, from, way, WHOLE)?),
                Does::Fold(_, number) if self.carries(node) => ops.push(Op::Fold {
                    to: self.held.view(*at, way),
                    from: self.held.so_far(*number)?,
                    by: FoldId(*number),
                    bounds: Bounds::Inside,
                    share: WHOLE,
                }),
                Does::Fold(from, number) => {
                    ops.push(self.held.fold((*at, *from, *number), (way, bounds, WHOLE)));
                }
                Does::Load(_) | Does::Product(..) | Does::Carried(..) => {}
            }
            if node.stored.is_some() {
                ops.push(self.copy(*at, (way, bounds, WHOLE))?);
            }
        }
        Ok(ops)
    }

    /// What a pass makes of a chunk, whose elements take part in folds as far as they are inside.
    fn chunk(&self, pass: usize, (way, bounds): How, inside: Bounds) -> Result<Vec<Op>> {
        let made = &self.passes.passes[pass].made;
        let mut ops = Vec::new();
        let node = |at: &usize| &self.flow.nodes[*at];
        for at in made.iter().filter(|at| !node(at).late) {
            if let Does::Load(_) = node(at).does {
                ops.push(self.load(*at, pass, (way, bounds, WHOLE))?);
            }
        }
        let shares = match self.passes.by_shares(self.flow, &self.passes.passes[pass]) {
            true => self.held.vectors_along_columns(),
            false => 1,
        };
        for share in (0..shares).map(|number| Slice(number, shares)) {
            ops.extend(self.share(pass, (way, bounds, share), inside)?);
        }
        Ok(ops)
    }

    /// What a pass makes of a share of a chunk whose first loads are done.
    fn share(
        &self,
        pass: usize,
        (way, bounds, share): (Edge, Bounds, Slice),
        inside: Bounds,
    ) -> Result<Vec<Op>> {
        let made = &self.passes.passes[pass].made;
        let node = |at: &usize| &self.flow.nodes[*at];
        let mut ops = Vec::new();
        for at in made {
            match &node(at).does {
                Does::Load(_) if node(at).late => {
                    ops.push(self.load(*at, pass, (way, bounds, share))?);
                }
                Does::Load(_) | Does::Product(..) | Does::Carried(..) => {}
                Does::Map(_, from) => ops.push(self.held.map(*at, from, way, share)?),
                Does::Fold(from, number) if !self.carries(node(at)) => {
                    ops.push(self.held.fold((*at, *from, *number), (way, bounds, share)));
                }
                Does::Fold(from, number) => ops.push(Op::Accumulate {
                    to: self.held.so_far(*number)?,
                    from: self.held.view(*from, way),
                    by: FoldId(*number),
                    bounds: inside,
                }),
            }
            if node(at).stored.is_some() && self.stores(pass, *at) {
                ops.push(self.copy(*at, (way, bounds, share))?);
            }
        }
        Ok(ops)
    }

    /// Whether a node is a fold whose values so far go from chunk to chunk.
    fn carries(&self, node: &Node) -> bool {
        self.passes.carries(self.flow, node)
    }

    /// Adds up what a pass combines with elements that each chunk has of its own.
    fn add_up(&self, pass: usize) -> Result<Option<Op>> {
        let own = |at: usize| self.passes.adds_up(self.flow, at) && self.stores(pass, at);
        self.held.add_up(self.tiles, own)
    }

    /// Whether a pass stores a node that it makes of every chunk. What several passes make is
    /// stored by the first; in the place of what they make it of by the last.
    fn stores(&self, pass: usize, at: usize) -> bool {
        let made = |pass: &Pass| pass.made.contains(&at);
        let node = &self.flow.nodes[at];
        let plan = self.tiles.plan();
        let over = (node.stored).and_then(|operand| plan.operand(operand).over.as_ref());
        let (earlier, later) = self.passes.passes.split_at(pass);
        let others = match over {
            Some(_) => later.get(1..).unwrap_or_default(),
            None => earlier,
        };
        let is_made = later.first().is_some_and(made);
        node.keeps[self.passes.over] && is_made && !others.iter().any(made)
    }

    /// The last chunk, where it is cut.
    fn rest(&self, pass: usize, (way, bounds): How) -> Result<Vec<Op>> {
        let chunk = |way, bounds| self.chunk(pass, (way, bounds), bounds);
        if self.passes.over != self.flow.along {
            return match bounds {
                Bounds::Inside => chunk(way, Bounds::Vectors),
                Bounds::Vectors | Bounds::Checked => chunk(way, bounds),
            };
        }
        let checked = chunk(Edge::Elements, Bounds::Checked)?;
        Ok(match self.flow.vector > 1 {
            true => vec![Op::IfVectors(
                chunk(Edge::Vectors, Bounds::Vectors)?,
                checked,
            )],
            false => checked,
        })
    }

    /// Loads a chunk of an operand; the last pass may do so in a way of its own.
    fn load(&self, node: usize, pass: usize, how: (Edge, Bounds, Slice)) -> Result<Op> {
        match pass + 1 == self.passes.passes.len() {
            true => self.held.load_last(self.tiles, node, how),
            false => self.copy(node, how),
        }
    }

    fn copy(&self, node: usize, how: (Edge, Bounds, Slice)) -> Result<Op> {
        self.held.copy(self.tiles, node, how)
    }
}
