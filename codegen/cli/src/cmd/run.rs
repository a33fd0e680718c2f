//! `run`: one launch of one kernel, checked and timed.
//!
//! The check is that of `verify`, on the problem that was asked for. On a GPU the time is that of
//! the one launch, alone and cold; `bench` measures properly. On the emulator, time is the host's.

use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use tilewright_bundle::{Kernel, NameKind};
use tilewright_runtime::verify::{self, Data};
use tilewright_runtime::{Error, Problem, Runtime, tightest};

use crate::args;
use crate::cmd::bundle;
use crate::device;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::profile::{Origin, Profile, line_of};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Value>,
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
    let mut outcome = verify::verify_one(&runtime, kernel, &problem, Data::Normals, args.seed)
        .map_err(Failure::could_not_run)?;
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
        let problem = match foreign(kernel, &args.problem) {
            Some(error) => Err(error),
            // Inputs are drawn, and keep what they are known to keep.
            None => problem(runtime, kernel, &args.problem)?
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

/// The sizes that were given, by the kernel's names for them, each with the flag it was given by.
fn sizes(asked: &args::Problem) -> Vec<(String, u32, String)> {
    let short = [("m", asked.m), ("n", asked.n), ("k", asked.k)];
    let short = short
        .into_iter()
        .filter_map(|(name, size)| Some((name, size?)));
    let short = short.map(|(name, size)| (name.to_owned(), size, format!("--{name}")));
    let named = asked.size.iter();
    let named = named.map(|one| (one.name.clone(), one.value, format!("--size {}", one.name)));
    short.chain(named).collect()
}

/// The sizes that were given and that the kernel has nothing for.
fn foreign(kernel: &Kernel, asked: &args::Problem) -> Option<Error> {
    let leading = leading(asked)
        .into_iter()
        .filter(|(operand, given)| given.is_some() && kernel.semantics.operand(operand).is_none());
    let leading = leading.map(|(operand, _)| format!("--ld{operand}"));
    let is_size = |name: &str| {
        let kind = kernel
            .names
            .find(name)
            .and_then(|name| kernel.names.kind(name));
        matches!(kind, Some(NameKind::Extent | NameKind::Stride))
    };
    let sizes = sizes(asked).into_iter();
    let sizes = sizes.filter_map(|(name, _, flag)| (!is_size(&name)).then_some(flag));
    let is_scalar = |name: &str| kernel.semantics.scalars.iter().any(|s| s.name == name);
    let scalars = asked.scalar.iter().filter(|one| !is_scalar(&one.name));
    let scalars = scalars.map(|one| format!("--scalar {}", one.name));
    let flags: Vec<String> = sizes.chain(leading).chain(scalars).collect();
    let (id, word) = (&kernel.id, &kernel.kernel);
    let text = || format!("{id}: a {word} has no {}: leave it out", flags.join(", "));
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

/// The problem as it was asked for: as tight as can be, but for the strides that were given.
fn problem(
    runtime: &Runtime,
    kernel: &Kernel,
    asked: &args::Problem,
) -> Result<Result<Problem, Error>, Failure> {
    let sizes = sizes(asked);
    for (at, (name, _, flag)) in sizes.iter().enumerate() {
        if let Some((.., first)) = sizes.iter().take(at).find(|(known, ..)| known == name) {
            let twice = format!("`{name}` is given by {first} and by {flag}: leave one out");
            return Err(Failure::CouldNotRun(twice));
        }
    }
    let given = |name: &str| sizes.iter().find(|(known, ..)| known == name);
    let (mut extents, mut missing) = (Vec::new(), Vec::new());
    for (_, name) in kernel.free_extents() {
        match given(name) {
            Some((_, size, _)) => extents.push((name.to_owned(), i64::from(*size))),
            None if ["m", "n", "k"].contains(&name) => missing.push(format!("--{name}")),
            None => missing.push(format!("--size {name}=…")),
        }
    }
    let scalar = |name: &str| asked.scalar.iter().any(|one| one.name == name);
    let scalars = kernel.semantics.scalars.iter();
    let ungiven = scalars.filter(|s| !scalar(&s.name));
    missing.extend(ungiven.map(|s| format!("--scalar {}=…", s.name)));
    if !missing.is_empty() {
        let (word, missing) = (&kernel.kernel, missing.join(", "));
        return Err(Failure::CouldNotRun(format!("a {word} needs {missing}")));
    }
    let scalars = asked.scalar.iter();
    let extents = scalars.fold(Problem::of(extents), |problem, one| {
        problem.with_scalar(&one.name, one.value)
    });
    let promises = asked.promise.iter();
    let extents = promises.fold(extents, |problem, promise| problem.with_promise(promise));
    let tight = tightest(kernel, &extents, runtime.device().info());
    Ok(tight.map(|problem| {
        let strides = kernel.names.of_kind(NameKind::Stride);
        let problem = strides.fold(problem, |problem, (_, name)| match given(name) {
            Some((_, stride, _)) => with_stride(problem, kernel, name, *stride),
            None => problem,
        });
        let leading = leading(asked).into_iter();
        leading.fold(problem, |problem, (name, leading)| match leading {
            Some(leading) => with_leading(problem, name, leading),
            None => problem,
        })
    }))
}

/// The problem with another stride wherever a layout has that name.
fn with_stride(problem: Problem, kernel: &Kernel, name: &str, stride: u32) -> Problem {
    let operands = kernel.semantics.operands.iter();
    operands.fold(problem, |problem, operand| {
        let Some(mut strides) = problem.strides(&operand.name).map(<[i64]>::to_vec) else {
            return problem;
        };
        for (place, expr) in strides.iter_mut().zip(&operand.layout.stride) {
            if expr.single_word() == Some(name) {
                *place = stride.into();
            }
        }
        problem.with_strides(&operand.name, strides)
    })
}

/// The problem with another leading dimension of an operand, whichever of its modes is contiguous.
fn with_leading(problem: Problem, operand: &str, leading: u32) -> Problem {
    match problem.strides(operand) {
        Some([.., 1]) => problem.row_major(operand, leading.into()),
        Some(_) => problem.col_major(operand, leading.into()),
        None => problem,
    }
}

fn text(report: &Report) -> String {
    let Report {
        device,
        outcome,
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
