//! When elements are moved: where they are inside, and by the first of those who hold them.

use crate::error::Result;
use crate::ir::expr::{and, int, lt};
use crate::ir::program::Expr;
use crate::lower::Lowering;
use crate::lower::address::GmemTile;
use crate::plan::model::Step;
use crate::plan::partition;

impl Lowering<'_> {
    /// Of threads that hold the same elements of an output, the first stores them.
    pub(super) fn alone(&mut self, step: &Step, values: &[[i64; 2]]) -> Result<Option<Expr>> {
        let keeps = step.keeps();
        if keeps == [true; 2] || values.is_empty() {
            return Ok(None);
        }
        if let Some(combining) = self.combining_of(&step.operand) {
            return Ok(self.first_of_lanes(combining.lanes));
        }
        let whole = partition::whole_of_step(step)?;
        let mut cond = None;
        for coordinate in (0..2).filter(|coordinate| !keeps[*coordinate]) {
            let digits = &whole.dst.digits;
            let thread = self.builder.thread_sum("coord", digits, coordinate);
            let first = lt(thread, int(1));
            cond = Some(match cond {
                None => first,
                Some(other) => and(other, first),
            });
        }
        Ok(cond)
    }
}

/// Whether elements that are moved together are inside.
pub(super) fn inside(tile: &GmemTile<'_>, values: &[[i64; 2]]) -> Option<Expr> {
    let last = |mode: usize| values.iter().map(|value| value[mode]).max();
    let one = |mode: usize| Some(lt(int(last(mode)?), tile.left[mode].clone()?));
    [one(0), one(1)].into_iter().flatten().reduce(and)
}

/// Elements left along a coordinate of the tile; none where the operand has none.
pub(super) fn left(tile: &GmemTile<'_>, coordinate: usize) -> Expr {
    tile.left[coordinate].clone().unwrap_or_else(|| int(0))
}
