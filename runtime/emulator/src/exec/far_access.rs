//! Loads and stores that reach another CTA of the cluster, and stores to special bytes.

use super::bytes::{DEFINED, IN_FLIGHT, OBJECT};
use super::state::State;
use super::warp::Warp;
use crate::finding::Space;

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
}
