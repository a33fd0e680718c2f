//! `run`: one launch of one kernel, checked and timed.
//!
//! The check is that of `verify`, on the problem that was asked for, of normal values; where sums
//! are so long that their bound is wide, of integers as well, which are exact. On a GPU the time is
//! that of the first launch, alone and cold; `bench` measures properly. On the emulator, time is
//! the host's.

use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use tilewright_bundle::Kernel;
use tilewright_lab::verify::{self, Data};
use tilewright_runtime::{Error, Problem, Request, Runtime, tightest, without_gaps};

use crate::args;
use crate::cmd::bundle;
use crate::device;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::problem;
use crate::profile::{Origin, Profile, line_of};
use crate::progress;
use crate::quantity::counted;
use crate::terminal::{self, BAD, GOOD};

/// What `run --json` prints.
#[derive(Debug, Serialize)]
struct Report {
    device: String,
    #[serde(flatten)]
    outcome: verify::Outcome,
    /// Whether integers were right as well, which are tried of long sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    integers: Option<bool>,
    /// None where the kernel could not be launched.
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<Grid>,
    /// Operands whose strides were chosen with gaps, since the kernel does not take others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    padded: Vec<Padded>,
    /// The whole of it on the host: inputs, launch and check.
    host_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Value>,
}

/// The CTAs of the launch that computes.
#[derive(Debug, Serialize)]
struct Grid {
    ctas: i64,
    /// Of a cluster.
    cluster_ctas: i64,
    /// Multiprocessors of the device, and those that get no CTA.
    multiprocessors: i64,
    idle: i64,
}

/// An operand that lies with gaps between its rows, which nobody asked for.
#[derive(Debug, Serialize)]
struct Padded {
    operand: String,
    /// Its strides, in elements.
    strides: Vec<i64>,
    /// Those that it would have without gaps.
    without_gaps: Vec<i64>,
}

/// Runs the kernel that was asked for.
pub fn run(args: &args::Run) -> Outcome {
    let device = match args.profile {
        true => device::open_profiled(args.device)?,
        false => device::open(args.device)?,
    };
    let runtime = Runtime::new(bundle::open(&args.source)?, device);
    let (kernel, problem) = choose(&runtime, args)?;
    let start = Instant::now();
    let spinner = progress::spinner("running");
    spinner.set_message(format!("{} on {problem}", kernel.id));
    let launched = |data| {
        verify::verify_one(&runtime, kernel, &problem, data, args.seed)
            .map_err(Failure::could_not_run)
    };
    let mut outcome = launched(Data::Normals)?;
    let mut integers = None;
    if outcome.passed() && verify::has_long_sums(kernel, &problem) {
        let exact = launched(Data::Integers)?;
        integers = Some(exact.passed());
        if let Some(reason) = exact.failure {
            outcome.failure = Some(format!("of integers: {reason}"));
        }
    }
    progress::finish(&spinner);
    if outcome.problem.is_empty() {
        // What does not load has not come to its problem.
        outcome.problem = problem.to_string();
    }
    let host_ms = start.elapsed().as_secs_f64() * 1e3;
    let device = device::describe(runtime.device());
    let mut report = Report {
        device,
        outcome,
        integers,
        grid: grid(&runtime, kernel, &problem),
        padded: padded(kernel, &problem, &args.problem)?,
        host_ms,
        profile: None,
    };
    let given = args.profile.then(|| {
        profiled(&runtime, kernel, &report.outcome, |profile| {
            let json = json!({"lines": profile.json_lines(), "sources": profile.json_sources()});
            (json, profile.render(""))
        })
    });
    let (json, tables) = given.unzip();
    report.profile = json;
    if args.json {
        terminal::print_json(&report)?;
    } else {
        terminal::print(&text(&report))?;
        terminal::print(&tables.unwrap_or_default())?;
    }
    Ok(Verdict::from_good(report.outcome.passed()))
}

/// What the profile of a launch gives, with what the bundle says of the lines.
fn profiled<T>(
    runtime: &Runtime,
    kernel: &Kernel,
    outcome: &verify::Outcome,
    give: impl FnOnce(&Profile<'_>) -> T,
) -> T {
    let lines: Vec<&str> = runtime.bundle().ptx(kernel).lines().collect();
    give(&Profile {
        lines: &outcome.profile,
        text: &|line| line_of(&lines, line),
        origin: &|line| Origin::in_table(kernel.lines.as_ref()?, line),
    })
}

/// The first kernel of that name that takes the problem, and the problem with all its strides.
fn choose<'r>(runtime: &'r Runtime, args: &args::Run) -> Result<(&'r Kernel, Problem), Failure> {
    let kernels = bundle::choose(runtime.bundle(), std::slice::from_ref(&args.kernel))?;
    let mut refusals = Vec::new();
    for kernel in kernels {
        let problem = match problem::foreign(kernel, &args.problem) {
            Some(error) => Err(error),
            // Inputs are drawn, and keep what they are known to keep.
            None => tight(runtime, kernel, &args.problem)?
                .map(|problem| verify::promised(kernel, problem)),
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

/// The problem as it was asked for: as tight as can be, but for the strides that were given.
fn tight(
    runtime: &Runtime,
    kernel: &Kernel,
    asked: &args::Problem,
) -> Result<Result<Problem, Error>, Failure> {
    let extents = problem::extents(kernel, asked)?;
    let tight = tightest(kernel, &extents, runtime.device().info());
    let asked_for = |problem| problem::with_strides(problem, kernel, asked);
    Ok(tight.map(|problem| Request::as_of_tensors(kernel, asked_for(problem))))
}

/// The grid of a launch on this device.
fn grid(runtime: &Runtime, kernel: &Kernel, problem: &Problem) -> Option<Grid> {
    let device = runtime.device();
    let loaded = runtime.load(kernel).ok()?;
    let fit = device.fit_loaded(&loaded, problem).ok()?;
    let launch = kernel.launches.get(kernel.counted_launch())?;
    let sides = launch.grid.iter().map(|side| side.eval(&fit.env).ok());
    let ctas = sides.collect::<Option<Vec<i64>>>()?.into_iter().product();
    let multiprocessors = i64::from(device.info().sms);
    Some(Grid {
        ctas,
        cluster_ctas: launch.cluster_ctas(),
        multiprocessors,
        idle: (multiprocessors - ctas).max(0),
    })
}

/// What is told of a grid: `120 CTAs in clusters of 8, 12 of 132 multiprocessors idle`.
fn occupied(grid: &Grid) -> String {
    let ctas = counted(usize::try_from(grid.ctas).unwrap_or(0), "CTA");
    let clusters = match grid.cluster_ctas {
        1 => String::new(),
        ctas => format!(" in clusters of {ctas}"),
    };
    let idle = match grid.idle {
        0 => String::new(),
        idle => format!(", {idle} of {} multiprocessors idle", grid.multiprocessors),
    };
    format!("  grid      {ctas}{clusters}{idle}")
}

/// The operands that have gaps without being asked to.
fn padded(
    kernel: &Kernel,
    problem: &Problem,
    asked: &args::Problem,
) -> Result<Vec<Padded>, Failure> {
    let dense = without_gaps(kernel, &problem::extents(kernel, asked)?);
    let dense = Request::as_of_tensors(kernel, problem::with_strides(dense, kernel, asked));
    let operands = kernel.semantics.operands.iter();
    let padded = operands.filter_map(|operand| {
        let name = &operand.name;
        let (strides, dense) = (problem.strides(name)?, dense.strides(name)?);
        (strides != dense).then(|| Padded {
            operand: name.clone(),
            strides: strides.to_vec(),
            without_gaps: dense.to_vec(),
        })
    });
    Ok(padded.collect())
}

/// What is told of operands with gaps: `x (780,1) in place of (777,1)`.
fn padding(padded: &[Padded]) -> String {
    let list = |strides: &[i64]| {
        let words: Vec<String> = strides.iter().map(ToString::to_string).collect();
        format!("({})", words.join(","))
    };
    let told = padded.iter().map(|one| {
        let (strides, dense) = (list(&one.strides), list(&one.without_gaps));
        format!("{} {strides} in place of {dense}", one.operand)
    });
    let told = told.collect::<Vec<_>>().join(", ");
    format!("  padded    {told}, which the kernel refuses: `tilewright select --explain` says why")
}

fn text(report: &Report) -> String {
    let Report {
        device,
        outcome,
        integers,
        grid,
        padded,
        host_ms,
        ..
    } = report;
    let verdict = match &outcome.failure {
        None => terminal::paint(GOOD, "right"),
        Some(reason) if outcome.stopped => format!("{}: {reason}", terminal::paint(BAD, "none")),
        Some(reason) => format!("{}: {reason}", terminal::paint(BAD, "wrong")),
    };
    let (rel_err, max_err) = (outcome.rel_err, outcome.max_err);
    // What has no output, or touched what is not its own, was not compared.
    let errors = match outcome.passed() || max_err > 0.0 {
        true => {
            let exact = match integers {
                Some(true) => "; integers right",
                _ => "",
            };
            format!(" (rel err {rel_err:.1e}, {max_err:.2} of the bound{exact})")
        }
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
    if let Some(grid) = grid {
        lines.insert(3, occupied(grid));
    }
    if !padded.is_empty() {
        lines.insert(2, padding(padded));
    }
    if outcome.thread_instructions > 0 {
        lines.push(format!(
            "  executed  {} thread instructions",
            outcome.thread_instructions
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}
