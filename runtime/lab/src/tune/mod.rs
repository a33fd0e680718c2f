//! Tuning: which kernels of a bundle are fastest on which problems of one device.
//!
//! In: a bundle that holds many points of its specs, problems, and a file of records. Out: records
//! of every candidate, and a [`Tuning`] that [`Runtime::select`] reads.
//!
//! [`Runtime::select`]: tilewright_runtime::Runtime::select
//!
//! ```no_run
//! use tilewright_lab::bench::{Extent, Stamp};
//! use tilewright_lab::tune::{Journal, Settings, tune};
//! use tilewright_runtime::{Device, Runtime};
//! let runtime = Runtime::open("points.bundle".as_ref(), Device::emulator())?;
//! let kernels: Vec<_> = runtime.kernels().iter().collect();
//! let extents = [Extent::product(128, 128, 64)];
//! let (mut journal, mut records) = Journal::open("records.jsonl".as_ref())?;
//! let tuned = tune(
//!     &runtime, &kernels, &extents, &records.clone(), &Settings::default(), Stamp::default(),
//!     &mut |progress| {
//!         if let tilewright_lab::tune::Progress::Record(record) = progress {
//!             journal.append(record)?;
//!             records.push(record.clone());
//!         }
//!         Ok(())
//!     },
//! )?;
//! let tuning = tuned.tables(&runtime, &records);
//! # Ok::<(), tilewright_runtime::Error>(())
//! ```

mod record;

mod judged;

mod journal;

mod halving;

mod measurer;

mod progress;

mod on_emulator;

mod on_gpu;

mod campaign;

mod tables;

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use tilewright_bundle::{Kernel, Tuning};

pub use campaign::Settings;
pub use halving::{Stage, split, stages};
pub use journal::Journal;
pub use progress::{Progress, Step, Tally};
pub use record::{Key, Outcome, RECORD_FORMAT, Reason, Record};
pub use tables::{Origin, tables};

use crate::bench::{self, Bench, Extent, Letters, RowProblem, Sensors, Stamp};
use crate::verify::GemmForm;
use campaign::Campaign;
use measurer::{Candidate, TuningDevice};
use on_emulator::TuningEmulator;
use on_gpu::TuningGpu;
use tilewright_runtime::Backend;
use tilewright_runtime::Device;
use tilewright_runtime::Error;
use tilewright_runtime::Runtime;
use tilewright_runtime::SkipCounts;
use tilewright_runtime::fit;

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tuned {
    /// What became of the candidates.
    pub tally: Tally,
    /// Pairs of a kernel and a problem that do not fit, by the kind of the first refusal.
    pub unfit: SkipCounts,
    /// Of each problem how many kernels take it only with rows farther apart, and the least `pad`
    /// that one of them takes: they are no candidates for it.
    pub padded: BTreeMap<String, (usize, i64)>,
    /// Of each problem why the first of the kernels that do not take it does not.
    pub refused: BTreeMap<String, String>,
    /// The device's driver, as rows name it.
    pub driver: String,
    mode: Option<bench::Mode>,
}

impl Tuned {
    /// The bundle's tables with all that the records say of this device.
    pub fn tables(&self, runtime: &Runtime, records: &[Record]) -> Tuning {
        let origin = Origin {
            bundle: runtime.bundle(),
            device: runtime.device().info(),
            driver: &self.driver,
            mode: self.mode.unwrap_or(bench::Mode::Sustained),
        };
        tables(&origin, records)
    }
}

/// Tunes kernels of a runtime's bundle on problems, reporting everything as it comes.
///
/// `known` are earlier records: what they hold is not done again. The caller keeps the records that
/// are reported.
///
/// # Errors
/// When the device is lost, after the kernel that was at work was recorded, or `report` fails.
pub fn tune(
    runtime: &Runtime,
    kernels: &[&Kernel],
    extents: &[Extent],
    known: &[Record],
    settings: &Settings,
    stamp: Stamp,
    report: &mut dyn FnMut(Progress<'_>) -> Result<(), Error>,
) -> Result<Tuned, Error> {
    let start = Instant::now();
    let clock = move || start.elapsed().as_secs_f64();
    let mut tuned = Tuned {
        mode: Some(settings.mode),
        ..Tuned::default()
    };
    let groups = groups(runtime, kernels, extents, &mut tuned);
    let mut campaign = Campaign {
        settings,
        known: known.iter().map(Record::key).collect(),
        clock: &clock,
        report,
        tally: Tally::default(),
    };
    let blank = |device: &dyn TuningDevice<'_>, candidate: &Candidate<'_>| {
        blank(runtime, device, candidate, settings.mode)
    };
    match runtime.device() {
        Device::Emulator(_) => {
            let mut emulator = TuningEmulator {
                runtime,
                stamp,
                seed: settings.seed,
                drawn: settings.drawn,
            };
            campaign.run(&mut emulator, &groups, blank)?;
        }
        Device::Cuda(device) => {
            let options = bench::Options {
                rounds: settings.rounds,
                rested_rounds: settings.rounds,
                seed: settings.seed,
                ..bench::Options::full(stamp)
            };
            let bench = Bench {
                runtime,
                device,
                sensors: Sensors::open(device),
                options: &options,
                blas: None,
            };
            tuned.driver = bench.driver();
            let mut gpu = TuningGpu {
                bench,
                drawn: settings.drawn,
                passed: HashSet::new(),
            };
            campaign.run(&mut gpu, &groups, blank)?;
        }
    }
    tuned.tally = campaign.tally;
    Ok(tuned)
}

/// The candidates of each problem. Kernels whose operands lie otherwise in memory have problems of
/// their own, and so have other types.
fn groups<'k>(
    runtime: &Runtime,
    kernels: &[&'k Kernel],
    extents: &[Extent],
    tuned: &mut Tuned,
) -> Vec<(String, Vec<Candidate<'k>>)> {
    let info = runtime.device().info();
    let mut groups: Vec<(String, Vec<Candidate<'k>>)> = Vec::new();
    for extent in extents {
        let first = groups.len();
        for kernel in kernels {
            let problem = match extent.problem(kernel, info) {
                Ok(problem) => problem,
                Err(error) => {
                    *tuned.unfit.entry(kind(&error)).or_default() += 1;
                    let refused = tuned.refused.entry(extent.to_string());
                    refused.or_insert_with(|| error.to_string());
                    if let Some(pad) = extent.padding(kernel, info) {
                        let padded = tuned.padded.entry(extent.to_string()).or_insert((0, pad));
                        *padded = (padded.0 + 1, padded.1.min(pad));
                    }
                    continue;
                }
            };
            let candidate = Candidate { kernel, problem };
            let mut here = groups.iter_mut().skip(first);
            match here.find(|(_, group)| group.first().is_some_and(|one| same(one, &candidate))) {
                Some((_, group)) => group.push(candidate),
                None => groups.push((extent.to_string(), vec![candidate])),
            }
        }
    }
    groups
}

/// The kind of an error's first refusal.
fn kind(error: &Error) -> &'static str {
    match error {
        Error::Refused { refusals, .. } => refusals.first().map_or("refused", |r| r.kind()),
        _ => "request",
    }
}

/// Whether two candidates compute the same from the same memory.
fn same(one: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    let strides = |candidate: &Candidate<'_>| -> BTreeMap<String, Vec<i64>> {
        let operands = candidate.problem.operands();
        operands
            .map(|(name, strides)| (name.to_owned(), strides.to_vec()))
            .collect()
    };
    let function = |candidate: &Candidate<'_>| candidate.kernel.semantics.function.clone();
    function(one) == function(other) && strides(one) == strides(other)
}

/// A candidate's record before anything is known of it.
fn blank(
    runtime: &Runtime,
    device: &dyn TuningDevice<'_>,
    candidate: &Candidate<'_>,
    mode: bench::Mode,
) -> Record {
    let Candidate { kernel, problem } = candidate;
    let info = runtime.device().info();
    let letters = || {
        let fit = fit(kernel, problem, info).ok()?;
        let form = GemmForm::of(kernel, &fit.operands).ok()?;
        Letters::of_form(&form, &fit.operands).ok()
    };
    let mut row = device.blank(kernel);
    row.mode = mode;
    row.problem = RowProblem::of_kernel(kernel, problem);
    row.layout = match kernel.product() {
        None => "row".to_owned(),
        Some(_) => letters().map_or_else(String::new, |l| l.text().to_owned()),
    };
    Record {
        format: RECORD_FORMAT,
        outcome: Outcome::Screened,
        reason: None,
        detail: None,
        content_hash: kernel.content_hash.to_string(),
        backend: info.backend.text().to_owned(),
        sm: info.sm,
        sms: info.sms,
        unit: match info.backend {
            Backend::Cuda => None,
            Backend::Emulator => Some("thread instructions".to_owned()),
        },
        row,
    }
}
