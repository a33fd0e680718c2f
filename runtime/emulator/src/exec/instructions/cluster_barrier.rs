//! `barrier.cluster`.

use crate::exec::state::{Flow, State, Status, Wait, Warp};
use crate::finding::FindingId;

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
}
