//! `setmaxnreg`: registers move between the warps of a CTA (ISA 9.7.19.5).

use crate::exec::state::{Flow, Site, State, Status, Wait, Warp};
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

    /// The warps of a warpgroup must all have set the same counts.
    pub(crate) fn check_register_steps(&mut self, rank: u32) {
        let Some(part) = self.part(rank) else { return };
        let mut wrong = Vec::new();
        for (group, steps) in part.register_steps.chunks(4).enumerate() {
            let counts = |steps: &[(u32, Site)]| -> Vec<u32> {
                steps.iter().map(|(count, _)| *count).collect()
            };
            let first = steps.iter().max_by_key(|steps| steps.len());
            let Some(first) = first.filter(|first| !first.is_empty()) else {
                continue;
            };
            let wanted = counts(first);
            let other = steps.iter().position(|steps| counts(steps) != wanted);
            if let (Some(other), Some((_, site))) = (other, first.last()) {
                let got = steps.get(other).map(|steps| counts(steps));
                wrong.push((*site, 4 * group + other, wanted, got.unwrap_or_default()));
            }
        }
        for (site, warp, wanted, got) in wrong {
            self.report(FindingId::Setmaxnreg, site, None, || {
                format!(
                    "the warps of a warpgroup do not set the same registers: {wanted:?} here, \
                     {got:?} in warp {warp}"
                )
            });
        }
    }

    /// One line about registers that a warp waits for.
    pub(crate) fn describe_registers(&self) -> String {
        let launch = self.launch_registers().unwrap_or(0);
        let held = |registers: &u32| if *registers == 0 { launch } else { *registers };
        let used: u32 = self.near.registers.iter().map(held).sum();
        let pool = launch * self.near.registers.len() as u32;
        format!("the warps hold {used} of {pool} registers a lane")
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
        let site = self.site(mask);
        if let Some(steps) = st.near.register_steps.get_mut(self.id as usize) {
            steps.push((count, site));
        }
        st.events += 1;
        Flow::Next
    }
}
