//! CTA barriers: `bar` and `barrier`.

use crate::exec::state::{Flow, State, Status, Warp};
use crate::finding::FindingId;
use crate::inst::{Barrier, BarrierKind};

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
