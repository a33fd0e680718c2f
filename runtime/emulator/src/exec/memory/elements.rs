//! Loads and stores of one element, near the processor or in another CTA of the cluster.

use crate::exec::state::{DEFINED, IN_FLIGHT, OBJECT, State, Warp};
use crate::finding::Space;

/// What one access of a lane gave.
pub(crate) type Loaded = Option<u64>;

impl Warp {
    /// Loads from a space that is near the processor; reports undefined bytes. `None` is out of
    /// bounds.
    pub(crate) fn load_near(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        address: u64,
        bytes: u32,
        lane: usize,
    ) -> Loaded {
        let size = bytes as usize;
        let (value, state) = match space {
            Space::Shared => {
                let at = address.wrapping_sub(st.near.base);
                match st.near.shared.load(at as usize, size) {
                    Some(loaded) => loaded,
                    None => self.load_far(st, address, size, lane)?,
                }
            }
            Space::Local => self
                .local
                .get(lane)?
                .load(usize::try_from(address).ok()?, size)?,
            Space::Param => (slice(&st.env.params, address, size)?, DEFINED),
            Space::Const => (slice(&st.env.module.constants, address, size)?, DEFINED),
            Space::Global => return None,
        };
        if state != DEFINED && st.sanitize() {
            let site = self.site(1 << lane);
            if state == IN_FLIGHT {
                self.not_waited(st, space, address, site);
            } else {
                self.uninitialized(st, space, address, site);
            }
        }
        Some(value)
    }

    /// Stores to a space that is near the processor; false is out of bounds.
    pub(crate) fn store_near(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        address: u64,
        bytes: u32,
        value: u64,
        lane: usize,
    ) -> bool {
        let size = bytes as usize;
        let stored = match space {
            Space::Shared => {
                let at = address.wrapping_sub(st.near.base);
                match st.near.shared.store(at as usize, size, value) {
                    None => self.store_far(st, address, size, value, lane),
                    stored => stored,
                }
            }
            Space::Local => usize::try_from(address)
                .ok()
                .and_then(|at| self.local.get_mut(lane)?.store(at, size, value)),
            Space::Param | Space::Const | Space::Global => None,
        };
        match stored {
            None => false,
            Some(before) => {
                if before != 0 {
                    self.special_store(st, space, address, (bytes, before), lane);
                }
                true
            }
        }
    }

    /// Loads from the shared memory of another CTA of the cluster.
    pub(crate) fn load_far(
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
    pub(crate) fn store_far(
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

    /// A store to bytes that are an mbarrier or in flight.
    #[cold]
    pub(crate) fn special_store(
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

/// Up to 8 bytes of a read-only block.
fn slice(block: &[u8], address: u64, bytes: usize) -> Option<u64> {
    let start = usize::try_from(address).ok()?;
    let source = block.get(start..start.checked_add(bytes)?)?;
    let mut wide = [0; 8];
    wide.get_mut(..bytes)?.copy_from_slice(source);
    Some(u64::from_le_bytes(wide))
}
