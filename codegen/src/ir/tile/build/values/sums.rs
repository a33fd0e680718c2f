//! Values that come together in a fixed order: what adds them up, once for a work tile, or for a
//! chunk of one where chunks have elements of their own.

use std::sync::Arc;

use super::{FlowTiles, moved};
use crate::error::Result;
use crate::ir::tile::build::bug;
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::{AddUp, CombineId, CopyId, Op, TileId, View, WHOLE};
use crate::plan::instructions::arithmetic::computed;
use crate::plan::instructions::casts::fill;

impl FlowTiles<'_> {
    /// What adds up those of the nodes that `takes` says; nothing where there are none.
    pub fn add_up(&self, tiles: &Tiles<'_>, takes: impl Fn(usize) -> bool) -> Result<Option<Op>> {
        let mut sums = Vec::new();
        for (at, node) in self.flow.nodes.iter().enumerate() {
            let Some((number, combining)) = self.flow.combined_by(at) else {
                continue;
            };
            let Some(in_order) = combining.in_order.as_ref().filter(|_| takes(at)) else {
                continue;
            };
            let step = moved(self.plan, node).map(|(number, _)| number);
            let held = View::Rmem(self.folded_by(number)?, 0);
            sums.push(AddUp {
                to: tiles.gmem_of(combining.operand, None)?,
                held: in_order.passed.map(|_| held),
                by: CopyId::Tiled(step.ok_or_else(|| bug(self.plan, "a node not moved"))?),
                how: CombineId(number),
            });
        }
        Ok((!sums.is_empty()).then_some(Op::AddUp(sums)))
    }

    /// What threads hold of sums over all chunks before the first one.
    pub fn begin_sums(&self) -> Result<Vec<Op>> {
        let mut ops = Vec::new();
        for (number, combining) in self.flow.combinings.iter().enumerate() {
            let sums = combining.in_order.as_ref();
            if sums.is_none_or(|sums| sums.passed.is_none()) {
                continue;
            }
            let how = &combining.how;
            ops.push(Op::Map {
                to: View::Rmem(self.folded_by(number)?, 0),
                from: Vec::new(),
                element: Arc::new(fill(how.identity(), computed(how.dtype))),
                share: WHOLE,
            });
        }
        Ok(ops)
    }

    /// The registers of what threads have folded of an output, by the number of how it is combined.
    pub(super) fn folded_by(&self, number: usize) -> Result<TileId> {
        let held = self.folded.get(&number).copied();
        held.ok_or_else(|| bug(self.plan, "nothing that threads fold values in"))
    }
}
