//! Passes: the loop over the chunks of a mode, and folds that go on from chunk to chunk.
//!
//! The loop's variable is the tile's place along the mode, so that copies and maps in its body find
//! the chunk as they find a tile. Along the mode whole chunks need no tests.

use crate::error::Result;
use crate::ir::thread::expr::{div, int, lt, mul, sub};
use crate::ir::thread::program::{Expr, IntType, Stmt};
use crate::ir::tile::{Bounds, FoldId, Op, View};
use crate::lower::reduce::fold::{Folding, groups};
use crate::lower::{Lowering, bug};
use crate::plan::data::values::Order;

impl Lowering<'_> {
    /// What is done with a tile that is wholly inside along the other mode.
    pub(in crate::lower) fn ops_inside(&mut self, ops: &[Op]) -> Result<Vec<Stmt>> {
        let before = self.state.inside;
        if let Some(over) = self.plan.work.chunked() {
            self.state.inside[1 - over] = true;
        }
        let statements = self.ops(ops)?;
        self.state.inside = before;
        Ok(statements)
    }

    /// The whole chunks of a mode, one after the other, then the rest; or the other way round.
    pub(in crate::lower) fn for_each_chunk(
        &mut self,
        order: Order,
        whole: &[Op],
        rest: &[Op],
    ) -> Result<Vec<Stmt>> {
        let over = self.plan.work.chunked();
        let over = over.ok_or_else(|| bug(self.plan, "no passes are planned".to_string()))?;
        let chunk = int(self.plan.extent(over));
        let extent = self.extent(over)?;
        let count = div(extent.clone(), chunk.clone());
        let count = self.builder.hoist("chunks", count);
        let var = self.builder.var("chunk", IntType::I32, false);
        let before = self.state.clone();
        self.state.tile[over] = match order {
            Order::Up => Expr::Var(var),
            Order::Down => {
                let last = sub(count.clone(), int(1));
                sub(last, Expr::Var(var))
            }
        };
        self.state.inside[over] = true;
        let body = self.branch(whole)?;
        self.state.tile[over] = count.clone();
        self.state.inside = before.inside;
        let rest = self.branch(rest)?;
        self.state = before;
        let whole = Stmt::For {
            var,
            from: int(0),
            to: count.clone(),
            step: int(1),
            body,
        };
        let rest = Stmt::If {
            cond: lt(mul(count, chunk), extent),
            then: rest,
            otherwise: Vec::new(),
        };
        Ok(match order {
            Order::Up => vec![whole, rest],
            Order::Down => vec![rest, whole],
        })
    }

    /// Combines each of a thread's elements with what it has of those before it.
    pub(in crate::lower) fn accumulate(
        &mut self,
        to: View,
        from: View,
        FoldId(number): FoldId,
        bounds: Bounds,
    ) -> Result<Vec<Stmt>> {
        let (vector, fold) = self.fold_of(number)?;
        let mut folding = Folding {
            how: &fold.how,
            spare: Vec::new(),
            out: Vec::new(),
        };
        let values = self.fragment(from.tile())?.values().to_vec();
        let extent = self.extents_of(to)?[fold.over].max(1);
        let mut pairs = Vec::new();
        for value in &values {
            let mut place = *value;
            place[fold.over] %= extent;
            pairs.push([
                self.single(to.tile(), place)?,
                self.single(from.tile(), *value)?,
            ]);
        }
        if bounds == Bounds::Inside {
            for [so_far, next] in pairs {
                self.combine(&mut folding, [so_far, next], so_far)?;
            }
            return Ok(folding.out);
        }
        // Pinned, so that no predicate is kept for the operations to come.
        let left = self.left_of(from.tile(), fold.over)?;
        let pinned = self.builder.var("left_here", IntType::I32, false);
        let mut out = vec![Stmt::Pin(pinned, left)];
        let along = values.iter().map(|value| value[fold.over]).collect();
        for (range, cond) in groups(along, (bounds, vector), &Expr::Var(pinned)) {
            for [so_far, next] in &pairs[range] {
                self.combine(&mut folding, [*so_far, *next], *so_far)?;
            }
            out.push(Stmt::If {
                cond,
                then: std::mem::take(&mut folding.out),
                otherwise: Vec::new(),
            });
        }
        Ok(out)
    }
}
