//! One instruction of a group: its guard, what it counts, its effect, how the group goes on.

use crate::counters::InstClass;
use crate::exec::state::{Flow, State, Status, Warp};
use crate::finding::FindingId;
use crate::inst::{Exec, Inst};

impl Warp {
    /// Evaluates the guard, counts, and executes.
    #[inline]
    pub(crate) fn step(&mut self, st: &mut State<'_>, inst: &Inst, lanes: u32) -> Flow {
        let mask = self.guarded(inst, lanes);
        if inst.guard.is_some() && self.undefined != 0 {
            self.report_guard(st, inst, lanes);
        }
        if mask != lanes && mask != 0 && inst.exec.may_block() {
            self.set_aside(lanes & !mask);
        }
        if let Some(class) = st.counters.classes.get_mut(inst.class as usize) {
            class.executions += 1;
            class.lanes += u64::from(mask.count_ones());
        }
        if !self.frame.touched.is_empty() && mask != 0 {
            self.touch(st, inst, mask);
        }
        // A branch that is not taken was decided on: where it leads is a line of its own.
        if let Some(reached) = &st.env.options.reached
            && (mask != 0 || inst.class == InstClass::Control)
        {
            reached.note(inst.line);
            if let Exec::Setp {
                whole: true,
                imm,
                src,
                ..
            } = &inst.exec
                && reached.equal(inst.line) != Some(true)
            {
                self.note_compared(st, reached, (inst.line, *imm), src, mask);
            }
        }
        let flow = if mask == 0 {
            Flow::Next
        } else {
            self.execute(st, inst, mask)
        };
        // What waits, for others or for the rest of its warp, is executed again.
        if matches!(flow, Flow::Suspend(_) | Flow::Converge) {
            st.uncount(inst.class, mask);
        }
        if self.undefined != 0 {
            self.report_undefined(st, inst, mask);
        }
        flow
    }

    /// Does to the current group what its instruction at `pc` says of how to go on; whether it
    /// goes on at once.
    #[inline]
    pub(crate) fn go_on(&mut self, pc: u32, flow: Flow) -> bool {
        match flow {
            Flow::Next => {
                if let Some(group) = self.groups.get_mut(self.current) {
                    group.pc = pc + 1;
                    group.forced = false;
                }
                true
            }
            Flow::Jump { lanes, target } => {
                self.jump(lanes, target);
                true
            }
            Flow::Converge => {
                self.executed -= 1;
                self.set_status(Status::Converge);
                false
            }
            Flow::Wait(status) => {
                self.set_status(status);
                false
            }
            Flow::Suspend(status) => {
                self.executed -= 1;
                self.set_status(status);
                false
            }
            Flow::Regroup => false,
        }
    }

    fn set_status(&mut self, status: Status) {
        if let Some(group) = self.groups.get_mut(self.current) {
            group.status = status;
            group.forced = false;
        }
    }

    /// Before the instruction has an effect: it may write its guard, or end its group.
    #[cold]
    fn report_guard(&mut self, st: &mut State<'_>, inst: &Inst, lanes: u32) {
        self.undefined = 0;
        let Some(guard) = inst.guard else { return };
        let defined = self.frame.preds_defined.get(guard.slot as usize);
        let unwritten = lanes & !defined.copied().unwrap_or(0);
        if st.sanitize() && unwritten != 0 {
            let site = self.site(unwritten);
            st.report(FindingId::UninitRegister, site, None, || {
                "is guarded by a predicate register that was never written".to_owned()
            });
        }
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
}
