//! Tuning on the emulator: the time of a launch is the number of instructions its threads executed.
//!
//! It says nothing about a GPU, and is the same on every machine: what tuning does around it is
//! tested with it.

use std::collections::HashMap;

use super::measurer::{Candidate, Failure, Measurer, TuningDevice};
use super::record::Reason;
use crate::bench::{Mode, Row, Stamp};
use crate::verify::{Data, Draw, verify_one};
use tilewright_bundle::Kernel;
use tilewright_runtime::Error;
use tilewright_runtime::Runtime;

/// The emulator as a device to tune on.
pub(crate) struct TuningEmulator<'k> {
    pub runtime: &'k Runtime,
    pub stamp: Stamp,
    pub seed: u64,
    /// Random problems that a candidate has to pass besides the one it is tuned on.
    pub drawn: usize,
}

/// One problem on the emulator.
struct EmulatorMeasurer<'f, 'k> {
    emulator: &'f TuningEmulator<'k>,
    group: Vec<Candidate<'k>>,
    /// Instructions, and the largest error over allowed error.
    seen: HashMap<usize, (f64, f64, f64)>,
}

impl<'k> TuningDevice<'k> for TuningEmulator<'k> {
    fn blank(&self, kernel: &Kernel) -> Row {
        let info = self.runtime.device().info();
        Row::blank(kernel, &info.name, String::new(), &self.stamp)
    }

    fn open<'f>(&'f mut self, group: &[Candidate<'k>]) -> Result<Box<dyn Measurer + 'f>, Error>
    where
        'k: 'f,
    {
        Ok(Box::new(EmulatorMeasurer {
            emulator: self,
            group: group.to_vec(),
            seen: HashMap::new(),
        }))
    }
}

impl<'k> EmulatorMeasurer<'_, 'k> {
    fn at(&self, candidate: usize) -> Result<&Candidate<'k>, Failure> {
        self.group.get(candidate).ok_or_else(|| {
            Failure::Lost(Error::Request(format!("there is no candidate {candidate}")))
        })
    }

    /// One launch, judged.
    fn run(&self, candidate: &Candidate<'_>, data: Data) -> Result<(f64, f64, f64), Failure> {
        let TuningEmulator { runtime, seed, .. } = self.emulator;
        let Candidate { kernel, problem } = candidate;
        let outcome =
            verify_one(runtime, kernel, problem, data, *seed).map_err(Failure::of_device)?;
        match outcome.failure {
            None => Ok((
                outcome.thread_instructions as f64,
                outcome.rel_err,
                outcome.max_err,
            )),
            Some(reason) if outcome.stopped => Err(Failure::Dropped(Reason::Fault, reason)),
            Some(reason) => Err(Failure::Dropped(Reason::Wrong, reason)),
        }
    }
}

impl Measurer for EmulatorMeasurer<'_, '_> {
    fn screen(&mut self, candidate: usize) -> Result<f64, Failure> {
        let one = self.at(candidate)?.clone();
        if let Err(error) = self.emulator.runtime.load(one.kernel) {
            return Err(Failure::Dropped(Reason::Load, error.to_string()));
        }
        let seen = self.run(&one, Data::Normals)?;
        self.seen.insert(candidate, seen);
        Ok(seen.0)
    }

    fn verify(&mut self, candidate: usize) -> Result<(), Failure> {
        let one = self.at(candidate)?.clone();
        self.run(&one, Data::Integers)?;
        let runtime = self.emulator.runtime;
        drawn(runtime, one.kernel, self.emulator.drawn, self.emulator.seed)
    }

    fn race(&mut self, candidates: &[usize], _: usize) -> Result<Vec<f64>, Failure> {
        let time = |at: &usize| self.seen.get(at).map_or(f64::INFINITY, |seen| seen.0);
        Ok(candidates.iter().map(time).collect())
    }

    fn measure(&mut self, candidates: &[usize], mode: Mode) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        for at in candidates {
            let one = self.at(*at)?;
            let (instructions, rel_err, max_err) = self.seen.get(at).copied().unwrap_or_default();
            rows.push(Row {
                mode,
                ours_us: instructions,
                peer: "none: thread instructions of the emulator".to_owned(),
                rel_err,
                max_err,
                rounds: 1,
                ..self.emulator.blank(one.kernel)
            });
        }
        Ok(rows)
    }
}

/// Runs a kernel on random problems of all kinds it takes.
pub(crate) fn drawn(
    runtime: &Runtime,
    kernel: &Kernel,
    count: usize,
    seed: u64,
) -> Result<(), Failure> {
    let refused = |error: Error| Failure::Dropped(Reason::Load, error.to_string());
    let mut draw = Draw::new(kernel, runtime.device().info(), seed);
    for at in 0..count {
        let case = draw.next_case().map_err(refused)?;
        let data = if at.is_multiple_of(2) {
            Data::Integers
        } else {
            Data::Normals
        };
        let outcome = verify_one(runtime, kernel, &case.problem, data, seed ^ at as u64)
            .map_err(Failure::of_device)?;
        if let Some(reason) = outcome.failure {
            let why = if outcome.stopped {
                Reason::Fault
            } else {
                Reason::Wrong
            };
            return Err(Failure::Dropped(
                why,
                format!("{}: {reason}", outcome.problem),
            ));
        }
    }
    Ok(())
}
