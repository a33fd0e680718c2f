//! Clusters: `barrier.cluster`, `mapa`, and the shared memory of the other CTAs.
//!
//! One barrier counts all live threads of all CTAs. A thread has arrived in the generation it
//! waits for when its lane bit is set; exited threads count as arrived.

use crate::exec::state::{Flow, OFFSET_MASK, RANK_SHIFT, State, Status, Wait, Warp};
use crate::finding::{FindingId, Space};
use crate::inst::{Lanes, Mapa};
use crate::module::window;

impl Warp {
    pub(crate) fn cluster_barrier_arrive(
        &mut self,
        st: &mut State<'_>,
        (aligned, relaxed): (bool, bool),
        mask: u32,
    ) -> Flow {
        if aligned && !self.converged(st, mask) {
            return Flow::Converge;
        }
        let site = self.site(mask);
        let generation = st.cluster_generation;
        for (lane, of_lane) in self.cluster_arrivals.iter_mut().enumerate() {
            if mask >> lane & 1 == 1 {
                *of_lane = Some(generation);
            }
        }
        if let Some(race) = &mut st.race {
            race.cluster_arrive(relaxed, site);
        }
        let twice = st.cluster_arrive(site);
        if twice != 0 {
            st.report(FindingId::BarrierOverrun, site, None, || {
                format!("lanes {twice:#010x} arrive twice at the cluster barrier without a wait")
            });
        }
        st.try_complete_cluster();
        Flow::Next
    }

    pub(crate) fn cluster_barrier_wait(
        &mut self,
        st: &mut State<'_>,
        aligned: bool,
        mask: u32,
    ) -> Flow {
        if aligned && !self.converged(st, mask) {
            return Flow::Converge;
        }
        let lanes = (0..32usize).filter(|lane| mask >> lane & 1 == 1);
        let arrivals: Vec<Option<u64>> = lanes.map(|lane| self.cluster_arrivals[lane]).collect();
        if arrivals.contains(&None) {
            let site = self.site(mask);
            st.report(FindingId::BarrierCountMismatch, site, None, || {
                "barrier.cluster.wait without an arrival before it".to_owned()
            });
            return Flow::Next;
        }
        if arrivals
            .iter()
            .flatten()
            .any(|at| *at >= st.cluster_generation)
        {
            return Flow::Suspend(Status::Events {
                seen: st.events,
                wait: Wait::Cluster,
            });
        }
        if let Some(race) = &mut st.race {
            race.cluster_pass(self.site(mask));
        }
        for (lane, of_lane) in self.cluster_arrivals.iter_mut().enumerate() {
            if mask >> lane & 1 == 1 {
                *of_lane = None;
            }
        }
        Flow::Next
    }

    /// `mapa` and `getctarank`.
    pub(crate) fn map_address(&mut self, st: &mut State<'_>, op: &Mapa, mask: u32) -> Flow {
        let base = if op.generic { window(Space::Shared) } else { 0 };
        let addresses = self.values(st, &op.address, mask);
        let Some(rank) = &op.rank else {
            let ranks = addresses.map(|address| address.wrapping_sub(base) >> RANK_SHIFT);
            self.write(op.dst, mask, &ranks);
            return Flow::Next;
        };
        let ranks = self.values(st, rank, mask);
        let ctas = u64::from(st.cluster_ctas());
        let over = |lane: usize| u32::from(ranks[lane] & 0xffff_ffff >= ctas) << lane;
        let bad = (0..32).fold(0, |all, lane| all | over(lane)) & mask;
        if bad != 0 {
            let (site, rank) = (self.site(bad), ranks[bad.trailing_zeros() as usize & 31]);
            st.report(FindingId::OobShared, site, None, || {
                format!("mapa names CTA {rank} of a cluster of {ctas}")
            });
        }
        let moved: Lanes = std::array::from_fn(|lane| {
            let offset = addresses[lane].wrapping_sub(base) & OFFSET_MASK;
            base + ((ranks[lane] & 0xffff_ffff) << RANK_SHIFT | offset)
        });
        self.write(op.dst, mask, &moved);
        Flow::Next
    }
}
