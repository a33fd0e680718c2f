//! What becomes of one spec: from its text to results on the emulator.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tilewright_codegen::error::Error;
use tilewright_codegen::first_good::first_good;
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::{self, Point, SpecFile};
use tilewright_codegen::{Making, pack, plan, with_way_out};
use tilewright_emulator::{Options as EmulatorOptions, Sanitize};
use tilewright_lab::verify::{Inputs, Options, TOO_LARGE, verify};
use tilewright_runtime::{Device, EmulatorSettings, Runtime};

use super::draft::Draft;
pub use super::ends::{End, Verdict};
use super::refusal::{freed, is_decided, is_the_assemblers, ways_out};

/// Most points of a tuning space that are compiled and run.
const MOST_POINTS: usize = 3;

/// How a spec is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeOptions {
    /// Problems on the emulator.
    pub problems: usize,
    /// The seed of the problems.
    pub seed: u64,
    /// Whether the assembler judges as well.
    pub assemble: bool,
}

/// Judges the spec of a text: plans every point, compiles and runs the first ones that have a plan.
/// A point that the assembler refuses is left out, as a build does, unless it refuses all of them.
pub fn judge(text: &str, how: JudgeOptions) -> Verdict {
    let file = match spec::parse("-", text) {
        Ok(file) => file,
        Err(error) => return refused(&error, End::RefusedByParse),
    };
    let points = match feasible(&file) {
        Ok(points) => points,
        Err(error) => return refused(&file.place(error), End::RefusedByPlan),
    };
    let mut good = None;
    let mut refusal = None;
    for point in points.into_iter().take(MOST_POINTS) {
        match run(point, how) {
            Ok(verdict) if verdict.end.is_fault() => return verdict,
            Ok(verdict) => good = good.or(Some(verdict)),
            Err(error) if is_by_assembler(&error) => refusal = refusal.or(Some((point, error))),
            Err(error) => return refused(&error, End::RefusedLate),
        }
    }
    match (good, refusal) {
        (None, Some((point, error))) => refused_by_assembler(&file, point, how, error),
        (good, _) => good.unwrap_or_else(|| Verdict::new(End::Bug, "points", "no point was run")),
    }
}

fn is_by_assembler(error: &Error) -> bool {
    match error {
        Error::Plan { violations, .. } => violations.iter().any(is_the_assemblers),
        _ => false,
    }
}

/// The points that have a plan; anything but a refusal of a plan ends the search.
fn feasible(file: &SpecFile) -> Result<Vec<&Point>, Error> {
    let mut found = Vec::new();
    let mut refusal = None;
    for point in &file.points {
        match plan::plan(point) {
            Ok(_) => found.push(point),
            Err(error @ Error::Plan { .. }) => refusal = refusal.or(Some(error)),
            Err(other) => return Err(other),
        }
    }
    let none = || Error::plan(&file.spec.problem.name, Vec::new());
    match found.is_empty() {
        true => Err(refusal.unwrap_or_else(none)),
        false => Ok(found),
    }
}

/// The verdict of a spec all of whose kernels the assembler refused: whether it had to be built,
/// else whether the refusal says what to write, and whether that builds.
fn refused_by_assembler(
    file: &SpecFile,
    point: &Point,
    how: JudgeOptions,
    error: Error,
) -> Verdict {
    let error = file.place(with_way_out(point, &making(how), error));
    let report = error.report(false);
    let (code, violations) = match &error {
        Error::Plan { violations, .. } => (error.first_code(), violations.as_slice()),
        _ => return refused(&error, End::RefusedLate),
    };
    let mut draft = Draft::read(&file.text);
    if !is_decided(&draft) {
        return Verdict::new(End::RefusedUnwritten, code, report);
    }
    // What is refused without these keys as well is not refused for their sake.
    if builds(&freed(&draft).yaml(), how).is_err_and(|error| is_by_assembler(&error)) {
        return Verdict::new(End::RefusedUnwritten, code, report);
    }
    let ways = match ways_out(violations) {
        Ok(ways) => ways,
        Err(lack) => return Verdict::new(End::RefusedWithoutWay, lack, report),
    };
    for (key, value) in ways {
        draft.replace(&key, value);
    }
    match builds(&draft.yaml(), how) {
        Ok(()) => Verdict::new(End::RefusedByAssembler, code, report),
        Err(failure) => {
            let text = format!("{report}\n{}\n{}", draft.yaml(), failure.report(false));
            Verdict::new(End::WayFails, code, text)
        }
    }
}

/// Whether a point of a spec has a kernel that the assembler has nothing against.
fn builds(text: &str, how: JudgeOptions) -> Result<(), Error> {
    let file = spec::parse("-", text)?;
    let mut refusal = None;
    for point in feasible(&file)? {
        match first_good(point, &making(how), |_| {}) {
            Ok(_) => return Ok(()),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    Err(refusal.unwrap_or_else(|| Error::plan(&file.spec.problem.name, Vec::new())))
}

/// How kernels are made.
fn making(how: JudgeOptions) -> Making {
    Making {
        ptxas: ptxas::find().filter(|_| how.assemble),
        ..Making::default()
    }
}

/// The verdict of an error: a refusal of that kind where it is one.
fn refused(error: &Error, refusal: End) -> Verdict {
    let text = error.report(false);
    match error {
        Error::Spec { problems, .. } => {
            let codes: BTreeSet<&str> = problems.iter().map(|problem| problem.code).collect();
            let code = codes.first().copied().unwrap_or_default();
            Verdict::new(refusal, code, text)
        }
        Error::Plan { violations, .. } => {
            let code = violations.first().map_or("", |violation| violation.code);
            Verdict::new(refusal, code, text)
        }
        Error::Bug { stage, .. } => Verdict::new(End::Bug, stage, text),
        Error::Algebra(_) => Verdict::new(End::Bug, "algebra", text),
        Error::Tool { tool, .. } => Verdict::new(End::Bug, tool, text),
        Error::Unsupported { .. } => Verdict::new(End::Bug, "unsupported", text),
        Error::Io { .. } => Verdict::new(End::Bug, "io", text),
    }
}

/// Compiles the point and runs its kernel.
fn run(point: &Point, how: JudgeOptions) -> Result<Verdict, Error> {
    let made = first_good(point, &making(how), |_| {})?.made;
    let artifact = pack::artifact(&made, &[])?;
    let io = |source| Error::Io {
        path: "temporary folder".to_owned(),
        source,
    };
    let folder = tempfile::tempdir().map_err(io)?;
    let bundle = folder.path().join("bundle");
    pack::write(
        vec![artifact],
        pack::provenance(ptxas::find().as_deref()),
        &bundle,
    )?;
    Ok(verified(&bundle, how))
}

/// The verdict of the emulator on a bundle.
fn verified(bundle: &Path, how: JudgeOptions) -> Verdict {
    let options = EmulatorOptions {
        sanitize: Sanitize::Strict,
        ..EmulatorOptions::default()
    };
    let strict = EmulatorSettings {
        options,
        ..EmulatorSettings::default()
    };
    let wrong = |text: String| Verdict::new(End::Wrong, "runtime", text);
    let runtime = match Runtime::open(bundle, Device::emulator_with(strict)) {
        Ok(runtime) => runtime,
        Err(error) => return wrong(error.to_string()),
    };
    let kernels: Vec<_> = runtime.kernels().iter().collect();
    let options = Options {
        problems: how.problems,
        seed: how.seed,
        inputs: Inputs::Mixed,
        volume: None,
        further: 0,
    };
    let summary = match verify(&runtime, &kernels, options, |_| {}) {
        Ok(summary) => summary,
        Err(error) => return wrong(error.to_string()),
    };
    let failed = summary.outcomes.iter().find(|outcome| !outcome.passed());
    let Some(outcome) = failed else {
        return Verdict::new(End::Right, "", "");
    };
    let reason = outcome.failure.clone().unwrap_or_default();
    let text = format!("{} on {}: {reason}", outcome.kernel, outcome.problem);
    match outcome.problem.is_empty() {
        true if text.contains(TOO_LARGE) => Verdict::new(End::TooLarge, "refused", text),
        true => Verdict::new(End::NoProblem, "refused", text),
        false if outcome.stopped => Verdict::new(End::Wrong, "stopped", text),
        false => Verdict::new(End::Wrong, "result", text),
    }
}
