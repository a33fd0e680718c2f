//! Where an address is: its buffer or variable, the CTA and the offset.

use crate::exec::state::{OFFSET_MASK, Place, RANK_SHIFT, SHARED_START, State};
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

    /// The place of an address in the shared window of the cluster.
    pub(crate) fn place(&self, address: u64) -> Option<Place> {
        let rank = u32::try_from(address >> RANK_SHIFT).ok()?;
        let offset = (address & OFFSET_MASK).checked_sub(u64::from(SHARED_START))?;
        (rank < self.cluster_ctas()).then_some((rank, offset as u32))
    }

    /// The address of a place.
    pub(crate) fn address_of(&self, (rank, offset): Place) -> u64 {
        (u64::from(rank) << RANK_SHIFT) + u64::from(SHARED_START) + u64::from(offset)
    }
}
