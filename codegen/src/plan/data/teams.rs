//! Who works in a CTA: teams of threads that run the same operations, warp by warp.

use std::fmt;
use std::ops::Range;

use crate::arch::{MAX_REGISTERS_PER_THREAD, REGISTERS_PER_SM, WARP, WARPGROUP};

/// Threads that run the same operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Team {
    /// All threads of a CTA.
    All,
    /// One thread of the last warpgroup; the others have nothing to do.
    Producer,
    /// The other warpgroups, all threads.
    Consumers,
}

impl fmt::Display for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Team::All => "all threads",
            Team::Producer => "producer",
            Team::Consumers => "consumers",
        })
    }
}

/// What a team is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// The team.
    pub team: Team,
    /// Parts that run its operations, each at its own pace: warpgroups, or one thread.
    pub count: u32,
    /// Its warps among those of the CTA.
    pub warps: Range<u32>,
    /// Registers of a thread from the parting of the teams on; none where nothing changes.
    pub registers: Option<u32>,
}

/// Warps of a warpgroup.
pub const WARPS: u32 = WARPGROUP / WARP;

/// A producer and so many warpgroups of consumers, with their registers: the consumers are the
/// first warpgroups, so that a consumer's thread index is its index in the tiled MMA
/// (cooperative), or that index plus whole warpgroups (pingpong).
pub fn specialized(consumers: u32, registers: [Option<u32>; 2]) -> Vec<Members> {
    let [of_producer, of_consumers] = registers;
    let producer = Members {
        team: Team::Producer,
        count: 1,
        warps: consumers * WARPS..(consumers + 1) * WARPS,
        registers: of_producer,
    };
    let consumers = Members {
        team: Team::Consumers,
        count: consumers,
        warps: 0..consumers * WARPS,
        registers: of_consumers,
    };
    vec![producer, consumers]
}

/// Registers of a thread when a kernel of so many threads starts, one CTA to an SM.
pub fn entry_registers(threads: u32) -> u32 {
    (REGISTERS_PER_SM / threads / 8 * 8).min(MAX_REGISTERS_PER_THREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Warps are of one team each, and registers no more than the CTA got when it started.
    #[test]
    fn teams_share_out_the_warps_of_a_cta() {
        for consumers in 1..=3 {
            let teams = specialized(consumers, [None, None]);
            let mut warps: Vec<u32> = teams.iter().flat_map(|one| one.warps.clone()).collect();
            warps.sort_unstable();
            let all: Vec<u32> = (0..(consumers + 1) * WARPS).collect();
            assert_eq!(warps, all);
            let last = teams.iter().map(|one| one.warps.end).max();
            assert_eq!(last, Some((consumers + 1) * WARPS));
            assert!(
                entry_registers((consumers + 1) * WARPGROUP) * (consumers + 1) * WARPGROUP
                    <= REGISTERS_PER_SM
            );
        }
    }
}
