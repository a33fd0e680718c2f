//! A team's operations in the order they run, for work tiles of those numbers and trips.

use std::collections::VecDeque;

use crate::ir::tile::{Full, Kernel, Op, PipeId, Sync, View};

/// One step of a team, unrolled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'k> {
    Op(&'k Op),
    /// A work tile of that number begins.
    Tile(usize),
    /// A trip along k begins, of that number in its tile; none behind the last.
    Trip(Option<u32>),
}

/// A team's operations in the order they run.
pub(super) struct Unroll<'k, 't> {
    pub kernel: &'k Kernel,
    /// Work tiles by number and trips.
    pub tiles: &'t [(usize, u32)],
    pub turns: bool,
    pub branches: u32,
    /// The work tile that it is at.
    pub tile: usize,
    pub out: VecDeque<Step<'k>>,
}

impl<'k> Unroll<'k, '_> {
    pub fn ops(&mut self, ops: &'k [Op], trips: u32) -> Result<(), String> {
        for op in ops {
            match op {
                Op::ForEachWorkTile(body) => {
                    for (number, trips) in self.tiles {
                        self.tile = *number;
                        self.out.push_back(Step::Tile(*number));
                        self.ops(body, *trips)?;
                    }
                }
                Op::ForEachKTile(body) => {
                    for trip in 0..trips {
                        self.out.push_back(Step::Trip(Some(trip)));
                        self.ops(body, trips)?;
                    }
                    self.out.push_back(Step::Trip(None));
                }
                // By turns, every other work tile continues an output tile, and what begins one is
                // continued.
                Op::IfContinues(continues, begins) => {
                    self.alike(continues, begins)?;
                    self.waits_for_nobody(continues)?;
                    let second = self.turns && self.tile % 2 == 1;
                    self.ops(if second { continues } else { begins }, trips)?;
                }
                Op::ForEachPartial(body) => {
                    for _ in 0..if self.turns { 2 } else { 0 } {
                        self.ops(body, trips)?;
                    }
                }
                Op::IfInside(way, other) | Op::IfBoxesEnd(way, other) => {
                    self.alike(way, other)?;
                    self.branches += 1;
                    let second = self.turns && self.branches.is_multiple_of(2);
                    self.ops(if second { other } else { way }, trips)?;
                }
                op => self.out.push_back(Step::Op(op)),
            }
        }
        Ok(())
    }

    /// Others do not see which way a branch goes.
    fn alike(&self, way: &[Op], other: &[Op]) -> Result<(), String> {
        let seen = |op: &&Op| is_shared(self.kernel, op);
        match way.iter().chain(other).find(seen) {
            Some(op) => Err(format!("{op:?} is done on one way of a branch only")),
            None => Ok(()),
        }
    }

    /// Who continues an output tile waits for no partial sums before it gives its own: a wait for
    /// them ends once the CTAs before it in the grid have come that far.
    fn waits_for_nobody(&self, continues: &[Op]) -> Result<(), String> {
        let flag =
            |id: &PipeId| (self.kernel.pipe(*id)).is_some_and(|pipe| pipe.full == Full::Flag);
        let waits = |op: &Op| match op {
            Op::Sync(Sync::Await(id, _)) => flag(id),
            Op::ForEachPartial(_) => true,
            _ => false,
        };
        match continues.iter().any(waits) {
            true => Err("who continues a tile waits for partial sums of others".into()),
            false => Ok(()),
        }
    }
}

/// Whether an operation, or one in its bodies, does something that other members see.
fn is_shared(kernel: &Kernel, op: &Op) -> bool {
    // Flags are between CTAs that are in no cluster together.
    let guarded = |id: PipeId| {
        let full = kernel.pipe(id).map(|pipe| pipe.full);
        !matches!(full, Some(Full::Group(_) | Full::Flag))
    };
    let slot = |view: &View| kernel.pipe_of(view.tile()).is_some_and(guarded);
    match op {
        // Meeting, and following another kernel, are for all threads.
        Op::Sync(sync) => sync.pipe().is_none_or(guarded),
        Op::Copy { from, to, .. } => slot(from) || slot(to),
        Op::Mma { a, b, .. } => slot(a) || slot(b),
        Op::InitPipes => true,
        Op::ForEachWorkTile(_)
        | Op::ForEachPartial(_)
        | Op::ForEachKTile(_)
        | Op::IfInside(..)
        | Op::IfBoxesEnd(..)
        | Op::IfContinues(..)
        | Op::Teams(_) => op
            .bodies()
            .into_iter()
            .flatten()
            .any(|op| is_shared(kernel, op)),
        Op::Map { .. } | Op::StorePartial(..) | Op::AddPartial(..) | Op::Section | Op::NextTile => {
            false
        }
    }
}
