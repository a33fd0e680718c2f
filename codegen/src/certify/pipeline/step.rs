//! What each operation of a team does to pipes and slots, or why it does nothing to them.
//!
//! Operations are matched exhaustively, here and in the clock: a new one does not compile until it
//! is said here what it does.

use super::Machine;
use super::barriers::{Outcome, arrive, missing, wait};
use super::buffers::Own;
use super::unroll::Step;
use crate::ir::tile::{Across, End, Engine, Every, Full, Op, PipeId, Sync, Trips};
use crate::plan::data::teams::{Team, WARPS};
use crate::plan::data::warp_roles::Ring;

impl<'k> Machine<'k> {
    /// A member's step, if it is not held up.
    pub fn step(&mut self, at: usize, step: Step<'k>) -> Result<Outcome, String> {
        let op = match step {
            Step::Trip(trip) => {
                self.agents[at].trip = trip;
                return Ok(Outcome::Done);
            }
            Step::Tile(number) => {
                self.agents[at].tile = number;
                return Ok(Outcome::Done);
            }
            Step::Giver(_) => return Ok(Outcome::Done),
            Step::Op(op) => op,
        };
        match op {
            Op::Sync(sync) => return self.sync(at, *sync),
            Op::Copy { from, to, by, .. } => self.copy(at, *from, *to, *by)?,
            Op::Mma { acc, a, b, .. } => self.mma(at, acc, [*a, *b])?,
            Op::Map { to, from, .. } => {
                for view in std::iter::once(to).chain(from) {
                    self.touch(at, view.tile())?;
                }
            }
            // Threads meet between what they write into a fold's scratch and what they read there,
            // and no other operation has that place.
            Op::Fold { to, from, .. } | Op::Accumulate { to, from, .. } => {
                for view in [to, from] {
                    self.touch(at, view.tile())?;
                }
            }
            Op::Combine { from, held, .. } => {
                for view in [held, from] {
                    self.touch(at, view.tile())?;
                }
            }
            // Threads meet behind what they hand on, and behind what they read of it, and no other
            // operation has that place. A ticket orders a tile's terms before what the last one
            // reads; who takes it waits for nobody, so that no wait can depend on it, and the
            // outputs and terms are of nobody else's reads in a launch.
            Op::AddUp(sums) => {
                for held in sums.iter().filter_map(|sum| sum.held) {
                    self.touch(at, held.tile())?;
                }
            }
            Op::StorePartial(acc, _) => {
                self.touch(at, *acc)?;
                self.of_own(at, Own::store_partial)?;
            }
            Op::AddPartial(acc, _) => {
                self.touch(at, *acc)?;
                self.of_own(at, Own::add_partial)?;
            }
            // Places of operands in global memory, and when they are computed.
            Op::Section | Op::NextTile => {}
            // Their bodies are unrolled.
            Op::ForEachWorkTile(_)
            | Op::ForEachPartial(_)
            | Op::ForEachKTile(_)
            | Op::ForEachChunk(..)
            | Op::IfInside(..)
            | Op::IfVectors(..)
            | Op::IfBoxesEnd(..)
            | Op::IfContinues(..) => return Err(foreign(op)),
            // All threads of a CTA do these: the teams have parted.
            Op::InitPipes | Op::Teams(_) => return Err(foreign(op)),
        }
        Ok(Outcome::Done)
    }

    fn sync(&mut self, at: usize, sync: Sync) -> Result<Outcome, String> {
        match sync {
            Sync::Acquire(id) => return self.acquire(at, id),
            Sync::Arm(id) => {
                let ring = self.ring(id)?;
                let (cta, slot, _) = self.place(at, id, End::Fill);
                let barrier = &mut self.pipes[id.0].full[cta][slot];
                barrier.bytes += i64::from(ring.bytes);
                arrive(barrier, 1, || format!("full barrier of slot {slot}"))?;
            }
            Sync::Commit(id) => self.commit(at, id)?,
            Sync::Await(id, lag) => return self.wait_for(at, id, lag),
            Sync::Release(id, lag) => self.release(at, id, lag)?,
            Sync::Skip(id, end, trips) => self.skip(at, id, end, trips),
            Sync::Drain(id) => return self.drain(at, id),
            Sync::Restart(id) => self.restart(at, id)?,
            Sync::Meet if self.agents[at].team == Team::All => self.agents[at].own.meet(),
            Sync::Meet | Sync::Follow => return Err(foreign(&Op::Sync(sync))),
        }
        Ok(Outcome::Done)
    }

    fn acquire(&mut self, at: usize, id: PipeId) -> Result<Outcome, String> {
        let (cta, slot, round) = self.place(at, id, End::Fill);
        match self.full(id)? {
            // The first round's slots are empty without anybody's word.
            Full::Bytes(_) if round == 0 => {}
            Full::Bytes(_) => {
                let what = format!("slot {slot} to be empty");
                return wait(&self.pipes[id.0].empty[cta][slot], round - 1, what);
            }
            Full::Group(Engine::Products) => self.agents[at].own.fence(id),
            Full::Group(Engine::Stores) => {
                let left = self.slots(id) as usize - 1;
                self.agents[at].own.finish(id, left);
                self.agents[at].own.meet();
            }
            Full::Group(Engine::Copies) | Full::Arrivals | Full::Flag => {
                return Err(self.strange(id, "is not asked for empty slots"));
            }
        }
        Ok(Outcome::Done)
    }

    fn commit(&mut self, at: usize, id: PipeId) -> Result<(), String> {
        match self.full(id)? {
            Full::Group(Engine::Copies | Engine::Products) => {
                let agent = &mut self.agents[at];
                let committed = agent.own.commit(id);
                committed.map_err(|error| format!("{agent} {error}"))
            }
            // Its threads meet behind what they wrote, and tell the engine.
            Full::Group(Engine::Stores) => {
                self.agents[at].own.meet();
                Ok(())
            }
            Full::Arrivals => {
                let next = (self.agents[at].number + 1) % self.slots(id);
                let agent = &mut self.agents[at];
                let [passed, taken] = &mut agent.places[id.0];
                if *taken != *passed + 1 {
                    return Err(format!("{agent} passes on a turn that it has not taken"));
                }
                *passed += 1;
                let barrier = &mut self.pipes[id.0].full[agent.cta][next as usize];
                arrive(barrier, 1, || format!("turn of consumer {next}"))
            }
            Full::Flag => self.of_own(at, Own::raise),
            Full::Bytes(_) => Err(self.strange(id, "has no groups")),
        }
    }

    fn wait_for(&mut self, at: usize, id: PipeId, lag: u32) -> Result<Outcome, String> {
        match self.full(id)? {
            Full::Bytes(_) => {
                let (cta, slot, round) = self.place(at, id, End::Empty);
                let what = format!("slot {slot} to be full");
                let shared = &mut self.pipes[id.0];
                let outcome = wait(&shared.full[cta][slot], round, what)?;
                if matches!(outcome, Outcome::Done) {
                    shared.slots[cta][slot].holders.push(at);
                    shared.slots[cta][slot].used = true;
                }
                Ok(outcome)
            }
            Full::Arrivals => self.take_turn(at, id),
            // A CTA waits only for those before it in the grid, which raise their flags before they
            // wait for anybody: no wait for a slot can depend on it.
            Full::Flag => {
                self.of_own(at, Own::await_partial)?;
                Ok(Outcome::Done)
            }
            Full::Group(Engine::Copies | Engine::Products) => {
                self.agents[at].own.finish(id, lag as usize);
                Ok(Outcome::Done)
            }
            Full::Group(Engine::Stores) => Err(self.strange(id, "is emptied by an engine")),
        }
    }

    fn drain(&mut self, at: usize, id: PipeId) -> Result<Outcome, String> {
        match self.full(id)? {
            Full::Bytes(_) => {
                let outcome = self.drained(at, id);
                if matches!(outcome, Outcome::Done) {
                    self.agents[at].own.settle(id);
                }
                Ok(outcome)
            }
            Full::Group(_) => {
                let tiles = self.kernel.pipe(id).map_or(&[][..], |pipe| &pipe.tiles);
                self.agents[at].own.retire(id, tiles);
                Ok(Outcome::Done)
            }
            Full::Arrivals | Full::Flag => Err(self.strange(id, "is never empty")),
        }
    }

    /// A member's ring of copies begins anew, at the first slot.
    fn restart(&mut self, at: usize, id: PipeId) -> Result<(), String> {
        if self.full(id)? != Full::Group(Engine::Copies) {
            return Err(self.strange(id, "goes on where it is"));
        }
        let tiles = self.kernel.pipe(id).map_or(&[][..], |pipe| &pipe.tiles);
        let slots = u64::from(self.slots(id));
        let agent = &mut self.agents[at];
        let [fill, empty] = agent.places[id.0];
        agent.places[id.0] = [fill.max(empty).next_multiple_of(slots); 2];
        let begun = agent.own.restart(id, tiles);
        begun.map_err(|error| format!("{agent} {error}"))
    }

    /// Moves a member's place in a pipe.
    fn skip(&mut self, at: usize, id: PipeId, end: End, trips: Trips) {
        let cta = self.agents[at].cta;
        let every = self.kernel.pipe(id).map(|pipe| pipe.every);
        let slots = |trips: u32| match every {
            Some(Every::WorkTile) => 1,
            Some(Every::Trip) | None => u64::from(trips),
        };
        let each = slots(self.each(cta));
        let before = self.work[cta].iter().take(self.agents[at].tile);
        let before = before.map(|tile| slots(tile.trips)).sum();
        let agent = &mut self.agents[at];
        let place = &mut agent.places[id.0][end as usize];
        *place = match trips {
            Trips::One => *place + 1,
            Trips::Tile => *place + each,
            Trips::Turns => *place + each * u64::from(agent.number),
            Trips::WorkTile => before,
        };
    }

    /// Whether every slot up to a member's place has come back.
    fn drained(&self, at: usize, id: PipeId) -> Outcome {
        let slots = u64::from(self.slots(id));
        let agent = &self.agents[at];
        let position = agent.places[id.0][End::Fill as usize];
        for slot in 0..slots {
            let fillings = (position + slots - 1 - slot) / slots;
            let barrier = &self.pipes[id.0].empty[agent.cta][slot as usize];
            if barrier.phase < fillings {
                let what = format!("slot {slot} to be empty at the end");
                return Outcome::Blocked(missing(&what, barrier));
            }
        }
        Outcome::Done
    }

    fn take_turn(&mut self, at: usize, id: PipeId) -> Result<Outcome, String> {
        let agent = &self.agents[at];
        let (turn, number) = (agent.places[id.0][End::Empty as usize], agent.number);
        let before = if number == 0 {
            turn.checked_sub(1)
        } else {
            Some(turn)
        };
        if let Some(phase) = before {
            let barrier = &self.pipes[id.0].full[agent.cta][number as usize];
            if let Outcome::Blocked(what) = wait(barrier, phase, "its turn".to_string())? {
                return Ok(Outcome::Blocked(what));
            }
        }
        self.agents[at].places[id.0][End::Empty as usize] += 1;
        Ok(Outcome::Done)
    }

    fn release(&mut self, at: usize, id: PipeId, lag: u32) -> Result<(), String> {
        if self.full(id)? == Full::Flag {
            return self.of_own(at, Own::clear);
        }
        self.ring(id)?;
        let agent = &self.agents[at];
        // Of the slots before a tile's first, none is this tile's.
        if agent.trip.is_some_and(|trip| trip < lag) {
            return Ok(());
        }
        let position = agent.places[id.0][End::Empty as usize];
        let position = position.checked_sub(u64::from(lag));
        let position =
            position.ok_or_else(|| format!("{agent} gives a slot back before it had one"))?;
        let slot = (position % u64::from(self.slots(id))) as usize;
        if agent.own.reads(id, position) {
            return Err(format!(
                "{agent} gives slot {slot} back while its products read it"
            ));
        }
        let cta = agent.cta;
        let cluster = self.kernel.work.cluster();
        let shared = self
            .kernel
            .pipe(id)
            .is_some_and(|pipe| pipe.across == Across::Cluster);
        let told = match &self.plan.roles {
            Some(roles) if shared => {
                self.of_cluster(cta, |rank| roles.neighbourhood(cluster, rank))
            }
            _ => vec![cta],
        };
        let shared = &mut self.pipes[id.0];
        let holders = &mut shared.slots[cta][slot].holders;
        let Some(held) = holders.iter().position(|holder| *holder == at) else {
            return Err(format!("{agent} gives slot {slot} back without having it"));
        };
        holders.remove(held);
        for other in told {
            let barrier = &mut shared.empty[other][slot];
            arrive(barrier, WARPS, || {
                format!("empty barrier of slot {slot} of CTA {other}")
            })?;
        }
        Ok(())
    }

    /// What a member does with what is its own.
    fn of_own(
        &mut self,
        at: usize,
        does: fn(&mut Own) -> Result<(), String>,
    ) -> Result<(), String> {
        let agent = &mut self.agents[at];
        let done = does(&mut agent.own);
        done.map_err(|error| format!("{agent} {error}"))
    }

    /// CTA, slot and round of a member's place at an end of a pipe.
    pub fn place(&self, at: usize, id: PipeId, end: End) -> (usize, usize, u64) {
        let slots = u64::from(self.slots(id));
        let agent = &self.agents[at];
        let position = agent.places[id.0][end as usize];
        (agent.cta, (position % slots) as usize, position / slots)
    }

    pub(super) fn slots(&self, id: PipeId) -> u32 {
        self.kernel.pipe(id).map_or(1, |pipe| pipe.slots.max(1))
    }

    fn full(&self, id: PipeId) -> Result<Full, String> {
        let pipe = self.kernel.pipe(id);
        pipe.map(|pipe| pipe.full)
            .ok_or_else(|| format!("there is no pipe {}", id.0))
    }

    pub(super) fn ring(&self, id: PipeId) -> Result<Ring, String> {
        match self.full(id)? {
            Full::Bytes(ring) => Ok(ring),
            Full::Arrivals | Full::Flag | Full::Group(_) => {
                Err(self.strange(id, "has no slots of bytes"))
            }
        }
    }

    pub(super) fn is_ring(&self, id: PipeId) -> bool {
        self.ring(id).is_ok()
    }

    fn strange(&self, id: PipeId, what: &str) -> String {
        let name = self.kernel.pipe(id).map_or("?", |pipe| pipe.name);
        format!("the pipe {name} {what}")
    }
}

fn foreign(op: &Op) -> String {
    format!("{op:?} is no operation of a team")
}
