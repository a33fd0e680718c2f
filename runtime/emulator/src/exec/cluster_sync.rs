//! Clusters: `barrier.cluster`, `mapa`, and the shared memory of the other CTAs.
//!
//! One barrier counts all live threads of all CTAs. A thread has arrived in the generation it
//! waits for when its lane bit is set; exited threads count as arrived.

use crate::exec::state::{Flow, OFFSET_MASK, RANK_SHIFT, Site, State, Status, Wait, Warp};
use crate::finding::{FindingId, Space};
use crate::inst::{Lanes, Mapa};
use crate::module::window;

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

    fn cluster_arrive(&mut self, site: Site) -> u32 {
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
}
