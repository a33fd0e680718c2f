//! `atom` and `red` on shared and global memory.
//!
//! Lanes act one after the other in ascending order, each on the memory the former one left.
//! Kernels with global atomics run CTA by CTA, so a plain read-modify-write is atomic.

use crate::exec::memory::combine;
use crate::exec::state::{AccessKind, Flow, State, Touch, Warp};
use crate::finding::Space;
use crate::inst::{AtomOp, Atomic, Lanes};
use crate::num::int::truncate;

impl Warp {
    pub(crate) fn atomic(&mut self, st: &mut State<'_>, op: &Atomic, mask: u32) -> Flow {
        let addresses = self.addresses(st, &op.address, mask);
        let count = op.values.len();
        let values: Vec<Lanes> = op
            .values
            .iter()
            .map(|src| self.values(st, src, mask))
            .collect();
        let swap: Vec<Lanes> = op
            .swap
            .iter()
            .map(|src| self.values(st, src, mask))
            .collect();
        let bytes = op.bits / 8;
        let mut old = vec![[0u64; 32]; count];
        let total = bytes * count as u32;
        self.by_space(
            op.space,
            &addresses,
            mask,
            |warp, space, addresses, lanes| {
                st.observe(
                    space,
                    AccessKind::Atomic(op.order),
                    warp.site(lanes),
                    addresses,
                    total,
                );
                let lanes = warp.aligned_lanes(st, space, addresses, total, lanes);
                if space == Space::Global && st.race.is_some() {
                    let touch = Touch::atomic(op.order, op.op == AtomOp::Cas);
                    let site = warp.site(lanes);
                    st.watch_global(touch, op.order, site, (addresses, total), |_, _| 0);
                }
                for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
                    let start = addresses[lane];
                    let at = |element: usize| start.wrapping_add(u64::from(bytes) * element as u64);
                    let read = old.iter_mut().enumerate().all(|(element, old)| {
                        let before = warp.atomic_load(st, space, at(element), bytes, lane);
                        old[lane] = before.unwrap_or(0);
                        before.is_some()
                    });
                    if !read {
                        warp.out_of_bounds(st, space, start, u64::from(total), lane);
                        continue;
                    }
                    let same = |(old, value): (&Lanes, &Lanes)| {
                        old[lane] == truncate(value[lane], op.bits)
                    };
                    if op.op == AtomOp::Cas && !old.iter().zip(&values).all(same) {
                        // The parts of a 128-bit value are swapped together or not at all.
                        continue;
                    }
                    for (element, (old, value)) in old.iter().zip(&values).enumerate() {
                        let swap = swap.get(element).map_or(0, |swap| swap[lane]);
                        let what = (op.op, op.ty, op.bits);
                        let after = combine(what, old[lane], value[lane], swap);
                        st.exchanged += u64::from(truncate(after, op.bits) != old[lane]);
                        warp.atomic_store(st, space, at(element), bytes, after, lane);
                    }
                }
            },
        );
        for (dst, old) in op.dst.iter().zip(&old) {
            if let Some(dst) = dst {
                self.write(*dst, mask, old);
            }
        }
        Flow::Next
    }

    fn atomic_load(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        address: u64,
        bytes: u32,
        lane: usize,
    ) -> Option<u64> {
        if space != Space::Global {
            return self.load_near(st, space, address, bytes, lane);
        }
        let region = st
            .env
            .global
            .find(address, u64::from(bytes), &mut st.region_hint)?;
        let (value, defined) = region.load(address, bytes);
        if !defined && st.sanitize() {
            self.uninitialized(st, space, address, self.site(1 << lane));
        }
        Some(value)
    }

    fn atomic_store(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        address: u64,
        bytes: u32,
        value: u64,
        lane: usize,
    ) {
        if space != Space::Global {
            self.store_near(st, space, address, bytes, value, lane);
        } else if let Some(region) =
            st.env
                .global
                .find(address, u64::from(bytes), &mut st.region_hint)
        {
            region.store(address, bytes, value);
        }
    }
}
