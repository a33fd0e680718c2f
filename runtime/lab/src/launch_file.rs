//! Launch files: a PTX file, a launch and the bytes it must give, whoever compiled it.
//!
//! Comes in: `manifest.json` and the raw little-endian files beside it. Goes out: an [`Outcome`]
//! that says, for each schedule of the emulator, what each buffer held and what was found. A case
//! with `expect_error` passes when that finding is made under at least one schedule; any other
//! one when every schedule gives the expected bytes and no finding of level error.

mod files;
mod manifest;
mod compare;
mod record;
mod schedule;
mod summary;
mod tensor;
mod structs;
mod check;
mod prepared;

use std::path::{Path, PathBuf};

use tilewright_emulator::{
    Finding, History, MemoryError, Module, Options, ParseErrors, RunError, Sanitize, SourceLines,
};

use tilewright_runtime::Error;

pub use compare::{BufferOutcome, Number};
pub use manifest::{
    BufferArg, Field, Im2colArg, LaunchArg, LaunchFile, Role, StructArg, TensormapArg,
};
pub use prepared::{Allocation, Prepared, Ran};
pub use record::{FindingRecord, OtherRecord, ScheduleOutcome, counters};
pub use schedule::Schedule;
pub use summary::Summary;

/// Why a launch file could not be run at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchFileError {
    /// A file is missing or unreadable.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The manifest is no launch file.
    #[error("{path}: {source}")]
    Manifest {
        /// The manifest.
        path: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// What the manifest says, or the text, is wrong.
    #[error("{path}: {} problems:{}", problems.len(), listed(problems))]
    Invalid {
        /// The manifest, or the PTX file.
        path: String,
        /// All of them.
        problems: Vec<String>,
    },
    /// A manifest names a file that is not below its folder.
    #[error("{0:?}: a file of a launch is named by a relative path without `..`")]
    Path(String),
    /// No manifest was found.
    #[error("{0}: no manifest and no folder with cases/*/manifest.json")]
    NoManifests(String),
    /// An argument cannot be made.
    #[error("argument {name}: {problem}")]
    Argument {
        /// The argument.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The PTX text is refused.
    #[error("{path}: {errors}")]
    Ptx {
        /// The PTX file.
        path: String,
        /// All problems.
        errors: ParseErrors,
    },
    /// The buffers do not fit.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The host has no memory for them.
    #[error("the buffers do not fit: {0}")]
    Host(Box<Error>),
    /// The launch could not be made.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What a case of wgmma that passed by default was not asked.
const MEETING: &str = "note: each wgmma counted as a meeting of its four warps, as hardware seems \
                       to have it; --sanitize strict asks for the barriers between them";

/// What came of a launch file.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Outcome {
    /// The name of the case.
    pub id: String,
    /// Whether everything is as expected.
    pub passed: bool,
    /// What is not.
    pub reasons: Vec<String>,
    /// The buffers under the first schedule that got one wrong, or under the first one; none where
    /// the launch could not start.
    pub buffers: Vec<BufferOutcome>,
    /// What a reader should know of the text, whether it passed or not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What each schedule gave.
    pub schedules: Vec<ScheduleOutcome>,
    /// Where lines of the PTX come from, by its own directives.
    #[serde(skip)]
    pub sources: SourceLines,
}

/// The manifests of a path: itself, or `cases/*/manifest.json` below it in the order of their
/// names.
///
/// # Errors
/// [`LaunchFileError::NoManifests`] when there are none, [`LaunchFileError::Io`] when the folder
/// cannot be read.
pub fn find_manifests(path: &Path) -> Result<Vec<PathBuf>, LaunchFileError> {
    if path.is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    let folder = path.join("cases");
    if !folder.is_dir() {
        return Err(LaunchFileError::NoManifests(path.display().to_string()));
    }
    let entries = std::fs::read_dir(&folder).map_err(|source| io(&folder, source))?;
    let mut manifests = Vec::new();
    for entry in entries {
        let manifest = entry
            .map_err(|source| io(&folder, source))?
            .path()
            .join("manifest.json");
        if manifest.is_file() {
            manifests.push(manifest);
        }
    }
    manifests.sort();
    if manifests.is_empty() {
        return Err(LaunchFileError::NoManifests(path.display().to_string()));
    }
    Ok(manifests)
}

fn io(path: &Path, source: std::io::Error) -> LaunchFileError {
    LaunchFileError::Io {
        path: path.display().to_string(),
        source,
    }
}

impl LaunchFile {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`LaunchFileError::Io`], [`LaunchFileError::Manifest`] or [`LaunchFileError::Invalid`].
    pub fn read(manifest: &Path) -> Result<LaunchFile, LaunchFileError> {
        let bytes = files::read(manifest, files::MOST_MANIFEST_BYTES)?;
        let path = manifest.display().to_string();
        let text = serde_json::from_slice::<serde_json::Value>(&bytes);
        let unknown = text.map(|text| check::of_text(&text)).unwrap_or_default();
        let file = match serde_json::from_slice::<LaunchFile>(&bytes) {
            Ok(file) => file,
            Err(source) if unknown.is_empty() => {
                return Err(LaunchFileError::Manifest { path, source });
            }
            Err(source) => {
                let problems = unknown.into_iter().chain([source.to_string()]).collect();
                return Err(LaunchFileError::Invalid { path, problems });
            }
        };
        let problems = unknown.into_iter().chain(file.problems()).collect();
        invalid(path, problems)?;
        Ok(file)
    }

    /// Runs the case under each schedule; `folder` is where its manifest lies.
    ///
    /// # Errors
    /// [`LaunchFileError`] when it could not be run: a file is missing, the PTX is refused, an
    /// argument does not fit.
    pub fn run(&self, folder: &Path, schedules: &[Options]) -> Result<Outcome, LaunchFileError> {
        self.run_watched(folder, schedules, |_| {})
    }

    /// The same; `before` is called with the index of each schedule when its turn comes.
    ///
    /// # Errors
    /// As [`LaunchFile::run`].
    pub fn run_watched(
        &self,
        folder: &Path,
        schedules: &[Options],
        before: impl Fn(usize),
    ) -> Result<Outcome, LaunchFileError> {
        let module = self.module(folder)?;
        let prepared = self.prepare(folder)?;
        let mut outcome = Outcome {
            id: self.id.clone(),
            passed: false,
            reasons: Vec::new(),
            buffers: Vec::new(),
            notes: module.newer_release().into_iter().collect(),
            schedules: Vec::new(),
            sources: module.sources().clone(),
        };
        for (index, options) in schedules.iter().enumerate() {
            before(index);
            let ran = prepared.run(&module, options)?;
            self.note(options, ran, &mut outcome);
        }
        self.judge(&mut outcome);
        let strict = |options: &Options| options.sanitize == Sanitize::Strict;
        if outcome.passed && module.has_wgmma() && !schedules.iter().any(strict) {
            outcome.notes.push(MEETING.to_owned());
        }
        Ok(outcome)
    }

    /// What led to a finding that a run with these options made, in each cluster that takes part in
    /// it: runs the case again.
    ///
    /// # Errors
    /// As [`LaunchFile::run`].
    pub fn histories(
        &self,
        folder: &Path,
        options: &Options,
        finding: &Finding,
    ) -> Result<Vec<History>, LaunchFileError> {
        let module = self.module(folder)?;
        let options = Options {
            history: Some(Box::new(finding.clone())),
            ..options.clone()
        };
        let ran = self.prepare(folder)?.run(&module, &options)?;
        Ok(ran.report.histories)
    }

    /// The text of the PTX file; `folder` is where the manifest lies.
    ///
    /// # Errors
    /// [`LaunchFileError::Path`] or [`LaunchFileError::Io`].
    pub fn read_ptx(&self, folder: &Path) -> Result<String, LaunchFileError> {
        let path = files::below(&folder.join("../.."), &self.ptx)?;
        let bytes = files::read(&path, files::MOST_PTX_BYTES)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The text of the PTX file, as a module.
    fn module(&self, folder: &Path) -> Result<Module, LaunchFileError> {
        let text = self.read_ptx(folder)?;
        let module = Module::parse(&text).map_err(|errors| LaunchFileError::Ptx {
            path: self.ptx.clone(),
            errors,
        })?;
        invalid(self.ptx.clone(), check::of_module(&module, &self.arch))?;
        Ok(module)
    }

    /// Adds what one schedule gave.
    fn note(&self, options: &Options, ran: Ran, outcome: &mut Outcome) {
        // A launch that could not start wrote nothing: its buffers tell nothing of the kernel.
        let started = ran.started();
        let wrong = started && ran.is_wrong();
        let known_wrong = outcome.buffers.iter().any(|buffer| !buffer.passed);
        let name = Schedule::of(options).to_string();
        if self.expect_error.is_none() {
            let buffers = ran.buffers.iter().filter(|_| started);
            for buffer in buffers.filter(|buffer| !buffer.passed) {
                outcome.reasons.push(format!("{name}: {buffer}"));
            }
            for finding in ran.report.errors() {
                outcome.reasons.push(format!("{name}: {finding}"));
            }
        }
        if started && (outcome.buffers.is_empty() || wrong && !known_wrong) {
            outcome.buffers = ran.buffers;
        }
        outcome
            .schedules
            .push(ScheduleOutcome::new(name, ran.report, wrong));
    }

    fn judge(&self, outcome: &mut Outcome) {
        if let Some(wanted) = &self.expect_error {
            let found = |schedule: &ScheduleOutcome| {
                let mut errors = schedule
                    .findings
                    .iter()
                    .filter(|finding| finding.level == "error");
                errors.any(|finding| finding.id == *wanted)
            };
            if !outcome.schedules.iter().any(found) {
                let mut others: Vec<&str> = outcome
                    .schedules
                    .iter()
                    .flat_map(|schedule| &schedule.findings)
                    .map(|finding| finding.id.as_str())
                    .collect();
                others.sort_unstable();
                others.dedup();
                let others = if others.is_empty() {
                    "nothing".into()
                } else {
                    others.join(", ")
                };
                outcome
                    .reasons
                    .push(format!("{wanted} was not found; found: {others}"));
            }
        }
        outcome.passed = outcome.reasons.is_empty();
    }
}

/// Refuses what has problems.
fn invalid(path: String, problems: Vec<String>) -> Result<(), LaunchFileError> {
    match problems.is_empty() {
        true => Ok(()),
        false => Err(LaunchFileError::Invalid { path, problems }),
    }
}

fn listed(problems: &[String]) -> String {
    problems.iter().map(|one| format!("\n  {one}")).collect()
}

fn argument(name: &str, problem: String) -> LaunchFileError {
    LaunchFileError::Argument {
        name: name.to_owned(),
        problem,
    }
}
