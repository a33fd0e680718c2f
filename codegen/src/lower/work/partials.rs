//! Partial sums that CTAs hand one another through scratch memory.
//!
//! There stand the flags, a line for each CTA with one for each consumer warpgroup, zero outside of
//! launches; then a place for the accumulators of each CTA, four of a thread next to four of the
//! next thread.

use crate::arch::WARPGROUP;
use crate::atoms::model::Space;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, eq, int, long, mul, rem, widen};
use crate::ir::thread::program::{Address, Arg, Expr, IntType, Reg, Special, Stmt};
use crate::ir::tile::{Op, TileId};
use crate::lower::{Lowering, bug};
use crate::plan::data::teams::Team;
use crate::plan::work_tiles::FLAG_BYTES;
use crate::plan::work_tiles::spans::Part;

/// Registers of a consumer besides accumulators and what it loads.
const OTHER_REGISTERS: usize = 56;
/// Accumulators that one instruction moves.
pub(super) const VECTOR: usize = 4;
/// Bytes of them.
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
        let [cta, _] = self.standing().cluster;
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
        let [cta, _] = self.standing().cluster;
        self.turn_flag(Act::RaiseFlag, cta)
    }

    /// Waits for the accumulators of the same warpgroup of the CTA that gives them.
    pub(in crate::lower) fn await_flag(&mut self) -> Result<Vec<Stmt>> {
        let flag = self.flag(self.giver()?)?;
        let flag = [("flag", Arg::Address(flag))];
        self.sync((Act::AwaitFlag, Scope::Gpu, Space::Gmem), flag)
    }

    /// The warpgroup has read them: the flag is as the next launch wants it.
    pub(in crate::lower) fn clear_flag(&mut self) -> Result<Vec<Stmt>> {
        let giver = self.giver()?;
        self.turn_flag(Act::ClearFlag, giver)
    }

    /// One thread turns the flag, behind what all threads of the warpgroup have done.
    fn turn_flag(&mut self, act: Act, cta: Expr) -> Result<Vec<Stmt>> {
        let mut out = self.adding_meet()?;
        let flag = [("flag", Arg::Address(self.flag(cta)?))];
        out.push(Stmt::If {
            cond: self.first_adding()?,
            then: self.sync((act, Scope::Gpu, Space::Gmem), flag)?,
            otherwise: Vec::new(),
        });
        Ok(out)
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

    /// The body for each part that continues the tile, in the order of k.
    pub(in crate::lower) fn for_each_partial(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        if self.kernel.work.parts().is_some() {
            return self.for_each_of_cluster(body);
        }
        let part = self.this_part()?.clone();
        let [_, ctas] = self.standing().cluster;
        let scope = self.builder.begin_scope();
        let per_tile = self.k_tiles()?;
        let [from, past] = part.continued_by(per_tile, &mut self.builder);
        let var = self.builder.var("span", IntType::I32, false);
        let cta = Part::cta_of(Expr::Var(var), ctas);
        let inner = self.builder.begin_scope();
        self.giver = Some(self.builder.hoist("giver", cta));
        let statements = self.ops(body)?;
        self.giver = None;
        let mut body = self.builder.end_scope(inner);
        body.extend(statements);
        let mut then = self.builder.end_scope(scope);
        then.push(Stmt::For {
            var,
            from,
            to: past,
            step: int(1),
            body,
        });
        Ok(vec![Stmt::If {
            cond: part.is_cut,
            then,
            otherwise: Vec::new(),
        }])
    }

    fn giver(&self) -> Result<Expr> {
        let giver = self.giver.clone();
        giver.ok_or_else(|| bug(self.plan, "no partial sums are being added".to_string()))
    }

    /// Adds the accumulators that another CTA gives.
    pub(in crate::lower) fn add_partial(&mut self, acc: TileId) -> Result<Vec<Stmt>> {
        let giver = self.giver()?;
        let mut out = Vec::new();
        for (registers, offsets) in self.added_at_a_time(acc)? {
            let args = [
                ("acc", Arg::Regs(registers)),
                ("src", Arg::Address(self.vector(giver.clone())?)),
                ("offsets", Arg::Imms(offsets)),
            ];
            out.extend(self.sync((Act::AddPartial, Scope::Gpu, Space::Gmem), args)?);
        }
        Ok(out)
    }

    /// The accumulators that are added at a time, with where the values of each vector are.
    pub(super) fn added_at_a_time(&self, acc: TileId) -> Result<Vec<(Vec<Reg>, Vec<i64>)>> {
        let all = self.buffer(acc, 0)?;
        let count = self.at_a_time(all.len())?;
        let parts = all.chunks(count).enumerate();
        let part = |(number, registers): (usize, &[Reg])| {
            let vectors = number * count / VECTOR..(number + 1) * count / VECTOR;
            let offsets: Result<_> = vectors.map(|vector| self.vector_at(vector)).collect();
            Ok((registers.to_vec(), offsets?))
        };
        parts.map(part).collect()
    }

    /// Values to be loaded at a time, into registers next to the accumulators: a power of two of
    /// vectors.
    fn at_a_time(&self, accumulators: usize) -> Result<usize> {
        let registers = match &self.plan.roles {
            Some(roles) => roles.registers(Team::Consumers),
            None => self.plan.registers_of_a_thread(),
        };
        let free = (registers as usize).saturating_sub(accumulators + OTHER_REGISTERS);
        let fits = |count: &usize| *count <= free && accumulators.is_multiple_of(*count);
        Ok([64, 32, 16, 8].into_iter().find(fits).unwrap_or(VECTOR))
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
