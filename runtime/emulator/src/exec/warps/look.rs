//! Looking at a loop: whether its iterations are one like the other, as far as others can tell.
//!
//! A look costs no instruction its place: it watches what the warp executes anyway, in the turns
//! that the warp has anyway. A *survey* watches where the warp comes by until it is at the head of
//! the loop with all registers as they were, but for those that nobody sees ([`influence`]). A
//! *record* of the next iteration keeps what each instruction did, and is judged once more.

use std::collections::{BTreeMap, BTreeSet};

use super::influence::{Differs, influence};
use crate::counters::Counters;
use crate::exec::state::{
    Again, FIRST_LOOK, Flow, Look, Record, Spin, Stage, State, Status, Step, Survey, Warp,
};
use crate::inst::{CARRY, Effect, Exec, Inst, Lanes};
use crate::module::PREDICATE;

/// Instructions of an iteration at most.
const LONGEST: usize = 1024;

/// Instructions between two looks at loops that do something, at most.
const LATEST_LOOK: u64 = 1 << 16;

/// Times that a survey follows influences.
const TRIES: u32 = 4;

impl Warp {
    /// Whether the loop whose head the current group has just come to is to be looked at.
    #[inline]
    pub(crate) fn looks(&self) -> bool {
        self.executed >= self.watch.look_at && self.is_alone()
    }

    /// Whether no other group of the warp could have the turn.
    pub(super) fn is_alone(&self) -> bool {
        let mut others = self.groups.iter().enumerate();
        others.all(|(index, group)| index == self.current || group.status != Status::Ready)
    }

    /// Begins to look at the loop that begins here.
    #[cold]
    pub(crate) fn begin_look(&mut self, st: &mut State<'_>) {
        let known = std::mem::take(&mut self.watch.known);
        let stage = match known.first() == Some(&self.pc()) {
            true => Stage::Record(Record::new(known, true)),
            false => Stage::Survey(Survey::default()),
        };
        let look = self.look_from_here(st, stage);
        self.watch.look = Some(Box::new(look));
        st.compares = true;
    }

    fn look_from_here(&self, st: &State<'_>, stage: Stage) -> Look {
        Look {
            head: self.pc(),
            lanes: self.group_mask(),
            groups: self.groups.len(),
            frame: self.frame.clone(),
            carry: self.carry,
            changed: st.changed(),
            seen: st.changes,
            path: Vec::new(),
            named: BTreeMap::new(),
            written: BTreeSet::new(),
            stage,
        }
    }

    /// Gives up the look, for a while.
    #[cold]
    pub(super) fn end_look(&mut self, st: &mut State<'_>, look: &Look) {
        st.compares = false;
        if let Stage::Record(Record { known: true, .. }) = look.stage {
            self.watch.look_at = self.executed;
            return;
        }
        self.watch.look_at = self.executed + self.watch.look_again;
        self.watch.look_again = (2 * self.watch.look_again).min(LATEST_LOOK);
    }

    /// A step of a warp that looks at its loop.
    pub(super) fn step_of_look(&mut self, st: &mut State<'_>, inst: &Inst, lanes: u32) -> Flow {
        let Some(mut look) = self.watch.look.take() else {
            return self.step(st, inst, lanes);
        };
        if !look.takes(self.pc(), inst) {
            self.end_look(st, &look);
            st.note(inst);
            return self.step(st, inst, lanes);
        }
        let flow = match &mut look.stage {
            Stage::Survey(_) => self.step(st, inst, lanes),
            Stage::Record(record) => self.recorded_step(st, inst, lanes, record),
        };
        self.watch.look = Some(look);
        flow
    }

    /// A step, and what it did.
    fn recorded_step(
        &mut self,
        st: &mut State<'_>,
        inst: &Inst,
        lanes: u32,
        record: &mut Record,
    ) -> Flow {
        let (pc, named) = (self.pc(), inst.exec.named());
        let counted = st.counters.clone();
        let active = self.guarded(inst, lanes);
        let (before, reported) = (self.slots(&named.writes), st.reported);
        let flow = self.step(st, inst, lanes);
        let wrote = self.slots(&named.writes);
        let mut sum = record.counters.last().cloned().unwrap_or_default();
        sum.add(&st.counters.since(&counted));
        record.counters.push(sum);
        record.found |= st.reported != reported;
        record.steps.push(Step {
            pc,
            active,
            polls: self.spinning,
            changed: before != wrote,
            wrote,
        });
        flow
    }

    /// What slots hold.
    pub(super) fn slots(&self, slots: &[u32]) -> Vec<(u32, Box<Lanes>)> {
        let held = |slot: &u32| (*slot, Box::new(self.slot(*slot)));
        slots.iter().map(held).collect()
    }

    /// What a slot holds: a register, a predicate, or the carry flags.
    fn slot(&self, slot: u32) -> Lanes {
        let index = (slot & !PREDICATE) as usize;
        match slot {
            CARRY => [u64::from(self.carry); 32],
            _ if slot & PREDICATE == 0 => self.frame.regs.get(index).copied().unwrap_or([0; 32]),
            _ => [u64::from(self.frame.preds.get(index).copied().unwrap_or(0)); 32],
        }
    }

    /// Looks where the warp came to by a step of the look.
    pub(super) fn look_on(&mut self, st: &mut State<'_>) {
        let Some(look) = self.watch.look.take() else {
            return;
        };
        if self.groups.len() != look.groups || look.groups > 1 && self.should_yield(0) {
            return self.end_look(st, &look);
        }
        if self.pc() != look.head {
            self.watch.look = Some(look);
            return;
        }
        if self.group_mask() != look.lanes || st.changed() != look.changed {
            return self.end_look(st, &look);
        }
        self.at_head(st, look);
    }

    /// Judges what is behind the warp where it is at the head again.
    fn at_head(&mut self, st: &mut State<'_>, mut look: Box<Look>) {
        let changing = self.changing(&look);
        let code = st.env.code;
        if let Stage::Record(record) = &look.stage {
            if look.path.len() < record.expected.len() {
                self.watch.look = Some(look);
                return;
            }
            let judged = changing.and_then(|changing| {
                let differs = influence(code, &look.named, &look.path, &changing)?;
                self.spin_of(st, &look, differs)
            });
            match (judged, look.stage) {
                (Some(spin), Stage::Record(record)) => self.begin_spin(spin, record),
                (_, stage) => {
                    look.stage = stage;
                    self.end_look(st, &look);
                }
            }
            return;
        }
        let length = changing.and_then(|changing| look.length(code, &changing));
        if let Some(length) = length {
            look.path.truncate(length);
            let record = Record::new(look.path, false);
            self.watch.look = Some(Box::new(self.look_from_here(st, Stage::Record(record))));
        } else {
            self.watch.look = Some(look);
        }
    }

    /// The registers that hold something else than at the head; `None` when more is different than
    /// what they hold.
    fn changing(&self, look: &Look) -> Option<BTreeSet<u32>> {
        let (now, then) = (&self.frame, &look.frame);
        let same = (now.depth, now.function) == (then.depth, then.function)
            && now.defined == then.defined
            && now.preds_defined == then.preds_defined
            && now.touched == then.touched;
        let differs = |slot: &u32| {
            let index = (*slot & !PREDICATE) as usize;
            match *slot {
                CARRY => self.carry != look.carry,
                slot if slot & PREDICATE == 0 => now.regs.get(index) != then.regs.get(index),
                _ => now.preds.get(index) != then.preds.get(index),
            }
        };
        let written = look.written.iter().copied();
        same.then(|| written.filter(differs).collect())
    }

    /// The loop of a recorded iteration, without its steps; `None` when nothing is won by knowing
    /// it.
    fn spin_of(&self, st: &State<'_>, look: &Look, differs: Vec<Differs>) -> Option<Spin> {
        let code = st.env.code;
        let Stage::Record(record) = &look.stage else {
            return None;
        };
        let insts = look.path.iter().filter_map(|pc| code.get(*pc as usize));
        let bounded = differs.iter().any(|differs| differs.guard);
        let traceless = st.race.is_none() || !insts.clone().any(stores);
        if bounded && !(traceless && insts.clone().any(is_seen)) {
            return None;
        }
        let is_seen = st.race.is_some() && insts.clone().any(is_seen);
        let steps = record.steps.iter().zip(differs).zip(insts).enumerate();
        let again = steps.map(|(step, ((done, differs), inst))| Again {
            step,
            checked: differs.guard,
            writes: differs.computes || done.changed,
            computes: inst.effect == Effect::Registers,
        });
        let again: Vec<Again> = again.filter(|one| one.checked || one.writes).collect();
        let writes = again.iter().filter(|one| one.writes);
        let writes = writes.filter_map(|one| look.path.get(one.step));
        let slots = writes.filter_map(|pc| look.named.get(pc));
        let slots: BTreeSet<u32> = slots.flat_map(|named| &named.writes).copied().collect();
        Some(Spin {
            lanes: look.lanes,
            groups: look.groups,
            steps: Vec::new(),
            counters: Vec::new(),
            again,
            slots: slots.into_iter().collect(),
            at: 0,
            is_seen,
            owed: 0,
            kept: Vec::new(),
            bounded,
            traceless,
            clean: u32::from(!record.found),
            found: false,
            fresh: true,
            seen: (st.changes, st.traces),
        })
    }

    fn begin_spin(&mut self, mut spin: Spin, record: Record) {
        (spin.steps, spin.counters) = (record.steps, record.counters);
        self.watch.spin = Some(Box::new(spin));
        self.watch.look_again = FIRST_LOOK;
    }
}

fn stores(inst: &Inst) -> bool {
    matches!(inst.exec, Exec::Store { .. })
}

/// Whether the race detector may see an instruction.
fn is_seen(inst: &Inst) -> bool {
    inst.effect >= Effect::Reads
}

impl Record {
    fn new(expected: Vec<u32>, known: bool) -> Record {
        Record {
            expected,
            known,
            steps: Vec::new(),
            counters: vec![Counters::default()],
            found: false,
        }
    }
}

impl Look {
    /// Adds an instruction to the way; false when it may not be on one.
    fn takes(&mut self, pc: u32, inst: &Inst) -> bool {
        let fits = match &self.stage {
            Stage::Survey(_) => self.path.len() < LONGEST,
            Stage::Record(record) => record.expected.get(self.path.len()) == Some(&pc),
        };
        if !fits || inst.effect == Effect::Other {
            return false;
        }
        let written = &mut self.written;
        self.named.entry(pc).or_insert_with(|| {
            let named = inst.exec.named();
            written.extend(&named.writes);
            named
        });
        self.path.push(pc);
        true
    }

    /// How many of the instructions make an iteration that is like the next one, once that is
    /// known.
    fn length(&mut self, code: &[Inst], changing: &BTreeSet<u32>) -> Option<usize> {
        let (path, named) = (&self.path, &self.named);
        let Stage::Survey(survey) = &mut self.stage else {
            return None;
        };
        let fewer = survey.tries == 0 || changing.len() < survey.fewest;
        if fewer && survey.tries < TRIES {
            (survey.tries, survey.fewest) = (survey.tries + 1, changing.len());
            match influence(code, named, path, changing) {
                Some(differs) if differs.iter().any(|differs| differs.guard) => {
                    let mut insts = path.iter().filter_map(|pc| code.get(*pc as usize));
                    if insts.any(is_seen) {
                        survey.bounded.get_or_insert(path.len());
                    }
                }
                Some(_) => return Some(path.len()),
                None => {}
            }
        }
        // Where the loop around it might be one that nothing but others can end, that is better.
        survey
            .bounded
            .filter(|length| path.len() + length > LONGEST)
    }
}
