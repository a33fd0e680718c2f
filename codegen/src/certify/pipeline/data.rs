//! What copies and products do to slots, buffers and accumulators.

use super::Machine;
use super::buffers::{BufferId, Held};
use crate::ir::tile::{CopyId, End, PipeId, Stage, TileId, View};
use crate::plan::data::moves::BoxCopy;

impl Machine<'_> {
    pub(super) fn copy(
        &mut self,
        at: usize,
        from: View,
        to: View,
        by: CopyId,
    ) -> Result<(), String> {
        let moved = match (from, to) {
            (View::Gmem(_), View::Smem(tile, ..)) => match self.kernel.pipe_of(tile) {
                Some(pipe) if self.is_ring(pipe) => return self.load(at, pipe, by),
                pipe => self.write(at, to, pipe),
            },
            (View::Rmem(held, _), View::Smem(..)) => {
                self.touch(at, held)?;
                self.write(at, to, None)
            }
            (View::Smem(tile, ..), View::Rmem(held, _)) => {
                self.touch(at, held)?;
                match self.kernel.pipe_of(tile) {
                    Some(pipe) if self.is_ring(pipe) => self.read_slot(at, pipe),
                    _ => self.read(at, from, None),
                }
            }
            (View::Smem(tile, ..), View::Gmem(_)) => self.read(at, from, self.kernel.pipe_of(tile)),
            (View::Gmem(_) | View::Next(_), View::Rmem(held, _))
            | (View::Rmem(held, _), View::Gmem(_)) => {
                return self.touch(at, held);
            }
            (View::Looked(_, table), View::Rmem(held, _))
            | (View::Rmem(held, _), View::Looked(_, table)) => {
                self.touch(at, table)?;
                return self.touch(at, held);
            }
            (View::Looked(..), _) | (_, View::Looked(..)) => {
                Err("looks rows up that pass no registers".into())
            }
            (View::Next(_), _) | (_, View::Next(_)) => {
                Err("moves what a later trip is at past registers".into())
            }
            (View::Gmem(_), View::Gmem(_))
            | (View::Smem(..), View::Smem(..))
            | (View::Rmem(..), View::Rmem(..)) => Err("moves a tile to where it is".into()),
        };
        moved.map_err(|error| format!("{} {error}", self.agents[at]))
    }

    fn write(&mut self, at: usize, view: View, by: Option<PipeId>) -> Result<(), String> {
        let buffer = self.buffer(at, view)?;
        self.agents[at].own.write(buffer, by)
    }

    /// Reads a slot that barriers guard, which the member has been given.
    fn read_slot(&self, at: usize, pipe: PipeId) -> Result<(), String> {
        let (cta, slot, _) = self.place(at, pipe, End::Empty);
        match self.pipes[pipe.0].slots[cta][slot].holders.contains(&at) {
            true => Ok(()),
            false => Err(format!("reads slot {slot} unawaited")),
        }
    }

    fn read(&mut self, at: usize, view: View, by: Option<PipeId>) -> Result<(), String> {
        let buffer = self.buffer(at, view)?;
        self.agents[at].own.read(buffer, by)
    }

    pub(super) fn touch(&mut self, at: usize, tile: TileId) -> Result<(), String> {
        let agent = &mut self.agents[at];
        let touched = agent.own.touch(tile);
        touched.map_err(|error| format!("{agent} {error}"))
    }

    /// The buffer that a view is of.
    pub fn buffer(&self, at: usize, view: View) -> Result<BufferId, String> {
        let View::Smem(tile, stage, block) = view else {
            return Err("looks for a buffer outside shared memory".into());
        };
        let pipe = self.kernel.pipe_of(tile);
        let number = match (stage, pipe, block) {
            (Stage::Fixed(number), ..) => number,
            (Stage::At(end), Some(pipe), _) => self.place(at, pipe, end).1 as u32,
            (Stage::Turn, Some(pipe), Some(block)) => block % self.slots(pipe),
            _ => return Err("looks for a slot of no pipe".into()),
        };
        Ok((tile, number))
    }

    /// Products of fragments, which loads have left in registers; or of slots, which the member has
    /// been given, or of a slot and fragments, which are to stay as they are until products are
    /// done.
    pub(super) fn mma(
        &mut self,
        at: usize,
        acc: &[TileId],
        factors: [View; 2],
    ) -> Result<(), String> {
        let mut read = Vec::new();
        let mut registers = Vec::new();
        for view in factors {
            let View::Smem(tile, ..) = view else {
                self.touch(at, view.tile())?;
                registers.push(Held::Registers(view.tile()));
                continue;
            };
            let ring = self.kernel.pipe_of(tile).filter(|id| self.is_ring(*id));
            let ring = ring.ok_or("products read slots that barriers guard")?;
            let given = self.read_slot(at, ring);
            given.map_err(|error| format!("{} {error}", self.agents[at]))?;
            let position = self.agents[at].places[ring.0][End::Empty as usize];
            read.push(Held::Slot(ring, position));
        }
        if read.is_empty() {
            return acc.iter().try_for_each(|acc| self.touch(at, *acc));
        }
        read.extend(registers);
        let pipes: Vec<_> = acc.iter().map(|acc| self.kernel.pipe_of(*acc)).collect();
        let products = match pipes.first() {
            Some(Some(first)) if pipes.iter().all(|pipe| *pipe == Some(*first)) => *first,
            _ => return Err("products of slots are a pipe".into()),
        };
        let agent = &mut self.agents[at];
        let started = agent.own.multiply(products, acc, &read);
        started.map_err(|error| format!("{agent} {error}"))
    }

    /// The CTAs that get what that one loads.
    pub fn sharers(&self, cta: usize, copy: &BoxCopy) -> Vec<usize> {
        let cluster = self.kernel.work.cluster();
        self.of_cluster(cta, |rank| cluster.sharers(copy.shared_along, rank))
    }

    fn load(&mut self, at: usize, id: PipeId, by: CopyId) -> Result<(), String> {
        let ring = self.ring(id)?;
        let copy = by
            .boxes(self.plan)
            .ok_or("slots are filled by boxes, which complete on their barrier")?;
        let bytes = copy.box_bytes() * copy.places.len() as i64;
        let (cta, slot, _) = self.place(at, id, End::Fill);
        self.agents[at].own.fill(id);
        let into = self.sharers(cta, copy);
        let shared = &mut self.pipes[id.0];
        for cta in into {
            let whole = i64::from(ring.bytes);
            let state = &mut shared.slots[cta][slot];
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
            let barrier = &mut shared.full[cta][slot];
            barrier.bytes -= bytes;
            barrier.settle();
        }
        Ok(())
    }
}
