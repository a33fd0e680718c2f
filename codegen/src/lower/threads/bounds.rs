//! When elements are moved: where they are inside, and by the first of those who hold them.

use crate::error::Result;
use crate::ir::thread::expr::{and, int, lt};
use crate::ir::thread::program::Expr;
use crate::lower::Lowering;
use crate::lower::threads::address::GmemTile;
use crate::plan::copies::partition;
use crate::plan::data::moves::Step;

impl Lowering<'_> {
    /// Of threads that hold the same elements of an output, the first stores them; of those that
    /// have put their parts of them together, the first combines them with what is there.
    pub(in crate::lower) fn alone(
        &mut self,
        step: &Step,
        values: &[[i64; 2]],
    ) -> Result<Option<Expr>> {
        let keeps = step.keeps();
        if keeps == [true; 2] || values.is_empty() {
            return Ok(None);
        }
        // Threads that have parts of what is combined hand them on, each but to its own lanes.
        let combining = self.combining_of(step.operand);
        let repeats = combining.map_or(keeps.map(|keeps| !keeps), |combining| combining.repeats);
        let whole = partition::whole_of_step(step)?;
        let mut cond = combining.and_then(|combining| self.first_of_lanes(combining.lanes));
        for coordinate in (0..2).filter(|coordinate| repeats[*coordinate]) {
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
pub(in crate::lower) fn inside(tile: &GmemTile<'_>, values: &[[i64; 2]]) -> Option<Expr> {
    let last = |mode: usize| values.iter().map(|value| value[mode]).max();
    let one = |mode: usize| Some(lt(int(last(mode)?), tile.left[mode].clone()?));
    [one(0), one(1)].into_iter().flatten().reduce(and)
}

/// Elements left along a coordinate of the tile; none where the operand has none.
pub(in crate::lower) fn left(tile: &GmemTile<'_>, coordinate: usize) -> Expr {
    tile.left[coordinate].clone().unwrap_or_else(|| int(0))
}
