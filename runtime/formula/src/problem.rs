//! What is wrong with a formula, and where: a place, the actual and the allowed, a way out.
//!
//! In: a text and what was found in it. Out: a list of problems, in order of their places. The text
//! is a user's, or a stranger's: what a message repeats of it is cut and escaped ([`shown`]).

use std::fmt::Write;
use std::ops::Range;

/// Byte offsets of the formula's text, start inclusive, end exclusive.
pub type Span = Range<usize>;

/// What a problem is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// An operand of the signature, by its index.
    Operand(usize),
    /// A scalar of the signature, by its index.
    Scalar(usize),
    /// An entry of `modes`, by its index.
    Mode(usize),
    /// A part of the text: start and end.
    Text(usize, usize),
}

/// A part of the text, and what to write in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// By what.
    pub text: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Stable code of the check, such as `unknown-name`.
    pub code: &'static str,
    /// Where.
    pub place: Place,
    /// What is wrong, with the actual and the allowed: lower case, no full stop.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
    /// The way out as a change of the text, where the help proposes one: with it, the problem is
    /// gone.
    pub edit: Option<Box<Edit>>,
}

/// Most problems that are reported of one formula.
pub const MAX_PROBLEMS: usize = 64;

impl Problem {
    /// A problem of a part of the text.
    pub fn new(code: &'static str, span: &Span, message: impl Into<String>) -> Problem {
        Problem {
            code,
            place: Place::Text(span.start, span.end),
            message: message.into(),
            help: None,
            edit: None,
        }
    }

    /// A problem of the signature.
    pub fn of(code: &'static str, place: Place, message: impl Into<String>) -> Problem {
        Problem {
            code,
            place,
            message: message.into(),
            help: None,
            edit: None,
        }
    }

    /// The same with a way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    /// The same with the change of the text that the way out proposes.
    #[must_use]
    pub fn edit(mut self, span: &Span, text: impl Into<String>) -> Problem {
        let (span, text) = (span.clone(), text.into());
        self.edit = Some(Box::new(Edit { span, text }));
        self
    }

    /// The part of the text it is about; `None` where it is about the signature.
    pub fn span(&self) -> Option<Span> {
        match self.place {
            Place::Text(start, end) => Some(start..end),
            _ => None,
        }
    }
}

/// In order of places, without repetitions, as many as are reported.
pub fn sorted(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by(|a, b| a.place.cmp(&b.place));
    problems.dedup();
    problems.truncate(MAX_PROBLEMS);
    problems
}

/// A plain report: a line for each problem with its line and column, the text it is about, and the
/// way out.
pub fn report(text: &str, problems: &[Problem]) -> String {
    let mut out = String::new();
    for problem in problems {
        let place = match problem.place {
            Place::Operand(at) => format!("operand {at}"),
            Place::Scalar(at) => format!("scalar {at}"),
            Place::Mode(at) => format!("mode {at}"),
            Place::Text(start, _) => {
                let before = text.get(..start).unwrap_or(text);
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
                format!("{line}:{column}")
            }
        };
        let _ = writeln!(out, "{place}: {} [{}]", problem.message, problem.code);
        let part = problem.span().and_then(|span| text.get(span));
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            let _ = writeln!(out, "  at `{}`", shown(part));
        }
        if let Some(help) = &problem.help {
            let _ = writeln!(out, "  help: {help}");
        }
    }
    out
}

/// A user's text for a message: on one line, escaped, no longer than a name may be.
pub fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let mut out = String::new();
    for c in text.chars().take(MOST) {
        match c {
            '\n' => out.push_str("\\n"),
            c if c.is_control() || !c.is_ascii() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    if text.chars().nth(MOST).is_some() {
        out.push('…');
    }
    out
}

/// The name that was likely meant.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    const MOST: usize = 64;
    if name.len() > MOST {
        return None;
    }
    let distance = |other: &str| strsim::damerau_levenshtein(name, other);
    let near = names.into_iter().filter(|other| other.len() <= MOST);
    let best = near.map(|other| (distance(other), other)).min()?;
    let near = best.0 <= 1.max(name.len() / 3) && best.0 < name.len();
    near.then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        let names = ["alpha", "beta", "bias"];
        assert_eq!(nearest("alhpa", names), Some("alpha"));
        assert_eq!(nearest("bais", names), Some("bias"));
        assert_eq!(nearest("gamma", names), None);
        assert_eq!(nearest("q", ["a", "b"]), None);
        assert_eq!(nearest(&"a".repeat(1000), names), None);
    }

    #[test]
    fn a_report_shows_place_and_way_out() {
        let text = "a = 1\nb = \u{1b}[31m";
        let problem = Problem::new("unknown-name", &(10..15), "no").help("yes");
        assert_eq!(
            report(text, &[problem]),
            "2:5: no [unknown-name]\n  at `\\u{1b}[31m`\n  help: yes\n"
        );
    }
}
