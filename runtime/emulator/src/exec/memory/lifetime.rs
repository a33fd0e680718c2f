//! What must be over when a thread or a CTA ends.
//!
//! Shared memory dies with its CTA: bulk copies that read it, copies that write it and accesses
//! of other CTAs have to be known complete before. "Known" means waited for, not done by chance,
//! so the verdict is the same under every schedule.

use crate::exec::state::{Mbarrier, Site, Span, State, Warp, Work, lanes_of};
use crate::finding::{FindingId, Space};

impl State<'_> {
    /// The last thread of a CTA exits: nothing may be left that touches its shared memory.
    fn cta_ended(&mut self, rank: u32) {
        let Some(part) = self.part(rank) else { return };
        let unseen = |(offset, object): (&u32, &Mbarrier)| {
            let (copied, site) = object.copied;
            (copied > object.observed).then_some((*offset, site))
        };
        let unseen: Vec<(u32, Site)> = part.mbarriers.iter().filter_map(unseen).collect();
        for (offset, site) in unseen {
            let location = self.locate(Space::Shared, self.address_of((rank, offset)));
            self.report(FindingId::DsmemCtaExited, site, Some(location), || {
                format!(
                    "CTA {rank} exits and nobody waited for the end of this copy into its shared \
                     memory"
                )
            });
        }
        let reads = |work: &Work| match work {
            Work::Copy {
                src: Span::Shared(place),
                ..
            } => place.0 == rank,
            _ => false,
        };
        let copies = self.queue.pending.iter().filter(|op| !op.phases.is_empty());
        let left = copies.filter(|op| reads(&op.work)).map(|op| op.site);
        let left: Vec<Site> = left.collect();
        for site in left {
            self.report(FindingId::DsmemCtaExited, site, None, || {
                format!("CTA {rank} exits while a copy may still read its shared memory")
            });
        }
        let unordered = self.race.as_mut().map(|race| race.unordered_remotes(rank));
        for site in unordered.unwrap_or_default() {
            self.report(FindingId::DsmemCtaExited, site, None, || {
                format!(
                    "CTA {rank} may exit before this access to its shared memory: nothing orders \
                     its exit behind it"
                )
            });
        }
    }
}

impl Warp {
    /// Lanes are about to exit.
    pub(crate) fn leave(&mut self, st: &mut State<'_>, mask: u32) {
        if !st.sanitize() {
            return;
        }
        for lane in lanes_of(mask) {
            let Some((_, pc)) = self.bulk_open[lane].take() else {
                continue;
            };
            let site = Site {
                pc,
                ..self.site(1 << lane)
            };
            st.report(FindingId::AsyncNotWaited, site, None, || {
                "the thread exits without cp.async.bulk.wait_group.read for this copy, which may \
                 still read shared memory"
                    .to_owned()
            });
        }
        if let Some(race) = &mut st.race {
            race.thread_exit(self.site(mask));
        }
    }

    /// Lanes have exited.
    pub(crate) fn left(&mut self, st: &mut State<'_>) {
        if st.sanitize() && !st.near.alive() {
            st.cta_ended(self.rank);
        }
    }
}
