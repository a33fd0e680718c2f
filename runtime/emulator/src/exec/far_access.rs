//! Loads and stores that reach another CTA of the cluster, stores to special bytes, discards.

use crate::exec::state::{Flow, State, Warp};
use crate::finding::Space;
use crate::inst::Address;

impl Warp {
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
