//! Generic addresses and the windows of the state spaces in them (ISA 5.1, cvta, isspacep).

use crate::exec::state::{Flow, RANK_SHIFT, State, Warp};
use crate::finding::Space;
use crate::inst::Exec;
use crate::module::{WINDOW_SHIFT, widen, window};

impl Warp {
    /// `cvta` and `isspacep`.
    pub(super) fn windows(&mut self, st: &State<'_>, exec: &Exec, mask: u32) -> Flow {
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
}

impl State<'_> {
    /// Whether a generic address is in the window of a space; kernel parameters lie in the global
    /// one too (ISA, isspacep).
    fn is_in(&self, space: Space, own: bool, address: u64) -> bool {
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
