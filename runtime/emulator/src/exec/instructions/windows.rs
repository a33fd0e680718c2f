//! Addresses moved between windows: `cvta`, `isspacep`, `mapa`, `getctarank`.

use crate::exec::state::{Flow, OFFSET_MASK, RANK_SHIFT, State, Warp};
use crate::finding::{FindingId, Space};
use crate::inst::{Exec, Lanes, Mapa};
use crate::module::window;

impl Warp {
    /// `cvta` and `isspacep`.
    pub(crate) fn windows(&mut self, st: &State<'_>, exec: &Exec, mask: u32) -> Flow {
        match exec {
            Exec::Convey {
                space,
                to_space,
                dst,
                src,
            } => {
                let base = window(*space);
                let values = self.values(st, src, mask);
                let moved = |v: u64| {
                    if *to_space {
                        v.wrapping_sub(base)
                    } else {
                        v.wrapping_add(base)
                    }
                };
                self.write(*dst, mask, &values.map(moved));
            }
            Exec::IsSpace {
                space,
                own,
                dst,
                src,
            } => {
                let values = self.values(st, src, mask);
                let holds = |i: usize| u32::from(st.is_in(*space, *own, values[i])) << i;
                self.write_pred(*dst, mask, (0..32).fold(0, |all, i| all | holds(i)));
            }
            _ => {}
        }
        Flow::Next
    }

    /// `mapa` and `getctarank`.
    pub(crate) fn map_address(&mut self, st: &mut State<'_>, op: &Mapa, mask: u32) -> Flow {
        let base = if op.generic { window(Space::Shared) } else { 0 };
        let addresses = self.values(st, &op.address, mask);
        let Some(rank) = &op.rank else {
            let ranks = addresses.map(|address| address.wrapping_sub(base) >> RANK_SHIFT);
            self.write(op.dst, mask, &ranks);
            return Flow::Next;
        };
        let ranks = self.values(st, rank, mask);
        let ctas = u64::from(st.cluster_ctas());
        let over = |lane: usize| u32::from(ranks[lane] & 0xffff_ffff >= ctas) << lane;
        let bad = (0..32).fold(0, |all, lane| all | over(lane)) & mask;
        if bad != 0 {
            let (site, rank) = (self.site(bad), ranks[bad.trailing_zeros() as usize & 31]);
            st.report(FindingId::OobShared, site, None, || {
                format!("mapa names CTA {rank} of a cluster of {ctas}")
            });
        }
        let moved: Lanes = std::array::from_fn(|lane| {
            let offset = addresses[lane].wrapping_sub(base) & OFFSET_MASK;
            base + ((ranks[lane] & 0xffff_ffff) << RANK_SHIFT | offset)
        });
        self.write(op.dst, mask, &moved);
        Flow::Next
    }
}
