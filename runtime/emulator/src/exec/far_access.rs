//! Loads and stores that reach another CTA of the cluster, stores to special bytes, discards.

use crate::exec::state::{DEFINED, Flow, IN_FLIGHT, OBJECT, State, Warp};
use crate::finding::Space;
use crate::inst::Address;

impl Warp {
    /// Loads from the shared memory of another CTA of the cluster.
    pub(super) fn load_far(
        &mut self,
        st: &mut State<'_>,
        address: u64,
        bytes: usize,
        lane: usize,
    ) -> Option<(u64, u8)> {
        let (rank, offset) = st.place(address).filter(|place| place.0 != st.rank)?;
        if !self.reachable(st, rank, lane) {
            return Some((0, DEFINED));
        }
        self.note_remote(st, rank, lane);
        st.part(rank)?.shared.load(offset as usize, bytes)
    }

    /// Stores to the shared memory of another CTA of the cluster.
    pub(super) fn store_far(
        &mut self,
        st: &mut State<'_>,
        address: u64,
        bytes: usize,
        value: u64,
        lane: usize,
    ) -> Option<u8> {
        let (rank, offset) = st.place(address).filter(|place| place.0 != st.rank)?;
        if !self.reachable(st, rank, lane) {
            return Some(0);
        }
        self.note_remote(st, rank, lane);
        let part = st.part_mut(rank)?;
        part.shared.store(offset as usize, bytes, value)
    }

    /// Remembers an access to another CTA, which must not have exited before.
    pub(super) fn note_remote(&self, st: &mut State<'_>, rank: u32, lane: usize) {
        if let Some(race) = &mut st.race {
            race.remote_access(rank, self.site(1 << lane));
        }
    }

    /// A store to bytes that are an mbarrier or in flight.
    #[cold]
    pub(super) fn special_store(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        address: u64,
        (bytes, before): (u32, u8),
        lane: usize,
    ) {
        let site = self.site(1 << lane);
        if before & OBJECT != 0
            && let Some(place) = st.place(address)
        {
            st.clobber(place, bytes, site);
        }
        if before & IN_FLIGHT != 0 && st.sanitize() {
            self.not_waited(st, space, address, site);
        }
    }

    /// `discard`: 128 bytes at a multiple of 128 become undefined.
    pub(crate) fn discard(&mut self, st: &mut State<'_>, address: &Address, mask: u32) -> Flow {
        let addresses = self.addresses(st, address, mask);
        let lanes = self.aligned_lanes(st, Space::Global, &addresses, 128, mask);
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            match st
                .env
                .global
                .find(addresses[lane], 128, &mut st.region_hint)
            {
                Some(region) => region.discard(addresses[lane], 128),
                None => self.out_of_bounds(st, Space::Global, addresses[lane], 128, lane),
            }
        }
        Flow::Next
    }
}
