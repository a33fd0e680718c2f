//! Loads and stores: addresses, spaces, bounds, alignment, defined bytes.

use super::alu::space_of;
use super::global_report::word_of;
use super::race::Touch;
use super::state::{AccessKind, DEFINED, IN_FLIGHT, Site, State};
use super::warp::{Flow, Warp};
use crate::finding::{FindingId, Space};
use crate::inst::{AccessSpace, Address, Lanes, Order, Reg, Src};
use crate::module::window;
use crate::num::int::sign_extend;

/// What one access of a lane gave.
pub(crate) type Loaded = Option<u64>;

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

    pub(crate) fn load(
        &mut self,
        st: &mut State<'_>,
        (space, address, order): (AccessSpace, &Address, Order),
        (bytes, sign_bits): (u32, u32),
        dst: &[Option<Reg>],
        mask: u32,
    ) -> Flow {
        let addresses = self.addresses(st, address, mask);
        let mut out = [[0u64; 32]; 4];
        let kind = if order.strong {
            AccessKind::StrongLoad
        } else {
            AccessKind::Load
        };
        let total = bytes * dst.len() as u32;
        self.by_space(space, &addresses, mask, |warp, space, addresses, lanes| {
            st.observe(space, kind, warp.site(lanes), addresses, total);
            let lanes = warp.aligned_lanes(st, space, addresses, total, lanes);
            if space == Space::Global && st.race.is_some() {
                let touch = Touch::load(order);
                st.watch_global(touch, order, warp.site(lanes), (addresses, total), |_, _| 0);
            }
            warp.load_space(st, space, addresses, (bytes, dst.len()), lanes, &mut out);
        });
        for (dst, values) in dst.iter().zip(&mut out) {
            let Some(dst) = dst else { continue };
            if sign_bits != 0 {
                for value in values.iter_mut() {
                    *value = sign_extend(*value, sign_bits);
                }
            }
            self.write(*dst, mask, values);
        }
        Flow::Next
    }

    fn load_space(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        addresses: &Lanes,
        (bytes, count): (u32, usize),
        mask: u32,
        out: &mut [Lanes; 4],
    ) {
        let total = u64::from(bytes) * count as u64;
        let mut undefined = 0;
        let mut lanes = mask;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize & 31;
            lanes &= lanes - 1;
            let address = addresses[lane];
            if space == Space::Global {
                let Some(region) = st.env.global.find(address, total, &mut st.region_hint) else {
                    self.out_of_bounds(st, space, address, total, lane);
                    continue;
                };
                for (element, out) in out.iter_mut().enumerate().take(count) {
                    let at = address + u64::from(bytes) * element as u64;
                    let (value, defined) = region.load(at, bytes);
                    out[lane] = value;
                    undefined |= u32::from(!defined) << lane;
                }
                continue;
            }
            for (element, out) in out.iter_mut().enumerate().take(count) {
                let at = address.wrapping_add(u64::from(bytes) * element as u64);
                match self.load_near(st, space, at, bytes, lane) {
                    Some(value) => out[lane] = value,
                    None => {
                        self.out_of_bounds(st, space, address, total, lane);
                        break;
                    }
                }
            }
        }
        if undefined != 0 && st.sanitize() {
            let address = addresses[undefined.trailing_zeros() as usize & 31];
            self.uninitialized(st, space, address, self.site(undefined));
        }
    }

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

    pub(crate) fn store(
        &mut self,
        st: &mut State<'_>,
        (space, address, order): (AccessSpace, &Address, Order),
        bytes: u32,
        src: &[Src],
        mask: u32,
    ) -> Flow {
        let addresses = self.addresses(st, address, mask);
        let mut values = [[0u64; 32]; 4];
        let kind = if order.strong {
            AccessKind::StrongStore
        } else {
            AccessKind::Store
        };
        for (values, src) in values.iter_mut().zip(src) {
            *values = self.values(st, src, mask);
        }
        let total = bytes * src.len() as u32;
        self.by_space(space, &addresses, mask, |warp, space, addresses, lanes| {
            st.observe(space, kind, warp.site(lanes), addresses, total);
            let lanes = warp.aligned_lanes(st, space, addresses, total, lanes);
            if space == Space::Global && st.race.is_some() {
                let word = |lane: usize, offset: u32| word_of(&values, bytes, lane, offset);
                let touch = Touch::store(order);
                st.watch_global(touch, order, warp.site(lanes), (addresses, total), word);
            }
            warp.store_space(st, space, addresses, bytes, lanes, &values[..src.len()]);
        });
        st.settle_rewrites();
        Flow::Next
    }

    fn store_space(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        addresses: &Lanes,
        bytes: u32,
        mask: u32,
        values: &[Lanes],
    ) {
        let total = u64::from(bytes) * values.len() as u64;
        let mut lanes = mask;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize & 31;
            lanes &= lanes - 1;
            let address = addresses[lane];
            if space == Space::Global {
                let Some(region) = st.env.global.find(address, total, &mut st.region_hint) else {
                    self.out_of_bounds(st, space, address, total, lane);
                    continue;
                };
                for (element, values) in values.iter().enumerate() {
                    region.store(
                        address + u64::from(bytes) * element as u64,
                        bytes,
                        values[lane],
                    );
                }
                continue;
            }
            for (element, values) in values.iter().enumerate() {
                let at = address.wrapping_add(u64::from(bytes) * element as u64);
                if !self.store_near(st, space, at, bytes, values[lane], lane) {
                    self.out_of_bounds(st, space, address, total, lane);
                    break;
                }
            }
        }
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

    #[cold]
    pub(crate) fn out_of_bounds(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        address: u64,
        bytes: u64,
        lane: usize,
    ) {
        let id = match space {
            Space::Global => FindingId::OobGlobal,
            Space::Shared => FindingId::OobShared,
            Space::Local => FindingId::OobLocal,
            Space::Param | Space::Const => FindingId::OobParam,
        };
        let limit = match space {
            Space::Shared => Some(st.env.shared_bytes as usize),
            Space::Local => self.local.get(lane).map(|local| local.data.len()),
            Space::Param => Some(st.env.params.len()),
            Space::Const => Some(st.env.module.constants.len()),
            Space::Global => None,
        };
        let (site, location) = (self.site(1 << lane), st.locate(space, address));
        let size = st
            .env
            .global
            .nearest(address)
            .map_or(0, |(region, _)| region.bytes);
        st.report(id, site, Some(location.clone()), || {
            match (limit, &location.buffer) {
                (Some(limit), _) => {
                    let space = space.as_str();
                    format!(
                        "{bytes} bytes at {space} address {address:#x}; {limit} bytes are declared"
                    )
                }
                (None, Some(buffer)) => format!(
                    "{bytes} bytes at {address:#x} are in no buffer; nearest is {buffer} of \
                 {size} bytes, \
                 offset {}",
                    location.offset_bytes
                ),
                (None, None) => format!("{bytes} bytes at {address:#x}: the launch has no buffers"),
            }
        });
    }

    #[cold]
    pub(crate) fn uninitialized(&self, st: &mut State<'_>, space: Space, address: u64, site: Site) {
        let id = match space {
            Space::Shared => FindingId::UninitShared,
            Space::Local => FindingId::UninitLocal,
            _ => FindingId::UninitGlobal,
        };
        let location = st.locate(space, address);
        st.report(id, site, Some(location), || {
            format!("load of {} bytes that nothing wrote", space.as_str())
        });
    }

    #[cold]
    pub(crate) fn not_waited(&self, st: &mut State<'_>, space: Space, address: u64, site: Site) {
        let location = st.locate(space, address);
        st.report(FindingId::AsyncNotWaited, site, Some(location), || {
            "access to the destination of an asynchronous copy whose group was not \
             committed and waited for"
                .to_owned()
        });
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
