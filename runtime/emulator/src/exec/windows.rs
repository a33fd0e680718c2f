//! Generic addresses and the windows of the state spaces in them (ISA 5.1, cvta, isspacep).

use crate::exec::state::{Flow, State, Warp};
use crate::inst::Exec;
use crate::module::window;

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
