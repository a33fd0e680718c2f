//! Spinning warps: loops that change nothing until somebody else does.
//!
//! A warp that polls a flag executes the same few instructions over and over. Where an iteration
//! leaves every register as it was, writes nothing and finds nothing, the next one is the same as
//! long as nobody else acts. So after an iteration that was executed and compared the rest of the
//! warp's turn is counted and not executed, instruction for instruction what execution would have
//! counted; and where every warp of a cluster waits, spins so or has exited, nothing can end it.

use crate::counters::Counters;
use crate::exec::state::{FIRST_LOOK, Frame, Spin, State, Status, Warp};
use crate::finding::FindingId;
use crate::inst::{Exec, Fence, MbarrierKind};

/// Instructions of an iteration at most.
const LONGEST: u64 = 1024;

/// Instructions between two looks at loops that do something, at most.
const LATEST_LOOK: u64 = 1 << 16;

/// What an iteration must leave as it was.
struct Before {
    head: u32,
    lanes: u32,
    frame: Frame,
    carry: u32,
    executed: u64,
    counters: Counters,
    /// Events, values that atomic operations changed, findings.
    marks: [u64; 3],
}

impl Warp {
    /// Goes on with a loop that is known to change nothing, if the current group is at its head.
    /// Gives the instructions of the loop that were counted; none means that the warp has to
    /// execute.
    pub(crate) fn idle(&mut self, st: &mut State<'_>, slice: u64) -> Option<u64> {
        let here = (self.pc(), self.group_mask());
        let spin = self
            .spin
            .as_ref()
            .filter(|spin| (spin.head, spin.lanes) == here && self.is_alone())?;
        if spin.seen != st.acts || st.env.side_by_side() {
            return self.look(st, slice);
        }
        let (length, polls) = (spin.length, spin.polls);
        let turns = if polls { 1 } else { (slice / length).max(1) };
        self.spinning = polls;
        let counted = self.repeat(st, turns);
        (counted > 0).then_some(counted)
    }

    /// Whether the loop whose head the current group has just come to is to be looked at.
    #[inline]
    pub(crate) fn looks(&self) -> bool {
        self.executed >= self.look_at && self.is_alone()
    }

    /// Whether no other group of the warp could have the turn.
    fn is_alone(&self) -> bool {
        let mut others = self.groups.iter().enumerate();
        others.all(|(index, group)| index == self.current || group.status != Status::Ready)
    }

    /// Executes an iteration of the loop that begins here, and the rest of `slice` by counting
    /// when it changed nothing. Gives the instructions of the loop; none when it does something.
    #[cold]
    pub(crate) fn look(&mut self, st: &mut State<'_>, slice: u64) -> Option<u64> {
        let before = Before {
            head: self.pc(),
            lanes: self.group_mask(),
            frame: self.frame.clone(),
            carry: self.carry,
            executed: self.executed,
            counters: st.counters.clone(),
            marks: marks(st),
        };
        let same = self.iterate(st, &before);
        let polls = std::mem::take(&mut self.spinning);
        if !same {
            self.spinning = polls;
            self.spin = None;
            self.look_at = self.executed + self.look_again;
            self.look_again = (2 * self.look_again).min(LATEST_LOOK);
            return None;
        }
        let length = self.executed - before.executed;
        self.spin = Some(Spin {
            head: before.head,
            lanes: before.lanes,
            length,
            counters: st.counters.since(&before.counters),
            polls,
            seen: st.acts,
        });
        self.look_again = FIRST_LOOK;
        self.spinning = polls;
        let turns = if polls {
            0
        } else {
            slice.saturating_sub(length) / length
        };
        let counted = self.repeat(st, turns);
        // What is left of the budget is executed, so that the warp gives up where it would have.
        let most = st.env.options.instructions_per_warp;
        if self.executed + length > most {
            self.spin = None;
            self.look_at = u64::MAX;
            return None;
        }
        Some(length + counted)
    }

    /// Executes until the group is back at the head; whether everything is as before.
    fn iterate(&mut self, st: &mut State<'_>, before: &Before) -> bool {
        let most = st.env.options.instructions_per_warp;
        let groups = self.groups.len();
        loop {
            let (pc, lanes) = (self.pc(), self.group_mask());
            let Some(inst) = st.env.code.get(pc as usize) else {
                return false;
            };
            if !changes_registers_alone(&inst.exec)
                || self.executed >= most
                || self.executed - before.executed >= LONGEST
            {
                return false;
            }
            if let Some(group) = self.groups.get_mut(self.current) {
                group.turn = self.tick;
            }
            self.executed += 1;
            self.tick += 1;
            let flow = self.step(st, inst, lanes);
            if !self.go_on(pc, flow) || st.stopped || self.groups.len() != groups {
                return false;
            }
            if groups > 1 && self.should_yield(0) {
                return false;
            }
            if self.pc() == before.head {
                return self.group_mask() == before.lanes
                    && self.carry == before.carry
                    && marks(st) == before.marks
                    && self.frame == before.frame;
            }
        }
    }

    /// Counts iterations of the warp's loop, as many as its budget has room for.
    fn repeat(&mut self, st: &mut State<'_>, turns: u64) -> u64 {
        let Some(spin) = &self.spin else { return 0 };
        let most = st.env.options.instructions_per_warp;
        let turns = turns.min(most.saturating_sub(self.executed) / spin.length.max(1));
        st.counters.add_times(&spin.counters, turns);
        let counted = turns * spin.length;
        self.executed += counted;
        self.tick += counted;
        if let Some(group) = self.groups.get_mut(self.current) {
            group.turn = self.tick;
        }
        counted
    }
}

/// Counts of what an iteration may have done to others.
fn marks(st: &State<'_>) -> [u64; 3] {
    [st.events, st.exchanged, st.reported]
}

/// Whether an instruction does nothing but change registers and the lanes' place, or says by
/// [`marks`] that it did.
fn changes_registers_alone(exec: &Exec) -> bool {
    match exec {
        Exec::Nop
        | Exec::Alu { .. }
        | Exec::Divide { .. }
        | Exec::Insert { .. }
        | Exec::Carry { .. }
        | Exec::MadCarry { .. }
        | Exec::Convert { .. }
        | Exec::ConvertPack { .. }
        | Exec::ConvertEach { .. }
        | Exec::Setp { .. }
        | Exec::Set { .. }
        | Exec::SetPair { .. }
        | Exec::Select { .. }
        | Exec::Pred { .. }
        | Exec::Pack { .. }
        | Exec::Unpack { .. }
        | Exec::MoveVector { .. }
        | Exec::Video { .. }
        | Exec::Logic(_)
        | Exec::Load { .. }
        | Exec::Atomic(_)
        | Exec::Convey { .. }
        | Exec::IsSpace { .. }
        | Exec::Branch { .. }
        | Exec::BranchIndexed { .. }
        | Exec::Collective(_)
        | Exec::ActiveMask { .. }
        | Exec::Mapa(_) => true,
        Exec::Mbarrier(op) => matches!(op.kind, MbarrierKind::Wait { .. }),
        Exec::Fence(fence) => !matches!(**fence, Fence::TensormapAcquire(_)),
        _ => false,
    }
}

/// Tells that nothing can end the loops that are left.
pub(crate) fn report(warps: &[Warp], st: &mut State<'_>) {
    let spinning = warps
        .iter()
        .find_map(|warp| warp.spin.as_ref().map(|spin| (warp, spin)));
    let Some((warp, spin)) = spinning else { return };
    st.switch(warp.rank);
    let (site, length) = (warp.site(spin.lanes), spin.length);
    let others = match st.env.launch.grid.iter().product::<u32>() > st.cluster_ctas() {
        true => "; clusters run one after the other here",
        false => "",
    };
    st.report(FindingId::NoProgress, site, None, || {
        format!(
            "a loop of {length} instructions waits for a change that nobody makes: every other \
             warp of the cluster waits, spins or has exited{others}"
        )
    });
}
