//! What a synchronization atom does, as facts: its act, how far it reaches, the memory it is about.
//!
//! Plans look atoms up by these facts and lowering asks the plan, so that an instruction of a later
//! architecture is one more record with the facts of the one whose place it takes.

use std::fmt;

use serde::Deserialize;

use super::space::Space;

/// Everything by which a synchronization atom is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncFacts {
    /// What it does.
    pub does: Act,
    /// How far: who takes part in it, or may see its effect.
    pub scope: Scope,
    /// The memory that it is about, where the act exists for several.
    pub space: Option<Space>,
}

impl SyncFacts {
    /// That act, as far as that.
    pub const fn of(does: Act, scope: Scope) -> SyncFacts {
        SyncFacts {
            does,
            scope,
            space: None,
        }
    }

    /// The same, about that memory.
    pub const fn on(self, space: Space) -> SyncFacts {
        SyncFacts {
            space: Some(space),
            ..self
        }
    }
}

impl From<(Act, Scope)> for SyncFacts {
    fn from((does, scope): (Act, Scope)) -> SyncFacts {
        SyncFacts::of(does, scope)
    }
}

impl From<(Act, Scope, Space)> for SyncFacts {
    fn from((does, scope, space): (Act, Scope, Space)) -> SyncFacts {
        SyncFacts::of(does, scope).on(space)
    }
}

/// Who takes part in an atom, or may see its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The thread that runs it.
    Thread,
    /// The threads of a warp.
    Warp,
    /// The threads of a warpgroup.
    Warpgroup,
    /// As many warps of the CTA as the call says.
    Warps,
    /// The CTA.
    Cta,
    /// The CTAs of a cluster; of an mbarrier: one of another CTA.
    Cluster,
    /// The GPU.
    Gpu,
}

/// What an atom does besides moving, multiplying and converting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// All threads wait for one another.
    Meet,
    /// Arrives at the barrier that all threads share, and runs on.
    Arrive,
    /// Waits until all threads have arrived there.
    Await,
    /// Makes an mbarrier for so many arrivals.
    MbarrierInit,
    /// Arrives at an mbarrier.
    MbarrierArrive,
    /// Arrives at an mbarrier and announces the bytes that complete its phase.
    MbarrierArriveExpect,
    /// Waits for the end of an mbarrier's phase of that parity.
    MbarrierAwait,
    /// Shows new mbarriers to other CTAs and to the units that copy.
    FenceMbarrierInit,
    /// Orders what threads wrote before what the units that copy read.
    FenceAsyncProxy,
    /// Closes a group of asynchronous copies of one thread.
    CommitCopies,
    /// Waits until at most so many of them are in flight.
    AwaitCopies,
    /// Closes a group of bulk copies.
    CommitBulk,
    /// Waits until at most so many groups of bulk copies still read their sources.
    AwaitBulkReads,
    /// Orders what threads wrote into registers before the products that read them.
    FenceProducts,
    /// Closes a group of asynchronous products.
    CommitProducts,
    /// Waits until at most so many groups of products are in flight; registers named in the call
    /// pass through it, so that what reads them stays behind it.
    AwaitProducts,
    /// Gives the threads more registers.
    IncreaseRegisters,
    /// Takes registers from the threads.
    DecreaseRegisters,
    /// Waits for the grids that this one follows.
    AwaitGrids,
    /// Lets the grids that follow this one be launched.
    LaunchGrids,
    /// Tells the GPU that what was written before is there.
    RaiseFlag,
    /// Waits until a flag is up.
    AwaitFlag,
    /// Takes a flag down.
    ClearFlag,
    /// Stores accumulators that another CTA adds up.
    StorePartial,
    /// Adds accumulators that another CTA stored.
    AddPartial,
    /// Adds those that one CTA stored, then those of another.
    AddTwoPartials,
    /// Adds up a share of the accumulators that the CTAs of a cluster stored.
    SumPartials,
    /// Loads accumulators that were added up.
    TakePartial,
    /// Stores a term of a sum that another thread adds up.
    StoreTerm,
    /// Loads a term of a sum that another thread stored.
    LoadTerm,
    /// Counts one more, and says how many there were: who comes last sees what all have written.
    TakeTicket,
    /// Brings a tensor map near.
    PrefetchMap,
    /// Brings a box of a tensor near.
    PrefetchBox,
    /// Brings bytes in a row near.
    PrefetchBytes,
    /// Gives the address of a place in another CTA of the cluster.
    MapAddress,
    /// Picks one thread.
    Elect,
    /// Gives each lane the register of the one whose number differs in the bits of a mask.
    Exchange,
    /// Writes a register into the shared memory of another CTA.
    StoreRemote,
}

impl fmt::Display for SyncFacts {
    /// What is done: `waits for an mbarrier (cta)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.does, self.scope)?;
        match self.space {
            Some(space) => write!(f, ", {space})"),
            None => f.write_str(")"),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::Thread => "thread",
            Scope::Warp => "warp",
            Scope::Warpgroup => "warpgroup",
            Scope::Warps => "some warps",
            Scope::Cta => "CTA",
            Scope::Cluster => "cluster",
            Scope::Gpu => "GPU",
        })
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Act::Meet => "meets the other threads",
            Act::Arrive => "arrives at the barrier of all threads",
            Act::Await => "waits at the barrier of all threads",
            Act::MbarrierInit => "makes an mbarrier",
            Act::MbarrierArrive => "arrives at an mbarrier",
            Act::MbarrierArriveExpect => "arrives at an mbarrier with bytes to come",
            Act::MbarrierAwait => "waits for an mbarrier",
            Act::FenceMbarrierInit => "shows new mbarriers to others",
            Act::FenceAsyncProxy => "orders stores before asynchronous copies",
            Act::CommitCopies => "closes a group of asynchronous copies",
            Act::AwaitCopies => "waits for groups of asynchronous copies",
            Act::CommitBulk => "closes a group of bulk copies",
            Act::AwaitBulkReads => "waits for the reads of bulk copies",
            Act::FenceProducts => "orders registers before asynchronous products",
            Act::CommitProducts => "closes a group of asynchronous products",
            Act::AwaitProducts => "waits for groups of asynchronous products",
            Act::IncreaseRegisters => "gives threads more registers",
            Act::DecreaseRegisters => "takes registers from threads",
            Act::AwaitGrids => "waits for the grids before",
            Act::LaunchGrids => "lets the next grids be launched",
            Act::RaiseFlag => "raises a flag in global memory",
            Act::AwaitFlag => "waits for a flag in global memory",
            Act::ClearFlag => "takes a flag in global memory down",
            Act::StorePartial => "stores partial sums",
            Act::AddPartial => "adds partial sums",
            Act::AddTwoPartials => "adds partial sums of two CTAs",
            Act::SumPartials => "adds up a share of partial sums",
            Act::TakePartial => "loads what partial sums came to",
            Act::StoreTerm => "stores a term of a sum",
            Act::LoadTerm => "loads a term of a sum",
            Act::TakeTicket => "takes a ticket",
            Act::PrefetchMap => "prefetches a tensor map",
            Act::PrefetchBox => "prefetches a box of a tensor",
            Act::PrefetchBytes => "prefetches bytes in a row",
            Act::MapAddress => "gives an address in another CTA",
            Act::Elect => "elects a thread",
            Act::StoreRemote => "writes into the shared memory of another CTA",
            Act::Exchange => "exchanges registers between lanes",
        })
    }
}
