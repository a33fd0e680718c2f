//! What can be wrong with a file of records: those of `tune`, and captures.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a file of records cannot be used; the file is as it was.
#[derive(thiserror::Error)]
pub enum RecordsError {
    /// The operating system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its answer.
        error: std::io::Error,
    },
    /// Another process is adding records.
    #[error(
        "{}: another tuner{} is writing to it: wait, or name another file",
        path.display(),
        process(*holder)
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// That process, where the system tells.
        holder: Option<u32>,
    },
    /// Whole lines are no records. All problems at once.
    #[error("{}", list(path, problems))]
    Lines {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problems: Vec<LineProblem>,
    },
    /// The file holds something else.
    #[error(
        "{}: the file is there and holds no {what}, and was left as it is: name another file, or \
         remove it",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it was to hold.
        what: &'static str,
    },
    /// A record has another format.
    #[error(
        "{} line {line} has record format {found}; this program reads {known}: name another file",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The record's format.
        found: u64,
        /// Ours.
        known: u32,
    },
}

/// As [`Display`](fmt::Display): `main` that returns it prints what a person reads.
impl fmt::Debug for RecordsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineProblem {
    /// The line, from 1.
    pub line: usize,
    /// Each key that is wrong, with its value and what is allowed; or why it is no JSON.
    pub problems: Vec<String>,
}

/// Lines that are told of at most.
const MOST_LINES: usize = 64;

fn list(path: &Path, problems: &[LineProblem]) -> String {
    let path = path.display();
    let line = |one: &LineProblem| {
        let (line, why) = (one.line, one.problems.join("; "));
        format!("{path} line {line} is no record: {why}")
    };
    let mut lines: Vec<String> = problems.iter().take(MOST_LINES).map(line).collect();
    if let more @ 1.. = problems.len().saturating_sub(MOST_LINES) {
        lines.push(format!("{path}: {more} more lines are no records"));
    }
    let them = match problems.len() {
        1 => "the line",
        _ => "the lines",
    };
    format!(
        "{}. Nothing was changed; mend or remove {them}",
        lines.join("\n")
    )
}

fn process(id: Option<u32>) -> String {
    id.map(|id| format!(" (process {id})")).unwrap_or_default()
}
