//! `run`: one launch of one kernel, checked and timed.
//!
//! The check is that of `verify`, on the problem that was asked for. On a GPU the time is that of
//! the one launch, alone and cold; `bench` measures properly. On the emulator, time is the host's.

use std::time::Instant;

use serde::Serialize;
use tilewright_bundle::{Family, Kernel};
use tilewright_runtime::verify::{self, Data};
use tilewright_runtime::{Error, Problem, Runtime, packed};

use crate::args;
use crate::cmd::bundle;
use crate::device;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress;
use crate::terminal::{self, BAD, GOOD};

/// What `run --json` prints.
#[derive(Debug, Serialize)]
struct Report {
    device: String,
    #[serde(flatten)]
    outcome: verify::Outcome,
    /// The whole of it on the host: inputs, launch and check.
    host_ms: f64,
}

/// Runs the kernel that was asked for.
pub fn run(args: &args::Run) -> Outcome {
    let device = device::open(args.device)?;
    let runtime = Runtime::new(bundle::open(&args.bundle)?, device);
    let (kernel, problem) = choose(&runtime, args)?;
    let start = Instant::now();
    let spinner = progress::spinner("running");
    spinner.set_message(format!("{} on {problem}", kernel.id));
    let mut outcome = verify::verify_one(&runtime, kernel, &problem, Data::Normals, args.seed)
        .map_err(Failure::could_not_run)?;
    progress::finish(&spinner);
    if outcome.problem.is_empty() {
        // What does not load has not come to its problem.
        outcome.problem = problem.to_string();
    }
    let host_ms = start.elapsed().as_secs_f64() * 1e3;
    let device = device::describe(runtime.device());
    let report = Report {
        device,
        outcome,
        host_ms,
    };
    if args.json {
        terminal::print_json(&report)?;
    } else {
        terminal::print(&text(&report))?;
    }
    Ok(Verdict::from_good(report.outcome.passed()))
}

/// The first kernel of that name that takes the problem, and the problem with all its strides.
fn choose<'r>(runtime: &'r Runtime, args: &args::Run) -> Result<(&'r Kernel, Problem), Failure> {
    let kernels = bundle::choose(runtime.bundle(), std::slice::from_ref(&args.kernel))?;
    let mut refusals = Vec::new();
    for kernel in kernels {
        let problem = match foreign(kernel, &args.problem) {
            Some(error) => Err(error),
            None => problem(runtime, kernel, &args.problem)?,
        };
        match problem.and_then(|problem| {
            runtime.device().fit(kernel, &problem)?;
            Ok(problem)
        }) {
            Ok(problem) => return Ok((kernel, problem)),
            Err(error) => refusals.push(error.to_string()),
        }
    }
    Err(Failure::CouldNotRun(refusals.join("\n")))
}

/// The sizes that were given and that the kernel has nothing for.
fn foreign(kernel: &Kernel, asked: &args::Problem) -> Option<Error> {
    let takes_k = kernel.family == Family::Gemm;
    let leading = leading(asked)
        .into_iter()
        .filter(|(operand, given)| given.is_some() && kernel.semantics.operand(operand).is_none());
    let leading = leading.map(|(operand, _)| format!("--ld{operand}"));
    let k = (asked.k.is_some() && !takes_k).then(|| "--k".to_owned());
    let flags: Vec<String> = k.into_iter().chain(leading).collect();
    let (id, family) = (&kernel.id, kernel.family.text());
    let text = || format!("{id}: a {family} has no {}: leave it out", flags.join(", "));
    (!flags.is_empty()).then(|| Error::Request(text()))
}

/// The leading dimensions, each with the operand whose it is.
fn leading(asked: &args::Problem) -> [(&'static str, Option<u32>); 4] {
    [
        ("a", asked.lda),
        ("b", asked.ldb),
        ("d", asked.ldd),
        ("s", asked.lds),
    ]
}

/// The problem as it was asked for: packed, but for the leading dimensions that were given.
fn problem(
    runtime: &Runtime,
    kernel: &Kernel,
    asked: &args::Problem,
) -> Result<Result<Problem, Error>, Failure> {
    let wanted = |extent: Option<u32>, name: &str| {
        let family = kernel.family.text();
        extent
            .map(i64::from)
            .ok_or_else(|| Failure::CouldNotRun(format!("a {family} needs --{name}")))
    };
    let k = match kernel.family {
        Family::Gemm => wanted(asked.k, "k")?,
        Family::Copy => 1,
    };
    let (m, n) = (asked.m.into(), wanted(asked.n, "n")?);
    let given = leading(asked);
    let packed = packed(kernel, m, n, k, runtime.device().info());
    Ok(packed.map(|problem| {
        given
            .into_iter()
            .fold(problem, |problem, (name, leading)| match leading {
                Some(leading) => with_leading(problem, name, leading),
                None => problem,
            })
    }))
}

/// The problem with another leading dimension of an operand, whichever of its modes is contiguous.
fn with_leading(problem: Problem, operand: &str, leading: u32) -> Problem {
    match problem.strides(operand) {
        Some(strides) if strides.col == 1 => problem.row_major(operand, leading.into()),
        Some(_) => problem.col_major(operand, leading.into()),
        None => problem,
    }
}

fn text(report: &Report) -> String {
    let Report {
        device,
        outcome,
        host_ms,
    } = report;
    let verdict = match &outcome.failure {
        None => terminal::paint(GOOD, "right"),
        Some(reason) if outcome.stopped => format!("{}: {reason}", terminal::paint(BAD, "none")),
        Some(reason) => format!("{}: {reason}", terminal::paint(BAD, "wrong")),
    };
    let (rel_err, max_err) = (outcome.rel_err, outcome.max_err);
    // What has no output, or touched what is not its own, was not compared.
    let errors = match outcome.passed() || max_err > 0.0 {
        true => format!(" (rel err {rel_err:.1e}, {max_err:.2} of the bound)"),
        false => String::new(),
    };
    let time = match outcome.launch_us {
        Some(us) => format!("{us:.2} us, one cold launch"),
        None => format!("{host_ms:.1} ms on the host, inputs and check included"),
    };
    let mut lines = vec![
        outcome.kernel.clone(),
        format!("  problem   {}", outcome.problem),
        format!("  device    {device}"),
        format!("  result    {verdict}{errors}"),
        format!("  time      {time}"),
    ];
    if outcome.thread_instructions > 0 {
        lines.push(format!(
            "  executed  {} thread instructions",
            outcome.thread_instructions
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}
