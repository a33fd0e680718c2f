//! The list of problems of one file: bounded, in order of position, without repetitions.

use std::ops::Range;

use crate::error::{Problem, Related, Span};

/// Most problems listed for one file; the rest is counted.
const MOST: usize = 100;

/// Problems found so far.
#[derive(Debug, Default)]
pub(in crate::spec) struct Problems {
    list: Vec<Problem>,
    left_out: usize,
    warnings: Vec<Problem>,
}

impl Problems {
    /// Adds a problem. `help` is the way out; an empty one is none.
    pub fn add(
        &mut self,
        code: &'static str,
        span: &Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let help = Some(help.into()).filter(|text: &String| !text.is_empty());
        self.push(Problem {
            code,
            message: message.into(),
            span: span.clone(),
            help,
            related: vec![],
        });
    }

    /// Notes what is legal and may not be meant.
    pub fn warn(
        &mut self,
        code: &'static str,
        span: &Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let warning = Problem {
            code,
            message: message.into(),
            span: span.clone(),
            help: Some(help.into()),
            related: vec![],
        };
        if self.warnings.len() < MOST && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// What is legal and may not be meant, in order of position.
    pub fn warnings(&self) -> Vec<Problem> {
        let mut warnings = self.warnings.clone();
        warnings.sort_by_key(|problem| (problem.span.bytes.start, problem.span.bytes.end));
        warnings
    }

    /// Adds a problem that speaks of a second place.
    pub fn add_with(
        &mut self,
        code: &'static str,
        span: &Span,
        message: impl Into<String>,
        help: impl Into<String>,
        related: Related,
    ) {
        let (message, help) = (message.into(), Some(help.into()));
        self.push(Problem {
            code,
            message,
            span: span.clone(),
            help,
            related: vec![related],
        });
    }

    /// Adds a problem unless it is listed already.
    pub fn push(&mut self, problem: Problem) {
        if self.list.contains(&problem) {
            return;
        }
        if self.list.len() < MOST {
            self.list.push(problem);
        } else {
            self.left_out += 1;
        }
    }

    /// Whether nothing is wrong so far.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The problems listed so far.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// All problems in order of position, with the number of those left out in a last one.
    pub fn into_sorted(mut self) -> Vec<Problem> {
        self.list
            .sort_by_key(|problem| (problem.span.bytes.start, problem.span.bytes.end));
        if self.left_out > 0 {
            self.list.push(Problem {
                code: "more-problems",
                message: format!("{} more problems are not listed", self.left_out),
                span: Span {
                    bytes: 0..0,
                    line: 1,
                    column: 1,
                },
                help: Some("correct those above first".into()),
                related: vec![],
            });
        }
        self.list
    }
}

/// The span of a byte range of `text`. Ranges outside the text or inside a character are moved to
/// its nearest place.
pub(in crate::spec) fn span_of(text: &str, bytes: Range<usize>) -> Span {
    let start = text.floor_char_boundary(bytes.start);
    let end = text.floor_char_boundary(bytes.end).max(start);
    let before = text.get(..start).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    Span {
        bytes: start..end,
        line,
        column,
    }
}
