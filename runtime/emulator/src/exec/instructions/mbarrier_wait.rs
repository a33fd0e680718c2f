//! Waits for the phases of mbarriers: `test_wait` and `try_wait`.

use crate::exec::state::{Flow, Place, State, Status, Wait, Warp, lanes_of};
use crate::finding::{FindingId, Space};
use crate::inst::{Lanes, MbarrierOp};
use crate::options::WarpOrder;

impl Warp {
    /// Waits of `lanes`. What has no object, or cannot have one as the `lost` lanes do, has been
    /// reported and goes on: nothing would ever end its wait.
    pub(crate) fn wait_object(
        &mut self,
        st: &mut State<'_>,
        op: &MbarrierOp,
        (parity, suspends): (bool, bool),
        (lanes, lost, places): (u32, u32, &[Place; 32]),
        given: &Lanes,
    ) -> Flow {
        self.check_parities(st, parity, (lanes, places), given);
        let mut done = lost;
        let mut waiting = None;
        let mut skipped = 0;
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let place = places[lane];
            let Some(object) = st.mbarrier(place) else {
                st.mbarrier_missing(place, self.site(1 << lane));
                done |= 1 << lane;
                continue;
            };
            let passed = if parity {
                object.phase & 1 != given[lane] & 1
            } else {
                object.phase & 0xffff_ffff != given[lane] & 0xffff_ffff
            };
            let target = object.phase + u64::from(!passed);
            if parity && target > object.observed + 2 && (target - object.observed) % 2 == 1 {
                skipped |= 1 << lane;
            }
            if passed {
                done |= 1 << lane;
            } else {
                waiting = Some((place, given[lane] & 1));
            }
        }
        self.report_skipped(st, skipped, places);
        for lane in lanes_of(done & lanes) {
            if let Some(object) = st.mbarrier_mut(places[lane]) {
                object.observed = object.observed.max(object.phase);
            }
        }
        if suspends
            && done == 0
            && let Some((place, parity)) = waiting
            && !self.times_out(st)
        {
            let wait = Wait::Mbarrier { place, parity };
            return Flow::Suspend(Status::Events {
                seen: st.events,
                wait,
            });
        }
        if let Some(slot) = op.dst_pred {
            self.write_pred(slot, lanes | lost, done);
        }
        self.spinning |= waiting.is_some();
        self.acquire_from_objects(st, op.reach, done & lanes, places);
        Flow::Next
    }

    /// Finds parities that are none.
    fn check_parities(
        &self,
        st: &mut State<'_>,
        parity: bool,
        (lanes, places): (u32, &[Place; 32]),
        given: &Lanes,
    ) {
        let wrong = lanes_of(lanes).find(|lane| given[*lane] > 1);
        let Some(lane) = wrong.filter(|_| parity && st.sanitize()) else {
            return;
        };
        let location = st.locate(Space::Shared, st.address_of(places[lane]));
        let (site, value) = (self.site(1 << lane), given[lane]);
        st.report(FindingId::MbarrierParity, site, Some(location), || {
            format!("parity {value}; a phase has 0 or 1 (ISA 9.7.13.15.16)")
        });
    }

    /// Whether a wait that cannot pass comes back with nothing: every other time at one place.
    fn times_out(&self, st: &mut State<'_>) -> bool {
        let options = &st.env.options;
        if !options.waits_time_out && !matches!(options.warp_order, WarpOrder::Random(_)) {
            return false;
        }
        let here = (self.rank, self.id, self.pc());
        let first = st.timed_out.insert(here);
        if !first {
            st.timed_out.remove(&here);
        }
        first
    }

    /// Lanes that wait with the parity of a phase two before the one they get.
    ///
    /// The phases that no thread of the cluster has seen complete are counted, not those this
    /// lane has not: warps that take turns see every other one.
    fn report_skipped(&mut self, st: &mut State<'_>, lanes: u32, places: &[Place; 32]) {
        if lanes == 0 || !st.sanitize() {
            return;
        }
        let place = places[lanes.trailing_zeros() as usize & 31];
        let (site, location) = (
            self.site(lanes),
            st.locate(Space::Shared, st.address_of(place)),
        );
        let (phase, observed) = st
            .mbarrier(place)
            .map_or((0, 0), |object| (object.phase, object.observed));
        st.report(FindingId::MbarrierPhaseSkipped, site, Some(location), || {
            format!(
                "{phase} phases are complete and {observed} were waited for: the parity is that of \
                 a phase long past"
            )
        });
    }
}
