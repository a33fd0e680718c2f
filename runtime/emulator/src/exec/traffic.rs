//! What every access tells: where it is, which traffic it makes, and whom it races with.

use crate::counters::InstClass;
use crate::exec::state::{AccessKind, OFFSET_MASK, SHARED_START, Site, State};
use crate::finding::{Location, Space};

impl State<'_> {
    /// An address as buffer and offset.
    #[cold]
    pub(crate) fn locate(&self, space: Space, address: u64) -> Location {
        let (buffer, offset_bytes) = match space {
            Space::Global => match self.env.global.nearest(address) {
                Some((region, offset)) => (Some(region.name.clone()), offset),
                None => (None, address as i64),
            },
            Space::Shared => self.locate_shared(address),
            Space::Param => self.locate_param(address),
            Space::Local | Space::Const => (None, address as i64),
        };
        Location {
            space,
            buffer,
            offset_bytes,
            address,
        }
    }

    fn locate_shared(&self, address: u64) -> (Option<String>, i64) {
        let offset = (address & OFFSET_MASK).wrapping_sub(u64::from(SHARED_START)) as i64;
        let entry = self.env.entry;
        let variables = self.env.module.shared.iter().zip(&entry.shared_offsets);
        let holding = variables.filter(|(variable, start)| {
            let bytes = if variable.dynamic {
                u32::MAX
            } else {
                variable.bytes
            };
            (i64::from(**start)..i64::from(**start) + i64::from(bytes)).contains(&offset)
        });
        match holding.max_by_key(|(_, start)| **start) {
            Some((variable, start)) => (Some(variable.name.clone()), offset - i64::from(*start)),
            None => (None, offset),
        }
    }

    fn locate_param(&self, address: u64) -> (Option<String>, i64) {
        let params = self.env.entry.params.iter();
        let before = params.filter(|param| u64::from(param.offset_bytes) <= address);
        match before.max_by_key(|param| param.offset_bytes) {
            Some(param) => (
                Some(param.name.clone()),
                (address as i64).wrapping_sub(i64::from(param.offset_bytes)),
            ),
            None => (None, address as i64),
        }
    }

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
