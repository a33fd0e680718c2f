//! A warp's turn: steps until all its groups wait or have exited.

use crate::exec::state::{Flow, State, Status, Warp};
use crate::finding::FindingId;

impl Warp {
    /// Runs until all groups wait or have exited, or about `slice` instructions were executed.
    /// Returns how many were.
    pub(crate) fn run(&mut self, st: &mut State<'_>, slice: u64) -> u64 {
        let env = st.env;
        let start = self.executed;
        let budget = env.options.instructions_per_warp;
        let options = env.options;
        let early = env.launch.programmatic && self.followed == 0;
        let observed = options.profile || options.trace.is_some();
        let watched = observed || early || env.watched.is_some();
        self.spinning = false;
        while self.executed - start < slice && !st.stopped && self.select(st) {
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
                    return self.executed - start;
                }
                let flow = if watched {
                    self.watched_step(st, inst, lanes)
                } else {
                    self.step(st, inst, lanes)
                };
                match flow {
                    Flow::Next => {
                        if let Some(group) = self.groups.get_mut(self.current) {
                            group.pc = pc + 1;
                            group.forced = false;
                        }
                    }
                    Flow::Jump { lanes, target } => self.jump(lanes, target),
                    Flow::Converge => {
                        self.executed -= 1;
                        self.set_status(Status::Converge);
                        break;
                    }
                    Flow::Wait(status) => {
                        self.set_status(status);
                        break;
                    }
                    Flow::Suspend(status) => {
                        self.executed -= 1;
                        self.set_status(status);
                        break;
                    }
                    Flow::Regroup => break,
                }
                if self.spinning || st.stopped {
                    return self.executed - start;
                }
                if self.groups.len() > 1 && self.should_yield(turn)
                    || self.executed - start >= slice
                {
                    break;
                }
            }
        }
        self.executed - start
    }

    fn set_status(&mut self, status: Status) {
        if let Some(group) = self.groups.get_mut(self.current) {
            group.status = status;
            group.forced = false;
        }
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
