//! `mbarrier`: objects made and unmade, bytes announced, arrivals.

use crate::exec::state::{
    DEFINED, Flow, Mbarrier, OBJECT, Place, State, UNDEFINED, Warp, lanes_of,
};
use crate::finding::{FindingId, Space};
use crate::inst::{AccessSpace, Address, Arrival, Lanes, MbarrierKind, MbarrierOp};

/// Arrivals that one phase may expect (ISA 9.7.13.15.2).
const MOST_ARRIVALS: u32 = (1 << 20) - 1;

impl Warp {
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
                let asks = (*parity, *suspends);
                return self.wait_object(st, op, asks, (lanes, mask & !lanes, &places), &count);
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
