//! What compile workers are asked and what they answer.
//!
//! A job carries the spec as text, so that a worker compiles what the command checked even when the
//! file changes meanwhile. An answer carries nothing of the compiler's own types: text, or the
//! kernel as a bundle holds it, or an error ready to be told.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use tilewright_codegen::error::Error;
use tilewright_codegen::first_good::first_good;
use tilewright_codegen::pack::{Artifact, lines};
use tilewright_codegen::ptx::{self, IrForm};
use tilewright_codegen::spec::{self, Point, SpecFile};
use tilewright_codegen::{LineInfo, Making, artifact, compile, ir, lower, plan, with_way_out};

use crate::args;
use crate::outcome::{Failure, Outcome};
use crate::specs;
use crate::worker::{self, WorkerError, WorkerPool};

/// Where lines of the PTX are to say what they come from.
pub fn line_info(asked: args::LineInfo) -> LineInfo {
    match asked.line_info {
        true => LineInfo::Directives,
        false => LineInfo::Beside,
    }
}

/// What a job is to produce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// The PTX as text.
    Ptx(LineInfo),
    /// LLVM's own program as text.
    LlvmIr {
        /// After its optimization passes, or as it was handed over.
        optimized: bool,
    },
    /// The kernel as a bundle holds it.
    Artifact(Making),
    /// Of a point whose kernel the assembler refuses, why it does, and what builds.
    WayOut(Making),
}

/// What a job produced.
#[derive(Debug, Serialize, Deserialize)]
enum Product {
    Text(String),
    Artifact(Box<Artifact>),
}

/// One point to compile.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    path: String,
    text: String,
    point: String,
    want: Want,
}

impl Job {
    /// The job of compiling a point of a spec.
    pub fn new(file: &SpecFile, point: &Point, want: Want) -> Job {
        Job {
            path: file.path.clone(),
            text: file.text.clone(),
            point: point.id.clone(),
            want,
        }
    }
}

/// Whose fault a failed job is, as [`Failure`] has it.
#[derive(Debug, Serialize, Deserialize)]
enum Fault {
    /// The point has no kernel.
    Infeasible(Infeasible),
    Rejected(String),
    CouldNotRun(String),
    Bug(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        if let Some(why) = Infeasible::of(&error) {
            return Fault::Infeasible(why);
        }
        match specs::failure(error) {
            Failure::Rejected(report) => Fault::Rejected(report),
            Failure::CouldNotRun(reason) => Fault::CouldNotRun(reason),
            Failure::Bug(report) => Fault::Bug(report),
            Failure::ReaderGone | Failure::Told(_) => {
                Fault::CouldNotRun("the reader of stdout went away".to_owned())
            }
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        match fault {
            Fault::Infeasible(why) => Failure::Rejected(why.report),
            Fault::Rejected(report) => Failure::Rejected(report),
            Fault::CouldNotRun(reason) => Failure::CouldNotRun(reason),
            Fault::Bug(report) => Failure::Bug(report),
        }
    }
}

/// The code of points that the compiler died of.
pub const DIED: &str = "compiler";
/// The code of points that took longer than they may.
pub const TOO_LONG: &str = "compile-time";

/// Why a point has no kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Infeasible {
    /// The code of the first limit it violates, or [`DIED`].
    pub code: String,
    /// Those of all that it violates.
    pub codes: Vec<String>,
    /// Every violated limit, with both numbers, on one line.
    pub limits: String,
    /// The same as it is told when it is an error.
    pub report: String,
}

impl Infeasible {
    /// Of a point that there was no error of.
    fn of_worker(code: &str, error: &WorkerError, report: String) -> Infeasible {
        Infeasible {
            code: code.to_owned(),
            codes: vec![code.to_owned()],
            limits: error.to_string(),
            report,
        }
    }

    /// Whether the compiler died of it, or took too long.
    pub fn is_the_workers(&self) -> bool {
        self.code == DIED || self.code == TOO_LONG
    }

    /// What an error says of a point, when it says that there is no kernel.
    pub fn of(error: &Error) -> Option<Infeasible> {
        let Error::Plan { .. } = error else {
            return None;
        };
        Some(Infeasible {
            code: error.first_code().to_owned(),
            codes: error.codes().into_iter().map(str::to_owned).collect(),
            limits: error.to_string(),
            report: error.report(true),
        })
    }
}

/// A point that has no kernel, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The point.
    pub point: String,
    /// Why.
    pub why: Infeasible,
}

impl Dropped {
    /// A point that was dropped.
    pub fn new(point: &str, why: Infeasible) -> Dropped {
        Dropped {
            point: point.to_owned(),
            why,
        }
    }
}

/// Answers jobs from stdin: the whole of a worker process.
pub fn serve() -> Outcome {
    worker::serve(|job: Job| answer(&job).map_err(Fault::from))
}

/// Compiles in this very process.
fn answer(job: &Job) -> Result<Product, Error> {
    let file = spec::parse(&job.path, &job.text)?;
    let bug = |message: &str| Error::Bug {
        stage: "worker",
        kernel: job.point.clone(),
        message: message.to_owned(),
        dump: String::new(),
    };
    let point = file
        .point(&job.point)
        .ok_or_else(|| bug("the spec has no such point"))?;
    produce(&file, point, &job.want).map_err(|error| file.place(error))
}

fn produce(file: &SpecFile, point: &Point, want: &Want) -> Result<Product, Error> {
    match want {
        Want::Ptx(info) => {
            let made = shown(point)?;
            let text = match info {
                LineInfo::Beside => made.ptx.text,
                LineInfo::Directives => {
                    let table = lines::table(file, &made.plan, &made.tile, &made.ptx.lines);
                    lines::directives(&made.ptx.text, &table).0
                }
            };
            Ok(Product::Text(text))
        }
        Want::LlvmIr { optimized } => {
            let form = if *optimized {
                IrForm::Optimized
            } else {
                IrForm::Translated
            };
            let plan = plan::plan(point)?;
            let program = lower::lower(&plan, &ir::tile::build::build(&plan)?)?;
            Ok(Product::Text(ptx::llvm_ir(
                &program, &plan.arch, &plan.id, form,
            )?))
        }
        Want::Artifact(making) => {
            let artifact = artifact(file, point, making)?;
            Ok(Product::Artifact(Box::new(artifact)))
        }
        Want::WayOut(making) => match artifact(file, point, making) {
            Ok(artifact) => Ok(Product::Artifact(Box::new(artifact))),
            Err(error) => Err(with_way_out(point, making, error)),
        },
    }
}

/// The kernel that a build has, where one is good; else the first, which shows what is wrong.
fn shown(point: &Point) -> Result<tilewright_codegen::Compiled, Error> {
    let making = Making {
        ptxas: ptx::ptxas::find(),
        ..Making::default()
    };
    match first_good(point, &making, |_| {}) {
        Ok(found) => Ok(found.made),
        Err(_) => compile(point),
    }
}

/// Has one worker produce the text of one point.
pub fn text(
    file: &SpecFile,
    point: &Point,
    want: &Want,
    limit: args::Limit,
) -> Result<String, Failure> {
    let pool = WorkerPool::of_this_binary(Some(NonZeroUsize::MIN), limit.time())?;
    let jobs = [Job::new(file, point, want.clone())];
    let answer = run(&pool, &jobs, || {}).into_iter().next();
    match answer {
        Some(Ok(Product::Text(text))) => Ok(text),
        Some(Err(failure)) => Err(failure),
        Some(Ok(Product::Artifact(_))) | None => Err(Failure::Bug(format!(
            "{}: the worker answered another question",
            point.id
        ))),
    }
}

/// What came of a job that wants a kernel.
#[derive(Debug)]
pub enum Answer {
    /// The kernel.
    Made(Box<Artifact>),
    /// It turned out to have none.
    Refused(Infeasible),
    /// Anything else that went wrong.
    Failed(Failure),
}

/// Has workers compile jobs that want [`Want::Artifact`] or [`Want::WayOut`]: answers in the order
/// of the jobs.
pub fn artifacts(pool: &WorkerPool, jobs: &[Job], done: impl Fn() + Sync) -> Vec<Answer> {
    let answers = pool.run::<Job, Result<Product, Fault>>(jobs, done);
    let named = jobs.iter().map(|job| &job.point).zip(answers);
    named
        .map(|(point, answer)| match answer {
            Ok(Ok(Product::Artifact(artifact))) => Answer::Made(artifact),
            Ok(Ok(Product::Text(_))) => Answer::Failed(Failure::Bug(format!(
                "{point}: the worker answered with text"
            ))),
            Ok(Err(Fault::Infeasible(why))) => Answer::Refused(why),
            Ok(Err(fault)) => Answer::Failed(blame(point, fault)),
            Err(error @ WorkerError::Died { .. }) => {
                let report = format!("{point}: {error}");
                Answer::Refused(Infeasible::of_worker(DIED, &error, report))
            }
            Err(error @ WorkerError::TooLong { .. }) => {
                let report = too_long(point, &error);
                Answer::Refused(Infeasible::of_worker(TOO_LONG, &error, report))
            }
            Err(error) => Answer::Failed(died(point, &error)),
        })
        .collect()
}

fn run(pool: &WorkerPool, jobs: &[Job], done: impl Fn() + Sync) -> Vec<Result<Product, Failure>> {
    let answers = pool.run::<Job, Result<Product, Fault>>(jobs, done);
    let named = jobs.iter().zip(answers);
    named
        .map(|(job, answer)| match answer {
            Ok(answer) => answer.map_err(|fault| blame(&job.point, fault)),
            Err(error) => Err(died(&job.point, &error)),
        })
        .collect()
}

/// The failure of a point; a missing file or tool does not name the point itself.
fn blame(point: &str, fault: Fault) -> Failure {
    match fault {
        Fault::CouldNotRun(reason) => Failure::CouldNotRun(format!("{point}: {reason}")),
        other => Failure::from(other),
    }
}

/// What is told of a point that takes too long.
fn too_long(point: &str, error: &WorkerError) -> String {
    format!(
        "error[{TOO_LONG}]: {point}: {error}: use a smaller cta_tile or more threads, or allow \
         more with --time-limit\n"
    )
}

/// A worker that died while it compiled `point`: LLVM met what it cannot select, or we have a bug.
fn died(point: &str, error: &WorkerError) -> Failure {
    match error {
        WorkerError::Start { .. } => Failure::could_not_run(error),
        WorkerError::Ended { .. } => Failure::CouldNotRun(format!("{point}: {error}")),
        WorkerError::TooLong { .. } => Failure::Rejected(too_long(point, error)),
        WorkerError::Died { .. } | WorkerError::Garbled(_) => {
            Failure::Bug(format!("{point}: {error}"))
        }
    }
}
