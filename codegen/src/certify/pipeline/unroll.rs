//! A team's operations in the order they run, for work tiles of those numbers and trips.

use std::collections::VecDeque;

use crate::ir::tile::{Kernel, Op, PipeId, Sync, View};

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
    pub out: VecDeque<Step<'k>>,
}

impl<'k> Unroll<'k, '_> {
    pub fn ops(&mut self, ops: &'k [Op], trips: u32) -> Result<(), String> {
        for op in ops {
            match op {
                Op::ForEachWorkTile(body) => {
                    for (number, trips) in self.tiles {
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
                Op::IfInside(way, other)
                | Op::IfBoxesEnd(way, other)
                | Op::IfContinues(other, way) => {
                    // Others do not see which way a branch goes.
                    let seen = |op: &&Op| is_shared(self.kernel, op);
                    if let Some(op) = way.iter().chain(other).find(seen) {
                        return Err(format!("{op:?} is done on one way of a branch only"));
                    }
                    self.branches += 1;
                    let second = self.turns && self.branches.is_multiple_of(2);
                    self.ops(if second { other } else { way }, trips)?;
                }
                op => self.out.push_back(Step::Op(op)),
            }
        }
        Ok(())
    }
}

/// Whether an operation, or one in its bodies, does something that other members see.
fn is_shared(kernel: &Kernel, op: &Op) -> bool {
    let any = |ops: &[Op]| ops.iter().any(|op| is_shared(kernel, op));
    let guarded = |id: PipeId| kernel.engine(id).is_none();
    let slot = |view: &View| kernel.pipe_of(view.tile()).is_some_and(guarded);
    match op {
        Op::Sync(sync) => match sync {
            Sync::Acquire(id)
            | Sync::Arm(id)
            | Sync::Commit(id)
            | Sync::Await(id, _)
            | Sync::Release(id, _)
            | Sync::Skip(id, ..)
            | Sync::Drain(id) => guarded(*id),
            Sync::Meet | Sync::Follow => true,
        },
        Op::Copy { from, to, .. } => slot(from) || slot(to),
        Op::Mma { a, b, .. } => slot(a) || slot(b),
        Op::ForEachWorkTile(body) | Op::ForEachKTile(body) => any(body),
        Op::IfInside(way, other) | Op::IfBoxesEnd(way, other) | Op::IfContinues(way, other) => {
            any(way) || any(other)
        }
        Op::Teams(teams) => teams.iter().any(|(_, body)| any(body)),
        Op::InitPipes => true,
        Op::Map { .. } | Op::GivePartial(_) | Op::FixUp(_) | Op::Section | Op::NextTile => false,
    }
}
