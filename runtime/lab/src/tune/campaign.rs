//! The way of every problem: a first look at all candidates, a heat among the fastest, a check of
//! those that lead, races of those that are right, a measurement of the last few beside the peer.
//!
//! The heat is there because first looks are one by one: a GPU's clock moves between them by more
//! than kernels differ. In a heat, as in a race, slices of all take turns under the same load.
//!
//! A candidate that is wrong, cannot be loaded or stops is dropped with its reason, and the next
//! takes its place. What became of each is a record, reported at once; what earlier records hold is
//! not done again. Nothing here knows a device or a clock: both are given.

use std::cell::Cell;
use std::collections::HashSet;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::halving::{split, stages};
use super::measurer::{Candidate, Failure, Measurer, TuningDevice};
use super::progress::{Progress, Step, Tally};
use super::record::{Key, Reason, Record};
use crate::bench::Mode;
use tilewright_runtime::Error;

/// Part of a problem's time after which the first look ends.
const LOOKING: f64 = 0.6;
/// Candidates of a heat for each that is checked and raced.
const HEAT: usize = 4;
/// Rounds of a heat.
const HEAT_ROUNDS: usize = 3;

/// How to tune.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How the device is kept for the last measurement.
    pub mode: Mode,
    /// Candidates of a problem that are checked and raced.
    pub contestants: usize,
    /// Of these, how many are measured beside the peer.
    pub finalists: usize,
    /// Rounds of the last measurement.
    pub rounds: usize,
    /// Random problems each checked candidate must pass as well.
    pub drawn: usize,
    /// Seconds for all of it; `None` takes what it takes.
    pub budget_s: Option<f64>,
    /// Seed of inputs and orders.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            mode: Mode::Sustained,
            contestants: 16,
            finalists: 4,
            rounds: 21,
            drawn: 4,
            budget_s: None,
            seed: 1,
        }
    }
}

/// All that a campaign needs besides the device.
pub(crate) struct Campaign<'a> {
    pub settings: &'a Settings,
    /// Keys of earlier records.
    pub known: HashSet<Key>,
    /// Seconds since the start.
    pub clock: &'a dyn Fn() -> f64,
    /// Takes every step and every record, and keeps the records.
    pub report: &'a mut dyn FnMut(Progress<'_>) -> Result<(), Error>,
    pub tally: Tally,
}

/// Candidates with the time of a launch, as far as it is known.
type Times = Vec<(usize, f64)>;

/// One problem with the candidates that are new.
struct Round<'p> {
    problem: &'p str,
    /// Which problem it is, from 1, of how many.
    place: [usize; 2],
    blanks: &'p [Record],
    /// Whether it was reported that there is no memory for some of them.
    is_reported: Cell<bool>,
}

impl Campaign<'_> {
    /// Tunes groups of candidates, each of one problem; `blanks` are their records so far.
    ///
    /// # Errors
    /// When the device was lost, or a record could not be kept.
    pub fn run<'k>(
        &mut self,
        device: &mut dyn TuningDevice<'k>,
        groups: &[(String, Vec<Candidate<'k>>)],
        blank: impl Fn(&dyn TuningDevice<'k>, &Candidate<'k>) -> Record,
    ) -> Result<(), Error> {
        for (at, (problem, group)) in groups.iter().enumerate() {
            let mut fresh = Vec::new();
            let mut blanks = Vec::new();
            for candidate in group {
                let record = blank(device, candidate);
                if self.known.contains(&record.key()) {
                    self.tally.known += 1;
                } else {
                    fresh.push(candidate.clone());
                    blanks.push(record);
                }
            }
            if fresh.is_empty() {
                continue;
            }
            let until = self.until(groups.len() - at);
            if until.is_some_and(|until| (self.clock)() >= until) {
                self.tally.unseen += fresh.len();
                continue;
            }
            let round = Round {
                problem,
                place: [at + 1, groups.len()],
                blanks: &blanks,
                is_reported: Cell::new(false),
            };
            self.next("prepare", &round, &[], 600.0)?;
            let mut measurer = match device.open(&fresh) {
                Ok(measurer) => measurer,
                Err(error) if error.is_of_driver() => return Err(error),
                Err(error @ Error::NoLibrary { .. }) => return Err(error),
                Err(error) => {
                    self.tally.skipped += 1;
                    (self.report)(Progress::Skipped {
                        problem,
                        error: &error,
                    })?;
                    continue;
                }
            };
            self.problem(measurer.as_mut(), &round, until)?;
        }
        Ok(())
    }

    /// When a problem's time is over: an equal part of what is left.
    fn until(&self, problems_left: usize) -> Option<f64> {
        let now = (self.clock)();
        let left = (self.settings.budget_s? - now).max(0.0);
        Some(now + left / problems_left.max(1) as f64)
    }

    fn problem(
        &mut self,
        measurer: &mut dyn Measurer,
        round: &Round<'_>,
        until: Option<f64>,
    ) -> Result<(), Error> {
        let times = self.look(measurer, round, until)?;
        let Some(times) = self.heat(measurer, round, times)? else {
            return Ok(());
        };
        let (mut left, mut out) = self.check(measurer, round, times)?;
        for stage in stages(left.len(), self.settings.finalists) {
            let limit = 30.0 + 0.1 * (stage.rounds * left.len()) as f64;
            let raced = self.tried("race", measurer, round, &left, limit, |measurer, left| {
                measurer.race(left, stage.rounds)
            })?;
            let Some(times) = raced else {
                return self.screen_out(round, &out);
            };
            let pairs: Times = left.iter().copied().zip(times).collect();
            let (kept, slower) = split(&pairs, stage.keep);
            left = kept;
            out.extend(slower);
        }
        self.screen_out(round, &out)?;
        if left.is_empty() {
            return Ok(());
        }
        let (mode, rounds) = (self.settings.mode, self.settings.rounds);
        let limit = 60.0 + (rounds * (left.len() + 3)) as f64;
        let measured = self.tried(
            "measure",
            measurer,
            round,
            &left,
            limit,
            |measurer, left| measurer.measure(left, mode),
        )?;
        for (at, row) in left.iter().zip(measured.unwrap_or_default()) {
            if let Some(blank) = round.blanks.get(*at) {
                // The problem and the order are the record's: they are its key.
                let row = crate::bench::Row {
                    problem: blank.row.problem.clone(),
                    layout: blank.row.layout.clone(),
                    ..row
                };
                self.tally.measured += 1;
                (self.report)(Progress::Record(&blank.clone().measured(row)))?;
            }
        }
        Ok(())
    }

    /// A first look at every candidate, in an order drawn by the seed, until the time is over.
    fn look(
        &mut self,
        measurer: &mut dyn Measurer,
        round: &Round<'_>,
        until: Option<f64>,
    ) -> Result<Times, Error> {
        let start = (self.clock)();
        let end = until.map(|until| start + LOOKING * (until - start));
        let mut order: Vec<usize> = (0..round.blanks.len()).collect();
        order.shuffle(&mut StdRng::seed_from_u64(self.settings.seed));
        let mut times = Vec::new();
        for (seen, at) in order.iter().enumerate() {
            if end.is_some_and(|end| seen > 0 && (self.clock)() >= end) {
                self.tally.unseen += order.len() - seen;
                break;
            }
            let look = |measurer: &mut dyn Measurer, at: &[usize]| match at {
                [at] => measurer.screen(*at),
                _ => Ok(f64::INFINITY),
            };
            let time = self.tried("screen", measurer, round, &[*at], 60.0, look)?;
            times.extend(time.map(|us| (*at, us)));
        }
        times.sort_by(|a, b| a.1.total_cmp(&b.1));
        Ok(times)
    }

    /// Compares the fastest, a few times as many as will be checked, all in turns, and puts them in
    /// the order of that. `None` when they were at fault.
    fn heat(
        &mut self,
        measurer: &mut dyn Measurer,
        round: &Round<'_>,
        mut times: Times,
    ) -> Result<Option<Times>, Error> {
        let contestants = self.settings.contestants.max(1);
        if times.len() <= contestants {
            return Ok(Some(times));
        }
        let others = times.split_off(times.len().min(contestants.saturating_mul(HEAT)));
        let entered: Vec<usize> = times.iter().map(|(at, _)| *at).collect();
        let limit = 30.0 + 0.1 * (HEAT_ROUNDS * entered.len()) as f64;
        let raced = self.tried(
            "heat",
            measurer,
            round,
            &entered,
            limit,
            |measurer, entered| measurer.race(entered, HEAT_ROUNDS),
        )?;
        let Some(raced) = raced else {
            self.screen_out(round, &others)?;
            return Ok(None);
        };
        let mut times: Times = entered.into_iter().zip(raced).collect();
        times.sort_by(|a, b| a.1.total_cmp(&b.1));
        times.extend(others);
        Ok(Some(times))
    }

    /// Checks candidates, fastest first, until enough are right; the others come second.
    fn check(
        &mut self,
        measurer: &mut dyn Measurer,
        round: &Round<'_>,
        times: Times,
    ) -> Result<(Vec<usize>, Times), Error> {
        let (mut right, mut others) = (Vec::new(), Vec::new());
        for (at, us) in times {
            if right.len() >= self.settings.contestants.max(1) {
                others.push((at, us));
                continue;
            }
            let verify = |measurer: &mut dyn Measurer, at: &[usize]| match at {
                [at] => measurer.verify(*at),
                _ => Ok(()),
            };
            if self
                .tried("verify", measurer, round, &[at], 120.0, verify)?
                .is_some()
            {
                right.push(at);
            }
        }
        Ok((right, others))
    }

    fn screen_out(&mut self, round: &Round<'_>, out: &[(usize, f64)]) -> Result<(), Error> {
        for (at, us) in out {
            if let Some(blank) = round.blanks.get(*at) {
                self.tally.screened += 1;
                (self.report)(Progress::Record(&blank.clone().screened(*us)))?;
            }
        }
        Ok(())
    }

    fn next(
        &mut self,
        what: &str,
        round: &Round<'_>,
        candidates: &[usize],
        limit_s: f64,
    ) -> Result<(), Error> {
        let at_work = candidates.iter().filter_map(|at| round.blanks.get(*at));
        let step = Step {
            what: what.to_owned(),
            problem: round.problem.to_owned(),
            place: round.place,
            candidates: round.blanks.len(),
            kernels: at_work.cloned().collect(),
            limit_s,
        };
        (self.report)(Progress::Next(&step))
    }

    /// Counts candidates that there is no memory for, and says so once for each problem.
    fn leave_out(
        &mut self,
        round: &Round<'_>,
        candidates: &[usize],
        error: &Error,
    ) -> Result<(), Error> {
        self.tally.no_memory += candidates.len();
        if round.is_reported.replace(true) {
            return Ok(());
        }
        let problem = round.problem;
        (self.report)(Progress::Skipped { problem, error })
    }

    /// Does one step. A candidate that is at fault is recorded as dropped, and there is no answer;
    /// when the device is lost, all candidates at work are.
    fn tried<T>(
        &mut self,
        what: &str,
        measurer: &mut dyn Measurer,
        round: &Round<'_>,
        candidates: &[usize],
        limit_s: f64,
        step: impl FnOnce(&mut dyn Measurer, &[usize]) -> Result<T, Failure>,
    ) -> Result<Option<T>, Error> {
        self.next(what, round, candidates, limit_s)?;
        let (reason, detail, lost) = match step(measurer, candidates) {
            Ok(value) => return Ok(Some(value)),
            Err(Failure::Dropped(reason, detail)) => (reason, detail, false),
            Err(Failure::NoMemory(error)) => {
                return self.leave_out(round, candidates, &error).map(|()| None);
            }
            Err(Failure::Lost(error)) => (Reason::Fault, format!("{what}: {error}"), true),
        };
        for blank in candidates.iter().filter_map(|at| round.blanks.get(*at)) {
            let text = reason.text().to_owned();
            *self.tally.dropped.entry(text).or_default() += 1;
            let record = blank.clone().dropped(reason, detail.clone());
            (self.report)(Progress::Record(&record))?;
        }
        if lost {
            return Err(Error::DeviceLost { reason: detail });
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
