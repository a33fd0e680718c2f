//! What becomes of one spec: from its text to results on the emulator.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tilewright_codegen::error::Error;
use tilewright_codegen::first_good::first_good;
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::{self, Point, SpecFile};
use tilewright_codegen::{Making, pack, plan};
use tilewright_emulator::{Options as EmulatorOptions, Sanitize};
use tilewright_runtime::verify::{Inputs, Options, TOO_LARGE, verify};
use tilewright_runtime::{Device, EmulatorSettings, Runtime};

/// The end that a spec came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The checks of the file refused it.
    RefusedByParse,
    /// No point has a plan.
    RefusedByPlan,
    /// The assembler's judgement refused it: it spills, or is warned of.
    RefusedByAssembler,
    /// It computes the right thing.
    Right,
    /// It computes the wrong thing, or the emulator found fault with it.
    Wrong,
    /// It was accepted, and its constant strides take more memory than the emulator is given.
    TooLarge,
    /// It was accepted and takes no problem that could be drawn.
    NoProblem,
    /// A check of the compiler's own work failed.
    Bug,
    /// The process that judged it died.
    Died,
    /// It was not judged in time.
    Slow,
}

impl End {
    /// Whether the generator broke its word.
    pub fn is_fault(self) -> bool {
        matches!(
            self,
            End::Wrong | End::NoProblem | End::Bug | End::Died | End::Slow
        )
    }

    /// The end as a line of a table has it.
    pub fn name(self) -> &'static str {
        match self {
            End::RefusedByParse => "refused by parse",
            End::RefusedByPlan => "refused by plan",
            End::RefusedByAssembler => "refused by ptxas",
            End::Right => "accepted, right",
            End::Wrong => "accepted, WRONG",
            End::TooLarge => "accepted, strides too far to be run",
            End::NoProblem => "accepted, takes NO PROBLEM",
            End::Bug => "BUG (exit 3)",
            End::Died => "DIED",
            End::Slow => "SLOW",
        }
    }
}

/// What became of a spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The end.
    pub end: End,
    /// Which check said so: the code of the first problem or violation, or the stage.
    pub code: String,
    /// All that was said.
    pub text: String,
}

impl Verdict {
    /// A verdict.
    pub fn new(end: End, code: &str, text: impl Into<String>) -> Verdict {
        Verdict {
            end,
            code: code.to_owned(),
            text: text.into(),
        }
    }

    /// What makes two faults the same one.
    pub fn class(&self) -> (End, &str) {
        (self.end, &self.code)
    }
}

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

/// Judges the spec of a text: plans every point, compiles and runs the first that has a plan.
pub fn judge(text: &str, how: JudgeOptions) -> Verdict {
    let file = match spec::parse("-", text) {
        Ok(file) => file,
        Err(error) => return refused(&error, End::RefusedByParse),
    };
    match feasible(&file) {
        Ok(point) => match run(point, how) {
            Ok(verdict) => verdict,
            Err(error) => refused(&error, End::RefusedByAssembler),
        },
        Err(error) => refused(&error, End::RefusedByPlan),
    }
}

/// The first point that has a plan; anything but a refusal of a plan ends the search.
fn feasible(file: &SpecFile) -> Result<&Point, Error> {
    let mut found = None;
    let mut refusal = None;
    for point in &file.points {
        match plan::plan(point) {
            Ok(_) => found = found.or(Some(point)),
            Err(error @ Error::Plan { .. }) => refusal = refusal.or(Some(error)),
            Err(other) => return Err(other),
        }
    }
    let none = || Error::plan(&file.spec.name, Vec::new());
    found.ok_or_else(|| refusal.unwrap_or_else(none))
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
    let making = Making {
        ptxas: ptxas::find().filter(|_| how.assemble),
        ..Making::default()
    };
    let made = first_good(point, &making, |_| {})?.made;
    let (plan, program) = (&made.plan, &made.program);
    let artifact = pack::artifact(plan, program, &made.certificate, made.ptx, &[])?;
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
