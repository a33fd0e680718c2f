//! What led to a finding: the accesses to its address, and what orders accesses, step by step.
//!
//! Kept only when [`crate::Options`] names a finding of an earlier run under the same schedule,
//! for the clusters that take part in it.

use crate::finding::Threads;

/// What led to a finding in one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The CTAs of the cluster by rank.
    pub ctas: Vec<[u32; 3]>,
    /// What happened, in the order of the schedule: of long runs the end.
    pub events: Vec<Event>,
    /// Asynchronous operations that touch the address of the finding, or that it names.
    pub operations: Vec<Operation>,
    /// Warp instructions that the cluster executed up to the finding.
    pub steps: u64,
    /// The step that made the finding; none where it was made outside of all steps, as when nothing
    /// can go on.
    pub found: Option<u64>,
}

/// An instruction that a warp executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The step of the schedule, from 1.
    pub step: u64,
    /// The last of the steps that followed one another and were the same.
    pub until: u64,
    /// The index of the instruction in the module's code.
    pub pc: u32,
    /// The line of the PTX text.
    pub line: u32,
    /// Who executed it.
    pub by: Threads,
    /// What it does.
    pub kind: EventKind,
    /// It could not go on: the threads wait.
    pub waits: bool,
    /// The lanes that touched the address of the finding.
    pub hits: u32,
}

/// What an instruction does to the order of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Reads or writes memory.
    Access,
    /// Issues an asynchronous operation.
    Issue,
    /// Closes a group of asynchronous operations.
    Commit,
    /// Waits for asynchronous operations or an mbarrier.
    Wait,
    /// Makes an mbarrier, or arrives at one.
    Arrive,
    /// Meets other threads.
    Barrier,
    /// Orders accesses of the same thread.
    Fence,
    /// Ends the threads.
    Exit,
    /// Anything else that made the finding.
    Other,
}

/// An asynchronous operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The step that issued it.
    pub issued: u64,
    /// The step in which it was over: its data there, its wait done.
    pub ended: Option<u64>,
    /// The index of the instruction.
    pub pc: u32,
    /// The line of the PTX text.
    pub line: u32,
    /// Who issued it.
    pub by: Threads,
    /// Whether it touches the address of the finding.
    pub hits: bool,
}
