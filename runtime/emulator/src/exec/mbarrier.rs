//! mbarrier objects: phases that count arrivals and bytes (ISA 9.7.13.15).
//!
//! An object lives in 8 shared bytes; its state is kept in a table beside them, by CTA and
//! offset. `phase` counts completed phases. A phase completes when no arrival and no byte is
//! missing; the byte count may be negative in between, since data may come before it is announced.

use super::windows::space_of;
use crate::exec::state::{
    DEFINED, Flow, Mbarrier, OBJECT, OFFSET_MASK, Place, RANK_SHIFT, SHARED_START, Site, State,
    UNDEFINED, Warp, lanes_of,
};
use crate::finding::{FindingId, Space};
use crate::inst::{AccessSpace, Address, Arrival, Lanes, MbarrierKind, MbarrierOp};
use crate::module::window;

/// Arrivals that one phase may expect (ISA 9.7.13.15.2).
const MOST_ARRIVALS: u32 = (1 << 20) - 1;

impl State<'_> {
    /// The place of an address in the shared window of the cluster.
    pub(crate) fn place(&self, address: u64) -> Option<Place> {
        let rank = u32::try_from(address >> RANK_SHIFT).ok()?;
        let offset = (address & OFFSET_MASK).checked_sub(u64::from(SHARED_START))?;
        (rank < self.cluster_ctas()).then_some((rank, offset as u32))
    }

    /// The address of a place.
    pub(crate) fn address_of(&self, (rank, offset): Place) -> u64 {
        (u64::from(rank) << RANK_SHIFT) + u64::from(SHARED_START) + u64::from(offset)
    }

    pub(crate) fn mbarrier(&self, (rank, offset): Place) -> Option<&Mbarrier> {
        self.part(rank)?.mbarriers.get(&offset)
    }

    pub(super) fn mbarrier_mut(&mut self, (rank, offset): Place) -> Option<&mut Mbarrier> {
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
}

impl Warp {
    /// Addresses in the shared window; lanes of generic addresses elsewhere are out of bounds.
    pub(crate) fn shared_addresses(
        &mut self,
        st: &mut State<'_>,
        (space, address): (AccessSpace, &Address),
        mask: u32,
    ) -> Lanes {
        let mut addresses = self.addresses(st, address, mask);
        if space == AccessSpace::Generic {
            for address in &mut addresses {
                if space_of(*address) == Space::Shared {
                    *address -= window(Space::Shared);
                }
            }
        }
        addresses
    }

    /// Where the objects of the lanes are; lanes without a possible place are reported and left
    /// out. Arrivals tell of their own end.
    fn object_places(
        &mut self,
        st: &mut State<'_>,
        at: (AccessSpace, &Address),
        arrives: bool,
        mask: u32,
    ) -> (u32, [Place; 32]) {
        let addresses = self.shared_addresses(st, at, mask);
        let mut places = [(0, 0); 32];
        let mut lanes = self.aligned_lanes(st, Space::Shared, &addresses, 8, mask);
        for lane in lanes_of(lanes) {
            match st.place(addresses[lane]) {
                Some(place) if place.1.saturating_add(8) <= st.env.shared_bytes => {
                    places[lane] = place;
                    if !self.reachable(st, place.0, lane) {
                        lanes &= !(1 << lane);
                    } else if place.0 != st.rank && !arrives {
                        self.note_remote(st, place.0, lane);
                    }
                }
                _ => {
                    self.out_of_bounds(st, Space::Shared, addresses[lane], 8, lane);
                    lanes &= !(1 << lane);
                }
            }
        }
        (lanes, places)
    }

    pub(crate) fn mbarrier(&mut self, st: &mut State<'_>, op: &MbarrierOp, mask: u32) -> Flow {
        let arrives = matches!(op.kind, MbarrierKind::Arrive(_));
        let (lanes, places) = self.object_places(st, (op.space, &op.address), arrives, mask);
        let count = self.values(st, &op.count, mask);
        match &op.kind {
            MbarrierKind::Init => {
                for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
                    self.init(st, places[lane], count[lane] as u32, lane);
                }
            }
            MbarrierKind::Inval => {
                for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
                    self.invalidate(st, places[lane], lane);
                }
            }
            MbarrierKind::ExpectTx | MbarrierKind::CompleteTx => {
                for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
                    let (site, bytes) = (self.site(1 << lane), i64::from(count[lane] as u32));
                    if op.kind == MbarrierKind::ExpectTx {
                        st.mbarrier_expect(places[lane], bytes, site);
                    } else {
                        st.mbarrier_complete(places[lane], bytes, site);
                    }
                }
            }
            MbarrierKind::Arrive(arrival) => {
                self.arrive_object(st, op, *arrival, (lanes, &places), &count);
            }
            MbarrierKind::Wait { parity, suspends } => {
                return self.wait_object(st, op, (*parity, *suspends), (lanes, &places), &count);
            }
            MbarrierKind::PendingCount => {
                if let Some(dst) = op.dst {
                    self.write(dst, mask, &count.map(|token| token >> 32));
                }
            }
        }
        Flow::Next
    }

    fn init(&mut self, st: &mut State<'_>, place: Place, count: u32, lane: usize) {
        let site = self.site(1 << lane);
        if count == 0 || count > MOST_ARRIVALS {
            let location = st.locate(Space::Shared, st.address_of(place));
            st.report(FindingId::MbarrierOverarrive, site, Some(location), || {
                format!("an mbarrier cannot expect {count} arrivals; 1 to {MOST_ARRIVALS}")
            });
        }
        if st.mbarrier(place).is_some() && st.sanitize() {
            let location = st.locate(Space::Shared, st.address_of(place));
            st.report(FindingId::MbarrierInitAgain, site, Some(location), || {
                "an mbarrier is already there; invalidate it first (ISA 9.7.13.15.9)".to_owned()
            });
        }
        st.events += 1;
        if let Some(part) = st.part_mut(place.0) {
            part.shared.mark(place.1 as usize, 8, DEFINED | OBJECT);
            let object = Mbarrier {
                expected: count,
                pending: count,
                ..Mbarrier::default()
            };
            part.mbarriers.insert(place.1, object);
        }
        if let Some(race) = &mut st.race {
            race.object_init(place, site);
        }
    }

    fn invalidate(&mut self, st: &mut State<'_>, place: Place, lane: usize) {
        st.events += 1;
        let removed = st.part_mut(place.0).and_then(|part| {
            let removed = part.mbarriers.remove(&place.1)?;
            part.shared.mark(place.1 as usize, 8, UNDEFINED);
            Some(removed)
        });
        if removed.is_none() {
            st.mbarrier_missing(place, self.site(1 << lane));
        }
    }

    fn arrive_object(
        &mut self,
        st: &mut State<'_>,
        op: &MbarrierOp,
        arrival: Arrival,
        (lanes, places): (u32, &[Place; 32]),
        count: &Lanes,
    ) {
        let mut tokens = [0; 32];
        self.release_to_objects(st, op.reach, lanes, places);
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let (site, place) = (self.site(1 << lane), places[lane]);
            let before = st.mbarrier(place);
            tokens[lane] = before.map_or(0, |object| {
                object.phase & 0xffff_ffff | u64::from(object.pending) << 32
            });
            let given = count[lane] as u32;
            let arrivals = if arrival.expect_tx {
                st.mbarrier_expect(place, i64::from(given), site);
                if st.mbarrier(place).is_none() {
                    continue;
                }
                1
            } else {
                given
            };
            let completes = before_completes(st, place, arrivals);
            st.mbarrier_arrive(place, arrivals, arrival.drop, site);
            if arrival.no_complete && completes {
                let location = st.locate(Space::Shared, st.address_of(place));
                st.report(FindingId::MbarrierOverarrive, site, Some(location), || {
                    "an arrival with .noComplete completes the phase".to_owned()
                });
            }
        }
        if let Some(dst) = op.dst {
            self.write(dst, lanes, &tokens);
        }
    }
}

/// Whether so many arrivals would complete the phase.
fn before_completes(st: &State<'_>, place: Place, arrivals: u32) -> bool {
    st.mbarrier(place)
        .is_some_and(|object| object.pending == arrivals && object.tx == 0)
}
