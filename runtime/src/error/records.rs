//! What can be wrong with a file of records: those of `tune`, and captures.

use std::path::PathBuf;

/// Why a file of records cannot be used; the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
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
    /// A whole line is no record.
    #[error(
        "{} line {line} is no record: {problem}. Nothing was changed; mend or remove the line",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
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

fn process(id: Option<u32>) -> String {
    id.map(|id| format!(" (process {id})")).unwrap_or_default()
}
