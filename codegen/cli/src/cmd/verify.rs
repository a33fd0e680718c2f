//! `verify`: every kernel of a bundle on random legal problems against f64, or on the problems of a
//! capture against what another device wrote.
//!
//! Failures are told as they come; then a line per kernel, a line for all problems of the same
//! types and inputs, and `N passed, N failed`. With `--json` stdout holds only JSON and that last
//! line goes to stderr.

mod against;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use tilewright_bundle::Kernel;
use tilewright_runtime::capture::{self, Row};
use tilewright_runtime::verify::{self, Closeness, Data, Inputs, Options, Summary};
use tilewright_runtime::{Device, Runtime};

use crate::args;
use crate::args::emulate::Mode;
use crate::args::verify::Inputs as Asked;
use crate::cmd::{bench, bundle};
use crate::device;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress;
use crate::terminal::{self, BAD, Table};

/// What `verify --json` prints.
#[derive(Debug, Serialize)]
struct Report<'s> {
    device: String,
    seed: u64,
    passed: usize,
    failed: usize,
    closeness: Vec<Closeness>,
    #[serde(flatten)]
    summary: &'s Summary,
}

/// Verifies the kernels that were asked for.
pub fn run(args: &args::verify::Verify) -> Outcome {
    let device = open_device(args)?;
    let runtime = Runtime::new(bundle::open(&args.source)?, device);
    if let Some(path) = &args.against {
        return against::run(&runtime, path, args);
    }
    let kernels = bundle::choose(runtime.bundle(), &args.kernel)?;
    let (kernels, foreign) = for_this_device(&runtime, kernels);
    if foreign > 0 {
        let device = device::describe(runtime.device());
        terminal::diagnose(&format!(
            "{foreign} kernels are for other devices than {device}"
        ));
    }
    let summary = verify_all(&runtime, &kernels, args)?;
    let (passed, failed) = (summary.passed(), summary.failed());
    let closing = format!("{passed} passed, {failed} failed");
    let device = device::describe(runtime.device());
    if args.json {
        let seed = args.seed;
        terminal::print_json(&Report {
            device,
            seed,
            passed,
            failed,
            closeness: summary.closeness(),
            summary: &summary,
        })?;
        terminal::diagnose(&closing);
    } else {
        terminal::print(&table(&summary).render())?;
        terminal::print_line("")?;
        terminal::print(&closeness(&summary).render())?;
        terminal::print_line(&format!("\non {device}, seed {}", args.seed))?;
        for rules in summary.unproved() {
            terminal::print_line(&rules.to_string())?;
        }
        terminal::print_line(&closing)?;
    }
    if passed + failed == 0 {
        terminal::diagnose("nothing was checked");
    }
    Ok(Verdict::from_good(failed == 0 && passed > 0))
}

/// The device that was asked for; bundles are ours, so the emulator judges them strictly.
fn open_device(args: &args::verify::Verify) -> Result<Device, Failure> {
    let mode = args.sanitize.unwrap_or(Mode::Strict);
    let device = device::open_checked(args.device, mode.sanitize())?;
    match (&device, args.sanitize) {
        (Device::Cuda(_), Some(_)) => Err(Failure::could_not_run(
            "--sanitize is the emulator's: a GPU checks nothing; add --device emulator",
        )),
        _ => Ok(device),
    }
}

/// The kernels whose capability rule allows the device, and how many it does not.
fn for_this_device<'k>(runtime: &Runtime, kernels: Vec<&'k Kernel>) -> (Vec<&'k Kernel>, usize) {
    let sm = runtime.device().info().sm;
    let asked = kernels.len();
    let fits = |kernel: &&Kernel| sm.is_none_or(|sm| kernel.capability.allows(sm));
    let kernels: Vec<&Kernel> = kernels.into_iter().filter(fits).collect();
    let foreign = asked - kernels.len();
    (kernels, foreign)
}

/// Runs all problems under a progress bar that tells each failure, and writes the capture.
fn verify_all(
    runtime: &Runtime,
    kernels: &[&Kernel],
    args: &args::verify::Verify,
) -> Result<Summary, Failure> {
    let inputs = inputs(args)?;
    let problems = args.problems as usize;
    let bar = progress::bar("verifying", (kernels.len() * problems) as u64);
    let report = |outcome: &verify::Outcome| {
        bar.set_message(outcome.kernel.clone());
        bar.inc(1);
        if let Some(reason) = &outcome.failure {
            let (kernel, problem, data) = (&outcome.kernel, &outcome.problem, outcome.data);
            // What does not load has not come to a problem.
            let text = match problem.is_empty() {
                true => format!("{kernel}: {reason}"),
                false => format!("{kernel} {problem} ({data}): {reason}"),
            };
            bar.suspend(|| tell("FAIL", &text));
        }
    };
    let seed = args.seed;
    let summary = if let Some(path) = &args.capture {
        let options = capture::Options {
            problems,
            seed,
            inputs,
            stamp: bench::stamp(runtime, args.commit.clone()),
        };
        let captured = capture::capture(runtime, kernels, &options, report);
        captured.map(|captured| (captured.summary, Some((path, captured.rows))))
    } else {
        let options = Options {
            problems,
            seed,
            inputs,
            volume: args.volume,
        };
        let summary = verify::verify(runtime, kernels, options, report);
        summary.map(|summary| (summary, None))
    };
    progress::finish(&bar);
    let (summary, captured) = summary.map_err(Failure::could_not_run)?;
    if let Some((path, rows)) = captured {
        write(path, &rows)?;
    }
    Ok(summary)
}

/// What the inputs hold; those of a capture integers, unless others are asked for.
fn inputs(args: &args::verify::Verify) -> Result<Inputs, Failure> {
    let default = match args.capture {
        Some(_) => Asked::Integers,
        None => Asked::Mixed,
    };
    Ok(match args.inputs.unwrap_or(default) {
        Asked::Mixed => Inputs::Mixed,
        Asked::All => Inputs::All,
        Asked::Integers => Inputs::Random(Data::Integers),
        Asked::Normals => Inputs::Random(Data::Normals),
        Asked::OneSigned => Inputs::Random(Data::OneSigned),
        Asked::Cancelling => Inputs::Random(Data::Cancelling),
        Asked::Wide => Inputs::Random(Data::Wide),
        Asked::Special => Inputs::Random(Data::Special),
        Asked::Indices if args.capture.is_some() => {
            return Err(Failure::could_not_run(
                "indices take several launches a problem, of which a capture has one: choose \
                 other --inputs",
            ));
        }
        Asked::Indices => Inputs::Indices,
    })
}

/// Writes the rows of a capture in place of what the file held.
fn write(path: &Path, rows: &[Row]) -> Result<(), Failure> {
    let mut text = String::new();
    for row in rows {
        let line = row
            .to_json()
            .map_err(|error| Failure::Bug(error.to_string()))?;
        text.push_str(&line);
        text.push('\n');
    }
    std::fs::write(path, text).map_err(|error| Failure::io(path.display(), &error))
}

/// Tells what is wrong with one problem.
fn tell(head: &str, text: &str) {
    terminal::diagnose(&format!("{} {text}", terminal::paint(BAD, head)));
}

/// A row per kernel.
fn table(summary: &Summary) -> Table {
    let mut kernels: BTreeMap<&str, (usize, usize, f64, f64)> = BTreeMap::new();
    for outcome in &summary.outcomes {
        let row = kernels.entry(&outcome.kernel).or_default();
        match outcome.passed() {
            true => row.0 += 1,
            false => row.1 += 1,
        }
        row.2 = row.2.max(outcome.rel_err);
        row.3 = row.3.max(outcome.max_err);
    }
    let mut table = Table::new(["kernel", "passed", "failed", "rel err", "of bound"]);
    for (kernel, (passed, failed, rel_err, max_err)) in kernels {
        table.row([
            kernel.to_owned(),
            passed.to_string(),
            failed.to_string(),
            format!("{rel_err:.1e}"),
            format!("{max_err:.2}"),
        ]);
    }
    table
}

/// A row for all problems of the same types and inputs.
fn closeness(summary: &Summary) -> Table {
    let head = [
        "types",
        "inputs",
        "problems",
        "failed",
        "of bound",
        "to the bit",
    ];
    let mut table = Table::new(head);
    for group in summary.closeness() {
        table.row([
            group.types,
            group.data,
            group.problems.to_string(),
            group.failed.to_string(),
            format!("{:.3}", group.max_err),
            group.replayed.to_string(),
        ]);
    }
    table
}
