//! Output tiles cut along k for the CTAs of a cluster, which hand their sums on through shared
//! memory.
//!
//! The barrier of the cluster says that they are there, and once more that they are read. CTAs
//! without a part have ended, and nobody waits for them.

use crate::atoms::model::Space;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, int, mul, rem};
use crate::ir::thread::program::{Arg, Expr, IntType, Special, Stmt};
use crate::ir::tile::{Op, TileId};
use crate::lower::work::partials::{VECTOR, VECTOR_BYTES};
use crate::lower::{Lowering, bug};
use crate::plan::data::arena::Holds;
use crate::plan::work_tiles::parts::PartRule;
use crate::plan::work_tiles::spans::Part;

impl Lowering<'_> {
    /// The CTA's part of its cluster's tile, if it has any.
    pub(super) fn part_of_cluster(&mut self, rule: PartRule, body: &[Op]) -> Result<Vec<Stmt>> {
        let steps = self.k_tiles()?;
        let cta = Expr::Special(Special::CtaidX);
        let part = rule.part(cta, steps, &mut self.builder);
        let (all, parts, tile) = (part.all.clone(), part.parts.clone(), part.tile.clone());
        let var = self.builder.var("work_tile", IntType::I32, false);
        let scope = self.builder.begin_scope();
        let tiles = self.tiles()?;
        self.part = Some(Part::of_cluster(part));
        self.parts_of_tile = Some(parts);
        self.enter(tile, &tiles)?;
        let statements = self.ops(body)?;
        (self.part, self.parts_of_tile) = (None, None);
        let mut body = self.builder.end_scope(scope);
        body.extend(statements);
        Ok(vec![Stmt::For {
            var,
            from: int(0),
            to: all,
            step: int(1),
            body,
        }])
    }

    /// The others' sums, in the order of their ranks, when all of them are there.
    pub(super) fn for_each_of_cluster(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        let is_cut = self.this_part()?.is_cut.clone();
        let parts = self.parts_of_tile.clone();
        let parts =
            parts.ok_or_else(|| bug(self.plan, "no part of a tile has begun".to_string()))?;
        let var = self.builder.var("rank", IntType::I32, false);
        let inner = self.builder.begin_scope();
        self.giver = Some(Expr::Var(var));
        let statements = self.ops(body)?;
        self.giver = None;
        let mut body = self.builder.end_scope(inner);
        body.extend(statements);
        let mut then = self.meet_cluster()?;
        then.push(Stmt::For {
            var,
            from: int(1),
            to: parts,
            step: int(1),
            body,
        });
        then.extend(self.meet_cluster()?);
        Ok(vec![Stmt::If {
            cond: is_cut,
            then,
            otherwise: Vec::new(),
        }])
    }

    /// Says that the CTA's sums are there, and waits until they are read.
    pub(super) fn give_to_cluster(&mut self) -> Result<Vec<Stmt>> {
        let mut out = self.meet_cluster()?;
        out.extend(self.meet_cluster()?);
        Ok(out)
    }

    /// Writes the accumulators into the CTA's own shared memory.
    pub(super) fn keep_partial(&mut self, acc: TileId) -> Result<Vec<Stmt>> {
        let place = self.own_vectors()?;
        let mut out = Vec::new();
        for (number, registers) in self.buffer(acc, 0)?.chunks(VECTOR).enumerate() {
            let there = add(place.clone(), int(self.vector_at(number)?));
            let args = [
                ("place", Arg::Int(there)),
                ("src", Arg::Regs(registers.to_vec())),
            ];
            out.extend(self.sync((Act::StorePartial, Scope::Cluster, Space::Smem), args)?);
        }
        Ok(out)
    }

    /// Adds the accumulators of the CTA that gives them, out of its shared memory.
    pub(super) fn add_of_cluster(&mut self, acc: TileId, giver: Expr) -> Result<Vec<Stmt>> {
        let place = self.own_vectors()?;
        let mut out = Vec::new();
        for (registers, offsets) in self.added_at_a_time(acc)? {
            let args = [
                ("acc", Arg::Regs(registers)),
                ("place", Arg::Int(place.clone())),
                ("cta", Arg::Int(giver.clone())),
                ("offsets", Arg::Imms(offsets)),
            ];
            out.extend(self.sync((Act::AddPartial, Scope::Cluster, Space::Smem), args)?);
        }
        Ok(out)
    }

    /// Where a thread's first vector is in shared memory.
    fn own_vectors(&mut self) -> Result<Expr> {
        let threads = self.adding_threads()?;
        let thread = rem(Expr::Special(Special::TidX), int(threads));
        let at = i64::from(self.lies(Holds::Partials)?.at);
        let own = add(mul(thread, int(VECTOR_BYTES)), int(at));
        Ok(self.builder.hoist("vectors", add(Expr::Smem, own)))
    }
}
