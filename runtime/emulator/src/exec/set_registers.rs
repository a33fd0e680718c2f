//! `setmaxnreg`: registers move between the warps of a CTA (ISA 9.7.19.5).

use super::state::State;
use super::warp::{Flow, Status, Wait, Warp};
use crate::finding::FindingId;

/// Registers of a multiprocessor (CUDA guide, technical specifications, 9.0).
const REGISTERS_PER_SM: u32 = 65_536;

impl State<'_> {
    /// Registers of a thread at launch, when the entry says enough to know them.
    fn launch_registers(&self) -> Option<u32> {
        let entry = self.env.entry;
        if let Some(count) = entry.maxnreg {
            return Some(count);
        }
        let ctas = entry.minnctapersm?.max(1);
        let threads = self.env.threads.next_multiple_of(128);
        let count = REGISTERS_PER_SM / (ctas * threads).max(1);
        Some((count / 8 * 8).min(255))
    }
}

impl Warp {
    pub(crate) fn set_max_registers(
        &mut self,
        st: &mut State<'_>,
        increase: bool,
        count: u32,
        mask: u32,
    ) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        let Some(launch) = st.launch_registers() else {
            return Flow::Next;
        };
        let held = |registers: &u32| if *registers == 0 { launch } else { *registers };
        // NOTE: .minnctapersm only bounds what a thread starts with; an H200 runs kernels that
        // then raise to less than the bound.
        let changed = st
            .near
            .registers
            .get(self.id as usize)
            .is_some_and(|now| *now != 0);
        let known = changed || st.env.entry.maxnreg.is_some();
        let mine = st.near.registers.get(self.id as usize).map_or(launch, held);
        if known && (increase && count < mine || !increase && count > mine) {
            let site = self.site(mask);
            st.report(FindingId::Setmaxnreg, site, None, || {
                let way = if increase { "inc" } else { "dec" };
                format!("setmaxnreg.{way} to {count} registers where the warp has {mine}")
            });
            return Flow::Next;
        }
        let pool = launch * st.near.registers.len() as u32;
        let used: u32 = st.near.registers.iter().map(held).sum();
        if used.saturating_sub(mine) + count > pool {
            let (seen, wait) = (st.events, Wait::Registers);
            return Flow::Suspend(Status::Events { seen, wait });
        }
        if let Some(registers) = st.near.registers.get_mut(self.id as usize) {
            *registers = count;
        }
        st.events += 1;
        Flow::Next
    }
}
