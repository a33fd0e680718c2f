//! Tuning on a GPU: candidates in rotations beside the peer's default and fastest candidate.

use std::collections::HashSet;

use tilewright_bundle::Kernel;

use super::measurer::{Candidate, Failure, Measurer, TuningDevice};
use super::on_emulator::drawn;
use super::record::Reason;
use crate::bench::{Bench, Cut, Entry, Mode, Row, Rules, Runner, Workload, contest, quick_us};
use tilewright_runtime::Error;

/// Length of a slice of the first look.
const SCREEN_US: f64 = 3e3;
/// Length of a slice of a race.
const RACE_US: f64 = 5e3;
/// Load before a race.
const RACE_HEAT_US: f64 = 100e3;

/// A GPU as a device to tune on.
pub(crate) struct TuningGpu<'k> {
    pub bench: Bench<'k>,
    /// Random problems that a kernel has to pass once, besides those it is tuned on.
    pub drawn: usize,
    /// Content hashes of those that did.
    pub passed: HashSet<String>,
}

/// One problem on a GPU: what its candidates share, and those that are loaded.
struct GpuMeasurer<'f, 'k> {
    gpu: &'f mut TuningGpu<'k>,
    entries: Vec<Entry<'k>>,
    workload: Workload,
    runners: Vec<Option<Runner<'k>>>,
    /// The least time of a look so far.
    fastest_us: f64,
}

impl<'k> TuningDevice<'k> for TuningGpu<'k> {
    fn blank(&self, kernel: &Kernel) -> Row {
        let Bench {
            device, options, ..
        } = &self.bench;
        let (name, driver) = (&device.info().name, self.bench.driver());
        Row::blank(kernel, name, driver, &options.stamp)
    }

    fn open<'f>(&'f mut self, group: &[Candidate<'k>]) -> Result<Box<dyn Measurer + 'f>, Error>
    where
        'k: 'f,
    {
        let mut entries = Vec::new();
        for candidate in group {
            let problem = candidate.problem.clone();
            entries.push(self.bench.entry_of(candidate.kernel, problem)?);
        }
        let first = entries
            .first()
            .ok_or_else(|| Error::Request("a problem without candidates".to_owned()))?;
        let workload = self.bench.workload(first)?;
        let runners = entries.iter().map(|_| None).collect();
        Ok(Box::new(GpuMeasurer {
            gpu: self,
            entries,
            workload,
            runners,
            fastest_us: f64::INFINITY,
        }))
    }
}

/// An error of the driver leaves its context unusable, a want of memory is nobody's fault; any
/// other is the kernel's own.
fn blame(error: Error) -> Failure {
    match error {
        error if error.is_of_driver() => Failure::Lost(error),
        error if error.is_memory() => Failure::NoMemory(error),
        other => Failure::Dropped(Reason::Load, other.to_string()),
    }
}

fn missing(candidate: usize) -> Failure {
    Failure::Lost(Error::Request(format!(
        "candidate {candidate} is not loaded"
    )))
}

impl<'k> GpuMeasurer<'_, 'k> {
    /// Candidates with their scratch memory; all others rest, so that hundreds of them fit a GPU.
    fn woken(&mut self, candidates: &[usize]) -> Result<(), Failure> {
        for (at, runner) in self.runners.iter_mut().enumerate() {
            if let (Some(runner), false) = (runner, candidates.contains(&at)) {
                runner.rest();
            }
        }
        for at in candidates {
            let runner = self.runners.get_mut(*at).and_then(Option::as_mut);
            let runner = runner.ok_or_else(|| missing(*at))?;
            self.gpu.bench.wake(runner).map_err(Failure::of_device)?;
        }
        Ok(())
    }

    fn ready(&self, candidates: &[usize]) -> Result<Vec<(&Entry<'k>, &Runner<'k>)>, Failure> {
        let one = |at: &usize| {
            let runner = self.runners.get(*at).and_then(Option::as_ref);
            self.entries
                .get(*at)
                .zip(runner)
                .ok_or_else(|| missing(*at))
        };
        candidates.iter().map(one).collect()
    }

    fn cut(&self, slice_us: f64) -> Cut {
        Cut {
            sets: self.workload.sets.len(),
            slice_us,
            graph: self.workload.graph,
        }
    }
}

impl Measurer for GpuMeasurer<'_, '_> {
    fn screen(&mut self, candidate: usize) -> Result<f64, Failure> {
        let bench = &self.gpu.bench;
        let entry = self
            .entries
            .get(candidate)
            .ok_or_else(|| missing(candidate))?;
        let mut runner = bench.loaded(entry, &self.workload).map_err(blame)?;
        let cut = self.cut(SCREEN_US);
        let contender = bench.contender(&runner);
        let us = quick_us(bench.device, &contender, &cut, self.fastest_us).map_err(blame)?;
        drop(contender);
        runner.rest();
        self.fastest_us = self.fastest_us.min(us);
        if let Some(place) = self.runners.get_mut(candidate) {
            *place = Some(runner);
        }
        Ok(us)
    }

    fn verify(&mut self, candidate: usize) -> Result<(), Failure> {
        self.woken(&[candidate])?;
        let TuningGpu {
            bench,
            drawn: count,
            passed,
        } = &mut *self.gpu;
        let entry = self
            .entries
            .get(candidate)
            .ok_or_else(|| missing(candidate))?;
        let runner = self.runners.get_mut(candidate).and_then(Option::as_mut);
        let runner = runner.ok_or_else(|| missing(candidate))?;
        let judged = bench.judge(runner, entry, &self.workload).map_err(blame)?;
        if let Some(detail) = judged.failure {
            return Err(Failure::Dropped(Reason::Wrong, detail));
        }
        let hash = entry.kernel.content_hash.as_str();
        if !passed.contains(hash) {
            drawn(bench.runtime, entry.kernel, *count, bench.options.seed)?;
            passed.insert(hash.to_owned());
        }
        Ok(())
    }

    fn race(&mut self, candidates: &[usize], rounds: usize) -> Result<Vec<f64>, Failure> {
        self.woken(candidates)?;
        let bench = &self.gpu.bench;
        let ready = self.ready(candidates)?;
        let contenders: Vec<_> = ready.iter().map(|(_, r)| bench.contender(r)).collect();
        let rules = Rules {
            heat_us: RACE_HEAT_US,
            ..Rules::new(Mode::Sustained, rounds, bench.options.seed)
        };
        let cut = self.cut(RACE_US);
        let samples = contest(bench.device, &bench.sensors, &contenders, &cut, &rules)
            .map_err(Failure::of_device)?;
        Ok((0..ready.len()).map(|at| samples.median_us(at)).collect())
    }

    fn measure(&mut self, candidates: &[usize], mode: Mode) -> Result<Vec<Row>, Failure> {
        self.woken(candidates)?;
        let ready = self.ready(candidates)?;
        let rows = self.gpu.bench.group_rows(&ready, &self.workload, mode);
        rows.map_err(Failure::of_device)
    }
}
