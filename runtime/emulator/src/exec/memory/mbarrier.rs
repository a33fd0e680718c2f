//! mbarrier objects: phases that count arrivals and bytes (ISA 9.7.13.15).
//!
//! An object lives in 8 shared bytes; its state is kept in a table beside them, by CTA and
//! offset. `phase` counts completed phases. A phase completes when no arrival and no byte is
//! missing; the byte count may be negative in between, since data may come before it is announced.

use crate::exec::state::{Mbarrier, Place, Site, State};
use crate::finding::{FindingId, Space};

impl State<'_> {
    pub(crate) fn mbarrier(&self, (rank, offset): Place) -> Option<&Mbarrier> {
        self.part(rank)?.mbarriers.get(&offset)
    }

    pub(crate) fn mbarrier_mut(&mut self, (rank, offset): Place) -> Option<&mut Mbarrier> {
        self.part_mut(rank)?.mbarriers.get_mut(&offset)
    }

    #[cold]
    pub(crate) fn mbarrier_missing(&mut self, place: Place, site: Site) {
        let location = self.locate(Space::Shared, self.address_of(place));
        self.report(FindingId::MbarrierUninit, site, Some(location), || {
            "no mbarrier was initialised at this address".to_owned()
        });
    }

    /// Announces bytes.
    pub(crate) fn mbarrier_expect(&mut self, place: Place, bytes: i64, site: Site) {
        match self.mbarrier_mut(place) {
            Some(object) => object.tx += bytes,
            None => self.mbarrier_missing(place, site),
        }
    }

    /// Counts bytes that came.
    pub(crate) fn mbarrier_complete(&mut self, place: Place, bytes: i64, site: Site) {
        match self.mbarrier_mut(place) {
            Some(object) => {
                object.tx -= bytes;
                self.mbarrier_advance(place);
            }
            None => self.mbarrier_missing(place, site),
        }
    }

    /// Counts arrivals.
    pub(crate) fn mbarrier_arrive(&mut self, place: Place, count: u32, drop: bool, site: Site) {
        let Some(object) = self.mbarrier_mut(place) else {
            return self.mbarrier_missing(place, site);
        };
        let (pending, expected) = (object.pending, object.expected);
        object.pending = pending.saturating_sub(count);
        if drop {
            object.expected = expected.saturating_sub(count);
        }
        if count > pending {
            let location = self.locate(Space::Shared, self.address_of(place));
            self.report(FindingId::MbarrierOverarrive, site, Some(location), || {
                format!("{count} arrivals where {pending} of {expected} are missing")
            });
        }
        self.mbarrier_advance(place);
    }

    fn mbarrier_advance(&mut self, place: Place) {
        if let Some(object) = self.mbarrier_mut(place)
            && object.pending == 0
            && object.tx == 0
        {
            object.phase += 1;
            object.pending = object.expected;
            self.events += 1;
            if let Some(race) = &mut self.race {
                race.object_complete(place);
            }
        }
    }

    /// A plain store hit the bytes of an object.
    #[cold]
    pub(crate) fn clobber(&mut self, place: Place, bytes: u32, site: Site) {
        let Some(part) = self.part_mut(place.0) else {
            return;
        };
        let first = place.1.saturating_sub(7);
        let hit: Vec<u32> = part
            .mbarriers
            .range(first..place.1.saturating_add(bytes))
            .map(|(offset, _)| *offset)
            .collect();
        for offset in &hit {
            part.mbarriers.remove(offset);
        }
        self.events += 1;
        let location = self.locate(Space::Shared, self.address_of(place));
        self.report(FindingId::MbarrierClobbered, site, Some(location), || {
            "a plain store overwrites an mbarrier; invalidate it first".to_owned()
        });
    }

    /// Remembers that a copy ends in these mbarriers; gives their phases.
    pub(crate) fn note_copy(&mut self, places: &[Place], site: Site) -> Vec<u64> {
        let note = |place: &Place| {
            self.mbarrier_mut(*place).map_or(0, |object| {
                object.copied = (object.phase + 1, site);
                object.phase
            })
        };
        places.iter().map(note).collect()
    }

    /// The bytes of a copy come: they must belong to the phase in which it was issued.
    pub(crate) fn check_phase(
        &mut self,
        place: Place,
        issued: Option<u64>,
        bytes: i64,
        site: Site,
    ) {
        let Some(now) = self.mbarrier(place).map(|object| object.phase) else {
            return;
        };
        let Some(issued) = issued.filter(|issued| *issued < now) else {
            return;
        };
        let location = self.locate(Space::Shared, self.address_of(place));
        self.report(FindingId::MbarrierTxMismatch, site, Some(location), || {
            format!(
                "{bytes} bytes of a copy issued in phase {issued} come in phase {now}: fewer bytes \
                 were announced than the copies bring"
            )
        });
    }

    /// Objects that wait for something when the launch ends.
    pub(crate) fn report_pending_mbarriers(&mut self, rank: u32) {
        let Some(part) = self.part(rank) else { return };
        let bytes = |object: &&Mbarrier| object.tx != 0;
        let arrivals = |object: &&Mbarrier| object.pending != object.expected;
        let objects = || part.mbarriers.values();
        let (id, object) = match (objects().find(bytes), objects().find(arrivals)) {
            (Some(object), _) => (FindingId::MbarrierTxMismatch, object),
            (None, Some(object)) => (FindingId::MbarrierTxPendingAtExit, object),
            (None, None) => return,
        };
        let what = object.describe();
        let site = Site {
            rank,
            ..object.copied.1
        };
        self.report(id, site, None, || {
            format!("the CTA ends with an mbarrier in {what}")
        });
    }
}
