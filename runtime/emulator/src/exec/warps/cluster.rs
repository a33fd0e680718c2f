//! One cluster: the warps of its CTAs in some order, until all have exited or none can go on.

use std::collections::BTreeSet;

use super::{deadlock, spin};
use crate::counters::Counters;
use crate::exec::state::{Env, GlobalWords, Observed, Random, Site, State, Warp};
use crate::finding::{FindingId, FindingLog};
use crate::options::{AsyncOrder, WarpOrder};

/// Instructions a warp may run before the next one has its turn.
const SLICE: u64 = 10_000;

/// Turns after which a queued copy completes although warps are busy.
const PATIENCE: u32 = 64;

/// What a cluster leaves behind.
pub(crate) struct Outcome {
    pub(crate) findings: FindingLog,
    pub(crate) counters: Counters,
    pub(crate) observed: Observed,
    /// What the cluster touched in global memory.
    pub(crate) words: GlobalWords,
    /// Whether a sum was the architecture's own.
    pub(crate) ruled: bool,
    pub(crate) executed: u64,
}

impl Outcome {
    /// What a cluster leaves that is not run.
    pub(crate) fn nothing(findings: FindingLog) -> Outcome {
        Outcome {
            findings,
            counters: Counters::default(),
            observed: Observed::default(),
            words: GlobalWords::default(),
            ruled: false,
            executed: 0,
        }
    }
}

/// A cluster that has begun.
pub(crate) struct Running<'a> {
    st: State<'a>,
    warps: Vec<Warp>,
    random: Random,
    ctas: Vec<[u32; 3]>,
    /// Turns since a queued copy was completed.
    turns: u32,
    /// The places of warps that owe instructions, in the order of their turns.
    debts: Vec<usize>,
    /// What loops that wait for another cluster read: bytes of global memory.
    polled: Vec<(u64, Option<u64>)>,
}

/// How far a cluster has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// To its end, or to what ends it.
    End,
    /// To loops that wait for another cluster.
    Wait,
}

impl<'a> Running<'a> {
    /// The cluster of that number, before its first instruction.
    pub(crate) fn new(env: &'a Env<'a>, ctas: Vec<[u32; 3]>, linear: u64) -> Running<'a> {
        let mut st = State::new(env, &ctas);
        if let Some(race) = &mut st.race {
            race.number = linear as u32;
        }
        st.begin_history(&ctas);
        let mut warps: Vec<Warp> = Vec::new();
        for rank in 0..st.cluster_ctas() {
            st.switch(rank);
            let ids = 0..st.near.live.len() as u32;
            warps.extend(ids.map(|id| Warp::new(&st, id)));
        }
        let random = match env.options.warp_order {
            WarpOrder::Random(seed) => Random::of_cluster(seed, linear),
            _ => Random::default(),
        };
        if let AsyncOrder::Random(seed) = env.options.async_order {
            st.chance = Random::of_cluster(seed, linear);
        }
        Running {
            st,
            warps,
            random,
            ctas,
            turns: 0,
            debts: Vec::new(),
            polled: Vec::new(),
        }
    }

    /// Instructions of warps that it has executed.
    pub(crate) fn executed(&self) -> u64 {
        self.st.executed
    }

    /// Whether what it waits for has changed.
    pub(crate) fn may_go_on(&self) -> bool {
        let mut hint = 0;
        let byte = |address| byte_at(self.st.env, address, &mut hint);
        !(self.polled.iter().map(|(address, _)| *address).map(byte))
            .eq(self.polled.iter().map(|(_, byte)| *byte))
    }

    /// Lets the loops that wait go round once more, and keeps what they read. What they owe was
    /// executed before others act.
    fn stand_still(&mut self) {
        let (st, warps) = (&mut self.st, &mut self.warps);
        pay(warps, st, &mut self.debts);
        // Once around, whatever a turn is by chance: what a loop does not read wakes nobody.
        let rounds: Vec<u64> = warps.iter().map(Warp::round).collect();
        st.changes += 1;
        st.polled = Some(BTreeSet::new());
        for (index, round) in rounds.into_iter().enumerate() {
            run_one(warps, index, st, round, &mut self.debts);
        }
        pay(warps, st, &mut self.debts);
        let polled = st.polled.take().unwrap_or_default();
        let bytes = polled.into_iter();
        let bytes = bytes.flat_map(|(start, bytes)| start..start.saturating_add(bytes.into()));
        let mut hint = 0;
        let kept = bytes.map(|address| (address, byte_at(st.env, address, &mut hint)));
        self.polled = kept.collect();
        for warp in warps {
            warp.stood_at = warp.executed;
        }
    }

    /// Goes on, as others may have changed what its loops wait for; `budget` is what is left of the
    /// launch's instructions, its own that are executed among them. Where it comes to wait that is
    /// its end, and a finding, unless others may go on meanwhile.
    pub(crate) fn go(&mut self, budget: u64, may_wait: bool) -> Came {
        let (st, warps) = (&mut self.st, &mut self.warps);
        let env = st.env;
        st.changes += 1;
        st.traces += 1;
        while !st.stopped && warps.iter().any(|warp| !warp.done()) {
            let (before, moved) = ((st.executed, st.events), st.moved);
            turn(warps, st, &mut self.random, &mut self.debts);
            if env.options.is_to_stop() {
                st.stopped = true;
                break;
            }
            if st.executed > budget {
                let total = env.options.instructions_total;
                st.report(FindingId::NoProgress, Site::default(), None, || {
                    format!(
                        "the launch executed {total} warp instructions without coming to its end"
                    )
                });
                break;
            }
            self.turns += 1;
            let idle = warps
                .iter()
                .all(|warp| warp.done() || warp.spinning || warp.waits());
            // Nobody has done anything but to go round in loops that others end.
            let still = st.moved == moved && st.executed != before.0;
            let late = self.turns > PATIENCE || still;
            let due = idle && st.events == before.1 || late || st.completes_by_chance();
            if due && !st.queue.pending.is_empty() {
                pay(warps, st, &mut self.debts);
                complete_one(st, &mut self.random);
                self.turns = 0;
                continue;
            }
            let frozen = still && st.queue.pending.is_empty();
            if frozen && !st.stopped && !env.side_by_side() {
                if may_wait {
                    self.stand_still();
                    return Came::Wait;
                }
                spin::report(warps, st);
                break;
            }
            let stuck = (st.executed, st.events) == before && warps.iter().any(|warp| !warp.done());
            if stuck && !st.stopped && !warps.iter_mut().any(Warp::force) {
                deadlock::report(warps, st);
                break;
            }
        }
        Came::End
    }

    /// Ends it where it is.
    pub(crate) fn end(mut self) -> Outcome {
        let (st, warps) = (&mut self.st, &mut self.warps);
        pay(warps, st, &mut self.debts);
        end(warps, st);
        st.end_history(&self.ctas);
        let mut st = self.st;
        let words = st.race.take().map(|race| race.words).unwrap_or_default();
        Outcome {
            findings: st.findings,
            counters: st.counters,
            observed: st.observed,
            words,
            ruled: st.ruled,
            executed: st.executed,
        }
    }
}

/// A byte of global memory, where there is one.
fn byte_at(env: &Env<'_>, address: u64, hint: &mut usize) -> Option<u64> {
    let region = env.global.find(address, 1, hint)?;
    Some(region.load(address, 1).0)
}

/// Completes one queued copy, or the operands of one warpgroup product; there is one.
fn complete_one(st: &mut State<'_>, random: &mut Random) {
    let count = st.queue.pending.len();
    let options = st.env.options;
    let index = match (options.async_order, options.warp_order) {
        (AsyncOrder::Random(_), _) => st.chance.next() as usize % count,
        (_, WarpOrder::Random(_)) => random.next() as usize % count,
        _ => 0,
    };
    st.perform_at(index);
    st.changes += 1;
}

/// Lets warps execute what they owe, in the order of their turns. `debts` are their places.
fn pay(warps: &mut [Warp], st: &mut State<'_>, debts: &mut Vec<usize>) {
    for index in debts.drain(..) {
        if let Some(warp) = warps.get_mut(index) {
            st.switch(warp.rank);
            warp.pay(st);
        }
    }
}

/// What is left when nothing runs any more.
fn end(warps: &mut [Warp], st: &mut State<'_>) {
    while !st.queue.pending.is_empty() {
        st.perform_at(0);
    }
    for warp in warps.iter_mut() {
        warp.report_unwaited(st);
    }
    if st.sanitize() && !st.stopped {
        for rank in 0..st.cluster_ctas() {
            st.check_register_steps(rank);
            if warps.iter().all(Warp::done) {
                st.report_pending_mbarriers(rank);
            }
        }
    }
}

/// Gives every warp one turn.
fn turn(warps: &mut [Warp], st: &mut State<'_>, random: &mut Random, debts: &mut Vec<usize>) {
    let count = warps.len();
    let random_order = matches!(st.env.options.warp_order, WarpOrder::Random(_));
    for index in 0..count {
        let (index, slice) = match st.env.options.warp_order {
            WarpOrder::RoundRobin => (index, SLICE),
            WarpOrder::Reverse => (count - 1 - index, SLICE),
            WarpOrder::Random(_) => (
                (random.next() % count as u64) as usize,
                1 + random.next() % 64,
            ),
        };
        run_one(warps, index, st, slice, debts);
    }
    if random_order {
        // Chance may have passed over the only warp that can run.
        for index in 0..count {
            run_one(warps, index, st, 1, debts);
        }
    }
}

/// A turn of one warp. Before it executes anything, all others have executed what they owe.
fn run_one(
    warps: &mut [Warp],
    index: usize,
    st: &mut State<'_>,
    slice: u64,
    debts: &mut Vec<usize>,
) {
    let Some(warp) = warps.get_mut(index).filter(|warp| !warp.done()) else {
        return;
    };
    st.switch(warp.rank);
    let mut left = slice;
    if warp.is_steady(st) {
        let counted = warp.run(st, slice, false);
        st.executed += counted;
        left -= counted.min(left);
        note_debt(warp, index, debts);
        if left == 0 || warp.spinning {
            return;
        }
    }
    pay(warps, st, debts);
    if let Some(warp) = warps.get_mut(index) {
        st.switch(warp.rank);
        st.executed += warp.run(st, left, true);
        note_debt(warp, index, debts);
    }
}

/// Puts a warp that owes something behind all others that do.
fn note_debt(warp: &Warp, index: usize, debts: &mut Vec<usize>) {
    if warp.owes() {
        debts.retain(|other| *other != index);
        debts.push(index);
    }
}
