//! What every access tells: which traffic it makes, and whom it races with.

use crate::counters::InstClass;
use crate::exec::state::{AccessKind, Site, State, lanes_of};
use crate::finding::Space;

impl State<'_> {
    /// Every access of a warp passes here once: counters and the race detector listen.
    #[inline]
    pub(crate) fn observe(
        &mut self,
        space: Space,
        kind: AccessKind,
        site: Site,
        addresses: &[u64; 32],
        bytes: u32,
    ) {
        if self.env.options.counters {
            self.count_access(space, kind, site.lanes, addresses, bytes);
        }
        if space == Space::Shared && self.race.is_some() {
            self.watch_shared(kind, site, addresses, bytes);
        }
        if let Some(polled) = self.polled.as_mut().filter(|_| space == Space::Global) {
            polled.extend(lanes_of(site.lanes).map(|lane| (addresses[lane], bytes)));
        }
    }

    /// Takes back the count of an instruction that will run again.
    pub(crate) fn uncount(&mut self, class: InstClass, lanes: u32) {
        if let Some(class) = self.counters.classes.get_mut(class as usize) {
            class.executions -= 1;
            class.lanes -= u64::from(lanes.count_ones());
        }
    }

    fn count_access(
        &mut self,
        space: Space,
        kind: AccessKind,
        mask: u32,
        addresses: &[u64; 32],
        bytes: u32,
    ) {
        match space {
            Space::Global => {
                let mut active = [0u64; 32];
                let mut count = 0;
                for (lane, address) in addresses.iter().enumerate() {
                    if mask >> lane & 1 == 1 {
                        active[count] = *address;
                        count += 1;
                    }
                }
                let traffic = match kind {
                    AccessKind::Load | AccessKind::StrongLoad(_) => &mut self.counters.global_load,
                    AccessKind::Atomic(_) => &mut self.counters.global_atomic,
                    AccessKind::AsyncCopy => &mut self.counters.async_copy,
                    _ => &mut self.counters.global_store,
                };
                traffic.count(&active[..count], u64::from(bytes));
            }
            Space::Shared => self.count_shared(kind, mask, addresses, bytes),
            Space::Local => {
                self.counters.local_bytes += u64::from(bytes) * u64::from(mask.count_ones());
            }
            Space::Param | Space::Const => {}
        }
    }

    fn count_shared(&mut self, kind: AccessKind, mask: u32, addresses: &[u64; 32], bytes: u32) {
        let traffic = match kind {
            AccessKind::Load | AccessKind::StrongLoad(_) => &mut self.counters.shared_load,
            AccessKind::Store | AccessKind::StrongStore(_) => &mut self.counters.shared_store,
            AccessKind::Atomic(_) => &mut self.counters.shared_atomic,
            AccessKind::AsyncCopy => &mut self.counters.shared_async,
            AccessKind::LoadMatrix => &mut self.counters.shared_ldmatrix,
            AccessKind::StoreMatrix => &mut self.counters.shared_stmatrix,
        };
        let mut active = [0u32; 32];
        let mut count = 0;
        for (lane, address) in addresses.iter().enumerate() {
            if mask >> lane & 1 == 1 {
                active[count] = *address as u32;
                count += 1;
            }
        }
        // Lanes of one phase move 128 bytes.
        let phase = (128 / bytes.max(4)) as usize;
        traffic.count(&active[..count], bytes, phase);
    }
}
