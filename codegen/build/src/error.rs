//! Why there is no bundle, or no launchers of it.

use std::fmt;
use std::path::{Path, PathBuf};

/// What the build step could not do; several lines where several things are wrong.
#[derive(thiserror::Error)]
pub enum Error {
    /// Cargo did not say where to write.
    #[error("OUT_DIR is not set: call this from build.rs, or name a folder with Config::out_dir")]
    NoOutDir,
    /// There is nothing to compile.
    #[error("{}", no_spec(folders))]
    NoSpec {
        /// Where specs were looked for.
        folders: Vec<PathBuf>,
    },
    /// What was named to have specs is not there.
    #[error(
        "{}: there is no such file or folder{}; name where the specs lie",
        list(std::slice::from_ref(path)),
        counted_from(path)
    )]
    Missing {
        /// The path as it was given.
        path: PathBuf,
    },
    /// Nobody is there to compile specs.
    #[error(
        "no generator of kernels: put a `tilewright` command on the PATH (`pip install tilewright` \
         has one; `cargo install tilewright` builds one, which needs LLVM 22) or name one by the \
         variable TILEWRIGHT, build tilewright-build with its feature `llvm`, or commit a bundle \
         and name it with Config::committed"
    )]
    NoGenerator,
    /// The command did not do its work.
    #[error("{}: {report}", program.display())]
    Command {
        /// The command.
        program: PathBuf,
        /// What it said.
        report: String,
    },
    /// Specs are wrong, or have no kernel.
    #[error("{}", reports.join("\n"))]
    Specs {
        /// A report of each problem.
        reports: Vec<String>,
    },
    /// A bundle was refused.
    #[error("{}", at(path, error))]
    Bundle {
        /// The bundle.
        path: PathBuf,
        /// Why.
        error: tilewright_bundle::Error,
    },
    /// A name of a bundle cannot be one of Rust.
    #[error("{}", problems.join("\n"))]
    Names {
        /// Each with its place.
        problems: Vec<String>,
    },
    /// A lock does not say what is there.
    #[error("{}: {}", lock.display(), problems.join("\n"))]
    Locked {
        /// The lock.
        lock: PathBuf,
        /// What moved, and the way out.
        problems: Vec<String>,
    },
    /// A file was to be written where something else lies.
    #[error(
        "{}: the file is there and is no {what}, and was left as it is: name another file, or \
         remove it",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it was to be.
        what: &'static str,
    },
    /// A word that is none.
    #[error("{0}")]
    Request(String),
    /// Functions have no kernel for every problem.
    #[error("{0}; add for each that may have one {LAST_RESORT}, or do not require a last resort",
        LAST_RESORT = tilewright_bundle::LAST_RESORT)]
    Uncovered(String),
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// As [`Display`](fmt::Display): `main` that returns it prints what a person reads.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        |error| Error::Io { path, error }
    }

    pub(crate) fn bundle(path: &Path) -> impl FnOnce(tilewright_bundle::Error) -> Error {
        let path = path.to_owned();
        |error| Error::Bundle { path, error }
    }
}

/// What is wrong with a bundle, with its path once.
fn at(path: &Path, error: &tilewright_bundle::Error) -> String {
    let (path, told) = (path.display().to_string(), error.to_string());
    match told.starts_with(&path) {
        true => told,
        false => format!("{path}: {told}"),
    }
}

/// Where a relative path is looked for.
fn counted_from(path: &Path) -> String {
    match std::env::current_dir() {
        Ok(folder) if path.is_relative() => format!(" in {}", folder.display()),
        _ => String::new(),
    }
}

fn no_spec(folders: &[PathBuf]) -> String {
    match folders.is_empty() {
        true => "no specs were named, or those of features alone that are off: name files or \
                 folders with Config::specs, or a bundle with Config::committed"
            .to_owned(),
        false => format!(
            "{} has no .yaml spec: add one, or name another folder",
            list(folders)
        ),
    }
}

fn list(paths: &[PathBuf]) -> String {
    let paths = paths.iter().map(|path| match path.as_os_str().is_empty() {
        true => "\"\"".to_owned(),
        false => path.display().to_string(),
    });
    paths.collect::<Vec<_>>().join(", ")
}
