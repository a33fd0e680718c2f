//! The barriers of a CTA and of a cluster, and mbarrier objects, as counts.

use super::site::Site;

/// One of the 16 barriers of a CTA.
#[derive(Clone, Debug, Default)]
pub(crate) struct BarrierState {
    /// Completed generations.
    pub(crate) generation: u64,
    /// Lanes that arrived in this generation, by warp.
    pub(crate) arrived: Vec<u32>,
    /// Arrivals in threads; an aligned arrival of a warp counts 32.
    pub(crate) threads: u32,
    /// The explicit thread count of this generation; `None` stands for all live threads.
    pub(crate) count: Option<Option<u32>>,
    /// Where the first arrival of this generation was.
    pub(crate) first: u32,
    pub(crate) reduces: bool,
    pub(crate) true_votes: u32,
    pub(crate) votes: u32,
    /// Votes of the last generation: true ones and all.
    pub(crate) result: (u32, u32),
}

impl BarrierState {
    /// One line about a generation that is not complete.
    pub(crate) fn describe(&self, live_threads: u32) -> String {
        // Without a count the lanes themselves decide, not the warps that they are in.
        let lanes = || self.arrived.iter().map(|lanes| lanes.count_ones()).sum();
        let (arrived, wanted) = match self.count.flatten() {
            Some(count) => (self.threads, count),
            None => (lanes(), live_threads),
        };
        format!("{arrived} of {wanted} threads arrived")
    }
}

/// Lanes that arrived at the cluster barrier in this generation, by rank and warp.
#[derive(Debug, Default)]
pub(crate) struct ClusterBarrier {
    pub(crate) arrived: Vec<Vec<u32>>,
}

/// The state of one mbarrier object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mbarrier {
    pub(crate) expected: u32,
    pub(crate) pending: u32,
    /// Announced bytes that have not come.
    pub(crate) tx: i64,
    /// Completed phases.
    pub(crate) phase: u64,
    /// Phases up to the last one that a thread saw complete.
    pub(crate) observed: u64,
    /// Phases up to the last one that a copy ends in, and the copy's instruction.
    pub(crate) copied: (u64, Site),
}

impl Mbarrier {
    /// One line about the current phase.
    pub(crate) fn describe(&self) -> String {
        let (bytes, way) = match self.tx {
            tx @ ..0 => (-tx, "too many"),
            tx => (tx, "missing"),
        };
        let (phase, pending, expected) = (self.phase, self.pending, self.expected);
        format!("phase {phase}, {pending} of {expected} arrivals missing, {bytes} bytes {way}")
    }
}
