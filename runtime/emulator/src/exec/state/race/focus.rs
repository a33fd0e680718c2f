//! An address that is watched: who touches it.

use super::Race;
use crate::exec::state::site::{Place, Site};

/// The address of a finding, and who touched it since it was asked for.
#[derive(Debug, Default)]
pub(crate) struct Focus {
    /// The place, where it is in shared memory.
    pub(crate) shared: Option<Place>,
    /// The address, where it is in global memory.
    pub(crate) global: Option<u64>,
    /// Who touched it.
    pub(crate) hits: Vec<Site>,
}

/// Whether bytes from a start on have one of the word that holds an address.
fn meets(start: u64, bytes: u32, address: u64) -> bool {
    let word = address / 4 * 4;
    start < word + 4 && word < start.saturating_add(u64::from(bytes))
}

impl Race {
    /// Notes an access to shared memory.
    #[inline]
    pub(super) fn sees_shared(&mut self, (place, bytes): (Place, u32), site: Site) {
        let Some(focus) = &mut self.focus else { return };
        let same = focus.shared.filter(|(rank, _)| *rank == place.0);
        if same.is_some_and(|(_, offset)| meets(place.1.into(), bytes, offset.into())) {
            focus.hits.push(site);
        }
    }

    /// Notes an access to global memory.
    #[inline]
    pub(super) fn sees_global(&mut self, (start, bytes): (u64, u32), site: Site) {
        let Some(focus) = &mut self.focus else { return };
        let address = focus.global;
        if address.is_some_and(|address| meets(start, bytes, address)) {
            focus.hits.push(site);
        }
    }
}
