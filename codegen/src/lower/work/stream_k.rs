//! Output tiles cut along k (stream-k): the loop over the parts of a CTA's span, then its whole
//! tiles.

use crate::error::Result;
use crate::ir::thread::expr::{div, int, lt, min, mul, rem, sub, widen};
use crate::ir::thread::program::{Expr, IntType, Stmt};
use crate::ir::tile::{Op, PipeId};
use crate::lower::threads::address::State;
use crate::lower::{Lowering, bug};
use crate::plan::work_tiles::SUMMED;
use crate::plan::work_tiles::spans::{Assignment, Part, SpanRule};

impl Lowering<'_> {
    /// The parts of the CTA's span, then its whole tiles; consumers that take turns make every
    /// so-manieth.
    pub(super) fn for_each_part(&mut self, rule: SpanRule, body: &[Op]) -> Result<Vec<Stmt>> {
        let assignment = self.assignment(rule)?;
        let (from, step) = match self.takes_turns()? {
            true => (
                self.role()?.warpgroup.clone(),
                i64::from(self.roles_of()?.consumers()),
            ),
            false => (int(0), 1),
        };
        let var = self.builder.var("work_tile", IntType::I32, false);
        let scope = self.builder.begin_scope();
        let part = self.part_of(&assignment, Expr::Var(var))?;
        let tiles = self.tiles()?;
        let tile = part.tile.clone();
        self.part = Some(part);
        self.enter(tile, &tiles)?;
        let mut statements = self.begin_along_k()?;
        statements.extend(self.ops(body)?);
        self.part = None;
        let mut body = self.builder.end_scope(scope);
        body.extend(statements);
        Ok(vec![Stmt::For {
            var,
            from,
            to: assignment.all,
            step: int(step),
            body,
        }])
    }

    /// Where the part begins along k, and what is left of it there, in kernels that reckon
    /// addresses: what follows a part is another CTA's to load.
    fn begin_along_k(&mut self) -> Result<Vec<Stmt>> {
        if self.plan.roles.is_some() {
            return Ok(Vec::new());
        }
        let (from, step) = (self.this_part()?.from.clone(), self.tile_k()?);
        let start = self.builder.hoist("k_begin", mul(from, int(step)));
        let left = sub(self.extent(SUMMED)?, start.clone());
        let own = mul(self.this_part()?.trips.clone(), int(step));
        let left = min(own, left);
        let State {
            k_start, k_left, ..
        } = self.state;
        Ok(vec![
            Stmt::Assign(k_start, widen(start)),
            Stmt::Assign(k_left, left),
        ])
    }

    /// What this CTA has to do.
    fn assignment(&mut self, rule: SpanRule) -> Result<Assignment<Expr>> {
        let cluster = self.standing().cluster;
        let tiles = self.tiles()?;
        let per_tile = self.k_tiles()?;
        let total = self.all_tiles(&tiles)?;
        let tiles = ([total, per_tile], self.kernel.work.elements());
        Ok(rule.assignment(cluster, tiles, &mut self.builder))
    }

    /// The CTA's work tile of that number.
    fn part_of(&mut self, of: &Assignment<Expr>, number: Expr) -> Result<Part<Expr>> {
        let cluster = self.standing().cluster;
        let per_tile = self.k_tiles()?;
        Ok(of.part(number, cluster, per_tile, &mut self.builder))
    }

    pub(super) fn this_part(&self) -> Result<&Part<Expr>> {
        let part = self.part.as_ref();
        part.ok_or_else(|| bug(self.plan, "no part of a tile has begun".to_string()))
    }

    /// Goes to a pipe's slot in which the work tile begins.
    pub(in crate::lower) fn go_to_part(&mut self, pipe: PipeId) -> Result<Vec<Stmt>> {
        let stages = int(i64::from(self.pipe(pipe)?.slots));
        let before = self.this_part()?.before.clone();
        let at = self.at(pipe)?;
        let rounds = div(before.clone(), stages.clone());
        Ok(vec![
            Stmt::Assign(at.slot, rem(before, stages)),
            Stmt::Assign(at.parity, rem(rounds, int(2))),
        ])
    }

    pub(in crate::lower) fn if_continues(
        &mut self,
        continues: &[Op],
        begins: &[Op],
    ) -> Result<Vec<Stmt>> {
        let cond = lt(int(0), self.this_part()?.from.clone());
        Ok(vec![Stmt::If {
            cond,
            then: self.branch(continues)?,
            otherwise: self.branch(begins)?,
        }])
    }
}
