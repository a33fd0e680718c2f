//! Synchronization: what each operation on a pipe becomes, by what counts as full.

use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{int, le, sub};
use crate::ir::thread::program::{Arg, Expr, Special, Stmt};
use crate::ir::tile::{End, Engine, Full, Pipe, PipeId, Sync, Trips};
use crate::lower::{Lowering, bug};
use crate::plan::data::arena::{Holds, Place};
use crate::plan::data::warp_roles::Ring;

/// CTAs at the end of a grid that let the next kernel be launched: as many as GPUs run at a time.
const LAST_CTAS: i64 = 1024;

impl<'p> Lowering<'p> {
    pub(in crate::lower) fn synchronize(&mut self, sync: Sync) -> Result<Vec<Stmt>> {
        match sync {
            Sync::Acquire(pipe) => self.acquire(pipe),
            Sync::Arm(pipe) => self.arm(pipe),
            Sync::Commit(pipe) => self.commit(pipe),
            Sync::Await(pipe, lag) => self.wait_for(pipe, lag),
            Sync::Release(pipe, lag) => self.release(pipe, lag),
            Sync::Skip(pipe, end, trips) => self.skip(pipe, end, trips),
            Sync::Drain(pipe) => self.drain(pipe),
            Sync::Restart(pipe) => self.restart(pipe),
            Sync::Meet => self.sync((Act::Meet, Scope::Cta), []),
            Sync::Follow => self.follow(),
        }
    }

    /// Waits for the kernel before, and lets the next be launched. That happens once each CTA has
    /// said so or is gone, and what is said costs the GPU 1.2 ns a CTA (H200), so that the last
    /// CTAs of a grid say it alone; persistent ones are few.
    fn follow(&self) -> Result<Vec<Stmt>> {
        let mut out = self.sync((Act::AwaitGrids, Scope::Gpu), [])?;
        let launch = self.sync((Act::LaunchGrids, Scope::Gpu), [])?;
        if self.plan.work.is_persistent() {
            out.extend(launch);
            return Ok(out);
        }
        let [cta, ctas] = [Special::CtaidX, Special::NctaidX].map(Expr::Special);
        out.push(Stmt::If {
            cond: le(sub(ctas, cta), int(LAST_CTAS)),
            then: launch,
            otherwise: Vec::new(),
        });
        Ok(out)
    }

    pub(in crate::lower) fn pipe(&self, id: PipeId) -> Result<&'p Pipe> {
        let pipe = self.kernel.pipe(id);
        pipe.ok_or_else(|| bug(self.plan, format!("there is no pipe {}", id.0)))
    }

    /// Where something lies in shared memory.
    pub(in crate::lower) fn lies(&self, holds: Holds) -> Result<&'p Place> {
        let place = self.plan.arena.find(holds);
        place.ok_or_else(|| bug(self.plan, format!("no place in shared memory for {holds}")))
    }

    /// The slots of a pipe that bytes fill.
    pub(super) fn slots(&self, id: PipeId) -> Result<&'p Place> {
        self.lies(Holds::Slots(self.ring(id)?.number))
    }

    /// What makes the slots of a pipe full that bytes fill, and what empty.
    pub(super) fn ring(&self, id: PipeId) -> Result<&'p Ring> {
        let pipe = self.pipe(id)?;
        match &pipe.full {
            Full::Bytes(ring) => Ok(ring),
            Full::Arrivals | Full::Flag | Full::Group(_) => self.strange(pipe, "a ring"),
        }
    }

    /// What is done to a pipe that has no such thing.
    fn strange<T>(&self, pipe: &Pipe, what: &str) -> Result<T> {
        Err(bug(self.plan, format!("{what} of the pipe {}", pipe.name)))
    }

    fn acquire(&mut self, id: PipeId) -> Result<Vec<Stmt>> {
        let pipe = self.pipe(id)?;
        match pipe.full {
            Full::Bytes(_) => self.await_empty(id),
            Full::Group(Engine::Products) => self.sync((Act::FenceProducts, Scope::Warpgroup), []),
            Full::Group(Engine::Stores) => self.staging_free(pipe.slots - 1),
            Full::Arrivals | Full::Flag | Full::Group(Engine::Copies) => {
                self.strange(pipe, "empty slots")
            }
        }
    }

    fn arm(&mut self, id: PipeId) -> Result<Vec<Stmt>> {
        self.announce(id)
    }

    fn commit(&mut self, id: PipeId) -> Result<Vec<Stmt>> {
        let pipe = self.pipe(id)?;
        match pipe.full {
            Full::Group(Engine::Copies) => self.sync((Act::CommitCopies, Scope::Thread), []),
            Full::Group(Engine::Products) => self.sync((Act::CommitProducts, Scope::Warpgroup), []),
            Full::Group(Engine::Stores) => self.staging_full(),
            Full::Arrivals => self.pass_turn(),
            Full::Flag => self.raise_flag(),
            // The last of its bytes fills a slot.
            Full::Bytes(_) => self.strange(pipe, "groups"),
        }
    }

    fn wait_for(&mut self, id: PipeId, lag: u32) -> Result<Vec<Stmt>> {
        let pipe = self.pipe(id)?;
        let groups = ("groups", Arg::Imm(i64::from(lag)));
        match pipe.full {
            Full::Bytes(_) if lag == 0 => self.await_full(id),
            Full::Arrivals if lag == 0 => self.take_turn(),
            Full::Group(Engine::Copies) => self.sync((Act::AwaitCopies, Scope::Thread), [groups]),
            Full::Group(Engine::Products) => self.await_products(lag),
            Full::Bytes(_) | Full::Arrivals | Full::Flag => self.strange(pipe, "slots in flight"),
            Full::Group(Engine::Stores) => self.strange(pipe, "what is filled by an engine"),
        }
    }

    fn release(&mut self, id: PipeId, lag: u32) -> Result<Vec<Stmt>> {
        let pipe = self.pipe(id)?;
        match pipe.full {
            Full::Bytes(_) => self.give_back(id, lag),
            Full::Arrivals | Full::Flag | Full::Group(_) => {
                self.strange(pipe, "barriers of empty slots")
            }
        }
    }

    fn skip(&mut self, id: PipeId, end: End, trips: Trips) -> Result<Vec<Stmt>> {
        let pipe = self.pipe(id)?;
        match (pipe.full, end, trips) {
            (Full::Bytes(_), _, trips) => self.advance(id, trips),
            (Full::Group(Engine::Copies), End::Fill, Trips::One) => {
                Ok(vec![self.next_buffer(self.state.write)])
            }
            (Full::Group(Engine::Copies), End::Empty, Trips::One) => {
                Ok(vec![self.next_buffer(self.state.read)])
            }
            (Full::Group(_) | Full::Arrivals | Full::Flag, ..) => self.strange(pipe, "places"),
        }
    }

    fn restart(&mut self, id: PipeId) -> Result<Vec<Stmt>> {
        let pipe = self.pipe(id)?;
        match pipe.full {
            Full::Group(Engine::Copies) => {
                let places = [self.state.write, self.state.read];
                Ok(places.map(|at| Stmt::Assign(at, int(0))).to_vec())
            }
            Full::Bytes(_) | Full::Arrivals | Full::Flag | Full::Group(_) => {
                self.strange(pipe, "places to begin anew at")
            }
        }
    }

    fn drain(&mut self, id: PipeId) -> Result<Vec<Stmt>> {
        let pipe = self.pipe(id)?;
        match pipe.full {
            Full::Bytes(_) => self.await_all_empty(id),
            Full::Group(Engine::Copies) => {
                let none = [("groups", Arg::Imm(0))];
                self.sync((Act::AwaitCopies, Scope::Thread), none)
            }
            Full::Group(Engine::Stores) => self.staging_drain(),
            Full::Group(Engine::Products) => match pipe.tiles.as_slice() {
                [] => self.strange(pipe, "accumulators"),
                acc => self.mma_done(acc),
            },
            Full::Arrivals | Full::Flag => self.strange(pipe, "slots to be emptied"),
        }
    }
}
