//! The barrier of a cluster, and whether the shared memory of its other CTAs may be touched.
//!
//! One barrier counts all live threads of all CTAs. A thread has arrived in the generation it
//! waits for when its lane bit is set; exited threads count as arrived.

use crate::exec::state::{Site, State, Warp};
use crate::finding::FindingId;

impl State<'_> {
    /// Completes the generation if every live thread of the cluster has arrived.
    pub(crate) fn try_complete_cluster(&mut self) {
        if self.cluster_barrier.arrived.is_empty() {
            return;
        }
        let none = Vec::new();
        let complete = (0..self.cluster_ctas()).all(|rank| {
            let arrived = self.cluster_barrier.arrived.get(rank as usize);
            let arrived = arrived.unwrap_or(&none).iter().chain(std::iter::repeat(&0));
            let live = self.part(rank).map_or(&none, |part| &part.live);
            live.iter()
                .zip(arrived)
                .all(|(live, arrived)| live & !arrived == 0)
        });
        if complete {
            self.cluster_barrier.arrived.clear();
            if let Some(race) = &mut self.race {
                race.cluster_complete();
            }
            self.cluster_generation += 1;
            self.events += 1;
        }
    }

    /// One line about the generation that is not complete.
    pub(crate) fn describe_cluster_barrier(&self) -> String {
        let arrived = self.cluster_barrier.arrived.iter().flatten();
        let arrived: u32 = arrived.map(|lanes| lanes.count_ones()).sum();
        let live: u32 = (0..self.cluster_ctas())
            .filter_map(|rank| self.part(rank))
            .flat_map(|part| &part.live)
            .map(|lanes| lanes.count_ones())
            .sum();
        format!("{arrived} of {live} threads arrived")
    }

    pub(crate) fn cluster_arrive(&mut self, site: Site) -> u32 {
        let (rank, warp) = (site.rank as usize, site.warp as usize);
        let (ctas, warps) = (self.cluster_ctas() as usize, self.near.live.len());
        let arrived = &mut self.cluster_barrier.arrived;
        arrived.resize_with(ctas, Vec::new);
        let Some(row) = arrived.get_mut(rank) else {
            return 0;
        };
        row.resize(warps, 0);
        row.get_mut(warp).map_or(0, |lanes| {
            let twice = *lanes & site.lanes;
            *lanes |= site.lanes;
            twice
        })
    }
}

impl Warp {
    /// Whether another CTA's shared memory may be touched now; says why not.
    pub(crate) fn reachable(&mut self, st: &mut State<'_>, rank: u32, lane: usize) -> bool {
        if rank == st.rank {
            return true;
        }
        let alive = st.part(rank).is_some_and(|part| part.alive());
        let site = self.site(1 << lane);
        if !alive {
            st.report(FindingId::DsmemCtaExited, site, None, || {
                format!("CTA {rank} of the cluster has exited; its shared memory is gone")
            });
        } else if st.cluster_generation == 0 {
            st.report(FindingId::DsmemBeforeClusterSync, site, None, || {
                format!("CTA {rank} may not have started: no cluster barrier was passed")
            });
        }
        alive
    }

    /// Remembers an access to another CTA, which must not have exited before.
    pub(crate) fn note_remote(&self, st: &mut State<'_>, rank: u32, lane: usize) {
        if let Some(race) = &mut st.race {
            race.remote_access(rank, self.site(1 << lane));
        }
    }
}
