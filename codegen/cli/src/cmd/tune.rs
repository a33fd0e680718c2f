//! `tune`: the fastest kernels of a bundle for problems, as records and as the bundle's table.
//!
//! The command supervises; a child of it tunes (`--worker`): see [`mod@supervise`]. The child holds
//! the file of records while it lives, the supervisor only between two children.

mod supervise;
mod status;
mod summary;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use tilewright_bundle::{Bundle, BundleWriter, Tuning, may_write};
use tilewright_lab::bench::Extent;
use tilewright_lab::tune::{self, Journal, Progress, Reason, Record, Settings, Tuned};
use tilewright_runtime::RecordsError;
use tilewright_runtime::{Error, Runtime};

use crate::args;
use crate::cmd::{bench, bundle};
use crate::device;
use crate::orphan;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress;
use crate::terminal;
use status::StatusLine;
use summary::Summary;
use supervise::{End, Line, watch};

/// Tunes, in a child that is watched or as that child.
pub fn run(args: &args::tune::Tune) -> Outcome {
    if args
        .budget
        .is_some_and(|budget| !(budget >= 0.0 && budget.is_finite()))
    {
        let budget = args.budget.unwrap_or_default();
        return Err(Failure::CouldNotRun(format!(
            "--budget {budget}: a number of seconds from 0 is needed"
        )));
    }
    may_write(&args.output).map_err(Failure::could_not_run)?;
    match args.worker {
        Some(earlier) => {
            orphan::end_with_parent();
            work(args, earlier)
        }
        None => supervise(args),
    }
}

/// Starts children until one comes to the end.
fn supervise(args: &args::tune::Tune) -> Outcome {
    let start = Instant::now();
    let earlier = records_in(&args.records);
    let spinner = progress::spinner("tuning");
    let mut status = StatusLine::default();
    loop {
        let mut child = child(args, earlier, start.elapsed().as_secs_f64())?;
        let hear = |line: &Line| match line {
            Line::Next(step) => spinner.set_message(status.next(step)),
            Line::Note(text) => spinner.suspend(|| terminal::diagnose(text)),
            Line::Recorded(record) => {
                status.recorded(record);
                spinner.suspend(|| tell_dropped(record));
            }
            Line::Tuned | Line::Done(_) | Line::Lost(_) => {}
        };
        let end = watch(&mut child, hear);
        match end.map_err(|error| Failure::io("cannot start the tuner", &error))? {
            End::Done(artefact) => {
                progress::finish(&spinner);
                return finish(args, &artefact);
            }
            End::Lost => {}
            End::Died(step, reason, detail) => {
                let (mut journal, _) = Journal::open(&args.records).map_err(unusable)?;
                for kernel in step.kernels {
                    let record = kernel.dropped(reason, detail.clone());
                    journal.append(&record).map_err(unusable)?;
                    spinner.suspend(|| tell_dropped(&record));
                }
            }
            End::Failed(code) => {
                progress::finish(&spinner);
                return Err(Failure::Told(code));
            }
            End::Stopped(how) => {
                progress::finish(&spinner);
                return Err(Failure::CouldNotRun(how));
            }
        }
    }
}

/// How many records a file holds; those that are damaged are told of by the child.
fn records_in(path: &Path) -> usize {
    let is_file = std::fs::metadata(path).is_ok_and(|meta| meta.is_file());
    let text = match is_file {
        true => std::fs::read(path).unwrap_or_default(),
        false => Vec::new(),
    };
    let lines = text.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
        .count()
}

/// This command again, as the child that tunes, with what is left of the budget.
fn child(args: &args::tune::Tune, earlier: usize, spent_s: f64) -> Result<Command, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::io("cannot find this command's own file", &error))?;
    let mut child = Command::new(program);
    orphan::tie(&mut child)
        .args(std::env::args_os().skip(1))
        .args(["--worker", &earlier.to_string()]);
    if let Some(budget) = args.budget {
        let left = (budget - spent_s).max(0.0);
        child.args(["--budget", &left.to_string()]);
    }
    Ok(child)
}

/// Says why a kernel was dropped, and nothing of others.
fn tell_dropped(record: &Record) {
    if let (Some(reason), Some(detail)) = (record.reason, &record.detail) {
        let problem = &record.row.problem;
        let problem = problem.extents_text();
        let detail = detail.lines().next().unwrap_or_default();
        let kernel = &record.row.kernel;
        let reason = match reason {
            // The detail says after how long.
            Reason::Hung => String::new(),
            reason => format!(" ({})", reason.text()),
        };
        terminal::diagnose(&format!("dropped {kernel} at {problem}{reason}: {detail}"));
    }
}

/// Prints what the child found.
fn finish(args: &args::tune::Tune, artefact: &str) -> Outcome {
    let summary: Summary = serde_json::from_str(artefact)
        .map_err(|error| Failure::Bug(format!("the tuner's summary: {error}")))?;
    if args.json {
        terminal::print_json(&summary)?;
    } else {
        terminal::print(&summary.text())?;
    }
    Ok(Verdict::from_good(summary.is_complete()))
}

/// A file of records that is damaged is a negative verdict; one that is in use is not.
fn unusable(error: RecordsError) -> Failure {
    match error {
        RecordsError::Lines { .. } | RecordsError::Format { .. } => {
            Failure::Rejected(error.to_string())
        }
        RecordsError::Io { .. } | RecordsError::Busy { .. } | RecordsError::Foreign { .. } => {
            Failure::could_not_run(error)
        }
    }
}

/// The child: tunes, writes the bundle, and tells of all of it. What was dropped for want of memory
/// by a run before this one is tried again.
fn work(args: &args::tune::Tune, earlier: usize) -> Outcome {
    let extents = extents(args)?;
    let runtime = Runtime::new(
        bundle::open(&args.source)?,
        device::open_measuring(args.device)?,
    );
    let kernels = bundle::choose(runtime.bundle(), &args.kernel)?;
    let opened = Journal::open_for(&args.records, runtime.kernels());
    let (mut journal, mut records) = opened.map_err(unusable)?;
    let settings = Settings {
        mode: bench::of(args.mode),
        contestants: args.contestants.get(),
        finalists: args.finalists.get(),
        rounds: args.rounds.get(),
        budget_s: args.budget,
        seed: args.seed,
        ..Settings::default()
    };
    let known = records.iter().enumerate();
    let known = known.filter(|(at, record)| *at >= earlier || !record.is_for_memory());
    let known: Vec<Record> = known.map(|(_, record)| record.clone()).collect();
    let mut tell = |progress: Progress<'_>| {
        match progress {
            Progress::Next(step) => say(&Line::Next(Box::new(step.clone()))),
            Progress::Record(record) => {
                journal.append(record)?;
                records.push(record.clone());
                say(&Line::Recorded(Box::new(record.clone())))
            }
            Progress::Skipped { problem, error } => {
                say(&Line::Note(format!("left out {problem}: {error}")))
            }
        }
        .map_err(|error| Error::Request(format!("stdout: {error}")))
    };
    let stamp = bench::stamp(&runtime, args.commit.clone());
    let tuned = tune::tune(
        &runtime, &kernels, &extents, &known, &settings, stamp, &mut tell,
    );
    let tuned = match tuned {
        Ok(tuned) => tuned,
        Err(Error::DeviceLost { reason }) => {
            say(&Line::Lost(reason))?;
            return Ok(Verdict::Negative);
        }
        Err(error) => return Err(Failure::could_not_run(error)),
    };
    say(&Line::Tuned)?;
    let summary = write(args, &runtime, &extents, &records, &tuned)?;
    let text = serde_json::to_string(&summary).map_err(|e| Failure::Bug(e.to_string()))?;
    say(&Line::Done(text))?;
    Ok(Verdict::Good)
}

/// Prints a line for the supervisor.
fn say(line: &Line) -> std::io::Result<()> {
    terminal::print_line(&serde_json::to_string(line)?)
}

/// Writes the bundle with its tables.
fn write(
    args: &args::tune::Tune,
    runtime: &Runtime,
    extents: &[Extent],
    records: &[Record],
    tuned: &Tuned,
) -> Result<Summary, Failure> {
    let tables = tuned.tables(runtime, records);
    let writer = BundleWriter::from_bundle(runtime.bundle()).and_then(|mut writer| {
        writer.tune(&tables)?;
        Ok(writer)
    });
    let writer = writer.map_err(|error| Failure::Bug(error.to_string()))?;
    let mut summary = Summary::new(runtime, extents, records, tuned, &tables);
    summary.bundle = args.output.display().to_string();
    if let Some(kept) = summary
        .is_empty()
        .then(|| already_tuned(&args.output))
        .flatten()
    {
        summary.keep(&kept);
        return Ok(summary);
    }
    let hash = writer
        .write(&args.output)
        .map_err(|error| bundle::refusal(&args.output, error))?;
    summary.sha256 = hash.to_string();
    bundle::unsigned(args.source.bundle.display(), runtime.bundle());
    Ok(summary)
}

/// The bundle in a folder, when it has tables already.
fn already_tuned(folder: &Path) -> Option<Bundle> {
    let bundle = Bundle::open(folder).ok()?;
    let points = bundle.tuning().map_or(0, Tuning::points);
    (points > 0).then_some(bundle)
}

/// The problems of the command line and of the file, each once.
fn extents(args: &args::tune::Tune) -> Result<Vec<Extent>, Failure> {
    let mut extents: Vec<Extent> = args.problem.clone();
    if let Some(path) = &args.problems_file {
        extents.extend(read_problems(path)?);
    }
    let mut each: Vec<Extent> = Vec::new();
    for extent in extents {
        if !each.contains(&extent) {
            each.push(extent);
        }
    }
    if each.is_empty() {
        return Err(Failure::CouldNotRun(
            "there is no problem to tune for".to_owned(),
        ));
    }
    Ok(each)
}

/// Longest file of problems.
const MOST_PROBLEMS_BYTES: u64 = 1 << 20;

fn read_problems(path: &Path) -> Result<Vec<Extent>, Failure> {
    let failed = |error| Failure::io(path.display(), &error);
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    let read = file.take(MOST_PROBLEMS_BYTES + 1).read_to_string(&mut text);
    if read.map_err(failed)? as u64 > MOST_PROBLEMS_BYTES {
        let path = path.display();
        return Err(Failure::CouldNotRun(format!(
            "{path} has more than {MOST_PROBLEMS_BYTES} bytes: a problem a line is expected"
        )));
    }
    let (mut extents, mut bad) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let problem = line.split('#').next().unwrap_or_default().trim();
        if problem.is_empty() {
            continue;
        }
        match problem.parse::<Extent>() {
            Ok(extent) => extents.push(extent),
            Err(error) => {
                let line = at + 1;
                let text = format!("{} line {line}: {error}", path.display());
                bad.push(Failure::CouldNotRun(text));
            }
        }
    }
    Failure::all(bad).map_or(Ok(extents), Err)
}
