//! A team's operations in the order they run, for work tiles of those numbers and trips.

use std::collections::VecDeque;

use crate::ir::tile::{Full, Kernel, Op, PipeId, Sync, View};
use crate::plan::data::values::Order;

/// One step of a team, unrolled.
#[derive(Clone, Copy, Debug)]
pub(in crate::certify) enum Step<'k> {
    Op(&'k Op),
    /// A work tile of that number begins.
    Tile(usize),
    /// A trip along k begins, or along chunks, of that number in its tile; none behind the last.
    Trip(Option<u32>),
    /// The partial sums of that CTA come next.
    Giver(usize),
}

/// A work tile of a CTA, as far as it decides which operations run.
#[derive(Clone, Debug)]
pub(in crate::certify) struct WorkTile {
    /// Trips along k.
    pub trips: u32,
    /// Whether it continues an output tile that another CTA begins.
    pub continues: bool,
    /// The CTAs that continue it, in the order of k.
    pub givers: Vec<usize>,
    /// What its branches at edges do.
    pub edge: Edge,
    /// Chunks of the mode that it has all of.
    pub chunks: Chunks,
}

/// Chunks of a mode.
#[derive(Clone, Copy, Debug)]
pub(in crate::certify) struct Chunks {
    /// Those that are wholly inside.
    pub whole: u32,
    /// Whether there is a rest of less than a chunk.
    pub rest: bool,
}

/// Which way branches at the edges of the output go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::certify) enum Edge {
    /// The first way.
    First,
    /// Both ways, by turns.
    Turns,
    /// As the tile lies: whether it is inside, and whether its boxes end where the output does.
    Lies {
        inside: bool,
        vectors: bool,
        boxes_end: bool,
    },
}

/// A team's operations in the order they run.
pub(super) struct Unroll<'k, 't> {
    kernel: &'k Kernel,
    /// Work tiles with their numbers.
    tiles: &'t [(usize, &'t WorkTile)],
    /// Branches that went by turns.
    branches: u32,
    out: VecDeque<Step<'k>>,
}

impl<'k> Unroll<'k, '_> {
    /// The steps of a team's operations over work tiles of those numbers.
    pub fn steps(
        kernel: &'k Kernel,
        tiles: &[(usize, &WorkTile)],
        ops: &'k [Op],
    ) -> Result<VecDeque<Step<'k>>, String> {
        let mut unrolled = Unroll {
            kernel,
            tiles,
            branches: 0,
            out: VecDeque::new(),
        };
        unrolled.ops(ops, None)?;
        Ok(unrolled.out)
    }

    fn ops(&mut self, ops: &'k [Op], tile: Option<&WorkTile>) -> Result<(), String> {
        let here = |op: &Op| tile.ok_or_else(|| format!("{op:?} is outside of work tiles"));
        for op in ops {
            match op {
                Op::ForEachWorkTile(body) => {
                    for (number, tile) in self.tiles {
                        self.out.push_back(Step::Tile(*number));
                        self.ops(body, Some(tile))?;
                    }
                }
                Op::ForEachKTile(body) => {
                    for trip in 0..here(op)?.trips {
                        self.out.push_back(Step::Trip(Some(trip)));
                        self.ops(body, tile)?;
                    }
                    self.out.push_back(Step::Trip(None));
                }
                Op::ForEachChunk(order, body, rest) => {
                    let Chunks {
                        whole,
                        rest: is_cut,
                    } = here(op)?.chunks;
                    let chunks = (0..whole).map(|chunk| (chunk, body));
                    let mut chunks: Vec<_> = chunks.collect();
                    chunks.extend(is_cut.then_some((whole, rest)));
                    if *order == Order::Down {
                        chunks.reverse();
                    }
                    for (chunk, ops) in chunks {
                        self.out.push_back(Step::Trip(Some(chunk)));
                        self.ops(ops, tile)?;
                    }
                    self.out.push_back(Step::Trip(None));
                }
                Op::IfContinues(continues, begins) => {
                    self.alike(continues, begins)?;
                    self.waits_for_nobody(continues)?;
                    let second = here(op)?.continues;
                    self.ops(if second { continues } else { begins }, tile)?;
                }
                Op::ForEachPartial(body) => {
                    for giver in &here(op)?.givers {
                        self.out.push_back(Step::Giver(*giver));
                        self.ops(body, tile)?;
                    }
                }
                Op::IfInside(way, other)
                | Op::IfVectors(way, other)
                | Op::IfBoxesEnd(way, other) => {
                    self.alike(way, other)?;
                    let first = match here(op)?.edge {
                        Edge::First => true,
                        Edge::Turns => {
                            self.branches += 1;
                            !self.branches.is_multiple_of(2)
                        }
                        Edge::Lies {
                            inside,
                            vectors,
                            boxes_end,
                        } => match op {
                            Op::IfInside(..) => inside,
                            Op::IfVectors(..) => vectors,
                            _ => boxes_end,
                        },
                    };
                    self.ops(if first { way } else { other }, tile)?;
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

    /// Partial sums are waited for in front of the branch, where whose they are is known and shown
    /// to be of CTAs before it in the grid (`coverage`): a wait for them ends once those have come
    /// that far.
    fn waits_for_nobody(&self, continues: &[Op]) -> Result<(), String> {
        let flag =
            |id: &PipeId| (self.kernel.pipe(*id)).is_some_and(|pipe| pipe.full == Full::Flag);
        let waits = |op: &Op| match op {
            Op::Sync(Sync::Await(id, _)) => flag(id),
            Op::ForEachPartial(_) => true,
            _ => false,
        };
        match continues.iter().any(waits) {
            true => Err("who continues a tile waits for partial sums as it gives its own".into()),
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
        // What is read into registers is read while its reader has the slot.
        Op::Copy { from, to, .. } => slot(to) || slot(from) && !matches!(to, View::Rmem(..)),
        Op::Mma { a, b, .. } => slot(a) || slot(b),
        Op::InitPipes => true,
        Op::ForEachWorkTile(_)
        | Op::ForEachPartial(_)
        | Op::ForEachKTile(_)
        | Op::ForEachChunk(..)
        | Op::IfInside(..)
        | Op::IfVectors(..)
        | Op::IfBoxesEnd(..)
        | Op::IfContinues(..)
        | Op::Teams(_) => op
            .bodies()
            .into_iter()
            .flatten()
            .any(|op| is_shared(kernel, op)),
        // Threads meet in folds across warps, and where warps add up what they have, on a branch
        // that all of them take.
        Op::Map { .. }
        | Op::Fold { .. }
        | Op::Accumulate { .. }
        | Op::Combine { .. }
        | Op::AddUp(_)
        | Op::StorePartial(..)
        | Op::AddPartial(..)
        | Op::Section
        | Op::NextTile => false,
    }
}
