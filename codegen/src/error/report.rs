//! Reports of an [`Error`]: text with source lines and carets for a reader, JSON for a program.
//!
//! Invariants: the same error gives the same report; no control character of the user's text
//! reaches the output.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::{Value, json};

use super::{Error, Problem, Violation, hidden};

/// Columns a report is laid out for: fixed, so that golden files do not depend on a terminal.
const WIDTH_COLUMNS: usize = 120;

impl Error {
    /// The report for a reader: for [`Error::Spec`] every problem with its source line and a caret.
    ///
    /// `color` adds ANSI styles; pass it only for a terminal.
    pub fn report(&self, color: bool) -> String {
        match self {
            Error::Spec {
                path,
                source_text,
                problems,
            } => {
                let report = Report::new(path, source_text);
                let renderer = renderer(color);
                let parts: Vec<String> = problems
                    .iter()
                    .map(|problem| report.render(&renderer, problem))
                    .collect();
                parts.join("\n\n") + "\n"
            }
            Error::Plan {
                kernel,
                violations,
                file,
            } => {
                let head = format!("error: no feasible kernel for {}\n", visible(kernel));
                let parts: Vec<String> = match file {
                    Some(file) => {
                        let report = Report::new(&file.path, &file.text);
                        let renderer = renderer(color);
                        let placed = violations.iter().map(Problem::from);
                        placed
                            .map(|problem| report.render(&renderer, &problem) + "\n")
                            .collect()
                    }
                    None => violations.iter().map(plain).collect(),
                };
                head + &parts.concat()
            }
            Error::Bug { dump, .. } if !dump.is_empty() => {
                format!(
                    "error: {}\n{}\n",
                    visible(&self.to_string()),
                    visible_lines(&beginning(dump))
                )
            }
            other => format!("error: {}\n", visible(&other.to_string())),
        }
    }

    /// The report for a program: `kind` says whose fault it is, the other keys are those of the
    /// variant.
    pub fn json(&self) -> Value {
        let message = self.to_string();
        match self {
            Error::Spec { path, problems, .. } => {
                json!({ "kind": "spec", "path": path, "problems": problems })
            }
            Error::Plan {
                kernel,
                violations,
                file,
            } => {
                let path = file.as_ref().map(|file| &file.path);
                json!({
                    "kind": "plan", "path": path, "kernel": kernel, "violations": violations
                })
            }
            Error::Unsupported {
                feature,
                arch,
                hint,
            } => {
                json!({ "kind": "unsupported", "feature": feature, "arch": arch, "hint": hint })
            }
            Error::Bug {
                stage,
                kernel,
                message,
                dump,
            } => {
                let mut report = json!({ "kind": "bug", "stage": stage, "kernel": kernel });
                report["message"] = json!(message);
                report["dump"] = json!(dump);
                report
            }
            Error::Algebra(_) => json!({ "kind": "algebra", "message": message }),
            Error::Io { path, .. } => json!({ "kind": "io", "path": path, "message": message }),
            Error::Tool { tool, .. } => json!({ "kind": "tool", "tool": tool, "message": message }),
        }
    }
}

/// The report of what is legal in a file and may not be meant; empty where there is nothing.
pub(crate) fn warned(path: &str, text: &str, warnings: &[Problem], color: bool) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let (report, renderer) = (Report::new(path, text), renderer(color));
    let parts = warnings
        .iter()
        .map(|one| report.render_as(Level::WARNING, &renderer, one));
    parts.collect::<Vec<_>>().join("\n\n") + "\n"
}

/// The first lines of a dump; the whole of it is in the JSON report.
fn beginning(dump: &str) -> String {
    const MOST_LINES: usize = 60;
    let lines = dump.lines().count();
    let mut shown: Vec<String> = dump.lines().take(MOST_LINES).map(str::to_owned).collect();
    if lines > MOST_LINES {
        shown.push(format!("... and {} more lines", lines - MOST_LINES));
    }
    shown.join("\n")
}

/// A violated limit on one line.
fn plain(violation: &Violation) -> String {
    format!("  [{}] {}\n", violation.code, visible(&violation.message))
}

/// A violated limit where it stands.
impl From<&Violation> for Problem {
    fn from(violation: &Violation) -> Problem {
        Problem {
            code: violation.code,
            message: violation.message.clone(),
            span: violation.span.clone().unwrap_or_default(),
            help: None,
            related: violation.related.clone(),
        }
    }
}

fn renderer(color: bool) -> Renderer {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    renderer
        .term_width(WIDTH_COLUMNS)
        .decor_style(DecorStyle::Ascii)
}

/// One file, escaped once for all its problems.
struct Report {
    path: String,
    source: String,
    /// Start of each line in the user's text and in `source`.
    lines: Vec<(usize, usize)>,
    text: String,
}

impl Report {
    fn new(path: &str, text: &str) -> Report {
        let mut source = String::with_capacity(text.len());
        let mut lines = vec![(0, 0)];
        for (at, c) in text.char_indices() {
            push_visible(&mut source, c);
            if c == '\n' {
                lines.push((at + 1, source.len()));
            }
        }
        Report {
            path: visible(path),
            source,
            lines,
            text: text.to_string(),
        }
    }

    fn render(&self, renderer: &Renderer, problem: &Problem) -> String {
        self.render_as(Level::ERROR, renderer, problem)
    }

    fn render_as(&self, level: Level<'_>, renderer: &Renderer, problem: &Problem) -> String {
        let at = self.place(&problem.span.bytes);
        let related: Vec<_> = problem
            .related
            .iter()
            .map(|related| (self.place(&related.span.bytes), related))
            .collect();
        let places = || related.iter().map(|(place, _)| place).chain([&at]);
        // The renderer takes time for every line it is given: it gets those from the first place to
        // the last.
        let start = self.line_of(places().map(|place| place.start).min().unwrap_or_default());
        let end = places().map(|place| place.end).max().unwrap_or_default();
        let (shown_from, shown) = self.window(start, end);
        let inside = |place: &Range<usize>| place.start - shown_from..place.end - shown_from;
        let mut snippet = Snippet::source(shown)
            .path(self.path.as_str())
            .line_start(start + 1)
            .annotation(AnnotationKind::Primary.span(inside(&at)));
        for (place, related) in &related {
            let label = visible(&related.message);
            snippet = snippet.annotation(AnnotationKind::Context.span(inside(place)).label(label));
        }
        let title = level
            .primary_title(visible(&problem.message))
            .id(problem.code);
        let mut group = Group::with_title(title).element(snippet);
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(visible(help)));
        }
        renderer.render(&[group])
    }

    /// Index of the line of `source` that a position is in.
    fn line_of(&self, at: usize) -> usize {
        self.lines
            .partition_point(|&(_, start)| start <= at)
            .saturating_sub(1)
    }

    /// `source` from the start of a line to the end of the line that holds `end`, and where it
    /// starts.
    fn window(&self, line: usize, end: usize) -> (usize, &str) {
        let start = self.lines.get(line).map_or(0, |&(_, start)| start);
        let rest = self.source.get(start..).unwrap_or_default();
        let tail = rest.get(end.saturating_sub(start)..).unwrap_or_default();
        let length = rest.len() - tail.len() + tail.find('\n').map_or(tail.len(), |at| at + 1);
        (start, rest.get(..length).unwrap_or(rest))
    }

    /// The range of `source` that shows a range of the user's text.
    fn place(&self, bytes: &Range<usize>) -> Range<usize> {
        let start = self.map(bytes.start);
        start..self.map(bytes.end).max(start)
    }

    fn map(&self, at: usize) -> usize {
        let line = self
            .lines
            .partition_point(|&(start, _)| start <= at)
            .saturating_sub(1);
        let (from, shown_from) = self.lines.get(line).copied().unwrap_or_default();
        let mut shown = String::new();
        for (offset, c) in self.text.get(from..).unwrap_or_default().char_indices() {
            if from + offset >= at {
                break;
            }
            push_visible(&mut shown, c);
        }
        shown_from + shown.len()
    }
}

fn push_visible(out: &mut String, c: char) {
    match c {
        '\r' => {}
        '\n' => out.push(c),
        _ if hidden(c) => out.extend(c.escape_default()),
        _ => out.push(c),
    }
}

fn visible(text: &str) -> String {
    visible_lines(&text.replace('\n', " "))
}

fn visible_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_visible(&mut out, c));
    out
}
