//! A warp's turn: steps until all its groups wait or have exited.

use crate::exec::state::{Flow, State, Warp};
use crate::finding::FindingId;

impl Warp {
    /// Runs until all groups wait or have exited, or about `slice` instructions were executed.
    /// Returns how many were.
    pub(crate) fn run(&mut self, st: &mut State<'_>, slice: u64) -> u64 {
        let start = self.executed;
        let idle = self.run_turn(st, slice);
        let executed = self.executed - start;
        st.acts += executed - idle;
        if let Some(spin) = &mut self.spin {
            spin.seen = st.acts;
        }
        executed
    }

    /// A turn; gives how many of its instructions were of loops that change nothing.
    fn run_turn(&mut self, st: &mut State<'_>, slice: u64) -> u64 {
        let env = st.env;
        let start = self.executed;
        let budget = env.options.instructions_per_warp;
        let options = env.options;
        let early = env.launch.programmatic && self.followed == 0;
        let observed = options.profile || options.trace.is_some();
        let watched = observed || early || env.watched.is_some();
        self.spinning = false;
        while self.executed - start < slice && !st.stopped && self.select(st) {
            if self.spin.is_some() {
                let idle = self.idle(st, slice);
                if let Some(idle) = idle {
                    return idle;
                }
                self.spin = None;
                if self.spinning || st.stopped {
                    return 0;
                }
                continue;
            }
            let mut turn = 0;
            while let Some(group) = self.groups.get_mut(self.current) {
                let (pc, lanes) = (group.pc, group.mask);
                group.turn = self.tick;
                let Some(inst) = env.code.get(pc as usize) else {
                    break;
                };
                self.executed += 1;
                self.tick += 1;
                turn += 1;
                if self.executed > budget {
                    self.give_up(st, lanes);
                    return 0;
                }
                let flow = if watched {
                    self.watched_step(st, inst, lanes)
                } else {
                    self.step(st, inst, lanes)
                };
                let back = matches!(flow, Flow::Jump { target, .. } if target <= pc);
                if !self.go_on(pc, flow) {
                    break;
                }
                if back && !watched && self.looks() && self.pc() <= pc {
                    let left = slice.saturating_sub(self.executed - start);
                    if let Some(idle) = self.look(st, left) {
                        return idle;
                    }
                }
                if self.spinning || st.stopped {
                    return 0;
                }
                if self.groups.len() > 1 && self.should_yield(turn)
                    || self.executed - start >= slice
                {
                    break;
                }
            }
        }
        0
    }

    #[cold]
    fn give_up(&mut self, st: &mut State<'_>, lanes: u32) {
        let site = self.site(lanes);
        let budget = st.env.options.instructions_per_warp;
        st.report(FindingId::NoProgress, site, None, || {
            format!("the warp executed {budget} instructions without coming to its end")
        });
        st.stopped = true;
    }
}
