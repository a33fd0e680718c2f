//! Output tiles cut along k for the CTAs of a cluster, which add up their sums in shared memory.
//!
//! Each keeps its own there, and adds up a share of all in the order of ranks; the first takes what
//! they came to. Of two, the first adds what the other keeps. The barrier of the cluster says that
//! sums are there, and once more that they are read. CTAs without a part have ended, and nobody
//! waits for them. Where a cluster has several tiles, the CTAs that have a part of one stand as far
//! apart as it has tiles.

use crate::atoms::model::Space;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, int, mul, rem};
use crate::ir::thread::program::{Arg, Expr, IntType, Special, Stmt};
use crate::ir::tile::{Op, TileId};
use crate::lower::work::partials::VECTOR_BYTES;
use crate::lower::{Lowering, bug};
use crate::plan::data::arena::Holds;
use crate::plan::data::partials::VECTOR;
use crate::plan::work_tiles::parts::PartRule;
use crate::plan::work_tiles::spans::Part;

/// Vectors that a thread has on their way at a time.
const ON_THEIR_WAY: usize = 16;

/// Who has parts of a cluster's tile.
#[derive(Clone, Debug)]
pub(in crate::lower) struct OfTile {
    /// The part that this CTA has.
    rank: Expr,
    /// How many there are.
    parts: Expr,
    /// How a tile is cut.
    rule: PartRule,
}

impl Lowering<'_> {
    /// The CTA's part of its cluster's tile, if it has any.
    pub(super) fn part_of_cluster(&mut self, rule: PartRule, body: &[Op]) -> Result<Vec<Stmt>> {
        let steps = self.k_tiles()?;
        let group = match self.kernel.work.cluster().size() {
            1 => Expr::Special(Special::CtaidX),
            _ => self.role()?.standing.cluster[0].clone(),
        };
        let part = rule.part(group, steps, &mut self.builder);
        let (all, tile) = (part.all.clone(), part.tile.clone());
        let of_tile = OfTile {
            rank: part.rank.clone(),
            parts: part.parts.clone(),
            rule,
        };
        let var = self.builder.var("work_tile", IntType::I32, false);
        let scope = self.builder.begin_scope();
        let tiles = self.tiles()?;
        self.part = Some(Part::of_cluster(part));
        self.parts_of_tile = Some(of_tile);
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

    /// The sums of all, which take the place of the first's own, where there are others.
    pub(super) fn for_each_of_cluster(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        let is_cut = self.this_part()?.is_cut.clone();
        let acc = self.added(body)?;
        let scope = self.builder.begin_scope();
        let statements = match self.of_tile()?.rule.shares_sums() {
            true => {
                let mut statements = self.keep_partial(acc)?;
                statements.extend(self.give_to_cluster(acc)?);
                statements.extend(self.each_vector((Act::TakePartial, "dst"), acc)?);
                statements
            }
            false => {
                let mut statements = self.meet_cluster()?;
                statements.extend(self.add_of_other(acc)?);
                statements.extend(self.meet_cluster()?);
                statements
            }
        };
        let mut then = self.builder.end_scope(scope);
        then.extend(statements);
        Ok(vec![Stmt::If {
            cond: is_cut,
            then,
            otherwise: Vec::new(),
        }])
    }

    /// The ranks of the CTAs in front of those that have the same part as this one.
    pub(in crate::lower) fn ranks_in_front(&self) -> Expr {
        let together = i64::from(self.kernel.work.cluster().size());
        match &self.parts_of_tile {
            Some(of_tile) if together > 1 => mul(of_tile.rank.clone(), int(together)),
            _ => int(0),
        }
    }

    /// The ranks of the CTAs that have parts of this one's tile, but for the CTA's place among
    /// those that have the first part, where there are several.
    fn ranks_apart(&self, parts: u32) -> (Vec<i64>, Option<Expr>) {
        let cluster = self.kernel.work.cluster();
        let together = i64::from(cluster.size());
        let apart = (0..i64::from(parts)).map(|part| part * together).collect();
        let cta = Expr::Special(Special::CtaidX);
        (apart, (together > 1).then(|| rem(cta, int(together))))
    }

    fn of_tile(&self) -> Result<OfTile> {
        let missing = || bug(self.plan, "no part of a tile has begun".to_string());
        self.parts_of_tile.clone().ok_or_else(missing)
    }

    /// Says that the CTA's sums are there, adds up its share of all where they are shared out, and
    /// waits until all are read.
    pub(super) fn give_to_cluster(&mut self, acc: TileId) -> Result<Vec<Stmt>> {
        let mut out = self.meet_cluster()?;
        if self.of_tile()?.rule.shares_sums() {
            out.extend(self.sum_share(acc)?);
        }
        out.extend(self.meet_cluster()?);
        Ok(out)
    }

    /// Adds up the CTA's share of all sums.
    fn sum_share(&mut self, acc: TileId) -> Result<Vec<Stmt>> {
        let vectors = self.buffer(acc, 0)?.len().div_ceil(VECTOR);
        let apart = self.vector_at(1)?;
        let place = self.own_vectors()?;
        let of_tile = self.of_tile()?;
        let ctas = of_tile.rule.ctas as usize;
        let rounds = (ON_THEIR_WAY / ctas).clamp(1, vectors.div_ceil(ctas).max(1));
        let numbers = |count: usize| (0..count as i64).collect::<Vec<i64>>();
        let (ranks, beside) = self.ranks_apart(of_tile.rule.ctas);
        let beside = beside.map(|beside| self.builder.hoist("beside", beside));
        let args = [
            ("place", Arg::Int(place)),
            ("part", Arg::Int(of_tile.rank)),
            ("parts", Arg::Int(of_tile.parts)),
            ("ranks", Arg::Imms(ranks)),
            ("beside", Arg::Ints(beside.into_iter().collect())),
            ("rounds", Arg::Imms(numbers(rounds))),
            ("vectors", Arg::Imm(vectors as i64)),
            ("apart", Arg::Imm(apart)),
        ];
        self.sync((Act::SumPartials, Scope::Cluster, Space::Smem), args)
    }

    /// Adds the accumulators of the second CTA, out of its shared memory.
    fn add_of_other(&mut self, acc: TileId) -> Result<Vec<Stmt>> {
        let place = self.own_vectors()?;
        let (ranks, beside) = self.ranks_apart(2);
        let apart = int(ranks.last().copied().unwrap_or_default());
        let other = match beside {
            Some(beside) => self.builder.hoist("other", add(beside, apart)),
            None => apart,
        };
        let mut out = Vec::new();
        for (registers, offsets) in self.added_at_a_time(acc, 1)? {
            let args = [
                ("acc", Arg::Regs(registers)),
                ("place", Arg::Int(place.clone())),
                ("cta", Arg::Int(other.clone())),
                ("offsets", Arg::Imms(offsets)),
            ];
            out.extend(self.sync((Act::AddPartial, Scope::Cluster, Space::Smem), args)?);
        }
        Ok(out)
    }

    /// Writes the accumulators into the CTA's own shared memory.
    pub(super) fn keep_partial(&mut self, acc: TileId) -> Result<Vec<Stmt>> {
        self.each_vector((Act::StorePartial, "src"), acc)
    }

    /// Moves the accumulators between registers and the CTA's own shared memory.
    fn each_vector(
        &mut self,
        (act, operand): (Act, &'static str),
        acc: TileId,
    ) -> Result<Vec<Stmt>> {
        let place = self.own_vectors()?;
        let mut out = Vec::new();
        for (number, registers) in self.buffer(acc, 0)?.chunks(VECTOR).enumerate() {
            let there = add(place.clone(), int(self.vector_at(number)?));
            let args = [
                ("place", Arg::Int(there)),
                (operand, Arg::Regs(registers.to_vec())),
            ];
            out.extend(self.sync((act, Scope::Cluster, Space::Smem), args)?);
        }
        Ok(out)
    }

    /// Where a thread's first vector is in shared memory.
    fn own_vectors(&mut self) -> Result<Expr> {
        let threads = self.adding_threads();
        let thread = rem(Expr::Special(Special::TidX), int(threads));
        let at = i64::from(self.lies(Holds::Partials)?.at);
        let own = add(mul(thread, int(VECTOR_BYTES)), int(at));
        Ok(self.builder.hoist("vectors", add(Expr::Smem, own)))
    }
}
