//! `run`: one launch of one kernel, checked and timed.
//!
//! The check is that of `verify`, on the problem that was asked for. The time is the mean of launches
//! back to back on a GPU, and the host's time for one launch on the emulator; `bench` measures
//! properly.

use std::time::Instant;

use serde::Serialize;
use tilewright_bundle::{Family, Kernel, Operand};
use tilewright_runtime::verify::{self, Data};
use tilewright_runtime::{Arg, Backend, Buffer, Error, Extents, Problem, Runtime, packed};

use crate::args;
use crate::cmd::bundle;
use crate::device;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::terminal::{self, BAD, GOOD};

/// How many launches the time on a GPU is the mean of.
const TIMED_LAUNCHES: u32 = 20;

/// What `run --json` prints.
#[derive(Debug, Serialize)]
struct Report {
    device: String,
    #[serde(flatten)]
    outcome: verify::Outcome,
    us: f64,
    /// How many launches `us` is the mean of.
    launches: u32,
}

/// Runs the kernel that was asked for.
pub fn run(args: &args::Run) -> Outcome {
    let device = device::open(args.device)?;
    let runtime = Runtime::new(bundle::open(&args.bundle)?, device);
    let (kernel, problem) = choose(&runtime, args)?;
    let outcome = verify::problem(&runtime, kernel, &problem, Data::Normals, args.seed)
        .map_err(Failure::could_not_run)?;
    let (us, launches) = time(&runtime, kernel, &problem, args.seed).map_err(failure)?;
    let device = device::describe(runtime.device());
    let report = Report { device, outcome, us, launches };
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
        let problem = problem(runtime, kernel, &args.problem)?;
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

/// The problem as it was asked for: packed, but for the leading dimensions that were given.
fn problem(
    runtime: &Runtime,
    kernel: &Kernel,
    asked: &args::Problem,
) -> Result<Result<Problem, Error>, Failure> {
    let wanted = |extent: Option<u32>, name: &str| {
        let family = kernel.family.text();
        extent.map(i64::from).ok_or_else(|| Failure::CouldNotRun(format!("a {family} needs --{name}")))
    };
    let k = match kernel.family {
        Family::Gemm => wanted(asked.k, "k")?,
        Family::Copy => 1,
    };
    let (m, n) = (asked.m.into(), wanted(asked.n, "n")?);
    let given = [
        ("a", asked.lda),
        ("b", asked.ldb),
        ("d", asked.ldd),
        ("s", asked.lds),
    ];
    let packed = packed(kernel, m, n, k, runtime.device().info());
    Ok(packed.map(|problem| {
        given.into_iter().fold(problem, |problem, (name, leading)| match leading {
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

/// Microseconds a launch, and of how many launches that is the mean.
fn time(
    runtime: &Runtime,
    kernel: &Kernel,
    problem: &Problem,
    seed: u64,
) -> Result<(f64, u32), Error> {
    let fit = runtime.device().fit(kernel, problem)?;
    let operands = kernel.semantics.operands.iter().zip(&fit.operands);
    let buffers: Vec<Buffer> = operands
        .map(|(operand, extents)| buffer(runtime, operand, extents, seed))
        .collect::<Result<_, _>>()?;
    let named = kernel.semantics.operands.iter().zip(&buffers);
    let args: Vec<Arg<'_>> = named.map(|(operand, buffer)| Arg::new(&operand.name, buffer)).collect();
    let launches = match runtime.device().info().backend {
        Backend::Cuda => TIMED_LAUNCHES,
        Backend::Emulator => 1,
    };
    // The GPU's first launches also raise its clocks.
    for _ in 1..launches {
        runtime.launch(kernel, problem, &args)?;
    }
    runtime.device().synchronize()?;
    let start = Instant::now();
    for _ in 0..launches {
        runtime.launch(kernel, problem, &args)?;
    }
    runtime.device().synchronize()?;
    Ok((start.elapsed().as_secs_f64() * 1e6 / f64::from(launches), launches))
}

/// Memory for one operand: random normal numbers in what is read, poison in what is written.
fn buffer(
    runtime: &Runtime,
    operand: &Operand,
    extents: &Extents,
    seed: u64,
) -> Result<Buffer, Error> {
    let elems = extents.span_elems().and_then(|elems| usize::try_from(elems).ok());
    let elems = elems.ok_or_else(|| Error::Request(format!("`{}` is too large", operand.name)))?;
    if operand.role.is_read() {
        let bytes = verify::random_bytes(elems * operand.dtype.bytes() as usize, seed);
        runtime.device().alloc_with(&bytes)
    } else {
        runtime.device().alloc(elems as u64 * u64::from(operand.dtype.bytes()))
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Faults { .. } => Failure::Rejected(error.to_string()),
        other => Failure::could_not_run(other),
    }
}

fn text(report: &Report) -> String {
    let Report { device, outcome, us, launches } = report;
    let verdict = match &outcome.failure {
        None => terminal::paint(GOOD, "right"),
        Some(reason) => format!("{}: {reason}", terminal::paint(BAD, "wrong")),
    };
    let mut text = format!("{}\n  problem  {}\n  device   {device}\n", outcome.kernel, outcome.problem);
    let (rel_err, max_err) = (outcome.rel_err, outcome.max_err);
    text.push_str(&format!(
        "  result   {verdict} (rel err {rel_err:.1e}, {max_err:.2} of the bound)\n"
    ));
    match launches {
        1 => text.push_str(&format!("  time     {us:.0} us on the host\n")),
        _ => text.push_str(&format!("  time     {us:.2} us, mean of {launches} launches\n")),
    }
    if outcome.thread_instructions > 0 {
        text.push_str(&format!("  executed {} thread instructions\n", outcome.thread_instructions));
    }
    text
}
