//! What walks over operations ask of them: their bodies, the pipe they are on.

use super::{Op, PipeId, Sync};

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
            | Sync::Drain(pipe) => Some(pipe),
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
            | Op::IfVectors(way, other) => {
                vec![way, other]
            }
            Op::Section
            | Op::Copy { .. }
            | Op::Map { .. }
            | Op::Fold { .. }
            | Op::Mma { .. }
            | Op::Sync(_)
            | Op::NextTile
            | Op::InitPipes
            | Op::StorePartial(..)
            | Op::AddPartial(..) => Vec::new(),
        }
    }
}
