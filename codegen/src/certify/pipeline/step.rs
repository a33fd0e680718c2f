//! What each operation of a role does to the barriers and slots, or why it does nothing to them.
//!
//! Operations are matched exhaustively, here and in the clock: a new one does not compile until it
//! is said here what it does.

use super::{Machine, Outcome, Step, WARPS, arrive, missing, wait};
use crate::ir::tile::{CopyId, Distance, Op, Slot, View};

impl<'k> Machine<'k> {
    pub(super) fn step(&mut self, at: usize, step: Step<'k>) -> Result<Outcome, String> {
        let stages = u64::from(self.roles.ring.stages);
        let (cta, position) = (self.agents[at].cta, self.agents[at].position);
        let slot = (position % stages) as usize;
        let round = position / stages;
        let op = match step {
            Step::Trip(first) => {
                self.agents[at].first_trip = first;
                return Ok(Outcome::Done);
            }
            Step::Tile(number) => {
                self.agents[at].tile = number;
                return Ok(Outcome::Done);
            }
            Step::Op(op) => op,
        };
        match op {
            // The first round's slots are empty without anybody's word.
            Op::Acquire if round == 0 => {}
            Op::Acquire => {
                let what = format!("slot {slot} to be empty");
                return wait(&self.empty[cta][slot], round - 1, what);
            }
            Op::Drain => return Ok(self.drained(cta, position)),
            Op::Arm => {
                let barrier = &mut self.full[cta][slot];
                barrier.bytes += i64::from(self.roles.ring.bytes);
                arrive(barrier, 1, || format!("full barrier of slot {slot}"))?;
            }
            Op::Copy { from, to, by, .. } => match (from, to) {
                (View::Gmem(_), View::Smem(..)) => self.load(at, *by, slot)?,
                // Results on their way out of the role's own registers. Its staging buffers are no
                // slots of the ring: only its own warpgroup writes and stores them, in the order
                // that its bulk groups and a barrier of its own keep.
                (View::Rmem(..), View::Smem(..) | View::Gmem(_))
                | (View::Smem(..), View::Gmem(_)) => {}
                // Operands come by slots; nothing would order such a read.
                (_, View::Rmem(..))
                | (View::Gmem(_), View::Gmem(_))
                | (View::Smem(..), View::Smem(..)) => return Err(foreign(op)),
            },
            Op::Await => {
                let what = format!("slot {slot} to be full");
                let outcome = wait(&self.full[cta][slot], round, what)?;
                if matches!(outcome, Outcome::Done) {
                    self.slots[cta][slot].holders.push(at);
                    self.slots[cta][slot].used = true;
                }
                return Ok(outcome);
            }
            Op::Mma {
                a: View::Smem(..),
                b: View::Smem(..),
                ..
            } => {
                if !self.slots[cta][slot].holders.contains(&at) {
                    return Err(format!("{} reads slot {slot} unawaited", self.agents[at]));
                }
                self.agents[at].reading.push_back(position);
            }
            Op::MmaWait(groups) => {
                let reading = &mut self.agents[at].reading;
                let over = reading.len().saturating_sub(*groups as usize);
                reading.drain(..over);
            }
            Op::MmaDone(_) => self.agents[at].reading.clear(),
            Op::Release(which) => self.release(at, *which)?,
            Op::Advance(distance) => self.go(at, *distance),
            Op::TakeTurn => return self.take_turn(at),
            Op::PassTurn => {
                let next = (self.agents[at].number + 1) % self.roles.consumers;
                let barrier = &mut self.turns[cta][next as usize];
                arrive(barrier, 1, || format!("turn of consumer {next}"))?;
            }
            // Registers of the role's own.
            Op::Map { .. } => {}
            // Staging buffers, as above.
            Op::StagingFree(_) | Op::StagingFull | Op::StagingDrain => {}
            // Flags in scratch memory, between CTAs that are in no cluster together. A CTA waits
            // only for those before it in the grid, and those wait for nobody before they raise
            // theirs: no wait for a slot can depend on it.
            Op::GivePiece(_) | Op::TakePieces(_) => {}
            // Their bodies are unrolled, see `unroll`.
            Op::ForEachTile(_)
            | Op::ForEachPiece(_)
            | Op::ForEachKTile(_)
            | Op::IfInside(..)
            | Op::IfBoxesEnd(..)
            | Op::IfContinues(..) => return Err(foreign(op)),
            // All threads of a CTA do these: the roles have parted.
            Op::Raster(_)
            | Op::Barrier
            | Op::InitBarriers
            | Op::FollowGrid
            | Op::Roles(_)
            | Op::NextTile
            | Op::NextRead => return Err(foreign(op)),
            // Groups of cp.async and fragments of a main loop without roles.
            Op::Commit | Op::Wait(_) | Op::Mma { .. } => return Err(foreign(op)),
        }
        Ok(Outcome::Done)
    }

    /// Moves a role along the ring.
    fn go(&mut self, at: usize, distance: Distance) {
        let each = u64::from(self.each());
        let agent = &mut self.agents[at];
        agent.position = match distance {
            Distance::Slot => agent.position + 1,
            Distance::Tile => agent.position + each,
            Distance::Turns => agent.position + each * u64::from(agent.number),
            Distance::Piece => {
                let before = self.trips.iter().take(agent.tile);
                before.copied().map(u64::from).sum()
            }
        };
    }

    /// Whether every slot up to that position has come back.
    fn drained(&self, cta: usize, position: u64) -> Outcome {
        let stages = u64::from(self.roles.ring.stages);
        for slot in 0..stages {
            let fillings = (position + stages - 1 - slot) / stages;
            let barrier = &self.empty[cta][slot as usize];
            if barrier.phase < fillings {
                let what = format!("slot {slot} to be empty at the end");
                return Outcome::Blocked(missing(&what, barrier));
            }
        }
        Outcome::Done
    }

    fn take_turn(&mut self, at: usize) -> Result<Outcome, String> {
        let agent = &self.agents[at];
        let (turn, number) = (agent.turn, agent.number);
        let before = if number == 0 {
            turn.checked_sub(1)
        } else {
            Some(turn)
        };
        if let Some(phase) = before {
            let barrier = &self.turns[agent.cta][number as usize];
            if let Outcome::Blocked(what) = wait(barrier, phase, "its turn".to_string())? {
                return Ok(Outcome::Blocked(what));
            }
        }
        self.agents[at].turn += 1;
        Ok(Outcome::Done)
    }

    fn load(&mut self, at: usize, by: CopyId, slot: usize) -> Result<(), String> {
        let copy = by
            .boxes(self.plan)
            .ok_or("slots are filled by boxes, which complete on their barrier")?;
        let bytes = copy.box_bytes() * copy.places.len() as i64;
        for cta in self.roles.sharers(copy, self.agents[at].cta as u32) {
            let cta = cta as usize;
            let whole = i64::from(self.roles.ring.bytes);
            let state = &mut self.slots[cta][slot];
            if let Some(holder) = state.holders.first() {
                return Err(format!(
                    "{} fills slot {slot} of CTA {cta} while {} reads it",
                    self.agents[at], self.agents[*holder]
                ));
            }
            if state.filled == whole {
                if !state.used {
                    return Err(format!(
                        "{} fills slot {slot} of CTA {cta}, which nobody has read yet",
                        self.agents[at]
                    ));
                }
                (state.filled, state.used) = (0, false);
            }
            state.filled += bytes;
            let barrier = &mut self.full[cta][slot];
            barrier.bytes -= bytes;
            barrier.settle();
        }
        Ok(())
    }

    fn release(&mut self, at: usize, which: Slot) -> Result<(), String> {
        let agent = &self.agents[at];
        let position = match which {
            Slot::Current => agent.position,
            Slot::Previous if agent.first_trip => return Ok(()),
            Slot::Previous => match agent.position.checked_sub(1) {
                Some(position) => position,
                None => return Err(format!("{agent} gives a slot back before it had one")),
            },
        };
        let slot = (position % u64::from(self.roles.ring.stages)) as usize;
        if agent.reading.contains(&position) {
            return Err(format!(
                "{agent} gives slot {slot} back while its products read it"
            ));
        }
        let cta = agent.cta;
        let holders = &mut self.slots[cta][slot].holders;
        let Some(held) = holders.iter().position(|holder| *holder == at) else {
            return Err(format!("{agent} gives slot {slot} back without having it"));
        };
        holders.remove(held);
        for other in self.roles.neighbourhood(cta as u32) {
            let barrier = &mut self.empty[other as usize][slot];
            arrive(barrier, WARPS, || {
                format!("empty barrier of slot {slot} of CTA {other}")
            })?;
        }
        Ok(())
    }
}

fn foreign(op: &Op) -> String {
    format!("{op:?} is no operation of a role")
}

/// Whether an operation, or one in its bodies, does something to slots, barriers or turns.
pub(super) fn is_of_pipeline(op: &Op) -> bool {
    let any = |ops: &[Op]| ops.iter().any(is_of_pipeline);
    match op {
        Op::Acquire
        | Op::Arm
        | Op::Await
        | Op::Release(_)
        | Op::Advance(_)
        | Op::Drain
        | Op::MmaWait(_)
        | Op::MmaDone(_)
        | Op::TakeTurn
        | Op::PassTurn => true,
        Op::Copy { from, to, .. } => matches!((from, to), (View::Gmem(_), View::Smem(..))),
        Op::Mma { a, .. } => matches!(a, View::Smem(..)),
        Op::ForEachTile(body) | Op::ForEachPiece(body) | Op::ForEachKTile(body) => any(body),
        Op::IfInside(way, other) | Op::IfBoxesEnd(way, other) | Op::IfContinues(way, other) => {
            any(way) || any(other)
        }
        Op::Roles(roles) => roles.iter().any(|role| any(&role.body)),
        Op::Map { .. }
        | Op::StagingFree(_)
        | Op::StagingFull
        | Op::StagingDrain
        | Op::GivePiece(_)
        | Op::TakePieces(_)
        | Op::Raster(_)
        | Op::Barrier
        | Op::InitBarriers
        | Op::FollowGrid
        | Op::NextTile
        | Op::NextRead
        | Op::Commit
        | Op::Wait(_) => false,
    }
}
