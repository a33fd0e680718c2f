//! `verify`: every kernel of a bundle on random legal problems against f64, or on the problems of a
//! capture against what another device wrote.
//!
//! Failures are told as they come, and each kernel in a line when it is done; then a line for all
//! problems of the same types and inputs, and `N passed, N failed`. With `--json` stdout holds only
//! JSON and that last line goes to stderr. Ctrl-C and `--budget` end it before: what was found
//! until then is told, and a run that left kernels out is not a good one.

mod against;

mod lines;

mod tables;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use tilewright_bundle::Kernel;
use tilewright_emulator::Options;
use tilewright_lab::capture::{self, Row};
use tilewright_lab::verify::{self, Closeness, Data, Event, Inputs, Summary};
use tilewright_runtime::{Device, Runtime};

use crate::args;
use crate::args::emulate::Mode;
use crate::args::verify::Inputs as Asked;
use crate::cmd::{bench, bundle};
use crate::device;
use crate::interrupt::Interrupt;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{self, Kind};
use crate::quantity::counted;
use crate::terminal::{self, BAD};
use lines::Told;

/// What `verify --json` prints.
#[derive(Debug, Serialize)]
struct Report<'s> {
    device: String,
    seed: u64,
    passed: usize,
    failed: usize,
    /// Whether kernels were left out.
    partial: bool,
    closeness: Vec<Closeness>,
    #[serde(flatten)]
    summary: &'s Summary,
}

/// Verifies the kernels that were asked for.
pub fn run(args: &args::verify::Verify) -> Outcome {
    if let Some(path) = &args.capture {
        output::check(path, Kind::Capture)?;
    }
    let interrupt = Interrupt::listen();
    let device = open_device(args, &interrupt)?;
    let runtime = Runtime::new(bundle::open(&args.source)?, device);
    if let Some(path) = &args.against {
        return against::run(&runtime, path, args);
    }
    let kernels = bundle::choose(runtime.bundle(), &args.kernel)?;
    let (kernels, foreign) = for_this_device(&runtime, kernels);
    if foreign > 0 {
        let device = device::describe(runtime.device());
        let foreign = counted(foreign, "kernel");
        terminal::diagnose(&format!("{foreign} for other devices than {device}"));
    }
    let summary = verify_all(&runtime, &kernels, args, &interrupt)?;
    let (passed, failed) = (summary.passed(), summary.failed());
    let left = summary.left_out.len();
    let closing = match left {
        0 => format!("{passed} passed, {failed} failed"),
        _ => {
            let left = counted(left, "kernel");
            format!("partial: {passed} passed, {failed} failed, {left} left out")
        }
    };
    let device = device::describe(runtime.device());
    if args.json {
        let seed = args.seed;
        terminal::print_json(&Report {
            device,
            seed,
            passed,
            failed,
            partial: left > 0,
            closeness: summary.closeness(),
            summary: &summary,
        })?;
        terminal::diagnose(&closing);
    } else {
        tables::print(&summary, &kernels)?;
        terminal::print_line(&format!("\non {device}, seed {}", args.seed))?;
        for rules in summary.unproved() {
            terminal::print_line(&rules.to_string())?;
        }
        terminal::print_line(&closing)?;
    }
    if passed + failed == 0 {
        terminal::diagnose("nothing was checked");
    }
    if left > 0 && failed == 0 {
        let all = kernels.len();
        let first = summary.left_out.first().map_or("", String::as_str);
        return Err(Failure::CouldNotRun(format!(
            "{left} of {all} kernels were not verified to the end, from {first} on: give more \
             --budget, fewer --problems, or choose kernels with --kernel"
        )));
    }
    Ok(Verdict::from_good(failed == 0 && passed > 0))
}

/// The device that was asked for; bundles are ours, so the emulator judges them strictly. It stops
/// within a launch where the run is to end.
fn open_device(args: &args::verify::Verify, interrupt: &Interrupt) -> Result<Device, Failure> {
    let mode = args.sanitize.unwrap_or(Mode::Strict);
    let device = device::open_with(
        args.device,
        Options {
            sanitize: mode.sanitize(),
            stop: Some(interrupt.stop()),
            ..Options::default()
        },
    )?;
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
    interrupt: &Interrupt,
) -> Result<Summary, Failure> {
    let inputs = inputs(args)?;
    let problems = args.problems as usize;
    let mut told = Told::new(kernels, problems, args.json);
    if inputs == Inputs::All && (problems as u64) < inputs.kinds() {
        let (kinds, drawn) = (inputs.kinds(), counted(problems, "problem"));
        told.note(&format!(
            "note: {drawn} of a kernel have the first of {kinds} kinds of inputs alone: --problems \
             {kinds} has each once"
        ));
    }
    let seed = args.seed;
    let summary = if let Some(path) = &args.capture {
        let options = capture::Options {
            problems,
            seed,
            inputs,
            stamp: bench::stamp(runtime, args.commit.clone()),
        };
        let captured = capture::capture(runtime, kernels, &options, |one| told.outcome(one));
        captured.map(|captured| {
            let outcomes = &captured.summary.outcomes;
            let all = outcomes.chunk_by(|a, b| a.kernel == b.kernel);
            all.for_each(|own| told.kernel(own));
            (captured.summary, Some((path, captured.rows)))
        })
    } else {
        let options = verify::Options {
            problems,
            seed,
            inputs,
            volume: args.volume,
            further: problems,
        };
        if let Some(seconds) = args.budget {
            interrupt.press_after(Duration::from_secs(seconds));
        }
        let told = &mut told;
        let summary = verify_until(
            runtime,
            kernels,
            options,
            args.budget.is_some(),
            told,
            interrupt,
        );
        summary.map(|summary| (summary, None))
    };
    told.finish()?;
    let (summary, captured) = summary.map_err(Failure::could_not_run)?;
    if let Some((path, rows)) = captured {
        write(path, &rows)?;
    }
    Ok(summary)
}

/// Time after which the options are told that make a verification shorter.
const LONG: Duration = Duration::from_secs(30);

/// Verifies until all is done, the interrupt is pressed, which Ctrl-C and the budget do, or nobody
/// reads any more. Without a budget a run that takes long is told of it.
fn verify_until(
    runtime: &Runtime,
    kernels: &[&Kernel],
    options: verify::Options,
    budgeted: bool,
    told: &mut Told<'_>,
    interrupt: &Interrupt,
) -> Result<Summary, tilewright_runtime::Error> {
    let start = Instant::now();
    let mut is_quiet = !budgeted;
    verify::verify_while(runtime, kernels, options, |event| {
        match event {
            Event::Outcome(outcome) => told.outcome(outcome),
            Event::Kernel(outcomes) => told.kernel(outcomes),
        }
        if is_quiet && start.elapsed() >= LONG {
            is_quiet = false;
            told.note(
                "note: less time by --budget SECONDS, fewer problems by --problems N, smaller ones \
                 by --volume V, fewer kernels by --kernel K",
            );
        }
        match interrupt.is_pressed() || !told.is_heard() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })
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
        Asked::Ends => Inputs::Random(Data::Ends),
        Asked::Nonfinite => Inputs::Random(Data::Nonfinite),
        Asked::Far => Inputs::Random(Data::Far),
        Asked::Indices if args.capture.is_some() => {
            return Err(Failure::could_not_run(
                "indices take several launches a problem, of which a capture has one: choose \
                 other --inputs",
            ));
        }
        Asked::Indices => Inputs::Indices,
    })
}

/// Writes the rows of a capture in place of those that the file held.
fn write(path: &Path, rows: &[Row]) -> Result<(), Failure> {
    let mut text = String::new();
    for row in rows {
        let line = row
            .to_json()
            .map_err(|error| Failure::Bug(error.to_string()))?;
        text.push_str(&line);
        text.push('\n');
    }
    output::write(path, Kind::Capture, text.as_bytes())
}

/// Tells what is wrong with one problem.
fn tell(head: &str, text: &str) {
    terminal::diagnose(&format!("{} {text}", terminal::paint(BAD, head)));
}
