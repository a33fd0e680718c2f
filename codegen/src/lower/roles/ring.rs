//! The ring's barriers: who waits on which, who arrives where.

use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::expr::{add, and, eq, int, le, lt, mul, select, sub, xor};
use crate::ir::program::{Address, Arg, Base, Expr, IntType, ParamId, ParamType, Special, Stmt};
use crate::ir::tile::{Distance, Slot};
use crate::lower::{Lowering, bug};
use crate::plan::roles::BARRIER_BYTES;

impl Lowering<'_> {
    /// One thread makes the barriers; then all CTAs of the cluster meet, because each will arrive
    /// at barriers of the others.
    pub(super) fn init_barriers(&mut self) -> Result<Vec<Stmt>> {
        let roles = self.roles_of()?.clone();
        let mut first = Vec::new();
        for (at, param) in self.builder.params().iter().enumerate() {
            if param.ty == ParamType::TensorMap {
                let map = Arg::TensorMap(ParamId(at as u32));
                first.extend(self.sync((Act::PrefetchMap, Scope::Gpu), [("map", map)])?);
            }
        }
        let mut counts = Vec::new();
        for slot in 0..roles.ring.stages {
            let at = |start: u32| start + slot * BARRIER_BYTES;
            counts.push((at(roles.ring.full_at()), roles.ring.full_arrivals));
            counts.push((at(roles.ring.empty_at()), roles.ring.empty_arrivals));
        }
        if let Some(turns) = roles.turns_at {
            let turn = |consumer| (turns + consumer * BARRIER_BYTES, 1);
            counts.extend((0..roles.consumers).map(turn));
        }
        for (at, count) in counts {
            let barrier = Arg::Address(smem(int(0), i64::from(at)));
            let args = [("barrier", barrier), ("count", Arg::Imm(i64::from(count)))];
            first.extend(self.sync((Act::MbarrierInit, Scope::Cta), args)?);
        }
        first.extend(self.sync((Act::FenceMbarrierInit, Scope::Cluster), [])?);
        let mut out = vec![Stmt::If {
            cond: eq(Expr::Special(Special::TidX), int(0)),
            then: first,
            otherwise: Vec::new(),
        }];
        if roles.cluster_size() > 1 {
            out.extend(self.sync((Act::Arrive, Scope::Cluster), [])?);
            out.extend(self.sync((Act::Await, Scope::Cluster), [])?);
        } else {
            out.extend(self.sync((Act::Meet, Scope::Cta), [])?);
        }
        Ok(out)
    }

    fn full(&self, slot: Expr) -> Result<Address> {
        Ok(barrier(slot, self.roles_of()?.ring.full_at()))
    }

    fn empty(&self, slot: Expr) -> Result<Address> {
        Ok(barrier(slot, self.roles_of()?.ring.empty_at()))
    }

    /// The slot's full barrier, for the loads that complete on it.
    pub(super) fn slot_full(&self) -> Result<Address> {
        self.full(Expr::Var(self.role()?.slot))
    }

    pub(super) fn acquire(&mut self) -> Result<Vec<Stmt>> {
        let state = self.role()?.clone();
        let barrier = self.empty(Expr::Var(state.slot))?;
        self.wait(barrier, Expr::Var(state.parity))
    }

    pub(super) fn await_slot(&mut self) -> Result<Vec<Stmt>> {
        let state = self.role()?.clone();
        let barrier = self.full(Expr::Var(state.slot))?;
        self.wait(barrier, Expr::Var(state.parity))
    }

    fn wait(&self, barrier: Address, parity: Expr) -> Result<Vec<Stmt>> {
        let args = [
            ("barrier", Arg::Address(barrier)),
            ("parity", Arg::Int(parity)),
        ];
        self.sync((Act::MbarrierAwait, Scope::Cta), args)
    }

    fn arrive(&self, barrier: Address) -> Result<Vec<Stmt>> {
        let args = [("barrier", Arg::Address(barrier))];
        self.sync((Act::MbarrierArrive, Scope::Cta), args)
    }

    pub(super) fn arm(&mut self) -> Result<Vec<Stmt>> {
        let bytes = i64::from(self.roles_of()?.ring.bytes);
        let barrier = Arg::Address(self.slot_full()?);
        let args = [("barrier", barrier), ("count", Arg::Imm(bytes))];
        self.sync((Act::MbarrierArriveExpect, Scope::Cta), args)
    }

    /// Each warp arrives by itself: at its own CTA's barrier, and at those of the CTAs that write
    /// into the same slot, a lane for each.
    pub(super) fn release(&mut self, slot: Slot) -> Result<Vec<Stmt>> {
        let state = self.role()?.clone();
        let neighbours = i64::from(self.roles_of()?.neighbours());
        let (place, exists) = match slot {
            Slot::Current => (Expr::Var(state.slot), None),
            Slot::Previous => {
                let first = matches!(state.trip, Expr::Int(..));
                let exists = (!first).then(|| lt(int(0), state.trip.clone()));
                (self.previous_slot()?, exists)
            }
        };
        let barrier = self.empty(place)?;
        let mine = if neighbours == 1 {
            eq(state.lane.clone(), int(0))
        } else {
            lt(state.lane.clone(), int(neighbours))
        };
        let then = if neighbours == 1 {
            self.arrive(barrier)?
        } else {
            let cta = Arg::Int(self.neighbour(state.lane.clone())?);
            let start = add(Expr::Smem, int(barrier.imm));
            let here = Arg::Int(add(start, barrier.offset));
            let args = [("barrier", here), ("cta", cta)];
            self.sync((Act::MbarrierArrive, Scope::Cluster), args)?
        };
        let cond = match exists {
            Some(exists) => and(mine, exists),
            None => mine,
        };
        Ok(vec![Stmt::If {
            cond,
            then,
            otherwise: Vec::new(),
        }])
    }

    /// The rank of the CTA that a lane signals: first those of this CTA's column of the cluster,
    /// itself among them, then the others of its row.
    fn neighbour(&mut self, lane: Expr) -> Result<Expr> {
        let [along_m, along_n] = self.roles_of()?.cluster.map(i64::from);
        let [place_m, place_n] = self.role()?.place.clone();
        let column = add(lane.clone(), mul(place_n.clone(), int(along_m)));
        if along_n == 1 {
            return Ok(self.builder.hoist("neighbour", column));
        }
        let other = sub(lane.clone(), int(along_m));
        let skips = select(lt(other.clone(), place_n), int(0), int(1));
        let row = add(mul(add(other, skips), int(along_m)), place_m);
        let rank = select(lt(lane, int(along_m)), column, row);
        Ok(self.builder.hoist("neighbour", rank))
    }

    /// Waits for each slot once more, so that nobody signals a CTA that has ended.
    pub(super) fn drain(&mut self) -> Result<Vec<Stmt>> {
        let stages = i64::from(self.plan.stages);
        let var = self.builder.var("drained", IntType::I32, false);
        let mut body = self.acquire()?;
        body.extend(self.advance(Distance::Slot)?);
        Ok(vec![Stmt::For {
            var,
            from: int(0),
            to: int(stages),
            step: int(1),
            body,
        }])
    }

    fn turns(&self) -> Result<(u32, crate::ir::program::VarId)> {
        let turn = self.role()?.turn;
        let turns = self.roles_of()?.turns_at.zip(turn);
        turns.ok_or_else(|| bug(self.plan, "consumers take no turns".to_string()))
    }

    pub(super) fn take_turn(&mut self) -> Result<Vec<Stmt>> {
        let (at, turn) = self.turns()?;
        let barrier = barrier(self.role()?.warpgroup.clone(), at);
        let mut out = self.wait(barrier, Expr::Var(turn))?;
        out.push(Stmt::Assign(turn, xor(Expr::Var(turn), int(1))));
        Ok(out)
    }

    /// One thread of the warpgroup passes the turn on, once every warp has issued its products.
    pub(super) fn pass_turn(&mut self) -> Result<Vec<Stmt>> {
        let (at, _) = self.turns()?;
        let last = int(i64::from(self.roles_of()?.consumers) - 1);
        let mine = self.role()?.warpgroup.clone();
        let next = select(le(last, mine.clone()), int(0), add(mine, int(1)));
        let barrier = barrier(next, at);
        let mut out = self.warpgroup_meets()?;
        out.push(Stmt::If {
            cond: self.first_of_warpgroup()?,
            then: self.arrive(barrier)?,
            otherwise: Vec::new(),
        });
        Ok(out)
    }
}

/// That many bytes into shared memory.
pub(super) fn smem(offset: Expr, imm: i64) -> Address {
    Address {
        space: crate::atoms::model::Space::Smem,
        base: Base::Smem,
        offset,
        imm,
    }
}

fn barrier(slot: Expr, start: u32) -> Address {
    smem(mul(slot, int(i64::from(BARRIER_BYTES))), i64::from(start))
}
