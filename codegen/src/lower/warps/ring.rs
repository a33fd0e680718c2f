//! The ring's barriers: who waits on which, who arrives where.

use crate::atoms::model::Space;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, and, eq, int, le, lt, mul, select, sub, xor};
use crate::ir::thread::program::{
    Address, Arg, Base, Expr, IntType, ParamId, ParamType, Special, Stmt,
};
use crate::ir::tile::{Across, Every, Full, PipeId, Trips};
use crate::lower::{Lowering, bug};
use crate::plan::data::arena::{Holds, Place};

impl Lowering<'_> {
    /// One thread makes the barriers; then all CTAs of the cluster meet, because each will arrive
    /// at barriers of the others.
    pub(super) fn init_barriers(&mut self) -> Result<Vec<Stmt>> {
        let mut first = Vec::new();
        for (at, param) in self.builder.params().iter().enumerate() {
            if param.ty == ParamType::TensorMap {
                let map = Arg::TensorMap(ParamId(at as u32));
                first.extend(self.sync((Act::PrefetchMap, Scope::Gpu), [("map", map)])?);
            }
        }
        let mut counts = Vec::new();
        for pipe in &self.kernel.pipes {
            match pipe.full {
                Full::Bytes(ring) => {
                    let full = self.lies(Holds::Full(ring.number))?;
                    let empty = self.lies(Holds::Empty(ring.number))?;
                    counts.extend((0..pipe.slots).flat_map(|slot| {
                        let full = (full.of(slot), ring.full_arrivals);
                        [full, (empty.of(slot), ring.empty_arrivals)]
                    }));
                }
                Full::Arrivals => {
                    let turns = self.lies(Holds::Turns)?;
                    counts.extend((0..pipe.slots).map(|slot| (turns.of(slot), 1)));
                }
                Full::Group(_) | Full::Flag => {}
            }
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
        let meets_cluster = self.kernel.work.launched_together() > 1;
        if meets_cluster {
            out.extend(self.sync((Act::Arrive, Scope::Cluster), [])?);
            out.extend(self.sync((Act::Await, Scope::Cluster), [])?);
        } else {
            out.extend(self.sync((Act::Meet, Scope::Cta), [])?);
        }
        Ok(out)
    }

    /// The slot's full barrier, for the loads that complete on it.
    pub(super) fn slot_full(&self, pipe: PipeId) -> Result<Address> {
        let full = self.lies(Holds::Full(self.ring(pipe)?.number))?;
        Ok(barrier(Expr::Var(self.at(pipe)?.slot), full))
    }

    /// The empty barriers of a pipe.
    fn slot_empty(&self, pipe: PipeId) -> Result<&Place> {
        self.lies(Holds::Empty(self.ring(pipe)?.number))
    }

    pub(in crate::lower) fn await_empty(&mut self, pipe: PipeId) -> Result<Vec<Stmt>> {
        let at = self.at(pipe)?;
        let barrier = barrier(Expr::Var(at.slot), self.slot_empty(pipe)?);
        self.wait(barrier, Expr::Var(at.parity))
    }

    pub(in crate::lower) fn await_full(&mut self, pipe: PipeId) -> Result<Vec<Stmt>> {
        let parity = self.at(pipe)?.parity;
        self.wait(self.slot_full(pipe)?, Expr::Var(parity))
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

    pub(in crate::lower) fn announce(&mut self, pipe: PipeId) -> Result<Vec<Stmt>> {
        let barrier = Arg::Address(self.slot_full(pipe)?);
        let bytes = Arg::Imm(i64::from(self.ring(pipe)?.bytes));
        let args = [("barrier", barrier), ("count", bytes)];
        self.sync((Act::MbarrierArriveExpect, Scope::Cta), args)
    }

    /// Each warp arrives by itself: at its own CTA's barrier, and at those of the CTAs that write
    /// into the same slot, a lane for each. What its lanes have read of a slot they have read by
    /// then.
    pub(in crate::lower) fn give_back(&mut self, id: PipeId, lag: u32) -> Result<Vec<Stmt>> {
        let (pipe, state) = (self.pipe(id)?, self.role()?.clone());
        let neighbours = match pipe.across {
            Across::Cluster => i64::from(self.kernel.work.cluster().neighbours()),
            Across::Warpgroup | Across::Cta | Across::Grid => 1,
        };
        let mut out = match pipe.every {
            Every::WorkTile => self.sync((Act::Meet, Scope::Warp), [])?,
            Every::Trip if self.roles_of()?.threads_read_slots() => {
                // What each lane has read is read before boxes come anew.
                let fence = (Act::FenceAsyncProxy, Scope::Cta, Space::Smem);
                let mut read = self.sync(fence, [])?;
                read.extend(self.sync((Act::Meet, Scope::Warp), [])?);
                read
            }
            // Products are done for a warp as a whole.
            Every::Trip => Vec::new(),
        };
        let (place, exists) = match lag {
            0 => (Expr::Var(self.at(id)?.slot), None),
            _ => {
                let first = matches!(state.trip, Expr::Int(..));
                let exists = (!first).then(|| lt(int(0), state.trip.clone()));
                (self.previous_slot(id)?, exists)
            }
        };
        let barrier = barrier(place, self.slot_empty(id)?);
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
        out.push(Stmt::If {
            cond,
            then,
            otherwise: Vec::new(),
        });
        Ok(out)
    }

    /// The rank of the CTA that a lane signals: first those of this CTA's column of the cluster,
    /// itself among them, then the others of its row.
    fn neighbour(&mut self, lane: Expr) -> Result<Expr> {
        let [along_m, along_n] = self.kernel.work.cluster().0.map(i64::from);
        let [place_m, place_n] = self.role()?.standing.place.clone();
        let in_front = self.ranks_in_front();
        let column = add(lane.clone(), mul(place_n.clone(), int(along_m)));
        let column = add(in_front.clone(), column);
        if along_n == 1 {
            return Ok(self.builder.hoist("neighbour", column));
        }
        let other = sub(lane.clone(), int(along_m));
        let skips = select(lt(other.clone(), place_n), int(0), int(1));
        let row = add(mul(add(other, skips), int(along_m)), place_m);
        let row = add(in_front, row);
        let rank = select(lt(lane, int(along_m)), column, row);
        Ok(self.builder.hoist("neighbour", rank))
    }

    /// Waits for each slot once more, so that nobody signals a CTA that has ended.
    pub(in crate::lower) fn await_all_empty(&mut self, pipe: PipeId) -> Result<Vec<Stmt>> {
        let stages = i64::from(self.ring(pipe)?.stages);
        let var = self.builder.var("drained", IntType::I32, false);
        let mut body = self.await_empty(pipe)?;
        body.extend(self.advance(pipe, Trips::One)?);
        Ok(vec![Stmt::For {
            var,
            from: int(0),
            to: int(stages),
            step: int(1),
            body,
        }])
    }

    pub(in crate::lower) fn take_turn(&mut self) -> Result<Vec<Stmt>> {
        let state = self.role()?;
        let turn = state.turn;
        let turn = turn.ok_or_else(|| bug(self.plan, "consumers take no turns".to_string()))?;
        let barrier = barrier(state.warpgroup.clone(), self.lies(Holds::Turns)?);
        let mut out = self.wait(barrier, Expr::Var(turn))?;
        out.push(Stmt::Assign(turn, xor(Expr::Var(turn), int(1))));
        Ok(out)
    }

    /// One thread of the warpgroup passes the turn on, once every warp has issued its products.
    pub(in crate::lower) fn pass_turn(&mut self) -> Result<Vec<Stmt>> {
        let last = int(i64::from(self.roles_of()?.consumers()) - 1);
        let mine = self.role()?.warpgroup.clone();
        let next = select(le(last, mine.clone()), int(0), add(mine, int(1)));
        let barrier = barrier(next, self.lies(Holds::Turns)?);
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
        space: Space::Smem,
        base: Base::Smem,
        offset,
        imm,
        coords: Vec::new(),
    }
}

fn barrier(slot: Expr, of: &Place) -> Address {
    smem(mul(slot, int(i64::from(of.each))), i64::from(of.at))
}
