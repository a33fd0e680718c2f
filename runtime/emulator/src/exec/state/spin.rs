//! Loops that wait, as far as a warp knows of them: one that is looked at, and one that is known.

use std::collections::{BTreeMap, BTreeSet};

use super::frame::Frame;
use crate::counters::Counters;
use crate::inst::{Lanes, Named};

/// Instructions of a warp before one of its loops is looked at.
pub(crate) const FIRST_LOOK: u64 = 4096;

/// What a warp knows of the loop that it may be in.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The loop that is looked at.
    pub(crate) look: Option<Box<Look>>,
    /// The loop that the warp is in, while it is known to change nothing that others see.
    pub(crate) spin: Option<Box<Spin>>,
    /// The way of the last loop that was known, for the next look.
    pub(crate) known: Vec<u32>,
    /// Instructions executed when the next loop is looked at, and how many later the one after.
    pub(crate) look_at: u64,
    pub(crate) look_again: u64,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch {
            look: None,
            spin: None,
            known: Vec::new(),
            look_at: FIRST_LOOK,
            look_again: FIRST_LOOK,
        }
    }

    /// Whether the warp's stores are compared with what is there.
    pub(crate) fn compares(&self) -> bool {
        self.is_on() || !self.known.is_empty()
    }

    /// Whether a loop is looked at or known.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.look.is_some() || self.spin.is_some()
    }
}

/// A loop that is looked at, from its head on.
#[derive(Debug)]
pub(crate) struct Look {
    /// Where an iteration begins; its group is alone in being ready.
    pub(crate) head: u32,
    pub(crate) lanes: u32,
    /// Groups of the warp.
    pub(crate) groups: usize,
    /// What the warp held at the head.
    pub(crate) frame: Frame,
    pub(crate) carry: u32,
    /// The state's count of changes at the head.
    pub(crate) changed: u64,
    /// [`State::changes`](super::State) behind the warp's last turn.
    pub(crate) seen: u64,
    /// The instructions since then.
    pub(crate) path: Vec<u32>,
    /// The registers that each of them names, and those that any of them writes.
    pub(crate) named: BTreeMap<u32, Named>,
    pub(crate) written: BTreeSet<u32>,
    pub(crate) stage: Stage,
}

/// How far a look has come.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Is there a number of instructions after which everything is as it was?
    Survey(Survey),
    /// What does each of so many instructions do?
    Record(Record),
}

/// The search for the length of an iteration.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Times that influences were followed.
    pub(crate) tries: u32,
    /// The fewest registers that were seen to differ at the head.
    pub(crate) fewest: usize,
    /// The length of an iteration after which only what bounds the loop is another.
    pub(crate) bounded: Option<usize>,
}

/// One iteration, instruction by instruction.
#[derive(Debug)]
pub(crate) struct Record {
    /// The instructions that it must have.
    pub(crate) expected: Vec<u32>,
    /// Whether they are those of a loop that was known.
    pub(crate) known: bool,
    pub(crate) steps: Vec<Step>,
    /// What they counted before each of them, and together.
    pub(crate) counters: Vec<Counters>,
    /// Whether there was a finding.
    pub(crate) found: bool,
}

/// One instruction of an iteration.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) pc: u32,
    /// The lanes that its guard left.
    pub(crate) active: u32,
    /// Whether it polls a barrier in vain, which ends the warp's turn.
    pub(crate) polls: bool,
    /// Whether it changed what it writes.
    pub(crate) changed: bool,
    /// What it wrote, when it does more than compute: registers and predicates.
    pub(crate) wrote: Vec<(u32, Box<Lanes>)>,
}

/// What has to be done again where an iteration is counted and not executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    /// The index of the step.
    pub(crate) step: usize,
    /// Its guard has to leave the same lanes.
    pub(crate) checked: bool,
    /// It changes registers.
    pub(crate) writes: bool,
    /// It has to be executed; else what it wrote is written.
    pub(crate) computes: bool,
}

/// A loop of which each iteration takes the same way, reads the same and changes nothing that
/// others see, until somebody else changes what it reads.
#[derive(Debug)]
pub(crate) struct Spin {
    pub(crate) lanes: u32,
    /// Groups of the warp.
    pub(crate) groups: usize,
    /// One iteration, and what it counts before each of its steps, and as a whole.
    pub(crate) steps: Vec<Step>,
    pub(crate) counters: Vec<Counters>,
    pub(crate) again: Vec<Again>,
    /// The registers that those change.
    pub(crate) slots: Vec<u32>,
    /// The step that is next.
    pub(crate) at: usize,
    /// Whether the race detector sees accesses of it, so that the last iteration has to be executed
    /// before anybody else does something.
    pub(crate) is_seen: bool,
    /// Steps before the next one that are owed: neither executed nor counted as yet; and what the
    /// registers that change held before them.
    pub(crate) owed: usize,
    pub(crate) kept: Vec<(u32, Box<Lanes>)>,
    /// Whether the loop ends by itself some time.
    pub(crate) bounded: bool,
    /// Whether iterations may be counted and not executed: what they do leaves no trace.
    pub(crate) traceless: bool,
    /// Executed iterations without a finding, one after the other, since somebody else left a
    /// trace; and whether there is one in this iteration.
    pub(crate) clean: u32,
    pub(crate) found: bool,
    /// Whether it was found in this turn of the warp.
    pub(crate) fresh: bool,
    /// [`State::changes`](super::State) and [`State::traces`](super::State) behind the warp's last
    /// turn.
    pub(crate) seen: (u64, u64),
}

impl Spin {
    /// Warp instructions of an iteration.
    pub(crate) fn length(&self) -> u64 {
        self.steps.len() as u64
    }
}
