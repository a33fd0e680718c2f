//! Watching instructions: the trace of one warp and the profile of all.
//!
//! Neither costs anything unless the options ask for it: one test for each instruction.

use crate::counters::Counters;
use crate::exec::state::{Flow, State, Warp};
use crate::finding::{FindingId, Space};
use crate::inst::{AccessSpace, Exec, Inst};
use crate::module::PREDICATE;
use crate::trace::{TraceOperand, TraceStep};

impl Warp {
    /// Whether the steps of this warp are kept.
    fn is_traced(&self, st: &State<'_>) -> bool {
        st.env.options.trace.is_some_and(|target| {
            (target.cta, target.warp) == (st.near.cta, self.id)
                && st.observed.steps.len() < target.most
        })
    }

    /// A step that is observed.
    #[cold]
    pub(crate) fn watched_step(&mut self, st: &mut State<'_>, inst: &Inst, lanes: u32) -> Flow {
        let pc = self.pc();
        self.compare_alternatives(st, inst, lanes);
        let counted = st.env.options.profile.then(|| st.counters.clone());
        let traced = self.is_traced(st);
        let mut operands = if traced {
            self.operands_now(st, inst)
        } else {
            Vec::new()
        };
        let active = self.guarded(inst, lanes);
        let programmatic = st.env.launch.programmatic && touches_global(&inst.exec);
        let early = match &mut st.race {
            Some(race) if programmatic => race.before_grid_wait(self.site(active & !self.followed)),
            _ => 0,
        };
        if early != 0 {
            let message = || "global memory before griddepcontrol.wait".to_owned();
            st.report(
                FindingId::AccessBeforeGridWait,
                self.site(early),
                None,
                message,
            );
        }
        let (depth, function) = (self.depth(), self.function());
        let flow = self.step(st, inst, lanes);
        if let Some(before) = counted {
            let all = st.env.code.len();
            st.observed.profile.resize_with(all, Counters::default);
            let now = st.counters.since(&before);
            if let Some(mine) = st.observed.profile.get_mut(pc as usize) {
                mine.add(&now);
            }
        }
        if traced {
            self.load_frame(depth, function);
            for (operand, now) in operands.iter_mut().zip(self.operands_now(st, inst)) {
                operand.after = now.before;
            }
            st.observed.steps.push(TraceStep {
                line: inst.line,
                pc,
                lanes,
                active,
                waits: matches!(flow, Flow::Suspend(_) | Flow::Converge),
                operands,
            });
        }
        flow
    }

    /// The registers that an instruction names and their values.
    fn operands_now(&self, st: &State<'_>, inst: &Inst) -> Vec<TraceOperand> {
        let module = st.env.module;
        let (start, count) = (inst.operands.0 as usize, inst.operands.1 as usize);
        let named = module.operand_slots.get(start..start + count);
        let guard = inst.guard.map(|guard| guard.slot | PREDICATE);
        let mut slots: Vec<u32> = Vec::new();
        for slot in guard.iter().chain(named.unwrap_or_default()) {
            if !slots.contains(slot) {
                slots.push(*slot);
            }
        }
        let function = module.functions.get(self.frame.function as usize);
        let name = |slot: u32| function.map_or(String::new(), |f| f.register_name(slot));
        slots
            .into_iter()
            .map(|slot| {
                let before = self.lanes_of_slot(slot);
                TraceOperand {
                    name: name(slot),
                    before,
                    after: before,
                }
            })
            .collect()
    }

    fn lanes_of_slot(&self, slot: u32) -> [u64; 32] {
        let index = (slot & !PREDICATE) as usize;
        if slot & PREDICATE == 0 {
            return self.frame.regs.get(index).copied().unwrap_or([0; 32]);
        }
        let bits = self.frame.preds.get(index).copied().unwrap_or(0);
        std::array::from_fn(|lane| u64::from(bits >> lane & 1))
    }
}

/// Whether an instruction accesses global memory, as far as its text says.
fn touches_global(exec: &Exec) -> bool {
    let global = |space: &AccessSpace| *space == AccessSpace::Of(Space::Global);
    match exec {
        Exec::Load { access, .. } | Exec::Store { access, .. } => global(&access.space),
        Exec::Atomic(atomic) => global(&atomic.space),
        Exec::Bulk(copy) => !copy.to_shared || !copy.from_shared,
        Exec::AsyncCopy(_) | Exec::Tensor(_) | Exec::Discard { .. } => true,
        _ => false,
    }
}
