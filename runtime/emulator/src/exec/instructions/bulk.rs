//! Issue of bulk copies, their groups, and asynchronous stores to other CTAs.

use crate::exec::state::{End, Flow, Pending, Place, Signal, Span, State, Warp, Work, lanes_of};
use crate::finding::{FindingId, Space};
use crate::inst::{AccessSpace, Address, BulkCopy, Lanes, StoreAsync};

impl Warp {
    /// The place of `bytes` shared bytes at an address that is a multiple of `align`; what is
    /// wrong with it is reported.
    pub(crate) fn shared_span(
        &mut self,
        st: &mut State<'_>,
        address: u64,
        (bytes, align): (u64, u64),
        lane: usize,
    ) -> Option<Place> {
        if !address.is_multiple_of(align) {
            self.misaligned(st, Space::Shared, address, align, lane);
            return None;
        }
        let fits = |place: &Place| u64::from(place.1) + bytes <= u64::from(st.env.shared_bytes);
        let Some(place) = st.place(address).filter(fits) else {
            self.out_of_bounds(st, Space::Shared, address, bytes, lane);
            return None;
        };
        self.reachable(st, place.0, lane).then_some(place)
    }

    /// The same for global bytes.
    pub(crate) fn global_span(
        &mut self,
        st: &mut State<'_>,
        address: u64,
        bytes: u64,
        lane: usize,
    ) -> Option<Span> {
        if !address.is_multiple_of(16) {
            self.misaligned(st, Space::Global, address, 16, lane);
            return None;
        }
        if st
            .env
            .global
            .find(address, bytes, &mut st.region_hint)
            .is_none()
        {
            self.out_of_bounds(st, Space::Global, address, bytes, lane);
            return None;
        }
        Some(Span::Global(address))
    }

    /// Addresses of an operand in the shared window; generic ones are brought there.
    pub(crate) fn shared_operand(
        &mut self,
        st: &mut State<'_>,
        address: &Address,
        mask: u32,
    ) -> Lanes {
        self.shared_addresses(st, (AccessSpace::Generic, address), mask)
    }

    /// The mbarrier that ends a copy, if there is one at the address.
    pub(crate) fn end_object(
        &mut self,
        st: &mut State<'_>,
        address: u64,
        lane: usize,
    ) -> Option<Place> {
        let place = self.shared_span(st, address, (8, 8), lane)?;
        if st.mbarrier(place).is_none() {
            st.mbarrier_missing(place, self.site(1 << lane));
            return None;
        }
        Some(place)
    }

    /// A copy's destination in every CTA of a multicast mask; without one the place itself.
    pub(crate) fn multicast(
        &mut self,
        st: &mut State<'_>,
        place: Place,
        ranks: Option<u64>,
        lane: usize,
    ) -> Vec<Place> {
        let Some(ranks) = ranks else {
            return vec![place];
        };
        let named = (0..16).filter(|rank| ranks >> rank & 1 == 1);
        let mut places = Vec::new();
        for rank in named {
            if rank >= st.cluster_ctas() {
                let (site, ctas) = (self.site(1 << lane), st.cluster_ctas());
                st.report(FindingId::OobShared, site, None, || {
                    format!("the multicast mask names CTA {rank} of a cluster of {ctas}")
                });
            } else if self.reachable(st, rank, lane) {
                places.push((rank, place.1));
            }
        }
        places
    }

    /// Queues a copy, or performs it at once.
    pub(crate) fn issue(&mut self, st: &mut State<'_>, work: Work, end: End, lane: usize) {
        let site = self.site(1 << lane);
        let phases = match &end {
            End::Mbarriers(places, _) => st.note_copy(places, site),
            End::Group(group) => {
                self.bulk_open[lane] = Some((*group, site.pc));
                Vec::new()
            }
        };
        let op = Pending {
            site,
            work,
            end,
            phases,
        };
        st.watch_copy(&op);
        if st.is_early() {
            st.perform(op);
        } else {
            st.queue.pending.push(op);
        }
    }

    pub(crate) fn bulk(&mut self, st: &mut State<'_>, op: &BulkCopy, mask: u32) -> Flow {
        let side = |warp: &mut Warp, st: &mut State<'_>, shared: bool, address: &Address| {
            if shared {
                warp.shared_operand(st, address, mask)
            } else {
                warp.addresses(st, address, mask)
            }
        };
        let dst = side(self, st, op.to_shared, &op.dst);
        let src = side(self, st, op.from_shared, &op.src);
        let sizes = self.values(st, &op.bytes, mask);
        let objects = op
            .mbarrier
            .as_ref()
            .map(|address| self.shared_operand(st, address, mask));
        let ranks = op.multicast.as_ref().map(|src| self.values(st, src, mask));
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let bytes = sizes[lane] & 0xffff_ffff;
            if bytes == 0 || !bytes.is_multiple_of(16) {
                let site = self.site(1 << lane);
                st.report(FindingId::Misaligned, site, None, || {
                    format!("a bulk copy of {bytes} bytes; a positive multiple of 16 is needed")
                });
                continue;
            }
            st.counters.bulk_bytes += bytes;
            let source = if op.from_shared {
                self.shared_span(st, src[lane], (bytes, 16), lane)
                    .map(Span::Shared)
            } else {
                self.global_span(st, src[lane], bytes, lane)
            };
            let Some(source) = source else { continue };
            let end = match &objects {
                None => Some(End::Group(self.bulk_committed[lane])),
                Some(objects) => self
                    .end_object(st, objects[lane], lane)
                    .map(|place| End::Mbarriers(vec![place], bytes as i64)),
            };
            let Some(end) = end else { continue };
            let ranks = ranks.map(|ranks| ranks[lane]);
            self.bulk_lane(st, op, (source, dst[lane], bytes), (end, ranks), lane);
        }
        Flow::Next
    }

    /// Issues the copy of one lane.
    fn bulk_lane(
        &mut self,
        st: &mut State<'_>,
        op: &BulkCopy,
        (src, dst, bytes): (Span, u64, u64),
        (mut end, ranks): (End, Option<u64>),
        lane: usize,
    ) {
        let mut targets = Vec::new();
        if op.to_shared {
            let Some(place) = self.shared_span(st, dst, (bytes, 16), lane) else {
                return;
            };
            if let End::Mbarriers(places, _) = &mut end {
                let object = places.first().copied().unwrap_or_default();
                *places = self.multicast(st, object, ranks, lane);
            }
            for place in self.multicast(st, place, ranks, lane) {
                if op.reduce.is_none() {
                    st.begin_write(place, bytes as usize);
                }
                targets.push(Span::Shared(place));
            }
        } else {
            let Some(target) = self.global_span(st, dst, bytes, lane) else {
                return;
            };
            targets.push(target);
        }
        let work = Work::Copy {
            src,
            dst: targets,
            bytes: bytes as usize,
            reduce: op.reduce,
        };
        self.issue(st, work, end, lane);
    }

    pub(crate) fn bulk_commit(&mut self, mask: u32) -> Flow {
        for (lane, committed) in self.bulk_committed.iter_mut().enumerate() {
            *committed += mask >> lane & 1;
        }
        Flow::Next
    }

    pub(crate) fn bulk_wait(
        &mut self,
        st: &mut State<'_>,
        pending: u32,
        read: bool,
        mask: u32,
    ) -> Flow {
        for lane in lanes_of(mask) {
            let limit = self.bulk_committed[lane].saturating_sub(pending);
            let site = self.site(1 << lane);
            st.perform_groups(site, limit);
            if self.bulk_open[lane].is_some_and(|(group, _)| group < limit) {
                self.bulk_open[lane] = None;
            }
            if limit > 0
                && let Some(race) = &mut st.race
            {
                let thread = 32 * race.warp(self.rank, self.id) + lane as u32;
                race.signal_pass(Signal::Bulk(thread), limit, site);
                if !read {
                    race.signal_pass(Signal::BulkWrites(thread), limit, site);
                }
            }
        }
        Flow::Next
    }

    pub(crate) fn store_async(&mut self, st: &mut State<'_>, op: &StoreAsync, mask: u32) -> Flow {
        let dst = self.shared_operand(st, &op.dst, mask);
        let objects = self.shared_operand(st, &op.mbarrier, mask);
        let values: Vec<Lanes> = op
            .values
            .iter()
            .map(|src| self.values(st, src, mask))
            .collect();
        let bytes = u64::from(op.bytes) * values.len() as u64;
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let Some(place) = self.shared_span(st, dst[lane], (bytes, bytes), lane) else {
                continue;
            };
            let Some(object) = self.end_object(st, objects[lane], lane) else {
                continue;
            };
            let mut data = Vec::new();
            for values in &values {
                let value = values[lane].to_le_bytes();
                data.extend(value.iter().take(op.bytes as usize));
            }
            if op.reduce.is_none() {
                st.begin_write(place, bytes as usize);
            }
            let work = Work::Write {
                dst: place,
                data,
                reduce: op.reduce,
            };
            self.issue(st, work, End::Mbarriers(vec![object], bytes as i64), lane);
        }
        Flow::Next
    }

    /// `cp.async.mbarrier.arrive`: the arrival happens when the lane's copies are complete.
    pub(crate) fn copy_arrive(
        &mut self,
        st: &mut State<'_>,
        at: (AccessSpace, &Address),
        no_increment: bool,
        mask: u32,
    ) -> Flow {
        let addresses = self.shared_addresses(st, at, mask);
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let Some(place) = self.end_object(st, addresses[lane], lane) else {
                continue;
            };
            self.complete_copies(st, u32::MAX, lane);
            let site = self.site(1 << lane);
            if let Some(race) = &mut st.race {
                race.object_sees_copies(place, self.committed[lane] + 1, site);
            }
            // Without .noinc the arrival was added to what is expected first: nothing changes.
            if no_increment {
                st.mbarrier_arrive(place, 1, false, site);
            }
        }
        Flow::Next
    }
}
