//! CTA barriers: `bar` and `barrier`.
//!
//! A barrier counts threads. A waiting group remembers the generation it waits for; completing a
//! generation is counting up, so no warp has to be told.

use crate::exec::state::{BarrierState, Flow, Site, State, Status, Warp};
use crate::finding::FindingId;
use crate::inst::{Barrier, BarrierKind};

impl State<'_> {
    pub(crate) fn live_threads(&self) -> u32 {
        self.near.live.iter().map(|lanes| lanes.count_ones()).sum()
    }

    /// Completes a barrier's generation if all threads it counts are there.
    fn try_complete(&mut self, id: usize, site: Site) {
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
    /// Arrives; waits unless the barrier completes or the instruction is `arrive`.
    pub(crate) fn barrier(&mut self, st: &mut State<'_>, bar: &Barrier, mask: u32) -> Flow {
        let site = self.site(mask);
        if bar.aligned && !self.converged(st, mask) {
            return Flow::Converge;
        }
        let first_lane = mask.trailing_zeros() as usize & 31;
        let mut tmp = [0; 32];
        let ids = *self.src(st, &bar.id, mask, &mut tmp);
        let id = ids[first_lane] as u32;
        let count = bar.count.as_ref().map(|count| {
            let mut tmp = [0; 32];
            self.src(st, count, mask, &mut tmp)[first_lane] as u32
        });
        let votes = self.pred(&bar.pred, mask) & mask;
        let bad_count = count.is_some_and(|count| count == 0 || !count.is_multiple_of(32));
        if id >= 16 || bad_count {
            st.report(
                FindingId::BarrierCountMismatch,
                site,
                None,
                || match count {
                    Some(count) if bad_count => {
                        format!(
                            "thread count {count} of barrier {id} is no positive multiple of 32"
                        )
                    }
                    _ => format!("barrier {id} does not exist; a CTA has 16"),
                },
            );
            return Flow::Next;
        }
        st.counters.barrier_waits += u64::from(bar.kind != BarrierKind::Arrive);
        let reduces = !matches!(bar.kind, BarrierKind::Sync | BarrierKind::Arrive);
        let generation = self.arrive(st, id as usize, count, bar, mask, (reduces, votes));
        st.try_complete(id as usize, site);
        if bar.kind == BarrierKind::Arrive {
            return Flow::Next;
        }
        Flow::Wait(Status::Barrier { id, generation })
    }

    fn arrive(
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

    /// After the wait: the results of a reduction.
    pub(crate) fn finish_barrier(&mut self, st: &mut State<'_>, bar: &Barrier, id: u32, mask: u32) {
        if let Some(race) = &mut st.race {
            race.barrier_pass(id, self.site(mask));
        }
        let Some(barrier) = st.near.barriers.get(id as usize) else {
            return;
        };
        let (true_votes, votes) = barrier.result;
        if let Some(dst) = bar.dst {
            self.write(dst, mask, &[u64::from(true_votes); 32]);
        }
        if let Some(slot) = bar.dst_pred {
            let holds = match bar.kind {
                BarrierKind::And => true_votes == votes,
                _ => true_votes > 0,
            };
            self.write_pred(slot, mask, if holds { mask } else { 0 });
        }
    }
}
