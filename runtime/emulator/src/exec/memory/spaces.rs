//! Generic addresses and the windows of the state spaces in them (ISA 5.1).

use crate::exec::state::{RANK_SHIFT, State};
use crate::finding::Space;
use crate::module::{WINDOW_SHIFT, widen, window};

/// The state space of a generic address.
pub(crate) fn space_of(address: u64) -> Space {
    let of = |space: Space| address >> WINDOW_SHIFT == window(space) >> WINDOW_SHIFT;
    match () {
        () if of(Space::Shared) => Space::Shared,
        () if of(Space::Local) => Space::Local,
        () if of(Space::Param) => Space::Param,
        () if of(Space::Const) => Space::Const,
        () => Space::Global,
    }
}

impl State<'_> {
    /// Whether a generic address is in the window of a space; kernel parameters lie in the global
    /// one too (ISA, isspacep).
    pub(crate) fn is_in(&self, space: Space, own: bool, address: u64) -> bool {
        let address = if self.env.module.narrow {
            widen(address)
        } else {
            address
        };
        let near = address.wrapping_sub(window(Space::Shared)) >> RANK_SHIFT;
        match (space, space_of(address)) {
            (Space::Shared, Space::Shared) => !own || near == u64::from(self.rank),
            (Space::Global, Space::Param) => true,
            (space, found) => space == found,
        }
    }
}
