//! What walks over operations ask of them: their bodies, the pipe they are on, and what it is.

use super::{Engine, Full, Kernel, Op, Pipe, PipeId, Sync, TileId, View};

impl Sync {
    /// The pipe that it is on; none where threads meet or the kernel follows another.
    pub fn pipe(self) -> Option<PipeId> {
        match self {
            Sync::Acquire(pipe)
            | Sync::Arm(pipe)
            | Sync::Commit(pipe)
            | Sync::Await(pipe, _)
            | Sync::Release(pipe, _)
            | Sync::Skip(pipe, ..)
            | Sync::Drain(pipe)
            | Sync::Restart(pipe) => Some(pipe),
            Sync::Meet | Sync::Follow => None,
        }
    }
}

impl Op {
    /// The operations in its bodies, in the order of the kernel's text; none of one without.
    pub fn bodies(&self) -> Vec<&[Op]> {
        match self {
            Op::Teams(teams) => teams.iter().map(|(_, body)| body.as_slice()).collect(),
            Op::ForEachWorkTile(body) | Op::ForEachPartial(body) | Op::ForEachKTile(body) => {
                vec![body]
            }
            Op::IfBoxesEnd(way, other)
            | Op::IfContinues(way, other)
            | Op::IfInside(way, other)
            | Op::IfVectors(way, other)
            | Op::ForEachChunk(_, way, other) => {
                vec![way, other]
            }
            Op::Section
            | Op::Copy { .. }
            | Op::Map { .. }
            | Op::Fold { .. }
            | Op::Accumulate { .. }
            | Op::Combine { .. }
            | Op::AddUp(_)
            | Op::Mma { .. }
            | Op::Sync(_)
            | Op::NextTile
            | Op::InitPipes
            | Op::StorePartial(..)
            | Op::AddPartial(..) => Vec::new(),
        }
    }
}

impl Op {
    /// Whether entries of that tile say where it, or an operation in its bodies, moves elements.
    fn looks_up(&self, tile: TileId) -> bool {
        let by = |view: &View| matches!(view, View::Looked(_, table) if *table == tile);
        match self {
            Op::Copy { from, to, .. } => by(from) || by(to),
            other => {
                let mut inside = other.bodies().into_iter().flatten();
                inside.any(|op| op.looks_up(tile))
            }
        }
    }
}

impl Kernel {
    /// Whether a tile holds entries of a table: of elements that are not there they lead nowhere.
    pub fn is_table(&self, tile: TileId) -> bool {
        self.body.iter().any(|op| op.looks_up(tile))
    }

    /// The pipe of that number.
    pub fn pipe(&self, id: PipeId) -> Option<&Pipe> {
        self.pipes.get(id.0)
    }

    /// The pipe whose slots are the buffers of a tile.
    pub fn pipe_of(&self, tile: TileId) -> Option<PipeId> {
        let holds = |pipe: &Pipe| pipe.tiles.contains(&tile);
        self.pipes.iter().position(holds).map(PipeId)
    }

    /// What works beside the threads on a pipe; none where barriers or flags guard its slots.
    pub fn engine(&self, pipe: PipeId) -> Option<Engine> {
        match self.pipe(pipe)?.full {
            Full::Group(engine) => Some(engine),
            Full::Bytes(_) | Full::Arrivals | Full::Flag => None,
        }
    }
}
