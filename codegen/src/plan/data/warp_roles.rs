//! The data of a warp-specialized plan: who loads, who computes, what they hand one another.

use crate::arch::WARP;
use crate::plan::data::matrix_descriptor::Descriptor;
use crate::plan::data::moves::BoxCopy;
use crate::plan::data::teams::{Members, Team, entry_registers};
use crate::plan::data::values::Every;
use crate::plan::work_tiles::Cluster;
use crate::spec::keys::model::{KernelSchedule, OperandId};

/// A ring of shared-memory slots, filled by one role and emptied by another, with a barrier for
/// each direction of each slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Which of the plan's pipes has it.
    pub number: usize,
    /// Slots.
    pub stages: u32,
    /// Arrivals that make a slot full, besides its bytes.
    pub full_arrivals: u32,
    /// Bytes that make a slot full.
    pub bytes: u32,
    /// Arrivals that make a slot empty.
    pub empty_arrivals: u32,
}

/// What the producer brings by boxes into the slots of a ring, which consumers empty.
#[derive(Clone, Debug)]
pub struct LoadPipe {
    /// What a slot is filled for: of the factors each trip along k, of what an epilogue reads each
    /// work tile, while the main loop runs.
    pub every: Every,
    /// The loads of a slot.
    pub loads: Vec<BoxCopy>,
    /// Its slots.
    pub ring: Ring,
}

/// Bytes of an mbarrier (PTX ISA, mbarrier).
pub const BARRIER_BYTES: u32 = 8;

/// The roles of a warp-specialized kernel.
#[derive(Clone, Debug)]
pub struct Roles {
    /// Cooperative or pingpong.
    pub schedule: KernelSchedule,
    /// Teams that the warps of a CTA part into.
    pub teams: Vec<Members>,
    /// Groups of MMAs that run on while the next are issued.
    pub in_flight: u32,
    /// What the producer brings, in the order in which it does: first what each trip reads.
    pub pipes: Vec<LoadPipe>,
    /// How the MMA finds a and b in shared memory; `None` of an a that it has from registers.
    pub descriptors: [Option<Descriptor>; 2],
    /// The store of d by boxes; `None` where results leave from registers.
    pub store: Option<BoxCopy>,
    /// Staging buffers that a warpgroup uses in turn for it; 0 without one.
    pub staging_buffers: i64,
}

impl Roles {
    /// Threads of a CTA.
    pub fn threads(&self) -> u32 {
        let warps = self.teams.iter().map(|members| members.warps.end);
        warps.max().unwrap_or(0) * WARP
    }

    /// A team that there is.
    pub fn team(&self, team: Team) -> Option<&Members> {
        self.teams.iter().find(|members| members.team == team)
    }

    /// Registers of a thread of a team once the teams have parted.
    pub fn registers(&self, team: Team) -> u32 {
        let own = self.team(team).and_then(|members| members.registers);
        own.unwrap_or_else(|| entry_registers(self.threads()))
    }

    /// Warpgroups that compute.
    pub fn consumers(&self) -> u32 {
        self.team(Team::Consumers)
            .map_or(0, |members| members.count)
    }

    /// The ranks of the CTAs whose loads go where those of that one go: its row and its column of
    /// the cluster, each once.
    pub fn neighbourhood(&self, cluster: Cluster, cta: u32) -> Vec<u32> {
        let sharers = |load: &BoxCopy| cluster.sharers(load.shared_along, cta);
        let shared = self.loads(Every::Trip).flat_map(sharers);
        let mut ranks: Vec<u32> = shared.collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Whether consumers take turns at the tensor cores, with a barrier for each.
    pub fn takes_turns(&self) -> bool {
        self.schedule == KernelSchedule::Pingpong
    }

    /// Sets of staging buffers: one that the consumers of a tile share out, or one each.
    pub fn staging_sets(&self) -> u32 {
        self.consumers() / self.consumers_of_a_tile()
    }

    /// Consumers that work on one output tile together.
    pub fn consumers_of_a_tile(&self) -> u32 {
        match self.schedule {
            KernelSchedule::Pingpong => 1,
            _ => self.consumers(),
        }
    }
}

impl Roles {
    /// The pipe that is filled for that.
    pub fn pipe(&self, every: Every) -> Option<&LoadPipe> {
        self.pipes.iter().find(|pipe| pipe.every == every)
    }

    /// What the producer loads for that.
    pub fn loads(&self, every: Every) -> impl Iterator<Item = &BoxCopy> {
        self.pipe(every).into_iter().flat_map(|pipe| &pipe.loads)
    }

    /// The pipe that brings an operand.
    pub fn pipe_of(&self, operand: OperandId) -> Option<&LoadPipe> {
        let brings = |pipe: &&LoadPipe| pipe.loads.iter().any(|load| load.operand == operand);
        self.pipes.iter().find(brings)
    }

    /// Whether threads read what boxes bring into the slots of the ring, beside products.
    pub fn threads_read_slots(&self) -> bool {
        self.loads(Every::Trip).count() > self.descriptors.iter().flatten().count()
    }

    /// Whether registers go from team to team.
    pub fn splits_registers(&self) -> bool {
        self.teams.iter().any(|members| members.registers.is_some())
    }
}
