//! A warp: groups of lanes at one place of the code, their frames, and the loop that runs them.
//!
//! Lanes with equal (call depth, pc) form a group and execute together. The deepest call goes
//! first, then the lowest pc, which reconverges structured code without post-dominators; after
//! 1,000 instructions of one group the others get a turn, so that a spinning group cannot starve
//! the one it waits for.

use crate::counters::InstClass;
use crate::exec::state::{Flow, State, Status, Warp};
use crate::finding::FindingId;
use crate::inst::Inst;

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

    /// Evaluates the guard, counts, and executes.
    #[inline]
    pub(super) fn step(&mut self, st: &mut State<'_>, inst: &Inst, lanes: u32) -> Flow {
        let mask = self.guarded(inst, lanes);
        if let Some(class) = st.counters.classes.get_mut(inst.class as usize) {
            class.executions += 1;
            class.lanes += u64::from(mask.count_ones());
        }
        if !self.frame.touched.is_empty() && mask != 0 {
            self.touch(st, inst, mask);
        }
        let flow = if mask == 0 {
            Flow::Next
        } else {
            self.execute(st, inst, mask)
        };
        if let Flow::Suspend(_) = flow {
            st.uncount(inst.class, mask);
        }
        if self.undefined != 0 {
            self.report_undefined(st, inst, mask);
        }
        flow
    }

    #[cold]
    fn report_undefined(&mut self, st: &mut State<'_>, inst: &Inst, mask: u32) {
        let lanes = std::mem::take(&mut self.undefined) & mask;
        let moves = inst.class == InstClass::Move;
        if st.sanitize() && lanes != 0 && !moves {
            let site = self.site(lanes);
            st.report(FindingId::UninitRegister, site, None, || {
                "reads a register that was never written".to_owned()
            });
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
