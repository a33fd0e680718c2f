//! Launch files: a PTX file, a launch and the bytes it must give, whoever compiled it.
//!
//! Comes in: `manifest.json` and the raw little-endian files beside it. Goes out: an [`Outcome`]
//! that says, for each schedule of the emulator, what each buffer held and what was found. A case
//! with `expect_error` passes when that finding is made under at least one schedule; any other
//! one when every schedule gives the expected bytes and no finding of level error.

mod compare;
mod manifest;
mod record;
mod schedule;
mod summary;
mod tensor;

use std::path::{Path, PathBuf};

use tilewright_emulator::{
    Arg, BufferId, Content, Launch, Memory, MemoryError, Module, Options, Params, ParseErrors,
    RunError, run,
};

pub use compare::BufferOutcome;
pub use manifest::{BufferArg, Im2colArg, LaunchArg, LaunchFile, Role, TensormapArg};
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
    /// The launch could not be made.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What came of a launch file.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Outcome {
    /// The name of the case.
    pub id: String,
    /// Whether everything is as expected.
    pub passed: bool,
    /// What is not.
    pub reasons: Vec<String>,
    /// The buffers under the first schedule that got one wrong, or under the first one.
    pub buffers: Vec<BufferOutcome>,
    /// What each schedule gave.
    pub schedules: Vec<ScheduleOutcome>,
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

fn read_bytes(path: &Path) -> Result<Vec<u8>, LaunchFileError> {
    std::fs::read(path).map_err(|source| io(path, source))
}

/// A buffer of the launch, with the bytes it must hold in the end.
struct Placed<'a> {
    arg: &'a BufferArg,
    id: BufferId,
    expect: Option<Vec<u8>>,
}

impl LaunchFile {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`LaunchFileError::Io`] or [`LaunchFileError::Manifest`].
    pub fn read(manifest: &Path) -> Result<LaunchFile, LaunchFileError> {
        let bytes = read_bytes(manifest)?;
        serde_json::from_slice(&bytes).map_err(|source| LaunchFileError::Manifest {
            path: manifest.display().to_string(),
            source,
        })
    }

    /// Runs the case under each schedule; `folder` is where its manifest lies.
    ///
    /// # Errors
    /// [`LaunchFileError`] when it could not be run: a file is missing, the PTX is refused, an
    /// argument does not fit.
    pub fn run(&self, folder: &Path, schedules: &[Options]) -> Result<Outcome, LaunchFileError> {
        let path = folder.join("../..").join(&self.ptx);
        let text = read_bytes(&path)?;
        let text = String::from_utf8_lossy(&text);
        let module = Module::parse(&text).map_err(|errors| LaunchFileError::Ptx {
            path: self.ptx.clone(),
            errors,
        })?;
        let mut outcome = Outcome {
            id: self.id.clone(),
            passed: false,
            reasons: Vec::new(),
            buffers: Vec::new(),
            schedules: Vec::new(),
        };
        for options in schedules {
            self.run_one(folder, &module, options, &mut outcome)?;
        }
        self.judge(&mut outcome);
        Ok(outcome)
    }

    fn run_one(
        &self,
        folder: &Path,
        module: &Module,
        options: &Options,
        outcome: &mut Outcome,
    ) -> Result<(), LaunchFileError> {
        let mut memory = Memory::new();
        let mut buffers = Vec::new();
        let mut args = Vec::new();
        for arg in &self.args {
            let placed = self.place(folder, arg, &mut memory)?;
            if !matches!(arg, LaunchArg::Memory(_)) {
                args.push(placed.0);
            }
            buffers.extend(placed.1);
        }
        self.encode_maps(&memory, &mut args)?;
        let launch = Launch {
            entry: self.entry.clone(),
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            dynamic_shared_bytes: self.dynamic_shared,
            params: Params::Args(args),
        };
        let report = run(module, &launch, &mut memory, options)?;
        let compared: Vec<BufferOutcome> = buffers
            .iter()
            .map(|placed| compare::compare(placed.arg, &memory.read(placed.id), &placed.expect))
            .collect();
        let wrong = compared.iter().any(|buffer| !buffer.passed);
        let known_wrong = outcome.buffers.iter().any(|buffer| !buffer.passed);
        if outcome.schedules.is_empty() || wrong && !known_wrong {
            outcome.buffers = compared.clone();
        }
        let name = Schedule::of(options).to_string();
        if self.expect_error.is_none() {
            for buffer in compared.iter().filter(|buffer| !buffer.passed) {
                outcome.reasons.push(format!("{name}: {buffer}"));
            }
            for finding in report.errors() {
                outcome.reasons.push(format!("{name}: {finding}"));
            }
        }
        outcome
            .schedules
            .push(ScheduleOutcome::new(name, report, wrong));
        Ok(())
    }

    /// Fills in the tensor maps, whose buffers are placed by now.
    fn encode_maps(&self, memory: &Memory, args: &mut [Arg]) -> Result<(), LaunchFileError> {
        let passed = |arg: &&LaunchArg| !matches!(arg, LaunchArg::Memory(_));
        for (arg, value) in self.args.iter().filter(passed).zip(args) {
            let LaunchArg::Tensormap(map) = arg else {
                continue;
            };
            let buffer = memory.buffer(&map.buffer).ok_or_else(|| {
                argument(
                    &map.name,
                    format!("no buffer {} in this launch", map.buffer),
                )
            })?;
            let bytes = tensor::encode(map, memory.address(buffer));
            let bytes = bytes.map_err(|problem| argument(&map.name, problem))?;
            *value = Arg::Bytes(bytes.to_vec());
        }
        Ok(())
    }

    /// Allocates what an argument needs and makes its value.
    fn place<'a>(
        &self,
        folder: &Path,
        arg: &'a LaunchArg,
        memory: &mut Memory,
    ) -> Result<(Arg, Option<Placed<'a>>), LaunchFileError> {
        match arg {
            LaunchArg::Null { .. } => Ok((Arg::Null, None)),
            LaunchArg::Scalar { name, dtype, value } => {
                let bytes = compare::scalar_bytes(dtype, value);
                let problem = || format!("{value} is no value of dtype {dtype}");
                let bytes = bytes.ok_or_else(|| argument(name, problem()))?;
                Ok((Arg::Bytes(bytes), None))
            }
            LaunchArg::Bytes { name, size, hex } => {
                let bytes = compare::hex_bytes(hex).filter(|bytes| bytes.len() == *size);
                let problem = || format!("hex is not two digits for each of {size} bytes");
                Ok((
                    Arg::Bytes(bytes.ok_or_else(|| argument(name, problem()))?),
                    None,
                ))
            }
            // Its buffer may follow: the bytes are made when all buffers are placed.
            LaunchArg::Tensormap(_) => Ok((Arg::Bytes(Vec::new()), None)),
            LaunchArg::Buffer(arg) | LaunchArg::Memory(arg) => {
                let read = |file: &Option<String>| {
                    file.as_ref()
                        .map(|file| read_bytes(&folder.join(file)))
                        .transpose()
                };
                let init = read(&arg.init)?;
                let content = init.as_deref().map_or(Content::Undefined, Content::Bytes);
                let id = memory.alloc(&arg.name, arg.bytes, content)?;
                let expect = match (read(&arg.expect)?, arg.role) {
                    // What is only read must stay as it is.
                    (None, Role::In) => init,
                    (expect, _) => expect,
                };
                Ok((Arg::Buffer(id), Some(Placed { arg, id, expect })))
            }
        }
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

fn argument(name: &str, problem: String) -> LaunchFileError {
    LaunchFileError::Argument {
        name: name.to_owned(),
        problem,
    }
}
