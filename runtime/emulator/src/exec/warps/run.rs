//! A warp's turn: steps until all its groups wait or have exited.

use crate::exec::state::{Flow, State, Warp};
use crate::finding::FindingId;

impl Warp {
    /// Runs until all groups wait or have exited, or about `slice` instructions were executed; or,
    /// where nothing may be executed, as far as instructions are counted alone. Returns how many
    /// were.
    pub(crate) fn run(&mut self, st: &mut State<'_>, slice: u64, executes: bool) -> u64 {
        let (start, changed) = (self.executed, st.changed());
        self.run_turn(st, start.saturating_add(slice), executes);
        let executed = self.executed - start;
        st.changes += st.changed() - changed;
        st.moved += if self.suspend(st) { 0 } else { executed };
        executed
    }

    /// A turn, up to `end` instructions of the warp.
    fn run_turn(&mut self, st: &mut State<'_>, end: u64, executes: bool) {
        let env = st.env;
        let budget = self.budget(st);
        let early = env.launch.programmatic && self.followed == 0;
        let watched = early || env.looks_at_steps();
        let keeps_history = st.recorder.is_some();
        self.spinning = false;
        self.resume(st, watched);
        while self.executed < end && !st.stopped && self.select(st) {
            let mut turn = self.skip_turns(st, end);
            if !executes {
                return;
            }
            while self.executed < end && !self.spinning {
                let in_loop = self.watch.is_on();
                if in_loop {
                    self.pay(st);
                }
                let Some(group) = self.groups.get_mut(self.current) else {
                    break;
                };
                let (pc, lanes) = (group.pc, group.mask);
                group.turn = self.tick;
                let Some(inst) = env.code.get(pc as usize) else {
                    break;
                };
                self.executed += 1;
                self.tick += 1;
                turn += 1;
                if self.executed > budget {
                    return self.give_up(st, lanes);
                }
                let flow = if in_loop {
                    self.step_of_loop(st, inst, lanes)
                } else {
                    st.note(inst);
                    match watched {
                        true => self.watched_step(st, inst, lanes),
                        false => self.step(st, inst, lanes),
                    }
                };
                if keeps_history {
                    self.record(st, inst, pc, lanes, flow);
                }
                let back = matches!(flow, Flow::Jump { target, .. } if target <= pc);
                if !self.go_on(pc, flow) {
                    self.unwatch(st);
                    break;
                }
                if st.stopped {
                    return;
                }
                if in_loop {
                    self.look_on(st);
                    turn += self.skip_turns(st, end);
                } else if back && !watched && self.looks() && self.pc() <= pc {
                    self.begin_look(st);
                }
                if self.groups.len() > 1 && self.should_yield(turn) {
                    break;
                }
            }
            if self.spinning {
                return;
            }
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
