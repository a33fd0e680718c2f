//! From accesses of warps to the race detector, and from its conflicts to findings.

use crate::exec::state::{AccessKind, Conflict, Place, Site, State, StrongPlace, lanes_of};
use crate::finding::{FindingId, OtherSide, Space, Threads};

impl State<'_> {
    /// Shows the shared accesses of a warp to the detector.
    pub(crate) fn watch_shared(
        &mut self,
        kind: AccessKind,
        site: Site,
        addresses: &[u64; 32],
        bytes: u32,
    ) {
        if kind == AccessKind::AsyncCopy {
            return;
        }
        let Some(mut race) = self.race.take() else {
            return;
        };
        for lane in lanes_of(site.lanes) {
            let Some(place) = self.place(addresses[lane]) else {
                continue;
            };
            let here = Site {
                lanes: 1 << lane,
                ..site
            };
            if let Some(order) = kind.order() {
                let place = StrongPlace::Shared(place, bytes);
                race.strong(place, (order, kind.ways()), here);
            }
            race.thread_access(kind, (place, bytes), lane as u32, here);
        }
        for (conflict, before) in &mut race.rewrites {
            if *before == 0 {
                *before = 1 + u64::from(self.word_at(conflict.place));
            }
        }
        self.race = Some(race);
        self.report_conflicts();
    }

    fn word_at(&self, (rank, offset): Place) -> u32 {
        let part = self.part(rank);
        let loaded = part.and_then(|part| part.shared.load(offset as usize / 4 * 4, 4));
        loaded.map_or(0, |(word, _)| word as u32)
    }

    /// Two stores to one word without order: equal values are no error. Of the instruction that was
    /// executed last `kept` says whether memory has what that lane of it stored to that word; none
    /// where it stored nothing there.
    #[inline]
    pub(crate) fn settle_rewrites(&mut self, kept: impl Fn(&Self, u32, Place) -> Option<bool>) {
        let Some(race) = &mut self.race else { return };
        if race.rewrites.is_empty() {
            return;
        }
        for (mut conflict, before) in std::mem::take(&mut race.rewrites) {
            if self.is_rewritten(&conflict, before, &kept) {
                conflict.id = FindingId::RaceSameValue;
            }
            self.report_conflict(&conflict);
        }
    }

    /// Whether both sides of a conflict of stores left the same bytes.
    #[cold]
    fn is_rewritten(
        &self,
        conflict: &Conflict,
        before: u64,
        kept: &impl Fn(&Self, u32, Place) -> Option<bool>,
    ) -> bool {
        let Conflict { site, other, .. } = conflict;
        let by = (self.race.as_ref()).and_then(|race| race.threads_of(*other));
        let lanes = by.filter(|by| (by.0, by.1) == (site.rank, site.warp) && other.pc == site.pc);
        let lane = |lanes: u32| kept(self, lanes.trailing_zeros(), conflict.place);
        // Lanes of one instruction that hit one word: one of them wins, and all agree with it, or
        // do not.
        match lanes.and_then(|(.., lanes)| lane(lanes)) {
            Some(others) => others && lane(site.lanes) == Some(true),
            None => before == 1 + u64::from(self.word_at(conflict.place)),
        }
    }

    /// Makes findings of the conflicts the detector saw.
    pub(crate) fn report_conflicts(&mut self) {
        let Some(race) = &mut self.race else { return };
        if race.conflicts.is_empty() {
            return;
        }
        for conflict in std::mem::take(&mut race.conflicts) {
            self.report_conflict(&conflict);
        }
    }

    #[cold]
    fn report_conflict(&mut self, conflict: &Conflict) {
        let location = match conflict.address {
            Some(address) => self.locate(Space::Global, address),
            None => self.locate(Space::Shared, self.address_of(conflict.place)),
        };
        let (kind, line) = (conflict.kind, self.line(conflict.other.pc));
        let by = self
            .race
            .as_ref()
            .and_then(|race| race.threads_of(conflict.other));
        let far = by.is_some_and(|(rank, ..)| rank != conflict.site.rank);
        let by = by.map(|(rank, warp, lanes)| Threads {
            cta: self.part(rank).map_or([0; 3], |part| part.cta),
            warp,
            lanes,
        });
        let pc = conflict.other.pc;
        let sides = (Some(location), Some(OtherSide { pc, line, by }));
        self.report_pair(conflict.id, conflict.site, sides, || {
            let what = match conflict.id {
                FindingId::MissingProxyFence
                | FindingId::MissingProxyFenceWar
                | FindingId::MissingProxyFenceCpAsync => "fence.proxy.async is missing behind it",
                FindingId::AsyncNotWaited => "its completion was not waited for",
                FindingId::AtomicScope => "its scope does not reach the other CTA",
                FindingId::MixedProxyAtomic => {
                    "an atomic and a reducing copy are not atomic to each other"
                }
                FindingId::BulkSourceOverwritten | FindingId::RaceTmaOverwrite => {
                    "it may still read the bytes"
                }
                FindingId::ReadOnlyWritten => {
                    "the read-only cache does not see what the launch stores"
                }
                FindingId::RaceShared if far => {
                    "nothing orders the two; a release in another CTA has to reach the cluster"
                }
                _ => "nothing orders the two",
            };
            format!("{kind} with the access at line {line}: {what}")
        });
    }

    /// mbarriers that were used by threads not ordered behind their initialisation.
    pub(crate) fn report_init_races(&mut self, unordered: &[(Place, Site)]) {
        for (place, site) in unordered {
            let location = self.locate(Space::Shared, self.address_of(*place));
            self.report(FindingId::MbarrierInitRace, *site, Some(location), || {
                "nothing orders this use of the mbarrier behind its initialisation; another CTA \
                 needs fence.mbarrier_init and the cluster barrier"
                    .to_owned()
            });
        }
    }
}
