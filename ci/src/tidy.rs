//! The rules of house style that a machine can check, each a function from files to complaints.
//!
//! In: [`SourceFile`]s. Out: [`Complaint`]s. A rule looks at nothing but the text it is given, so
//! each is tested with a text that breaks it.

pub mod allowed;
pub mod text_rules;
pub mod facts;
pub mod layering;
pub mod order;
pub mod floors;
pub mod manifests;

use std::fmt;

use crate::source_tree::SourceFile;

/// Something to mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Path of the file.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Complaint {
    /// A complaint about a line of a file.
    pub fn new(file: &SourceFile, line: usize, message: impl Into<String>) -> Complaint {
        Complaint {
            path: file.path.clone(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Panics with every complaint on a line of its own, for tests.
///
/// # Panics
///
/// When there is a complaint.
#[track_caller]
pub fn assert_none(complaints: &[Complaint]) {
    let lines: Vec<String> = complaints.iter().map(Complaint::to_string).collect();
    assert!(
        lines.is_empty(),
        "{} complaints:\n{}",
        lines.len(),
        lines.join("\n")
    );
}
