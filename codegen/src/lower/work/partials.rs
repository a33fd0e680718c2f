//! Partial sums that CTAs hand one another through scratch memory.
//!
//! There stand the flags, a line for each CTA with one for each consumer warpgroup, zero outside of
//! launches; then a place for the accumulators of each CTA, four of a thread next to four of the
//! next thread. Of a cluster each CTA gives to the one that has its place in another.

use crate::arch::WARPGROUP;
use crate::atoms::model::Space;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, eq, int, long, lt, max, min, mul, rem, widen};
use crate::ir::thread::program::{Address, Arg, Expr, IntType, Reg, Special, Stmt};
use crate::ir::tile::{Op, TileId};
use crate::lower::{Lowering, bug};
use crate::plan::data::partials::VECTOR;
use crate::plan::work_tiles::FLAG_BYTES;
use crate::plan::work_tiles::spans::{Givers, Part};

/// Most vectors that a thread loads at a time.
const MOST_AT_A_TIME: usize = 32;
/// Bytes of the accumulators that one instruction moves.
pub(super) const VECTOR_BYTES: i64 = 16;
/// Bytes of a flag.
const FLAG: i64 = 4;

impl Lowering<'_> {
    /// Writes the accumulators into the CTA's place.
    pub(in crate::lower) fn store_partial(&mut self, acc: TileId) -> Result<Vec<Stmt>> {
        if self.kernel.work.parts().is_some() {
            let mut out = self.keep_partial(acc)?;
            out.extend(self.give_to_cluster(acc)?);
            return Ok(out);
        }
        let cta = self.own_giver();
        let mut out = Vec::new();
        for (number, registers) in self.buffer(acc, 0)?.chunks(VECTOR).enumerate() {
            let mut place = self.vector(cta.clone())?;
            place.imm = self.vector_at(number)?;
            let args = [
                ("dst", Arg::Address(place)),
                ("src", Arg::Regs(registers.to_vec())),
            ];
            out.extend(self.sync((Act::StorePartial, Scope::Gpu, Space::Gmem), args)?);
        }
        Ok(out)
    }

    /// The warpgroup says that its accumulators are there.
    pub(in crate::lower) fn raise_flag(&mut self) -> Result<Vec<Stmt>> {
        // A cluster meets when they are there.
        if self.kernel.work.parts().is_some() {
            return Ok(Vec::new());
        }
        let cta = self.own_giver();
        let mut out = self.adding_meet()?;
        let flag = [("flag", Arg::Address(self.flag(cta)?))];
        out.push(Stmt::If {
            cond: self.first_adding()?,
            then: self.sync((Act::RaiseFlag, Scope::Gpu, Space::Gmem), flag)?,
            otherwise: Vec::new(),
        });
        Ok(out)
    }

    /// This CTA, as one that gives.
    fn own_giver(&mut self) -> Expr {
        let [cluster, _] = self.standing().cluster;
        match self.kernel.work.cluster().size() {
            1 => cluster,
            _ => Expr::Special(Special::CtaidX),
        }
    }

    /// The CTA of that cluster which has this one's place.
    fn counterpart(&self, cluster: Expr) -> Expr {
        let together = i64::from(self.kernel.work.cluster().size());
        match together {
            1 => cluster,
            _ => {
                let rank = rem(Expr::Special(Special::CtaidX), int(together));
                add(mul(cluster, int(together)), rank)
            }
        }
    }

    /// The threads that share a flag meet: a warpgroup, or the CTA where warps are all alike.
    fn adding_meet(&self) -> Result<Vec<Stmt>> {
        match self.plan.roles {
            Some(_) => self.warpgroup_meets(),
            None => self.sync((Act::Meet, Scope::Cta), []),
        }
    }

    /// Whether a thread is the first of those.
    fn first_adding(&mut self) -> Result<Expr> {
        match self.plan.roles {
            Some(_) => self.first_of_warpgroup(),
            None => Ok(eq(Expr::Special(Special::TidX), int(0))),
        }
    }

    /// Adds what continues the tile, in the order of k. Its threads wait for one giver each, so
    /// that the flags are read at the same time, and all add when all are up.
    pub(in crate::lower) fn for_each_partial(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        if self.kernel.work.parts().is_some() {
            return self.for_each_of_cluster(body);
        }
        let acc = self.added(body)?;
        let part = self.this_part()?.clone();
        let scope = self.builder.begin_scope();
        let givers = part.givers(&mut self.builder);
        let mut statements = self.await_givers(&givers)?;
        statements.extend(self.adding_meet()?);
        statements.extend(self.add_givers(&givers, acc)?);
        let mut then = self.builder.end_scope(scope);
        then.extend(statements);
        let when = |cond, then| Stmt::If {
            cond,
            then,
            otherwise: Vec::new(),
        };
        Ok(vec![when(
            part.is_cut.clone(),
            vec![when(part.may_add(), then)],
        )])
    }

    /// The sums that are added to.
    pub(super) fn added(&self, body: &[Op]) -> Result<TileId> {
        let added = body.iter().find_map(|op| match op {
            Op::AddPartial(acc, _) => Some(*acc),
            _ => None,
        });
        added.ok_or_else(|| bug(self.plan, "parts of no sums".to_string()))
    }

    /// Each thread waits for the flag of a giver, of the same warpgroup, and takes it down: a giver
    /// gives once, and the flag is as the next launch wants it.
    fn await_givers(&mut self, givers: &Givers<Expr>) -> Result<Vec<Stmt>> {
        let threads = int(match self.plan.roles {
            Some(_) => i64::from(WARPGROUP),
            None => self.adding_threads(),
        });
        let thread = rem(Expr::Special(Special::TidX), threads.clone());
        let first = self.builder.hoist("awaited", thread);
        self.for_each_giver(givers, [first, threads], |own, giver, _| {
            let flag = own.flag(giver)?;
            let mut out = Vec::new();
            for act in [Act::AwaitFlag, Act::ClearFlag] {
                let flag = [("flag", Arg::Address(flag.clone()))];
                out.extend(own.sync((act, Scope::Gpu, Space::Gmem), flag)?);
            }
            Ok(out)
        })
    }

    /// Adds the accumulators of two givers at a time, so that they are on their way together, where
    /// there are registers for them.
    fn add_givers(&mut self, givers: &Givers<Expr>, acc: TileId) -> Result<Vec<Stmt>> {
        if !self.plan.adds_in_pairs() {
            let one = |own: &mut Self, giver, _| own.add_of(acc, giver, None);
            return self.for_each_giver(givers, [int(0), int(1)], one);
        }
        let end = givers.all.clone();
        self.for_each_giver(givers, [int(0), int(2)], |own, giver, number| {
            let behind = add(number, int(1));
            let next = own.giver(givers.span(behind.clone()));
            let scope = own.builder.begin_scope();
            let next = own.builder.hoist("next", next);
            let both = own.add_of(acc, giver.clone(), Some(next))?;
            let mut then = own.builder.end_scope(scope);
            then.extend(both);
            Ok(vec![Stmt::If {
                cond: lt(behind, end),
                then,
                otherwise: own.add_of(acc, giver, None)?,
            }])
        })
    }

    /// Statements for givers, from that number on by steps.
    fn for_each_giver(
        &mut self,
        givers: &Givers<Expr>,
        [from, step]: [Expr; 2],
        each: impl FnOnce(&mut Self, Expr, Expr) -> Result<Vec<Stmt>>,
    ) -> Result<Vec<Stmt>> {
        let var = self.builder.var("number", IntType::I32, false);
        let scope = self.builder.begin_scope();
        let giver = self.giver(givers.span(Expr::Var(var)));
        let giver = self.builder.hoist("giver", giver);
        let statements = each(self, giver, Expr::Var(var))?;
        let mut body = self.builder.end_scope(scope);
        body.extend(statements);
        Ok(vec![Stmt::For {
            var,
            from,
            to: givers.all.clone(),
            step,
            body,
        }])
    }

    /// Who has that span, of the CTAs of this one's place: one in front of it. Its number is far to
    /// follow where accesses are proved, so that it is bounded.
    fn giver(&mut self, span: Expr) -> Expr {
        let [_, clusters] = self.standing().cluster;
        let cluster = max(Part::cluster_of(span, clusters), int(0));
        let own = self.own_giver();
        min(self.counterpart(cluster), own)
    }

    /// Adds the accumulators that one or two others give.
    fn add_of(&mut self, acc: TileId, giver: Expr, next: Option<Expr>) -> Result<Vec<Stmt>> {
        let src = Arg::Address(self.vector(giver)?);
        let other = next.map(|next| self.vector(next)).transpose()?;
        let givers = 1 + other.iter().len();
        let mut out = Vec::new();
        for (registers, offsets) in self.added_at_a_time(acc, givers)? {
            let acc = ("acc", Arg::Regs(registers));
            let (src, offsets) = (("src", src.clone()), ("offsets", Arg::Imms(offsets)));
            let of = |act| (act, Scope::Gpu, Space::Gmem);
            out.extend(match other.clone().map(Arg::Address) {
                Some(other) => {
                    let args = [acc, src, ("other", other), offsets];
                    self.sync(of(Act::AddTwoPartials), args)?
                }
                None => self.sync(of(Act::AddPartial), [acc, src, offsets])?,
            });
        }
        Ok(out)
    }

    /// The accumulators that are added at a time, of so many givers, with where the values of each
    /// vector are.
    pub(super) fn added_at_a_time(
        &self,
        acc: TileId,
        givers: usize,
    ) -> Result<Vec<(Vec<Reg>, Vec<i64>)>> {
        let all = self.buffer(acc, 0)?;
        let count = self.vectors_at_a_time(all.len().div_ceil(VECTOR), givers);
        let parts = all.chunks(count * VECTOR).enumerate();
        let part = |(number, registers): (usize, &[Reg])| {
            let vectors = number * count..number * count + registers.len().div_ceil(VECTOR);
            let offsets: Result<_> = vectors.map(|vector| self.vector_at(vector)).collect();
            Ok((registers.to_vec(), offsets?))
        };
        parts.map(part).collect()
    }

    /// Vectors of each giver to be loaded at a time, into registers next to the accumulators, so
    /// many in all: about the same number each time, in as few times as registers allow.
    fn vectors_at_a_time(&self, all: usize, givers: usize) -> usize {
        let free = self.plan.free_vectors(all * VECTOR);
        let most = free.min(MOST_AT_A_TIME) / givers;
        let times = all.div_ceil(most.max(1)).max(1);
        all.div_ceil(times).max(1)
    }

    /// Where the vector of that number is, behind the thread's first.
    pub(super) fn vector_at(&self, number: usize) -> Result<i64> {
        Ok(number as i64 * self.adding_threads() * VECTOR_BYTES)
    }

    /// Threads that hold the sums of a tile.
    pub(super) fn adding_threads(&self) -> i64 {
        let roles = self.plan.roles.as_ref();
        let of_roles = roles.map(|roles| roles.consumers_of_a_tile() * WARPGROUP);
        i64::from(of_roles.unwrap_or(self.plan.threads))
    }

    /// Where a thread's first vector is in the CTA's place.
    fn vector(&mut self, cta: Expr) -> Result<Address> {
        let threads = self.adding_threads();
        let thread = rem(Expr::Special(Special::TidX), int(threads));
        let bytes = self.kernel.work.partial_bytes();
        let bytes = bytes.ok_or_else(|| bug(self.plan, "tiles are not cut".to_string()))?;
        let place = add(
            long(i64::from(self.plan.zero_bytes())),
            mul(widen(cta), long(bytes)),
        );
        let start = add(place, widen(mul(thread, int(VECTOR_BYTES))));
        let start = self.builder.hoist("vectors", start);
        self.scratch_at(start, 0)
    }

    /// The flag of this warpgroup's part of a tile, in the CTA's line.
    fn flag(&mut self, cta: Expr) -> Result<Address> {
        let part = mul(self.part()?, int(FLAG));
        let line = mul(cta, int(i64::from(FLAG_BYTES)));
        let start = self.builder.hoist("flag", widen(add(line, part)));
        self.scratch_at(start, 0)
    }
}
