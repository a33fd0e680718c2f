//! The addresses of an operand: by space, aligned, in the shared window.

use super::spaces::space_of;
use crate::exec::state::{State, Warp};
use crate::finding::{FindingId, Space};
use crate::inst::{AccessSpace, Address, Lanes};
use crate::module::{widen, window};

impl Warp {
    /// The addresses of an operand.
    #[inline]
    pub(crate) fn addresses(&mut self, st: &State<'_>, address: &Address, mask: u32) -> Lanes {
        let mut values = self.values(st, &address.base, mask);
        if address.offset != 0 {
            for value in &mut values {
                *value = value.wrapping_add(address.offset as u64);
            }
        }
        if st.env.module.narrow {
            values = values.map(widen);
        }
        values
    }

    /// Splits a generic access by space: calls `f` with each space, its lanes and their addresses.
    #[inline]
    pub(crate) fn by_space(
        &mut self,
        space: AccessSpace,
        addresses: &Lanes,
        mask: u32,
        mut f: impl FnMut(&mut Warp, Space, &Lanes, u32),
    ) {
        if let AccessSpace::Of(space) = space {
            return f(self, space, addresses, mask);
        }
        let mut rest = mask;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize & 31;
            let space = space_of(addresses[first]);
            let same = |lane: usize| u32::from(space_of(addresses[lane]) == space) << lane;
            let lanes = (0..32).fold(0, |all, lane| all | same(lane)) & rest;
            let base = window(space);
            f(
                self,
                space,
                &addresses.map(|address| address.wrapping_sub(base)),
                lanes,
            );
            rest &= !lanes;
        }
    }

    /// Reports and removes lanes whose address is not a multiple of the access size.
    #[inline]
    pub(crate) fn aligned_lanes(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        addresses: &Lanes,
        bytes: u32,
        mask: u32,
    ) -> u32 {
        let low = u64::from(bytes) - 1;
        let mut bad = 0;
        for (lane, address) in addresses.iter().enumerate() {
            bad |= u32::from(address & low != 0) << lane;
        }
        bad &= mask;
        if bad != 0 {
            let address = addresses[bad.trailing_zeros() as usize & 31];
            let (site, location) = (self.site(bad), st.locate(space, address));
            st.report(FindingId::Misaligned, site, Some(location), || {
                format!("address {address:#x} of a {bytes}-byte access is no multiple of {bytes}")
            });
        }
        mask & !bad
    }

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
}
