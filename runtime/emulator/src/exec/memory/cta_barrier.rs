//! The 16 barriers of a CTA: arrivals, and the end of a generation.
//!
//! A barrier counts threads. A waiting group remembers the generation it waits for; completing a
//! generation is counting up, so no warp has to be told.

use crate::exec::state::{BarrierState, Site, State, Warp};
use crate::finding::FindingId;
use crate::inst::{Barrier, BarrierKind};

impl State<'_> {
    pub(crate) fn live_threads(&self) -> u32 {
        self.near.live.iter().map(|lanes| lanes.count_ones()).sum()
    }

    /// Completes a barrier's generation if all threads it counts are there.
    pub(crate) fn try_complete(&mut self, id: usize, site: Site) {
        let live = self.near.live.clone();
        let Some(barrier) = self.near.barriers.get_mut(id) else {
            return;
        };
        let Some(count) = barrier.count else { return };
        let complete = match count {
            None => {
                let arrived = barrier.arrived.iter().chain(std::iter::repeat(&0));
                live.iter()
                    .zip(arrived)
                    .all(|(live, arrived)| live & !arrived == 0)
            }
            Some(count) => barrier.threads >= count,
        };
        if !complete {
            return;
        }
        let overrun = count.is_some_and(|count| barrier.threads > count);
        let (threads, wanted) = (barrier.threads, count.unwrap_or(0));
        barrier.result = (barrier.true_votes, barrier.votes);
        let generation = barrier.generation + 1;
        let rank = self.rank;
        if let Some(race) = &mut self.race {
            race.barrier_complete(rank, id as u32);
        }
        let result = barrier.result;
        *barrier = BarrierState {
            generation,
            result,
            ..BarrierState::default()
        };
        if overrun {
            self.report(FindingId::BarrierOverrun, site, None, || {
                format!("{threads} threads arrived at barrier {id}, which counts {wanted}")
            });
        }
    }

    /// Exited threads reduce what barriers without a count wait for.
    pub(crate) fn after_exit(&mut self, site: Site) {
        for id in 0..16 {
            self.try_complete(id, site);
        }
        self.try_complete_cluster();
    }
}

impl Warp {
    pub(crate) fn arrive(
        &mut self,
        st: &mut State<'_>,
        id: usize,
        count: Option<u32>,
        bar: &Barrier,
        mask: u32,
        (reduces, votes): (bool, u32),
    ) -> u64 {
        let site = self.site(mask);
        let race = st.race.as_mut();
        let other = race.and_then(|race| race.barrier_arrive(id as u32, site));
        if let Some(other) = other {
            let line = st.line(other.pc);
            st.report(FindingId::BarrierReuse, site, None, || {
                format!(
                    "barrier {id} is used again, and nothing orders this arrival behind that of \
                     warp {} at line {line}: they may meet in one generation",
                    other.warp
                )
            });
        }
        let warps = st.near.live.len();
        let threads = if bar.aligned { 32 } else { mask.count_ones() };
        let Some(barrier) = st.near.barriers.get_mut(id) else {
            return 0;
        };
        let fresh = barrier.count.is_none();
        if fresh {
            barrier.count = Some(count);
            barrier.first = site.pc;
            barrier.reduces = reduces;
        }
        barrier.arrived.resize(warps, 0);
        let mine = barrier.arrived.get_mut(self.id as usize);
        let twice = mine.map_or(0, |mine| {
            let twice = *mine & mask;
            *mine |= mask;
            twice
        });
        barrier.threads += threads;
        barrier.true_votes += votes.count_ones();
        barrier.votes += mask.count_ones();
        let (generation, first) = (barrier.generation, barrier.first);
        let (before, mixed) = (barrier.count.flatten(), barrier.reduces != reduces);
        let reductions_matter = bar.kind != BarrierKind::Arrive;
        if !fresh && (before != count || mixed && reductions_matter) {
            let line = st.env.code.get(first as usize).map_or(0, |inst| inst.line);
            st.report(FindingId::BarrierCountMismatch, site, None, || {
                let show = |count: Option<u32>| {
                    count.map_or("all threads".to_owned(), |count| format!("{count} threads"))
                };
                let (old, new) = (show(before), show(count));
                format!(
                    "barrier {id} counts {new} here and {old} at line {line}, or mixes sync and red"
                )
            });
        } else if !fresh && first != site.pc && st.sanitize() {
            st.report(FindingId::BarrierDivergentSite, site, None, || {
                format!(
                    "threads of one generation of barrier {id} arrive at different instructions"
                )
            });
        }
        if twice != 0 {
            st.report(FindingId::BarrierOverrun, site, None, || {
                format!("lanes {twice:#010x} arrive twice in one generation of barrier {id}")
            });
        }
        generation
    }
}
