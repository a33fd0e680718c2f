//! Loads and stores: addresses, spaces, bounds, alignment, defined bytes.
//!
//! Both go the same way ([`Warp::visit`]) and differ in what they do with an element.

use crate::exec::memory::word_of;
use crate::exec::state::{AccessKind, Flow, State, Touch, Warp};
use crate::finding::Space;
use crate::inst::{Access, Address, Lanes, Reg, Src};
use crate::memory::Region;
use crate::num::int::sign_extend;

/// One element of a lane's access.
struct Spot<'a> {
    /// Where the element is when it is in global memory.
    region: Option<&'a Region>,
    space: Space,
    address: u64,
    index: usize,
    lane: usize,
}

impl Warp {
    /// Calls `element` with every element of an access that is in bounds of global memory or in
    /// another space; it says whether the element is in bounds of that.
    #[inline]
    fn visit<'a>(
        &mut self,
        st: &mut State<'a>,
        (access, kind, touch): (&Access, AccessKind, Touch),
        (addresses, mask): (&Lanes, u32),
        word: impl Fn(usize, u32) -> u32,
        mut element: impl FnMut(&mut Warp, &mut State<'a>, &Spot<'a>) -> bool,
    ) {
        let total = access.bytes * access.count;
        self.by_space(
            access.space,
            addresses,
            mask,
            |warp, space, addresses, lanes| {
                st.observe(space, kind, warp.site(lanes), addresses, total);
                let lanes = warp.aligned_lanes(st, space, addresses, total, lanes);
                if space == Space::Global && st.race.is_some() {
                    let site = warp.site(lanes);
                    st.watch_global(touch, access.order, site, (addresses, total), &word);
                }
                let mut rest = lanes;
                while rest != 0 {
                    let lane = rest.trailing_zeros() as usize & 31;
                    rest &= rest - 1;
                    warp.visit_lane(st, access, (space, addresses[lane], lane), &mut element);
                }
            },
        );
    }

    /// The elements of one lane, until one is out of bounds.
    #[inline]
    fn visit_lane<'a>(
        &mut self,
        st: &mut State<'a>,
        access: &Access,
        (space, start, lane): (Space, u64, usize),
        element: &mut impl FnMut(&mut Warp, &mut State<'a>, &Spot<'a>) -> bool,
    ) {
        let total = u64::from(access.bytes * access.count);
        let mut region = None;
        if space == Space::Global {
            region = st.env.global.find(start, total, &mut st.region_hint);
            if region.is_none() {
                return self.out_of_bounds(st, space, start, total, lane);
            }
        }
        for index in 0..access.count as usize {
            let spot = Spot {
                region,
                space,
                address: start.wrapping_add(u64::from(access.bytes) * index as u64),
                index,
                lane,
            };
            if !element(self, st, &spot) {
                return self.out_of_bounds(st, space, start, total, lane);
            }
        }
    }

    /// A load of up to `N` elements.
    #[inline]
    pub(crate) fn load<const N: usize>(
        &mut self,
        st: &mut State<'_>,
        access: &Access,
        sign_bits: u32,
        dst: &[Option<Reg>],
        mask: u32,
    ) -> Flow {
        let addresses = self.addresses(st, &access.address, mask);
        let mut out = self.load_at::<N>(st, access, (&addresses, mask));
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

    /// The elements of a load from addresses that its operand does not give.
    #[inline]
    pub(crate) fn load_at<const N: usize>(
        &mut self,
        st: &mut State<'_>,
        access: &Access,
        (addresses, mask): (&Lanes, u32),
    ) -> [Lanes; N] {
        let mut out = [[0u64; 32]; N];
        // Lanes that load undefined bytes of global memory, and the first one's address.
        let mut undefined = (0u32, 0);
        let kind = if access.order.strong {
            AccessKind::StrongLoad(access.order)
        } else {
            AccessKind::Load
        };
        let way = (access, kind, Touch::load(access.order));
        self.visit(
            st,
            way,
            (addresses, mask),
            |_, _| 0,
            |warp, st, spot| {
                let Some(out) = out.get_mut(spot.index) else {
                    return false;
                };
                let Some(region) = spot.region else {
                    let value =
                        warp.load_near(st, spot.space, spot.address, access.bytes, spot.lane);
                    out[spot.lane] = value.unwrap_or(0);
                    return value.is_some();
                };
                let (value, defined) = region.load(spot.address, access.bytes);
                out[spot.lane] = value;
                if !defined {
                    undefined.1 = if undefined.0 == 0 {
                        spot.address
                    } else {
                        undefined.1
                    };
                    undefined.0 |= 1 << spot.lane;
                }
                true
            },
        );
        if undefined.0 != 0 && st.sanitize() {
            self.uninitialized(st, Space::Global, undefined.1, self.site(undefined.0));
        }
        out
    }

    /// A store of up to `N` elements.
    #[inline]
    pub(crate) fn store<const N: usize>(
        &mut self,
        st: &mut State<'_>,
        access: &Access,
        src: &[Src],
        mask: u32,
    ) -> Flow {
        let mut values = [[0u64; 32]; N];
        for (values, src) in values.iter_mut().zip(src) {
            *values = self.values(st, src, mask);
        }
        let addresses = self.addresses(st, &access.address, mask);
        self.store_at(st, access, &values, (&addresses, mask));
        Flow::Next
    }

    /// Stores elements to addresses that the operand does not give.
    #[inline]
    pub(crate) fn store_at<const N: usize>(
        &mut self,
        st: &mut State<'_>,
        access: &Access,
        values: &[Lanes; N],
        (addresses, mask): (&Lanes, u32),
    ) {
        let kind = if access.order.strong {
            AccessKind::StrongStore(access.order)
        } else {
            AccessKind::Store
        };
        let bytes = access.bytes;
        let way = (access, kind, Touch::store(access.order));
        let word = |lane: usize, offset: u32| word_of(values, bytes, lane, offset);
        self.visit(st, way, (addresses, mask), word, |warp, st, spot| {
            let Some(values) = values.get(spot.index) else {
                return false;
            };
            let value = values[spot.lane];
            if st.compares {
                st.exchanged += u64::from(!warp.holds(st, spot, bytes, value));
            }
            match spot.region {
                Some(region) => {
                    region.store(spot.address, bytes, value);
                    true
                }
                None => warp.store_near(st, spot.space, spot.address, bytes, value, spot.lane),
            }
        });
        st.traces += u64::from(st.compares);
        st.settle_rewrites(|st, lane, (rank, word)| {
            let lane = lane as usize;
            let kept = u64::MAX >> (64 - (8 * bytes).clamp(1, 64));
            let stored = (0..).zip(values).filter_map(|(index, values)| {
                let at = addresses[lane].wrapping_add(u64::from(bytes) * index);
                let (own, offset) = st.place(at)?;
                let near = offset < (word / 4 + 1) * 4 && offset + bytes > word / 4 * 4;
                let part = st.part(rank).filter(|_| own == rank && near)?;
                let value = values[lane] & kept;
                Some(part.shared.holds(offset as usize, bytes as usize, value))
            });
            let active = mask >> lane & 1 == 1;
            stored.filter(|_| active).reduce(|all, one| all && one)
        });
    }

    /// Whether memory holds a value already, defined and nothing special.
    #[cold]
    fn holds(&self, st: &State<'_>, spot: &Spot<'_>, bytes: u32, value: u64) -> bool {
        let kept = u64::MAX >> (64 - (8 * bytes).clamp(1, 64));
        let size = bytes as usize;
        match (spot.region, spot.space) {
            (Some(region), _) => region.load(spot.address, bytes) == (value & kept, true),
            (None, Space::Shared) => st.place(spot.address).is_some_and(|(rank, offset)| {
                let part = st.part(rank);
                part.is_some_and(|part| part.shared.holds(offset as usize, size, value & kept))
            }),
            (None, Space::Local) => {
                let (at, local) = (usize::try_from(spot.address), self.local.get(spot.lane));
                at.ok()
                    .zip(local)
                    .is_some_and(|(at, local)| local.holds(at, size, value & kept))
            }
            _ => false,
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
