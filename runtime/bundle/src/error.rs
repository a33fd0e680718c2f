//! Why a bundle cannot be opened or written; every error names the entry at fault.
//!
//! What an error says of its cause stands in its own text: no cause behind it says it once more.

mod archive;
mod signature;

use std::fmt;
use std::path::{Path, PathBuf};

pub use self::archive::{ArchiveFault, ArchiveProblem};
pub use self::signature::{KeyError, SignatureFault};

/// A bundle that is refused, or a file that cannot be read or written.
#[derive(thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Its answer.
        error: std::io::Error,
    },
    /// There is no bundle at a path.
    #[error(
        "{}: there is no bundle{}: name another path, or make it with `tilewright build SPECS \
         --output {}`",
        path.display(),
        if *is_folder { " in this folder, which has no manifest.json" } else { " of this name" },
        path.display()
    )]
    NoBundle {
        /// The path.
        path: PathBuf,
        /// Whether a folder is there.
        is_folder: bool,
    },
    /// The manifest is no manifest of this format.
    #[error(
        "manifest.json line {line}, column {column}{}: {message}",
        entry_suffix(entry)
    )]
    Manifest {
        /// Line, from 1; 0 when the place is unknown.
        line: usize,
        /// Column, from 1; 0 when the place is unknown.
        column: usize,
        /// The kernel at fault, if it could be found.
        entry: Option<String>,
        /// What is wrong.
        message: String,
    },
    /// The manifest is of the format that states no formula.
    #[error(
        "manifest.json has format 1, which does not say what its kernels compute; this program \
         opens format {known}: build the bundle anew from its specs with `tilewright build`"
    )]
    FormatOne {
        /// Ours.
        known: u32,
    },
    /// The manifest's format is another one than this crate's.
    #[error(
        "manifest.json has format {found}; this program opens format {known}: use a version of it \
         that opens {found}, or build the bundle anew"
    )]
    Format {
        /// The manifest's.
        found: u64,
        /// Ours.
        known: u32,
    },
    /// The archive is none that a bundle is read from. All problems of its entries at once.
    #[error("{}", list(problems.iter().map(|p| (&p.entry, &p.fault))))]
    Archive {
        /// What is wrong, by entry.
        problems: Vec<ArchiveProblem>,
    },
    /// The bundle is not signed as is required, or its signatures are none.
    #[error(transparent)]
    Signature(#[from] SignatureFault),
    /// A bundle was to be written where something else lies; nothing was changed.
    #[error("{}", foreign(path, files))]
    Foreign {
        /// Where.
        path: PathBuf,
        /// The files of a folder or an archive that no bundle wrote; none where `path` is itself
        /// such a file.
        files: Vec<String>,
    },
    /// What is wrong with the bundle at a path, where that itself names no path.
    #[error("{}:{}", path.display(), told_at(error))]
    At {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong there.
        error: Box<Error>,
    },
    /// Entries contradict themselves, each other, the limits or the files. All problems at once.
    #[error("{}", list(problems.iter().map(|p| (&p.entry, &p.message))))]
    Invalid {
        /// What is wrong, by entry.
        problems: Vec<Problem>,
    },
}

/// As [`Display`](fmt::Display): `main` that returns it prints what a person reads.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One thing wrong with one entry of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kernel's id, the file's path, or `manifest`.
    pub entry: String,
    /// What is wrong, with the actual and the allowed value.
    pub message: String,
}

impl Error {
    /// What is wrong, wherever it is: the same without the path of [`Error::At`].
    pub fn without_path(self) -> Error {
        match self {
            Error::At { error, .. } => *error,
            other => other,
        }
    }

    /// The same of the bundle at `path`.
    pub(crate) fn at(self, path: &Path) -> Error {
        match self {
            named @ (Error::Io { .. }
            | Error::NoBundle { .. }
            | Error::Foreign { .. }
            | Error::At { .. }) => named,
            other => Error::At {
                path: path.to_owned(),
                error: Box::new(other),
            },
        }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, error: std::io::Error) -> Error {
        Error::Io {
            path: path.into(),
            error,
        }
    }

    pub(crate) fn none(path: &Path, is_folder: bool) -> Error {
        Error::NoBundle {
            path: path.to_owned(),
            is_folder,
        }
    }

    pub(crate) fn archive(entry: &str, fault: ArchiveFault) -> Error {
        Error::Archive {
            problems: vec![ArchiveProblem {
                entry: shorten(entry),
                fault,
            }],
        }
    }

    pub(crate) fn invalid(entry: impl Into<String>, message: impl Into<String>) -> Error {
        Error::Invalid {
            problems: vec![Problem {
                entry: entry.into(),
                message: message.into(),
            }],
        }
    }
}

/// Collects problems and gives them up all at once.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: Vec<Problem>,
}

impl Problems {
    /// More than this many would not be read.
    const MOST: usize = 64;

    pub(crate) fn add(&mut self, entry: &str, message: impl Into<String>) {
        if self.found.len() < Self::MOST {
            let entry = shorten(entry);
            self.found.push(Problem {
                entry,
                message: message.into(),
            });
        }
    }

    pub(crate) fn check(&mut self, holds: bool, entry: &str, message: impl FnOnce() -> String) {
        if !holds {
            self.add(entry, message());
        }
    }

    pub(crate) fn into_result(self) -> Result<(), Error> {
        if self.found.is_empty() {
            Ok(())
        } else {
            Err(Error::Invalid {
                problems: self.found,
            })
        }
    }
}

/// A name from a hostile manifest, fit for a terminal: escaped, and cut at 120 characters.
pub(crate) fn shorten(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(120)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(120).is_some() {
        out.push('…');
    }
    out
}

/// Files of others that are told by name.
const FOREIGN_NAMED: usize = 8;

fn foreign(path: &Path, files: &[String]) -> String {
    let path = path.display();
    match files {
        [] => format!(
            "{path}: is there and is no bundle, and was left as it is: name another path, or \
             remove it"
        ),
        files => {
            let named = files.iter().take(FOREIGN_NAMED).map(|file| shorten(file));
            let named = named.collect::<Vec<_>>().join(", ");
            let are = match files.len() {
                1 => format!("{named} is"),
                count if count <= FOREIGN_NAMED => format!("{named} are"),
                count => format!("{named} and {} more are", count - FOREIGN_NAMED),
            };
            format!(
                "{path}: {are} there, of no bundle, and nothing was written: name another path, or \
                 take away what is no bundle's"
            )
        }
    }
}

/// What is wrong at a path that is told before: an archive is what lies there, and several problems
/// have a line each.
fn told_at(error: &Error) -> String {
    let told = error.to_string();
    match told.contains('\n') {
        true => format!("\n{told}"),
        false => format!(" {}", told.strip_prefix("archive: ").unwrap_or(&told)),
    }
}

fn entry_suffix(entry: &Option<String>) -> String {
    entry
        .as_ref()
        .map(|e| format!(" ({e})"))
        .unwrap_or_default()
}

fn list<'p>(problems: impl Iterator<Item = (&'p String, impl fmt::Display)>) -> String {
    let lines: Vec<String> = problems
        .map(|(entry, what)| format!("{entry}: {what}"))
        .collect();
    lines.join("\n")
}
