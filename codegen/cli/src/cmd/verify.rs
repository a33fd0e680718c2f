//! `verify`: every kernel of a bundle on random legal problems against f64.
//!
//! Failures are told as they come; then a line per kernel and `N passed, N failed`. With `--json`
//! stdout holds only JSON and that line goes to stderr.

use std::collections::BTreeMap;

use serde::Serialize;
use tilewright_bundle::Kernel;
use tilewright_runtime::verify::{self, Data, Inputs, Options, Summary};
use tilewright_runtime::{Device, Runtime};

use crate::args;
use crate::args::emulate::Mode;
use crate::cmd::bundle;
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
    #[serde(flatten)]
    summary: &'s Summary,
}

/// Verifies the kernels that were asked for.
pub fn run(args: &args::Verify) -> Outcome {
    let device = open_device(args)?;
    let runtime = Runtime::new(bundle::open(&args.bundle)?, device);
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
            summary: &summary,
        })?;
        terminal::diagnose(&closing);
    } else {
        terminal::print(&table(&summary).render())?;
        terminal::print_line(&format!("\non {device}, seed {}", args.seed))?;
        terminal::print_line(&closing)?;
    }
    Ok(Verdict::from_good(failed == 0))
}

/// The device that was asked for; bundles are ours, so the emulator judges them strictly.
fn open_device(args: &args::Verify) -> Result<Device, Failure> {
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

/// Runs all problems under a progress bar that tells each failure.
fn verify_all(
    runtime: &Runtime,
    kernels: &[&Kernel],
    args: &args::Verify,
) -> Result<Summary, Failure> {
    let problems = args.problems as usize;
    let options = Options {
        problems,
        seed: args.seed,
        inputs: match args.inputs {
            args::Inputs::Mixed => Inputs::Mixed,
            args::Inputs::Integers => Inputs::Random(Data::Integers),
            args::Inputs::Normals => Inputs::Random(Data::Normals),
            args::Inputs::Indices => Inputs::Indices,
        },
    };
    let bar = progress::bar("verifying", (kernels.len() * problems) as u64);
    let summary = verify::verify(runtime, kernels, options, |outcome| {
        bar.set_message(outcome.kernel.clone());
        bar.inc(1);
        if let Some(reason) = &outcome.failure {
            let failed = terminal::paint(BAD, "FAIL");
            let (kernel, problem, data) = (&outcome.kernel, &outcome.problem, outcome.data);
            bar.suspend(|| {
                terminal::diagnose(&format!("{failed} {kernel} {problem} ({data}): {reason}"));
            });
        }
    });
    progress::finish(&bar);
    summary.map_err(Failure::could_not_run)
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
