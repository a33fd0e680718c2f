//! Spinning warps: loops that change nothing until somebody else does.
//!
//! A warp that polls a flag executes the same few instructions over and over. Where an iteration
//! reads the same, takes the same way and writes nothing that was not there, the next one does so
//! too as long as nobody else acts, whatever registers count that nobody sees. So the warp's turns
//! are counted and not executed: instruction for instruction what execution would have counted, and
//! of the registers those are computed that differ. Where a counter or a clock bounds the loop, its
//! guards are looked at, and execution goes on where one leaves other lanes. Where every warp of a
//! cluster waits, has exited or is in a loop without a bound, nothing can end it.

use crate::exec::state::{Again, Flow, Spin, State, Step, Warp};
use crate::finding::FindingId;
use crate::inst::{CARRY, Inst, Lanes, Reg};
use crate::module::PREDICATE;

/// Iterations without a finding that are executed before others are counted.
const CLEAN: u32 = 2;

/// Instructions that are executed before a loop is looked at again that others acted on.
const SOON: u64 = 64;

impl Warp {
    /// Instructions that lead once around the loop that it is in, and some more.
    pub(crate) fn round(&self) -> u64 {
        let steps = self
            .watch
            .spin
            .as_deref()
            .map_or(0, |spin| spin.steps.len());
        2 * steps as u64 + SOON
    }

    /// At the start of a turn: forgets what others, or a reader of every step, make untrue.
    pub(crate) fn resume(&mut self, st: &mut State<'_>, every_step: bool) {
        let blind = every_step || st.env.side_by_side();
        if let Some(look) = self.watch.look.take() {
            if blind || look.seen != st.changes {
                self.end_look(st, &look);
            } else {
                self.watch.look = Some(look);
            }
        }
        if let Some(mut spin) = self.watch.spin.take() {
            let (changes, traces) = spin.seen;
            if blind || changes != st.changes {
                self.forget(&spin);
            } else {
                spin.fresh = false;
                spin.clean = if traces == st.traces { spin.clean } else { 0 };
                self.watch.spin = Some(spin);
            }
        }
        st.compares = self.watch.compares();
    }

    /// At the end of a turn: what the warp did itself is no news to it. Gives whether it was in one
    /// loop all the time that nothing but others can end.
    pub(crate) fn suspend(&mut self, st: &State<'_>) -> bool {
        if let Some(look) = &mut self.watch.look {
            look.seen = st.changes;
        }
        self.watch.spin.as_deref_mut().is_some_and(|spin| {
            spin.seen = (st.changes, st.traces);
            !spin.fresh && !spin.bounded
        })
    }

    /// The warp has left the loop, or others acted on it: it may come back soon, and what it does
    /// meanwhile is still compared, so that warps that wait side by side do not take one another's
    /// looks for changes.
    #[cold]
    fn forget(&mut self, spin: &Spin) {
        self.watch.known = spin.steps.iter().map(|step| step.pc).collect();
        self.watch.look_at = self.executed + SOON;
    }

    /// Ends what is watched, where the warp goes no way of its own.
    #[cold]
    pub(crate) fn unwatch(&mut self, st: &mut State<'_>) {
        if let Some(spin) = self.watch.spin.take() {
            self.forget(&spin);
        }
        if let Some(look) = self.watch.look.take() {
            self.end_look(st, &look);
        }
        st.compares = self.watch.compares();
    }

    /// A step of a warp whose loop is looked at or known.
    #[cold]
    pub(crate) fn step_of_loop(&mut self, st: &mut State<'_>, inst: &Inst, lanes: u32) -> Flow {
        let Some(mut spin) = self.watch.spin.take() else {
            return self.step_of_look(st, inst, lanes);
        };
        let (here, active) = (self.pc(), self.guarded(inst, lanes));
        let expected = |step: &&Step| {
            (step.pc, step.active, spin.lanes, spin.groups)
                == (here, active, lanes, self.groups.len())
        };
        if spin.steps.get(spin.at).filter(expected).is_none() {
            self.forget(&spin);
            st.note(inst);
            return self.step(st, inst, lanes);
        }
        let (changed, reported) = (st.changed(), st.reported);
        let flow = self.step(st, inst, lanes);
        if st.changed() != changed {
            self.forget(&spin);
            return flow;
        }
        spin.found |= st.reported != reported;
        spin.at += 1;
        if spin.at == spin.steps.len() {
            let found = std::mem::take(&mut spin.found);
            (spin.at, spin.clean) = (0, if found { 0 } else { spin.clean + 1 });
        }
        self.watch.spin = Some(spin);
        flow
    }

    /// Whether a turn of the warp begins with instructions that are counted and not executed.
    pub(crate) fn is_steady(&self, st: &State<'_>) -> bool {
        let known = self.watch.spin.as_deref().is_some_and(|spin| {
            spin.seen == (st.changes, st.traces) && spin.traceless && spin.clean >= CLEAN
        });
        known && !st.env.side_by_side()
    }

    /// Goes on with a loop that is known, as far as its turns are counted and not executed: up to
    /// `end` instructions of the warp. Gives how many were.
    pub(crate) fn skip_turns(&mut self, st: &mut State<'_>, end: u64) -> u64 {
        let Some(mut spin) = self.watch.spin.take() else {
            return 0;
        };
        let next = spin.steps.get(spin.at).map(|step| step.pc);
        let here = (Some(self.pc()), self.group_mask(), self.groups.len());
        let is_here = here == (next, spin.lanes, spin.groups) && self.is_alone();
        // Where the budget ends, execution tells that.
        let end = end.min(self.budget(st));
        let room = end.saturating_sub(self.executed);
        let most = room.min(spin.to_next_poll());
        let counted = is_here && !self.spinning && spin.traceless && spin.clean >= CLEAN;
        let done = match most {
            1.. if counted => self.advance(st, &mut spin, most),
            _ => 0,
        };
        self.watch.spin = Some(spin);
        done
    }

    /// Counts so many instructions of a loop, fewer where a guard leaves other lanes, and owes the
    /// last iteration of them where that is seen. Gives how many.
    fn advance(&mut self, st: &mut State<'_>, spin: &mut Spin, most: u64) -> u64 {
        let (length, owed) = (spin.length().max(1), spin.owed as u64);
        let last = if spin.is_seen { length } else { 0 };
        let from = spin.at as u64 + length - owed;
        self.restore(&spin.kept);
        let before = if spin.bounded {
            self.slots(&spin.slots)
        } else {
            Vec::new()
        };
        let all = owed + most;
        let mut done = self.compute_up_to(st, spin, (from, owed), (all, last));
        if done < all {
            // Something bounds the loop: execution goes on there, behind the last iteration.
            spin.clean = 0;
            self.restore(&before);
            done = self.compute_up_to(st, spin, (from, owed), (done, last));
        }
        spin.owed = done.min(last) as usize;
        spin.count(st, from % length, done - spin.owed as u64);
        let (to, done) = (from + done, done - owed);
        if done == 0 {
            return 0;
        }
        self.executed += done;
        self.tick += done;
        spin.at = (to % length) as usize;
        let pc = spin.steps.get(spin.at).map_or(0, |step| step.pc);
        if let Some(group) = self.groups.get_mut(self.current) {
            (group.pc, group.turn) = (pc, self.tick - 1);
        }
        let last = spin.steps.get(((to - 1) % length) as usize);
        self.spinning = last.is_some_and(|step| step.polls);
        done
    }

    /// Computes what `all` instructions leave in registers, and keeps what these held before the
    /// `last` of them. The first one is step `from`, and so many steps behind it are owed. Gives
    /// how many, fewer where a guard leaves other lanes.
    fn compute_up_to(
        &mut self,
        st: &mut State<'_>,
        spin: &mut Spin,
        (from, owed): (u64, u64),
        (all, last): (u64, u64),
    ) -> u64 {
        let (start, early) = (self.executed - owed, all.saturating_sub(last));
        let done = self.compute(st, spin, (from, start), early);
        if done < early {
            return done;
        }
        spin.kept = match last {
            0 => Vec::new(),
            _ => self.slots(&spin.slots),
        };
        done + self.compute(st, spin, (from + early, start + early), all - early)
    }

    /// Computes what so many instructions of a loop leave in registers, from a step on and behind
    /// so many instructions of the warp. Gives how many, fewer where a guard leaves other lanes.
    fn compute(
        &mut self,
        st: &mut State<'_>,
        spin: &Spin,
        (from, start): (u64, u64),
        most: u64,
    ) -> u64 {
        let (length, executed) = (spin.length().max(1), self.executed);
        let from = from % length;
        let (mut done, mut round) = (most, 0);
        let mut index = spin
            .again
            .partition_point(|again| (again.step as u64) < from);
        while !spin.again.is_empty() {
            let Some(again) = spin.again.get(index) else {
                (index, round) = (0, round + length);
                continue;
            };
            let before = round + again.step as u64 - from;
            if before >= most {
                break;
            }
            // A clock reads the count of instructions, its own included.
            self.executed = start + before + 1;
            if !self.do_again(st, spin, *again) {
                done = before;
                break;
            }
            index += 1;
        }
        (self.executed, self.undefined) = (executed, 0);
        done
    }

    /// Whether something is owed.
    pub(crate) fn owes(&self) -> bool {
        self.watch.spin.as_deref().is_some_and(|spin| spin.owed > 0)
    }

    /// Executes what is owed, before anybody does something that is not counted alone.
    pub(crate) fn pay(&mut self, st: &mut State<'_>) {
        let Some(mut spin) = self.watch.spin.take_if(|spin| spin.owed > 0) else {
            return;
        };
        let (executed, spinning, here) = (self.executed, self.spinning, self.pc());
        let reported = st.reported;
        let length = spin.steps.len().max(1);
        let owed = std::mem::take(&mut spin.owed);
        self.restore(&std::mem::take(&mut spin.kept));
        self.executed -= owed as u64;
        for index in 0..owed {
            let step = spin.steps.get((spin.at + length - owed + index) % length);
            let inst = step.and_then(|step| st.env.code.get(step.pc as usize));
            let (Some(step), Some(inst)) = (step, inst) else {
                continue;
            };
            if let Some(group) = self.groups.get_mut(self.current) {
                group.pc = step.pc;
            }
            self.executed += 1;
            self.step(st, inst, spin.lanes);
        }
        if let Some(group) = self.groups.get_mut(self.current) {
            group.pc = here;
        }
        (self.executed, self.spinning) = (executed, spinning);
        if st.reported != reported {
            spin.clean = 0;
        }
        self.watch.spin = Some(spin);
    }

    /// Does again what a step does to registers. False where its guard leaves other lanes.
    fn do_again(&mut self, st: &mut State<'_>, spin: &Spin, again: Again) -> bool {
        let Some(step) = spin.steps.get(again.step) else {
            return true;
        };
        let Some(inst) = st.env.code.get(step.pc as usize) else {
            return true;
        };
        if again.checked && self.guarded(inst, spin.lanes) != step.active {
            return false;
        }
        if !again.writes || step.active == 0 {
            return true;
        }
        if again.computes {
            self.execute(st, inst, step.active);
            return true;
        }
        for (slot, values) in &step.wrote {
            self.put(*slot, step.active, values);
        }
        true
    }

    /// Writes a slot in the lanes of `mask`: a register, a predicate, or the carry flags.
    fn put(&mut self, slot: u32, mask: u32, values: &Lanes) {
        match slot {
            CARRY => self.carry = self.carry & !mask | values[0] as u32 & mask,
            _ if slot & PREDICATE == 0 => {
                let width = u64::BITS;
                self.write(Reg { slot, width }, mask, values);
            }
            _ => self.write_pred(slot & !PREDICATE, mask, values[0] as u32),
        }
    }

    /// Sets slots to what they held.
    fn restore(&mut self, held: &[(u32, Box<Lanes>)]) {
        for (slot, values) in held {
            let index = (slot & !PREDICATE) as usize;
            match *slot {
                CARRY => self.carry = values[0] as u32,
                slot if slot & PREDICATE == 0 => {
                    if let Some(register) = self.frame.regs.get_mut(index) {
                        *register = **values;
                    }
                }
                _ => {
                    if let Some(predicate) = self.frame.preds.get_mut(index) {
                        *predicate = values[0] as u32;
                    }
                }
            }
        }
    }
}

impl Spin {
    /// Instructions up to the next one that ends the warp's turn, that one included.
    fn to_next_poll(&self) -> u64 {
        let (before, behind) = self.steps.split_at(self.at.min(self.steps.len()));
        let ahead = behind.iter().chain(before);
        let poll = ahead.enumerate().find(|(_, step)| step.polls);
        poll.map_or(u64::MAX, |(index, _)| index as u64 + 1)
    }

    /// Counts what so many instructions count, from a step on.
    fn count(&self, st: &mut State<'_>, from: u64, instructions: u64) {
        let (length, to) = (self.length().max(1), from + instructions);
        if let Some(whole) = self.counters.last() {
            st.counters.add_times(whole, to / length);
        }
        let behind = self.counters.get((to % length) as usize);
        let before = self.counters.get(from as usize);
        if let (Some(behind), Some(before)) = (behind, before) {
            // Wrapping where the way ends in between: whole iterations are added beside.
            st.counters.add_wrapping(&behind.since(before));
        }
    }
}

/// Tells that nothing can end the loops that are left.
pub(crate) fn report(warps: &[Warp], st: &mut State<'_>) {
    let spinning = warps
        .iter()
        .find_map(|warp| warp.watch.spin.as_deref().map(|spin| (warp, spin)));
    let Some((warp, spin)) = spinning else { return };
    st.switch(warp.rank);
    let (site, length) = (warp.site(spin.lanes), spin.length());
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
