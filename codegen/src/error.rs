//! The one error type of the crate: its kinds say whose fault it is.
//!
//! Comes in: what a stage found. Goes out: a value, its report for a reader ([`Error::report`]) and
//! its report for a program ([`Error::json`]). Text of the user reaches neither a terminal nor a
//! message unescaped ([`shown`]).

use std::fmt;

mod message;
mod report;

pub use message::Message;
pub(crate) use message::{KeyPath, Part, message};
pub(crate) use report::warned;

/// A place in a spec: byte range and the line and column of its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Span {
    /// Byte offsets of the text, start inclusive, end exclusive.
    pub bytes: std::ops::Range<usize>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// A second place that a problem speaks of.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Related {
    /// Where.
    pub span: Span,
    /// What is there: `first written here`.
    pub message: String,
}

/// One thing that is wrong with a spec.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Stable code of the check, such as `unknown-key`.
    pub code: &'static str,
    /// What is wrong, with the actual and the allowed value: lower case, no full stop.
    pub message: String,
    /// Where.
    pub span: Span,
    /// The way out: the nearest legal value, or what to do.
    pub help: Option<String>,
    /// Other places the message speaks of, such as the first of two equal keys.
    pub related: Vec<Related>,
}

/// One limit that a plan violates.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Violation {
    /// Stable code of the limit, such as `smem-capacity`. Tuning counts dropped points by it.
    pub code: &'static str,
    /// Both numbers and the way out.
    pub message: String,
    /// Dotted keys of the spec that are at fault, the likeliest first.
    pub keys: Vec<String>,
    /// Where the first of them stands in the file, once that is known.
    pub span: Option<Span>,
    /// Where the others stand.
    pub related: Vec<Related>,
    /// The part of the formula's text that it is about.
    #[serde(skip)]
    pub part: Option<std::ops::Range<usize>>,
    /// Keys with the values that the message speaks of, where these are told apart.
    #[serde(skip)]
    pub(crate) values: Vec<(String, String)>,
    /// Bytes of the message in front of values that no assembler has judged, where it ends in such.
    #[serde(skip)]
    pub(crate) unbuilt: Option<usize>,
}

impl Violation {
    /// A violated limit without a place, of the keys that its message names.
    pub fn new(code: &'static str, message: impl Into<Message>) -> Violation {
        let mut violation = Violation {
            code,
            message: String::new(),
            keys: Vec::new(),
            span: None,
            related: Vec::new(),
            part: None,
            values: Vec::new(),
            unbuilt: None,
        };
        violation.add(message.into());
        violation
    }

    /// Says more, of more keys.
    pub(crate) fn add(&mut self, message: Message) {
        self.message += &message.text;
        for one in message.named {
            self.values
                .extend(one.value.map(|value| (one.path.clone(), value)));
            self.involve(&one.path);
        }
    }

    /// The values of a key that it speaks of, where these are told apart.
    pub(crate) fn values_of(&self, key: &KeyPath) -> impl Iterator<Item = &str> {
        let own = self.values.iter().filter(|(path, _)| path == key.path());
        own.flat_map(|(_, values)| values.split(" or "))
    }

    /// Whether it speaks of that value of a key.
    pub(crate) fn speaks_of(&self, key: &KeyPath, value: &str) -> bool {
        self.values_of(key).any(|one| one == value)
    }

    /// The same of that key as well, which the message does not name.
    pub(crate) fn involve(&mut self, key: &str) {
        if !self.keys.iter().any(|known| known == key) {
            self.keys.push(key.to_owned());
        }
    }
}

/// A spec file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Path as the user gave it.
    pub path: String,
    /// Text of the file.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.code)
    }
}

/// What a stage of the compiler returns when it cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user's YAML is wrong. All problems of the file are listed.
    #[error("{path}: {}", list(.problems.iter().map(|p| &p.message)))]
    Spec {
        /// Path of the spec as the user gave it.
        path: String,
        /// Text of the spec, for rendering.
        source_text: String,
        /// Every problem, in order of position.
        problems: Vec<Problem>,
    },
    /// A legal request with no feasible kernel. Every violated limit is listed.
    #[error("{kernel}: {}", list(.violations))]
    Plan {
        /// Name of the point that was planned.
        kernel: String,
        /// Every violated limit.
        violations: Vec<Violation>,
        /// The file that the point is of, once that is known.
        file: Option<Box<Written>>,
    },
    /// A feature the architecture or this version does not have.
    #[error("{feature} is not supported on {arch}: {hint}")]
    Unsupported {
        /// What was asked for.
        feature: String,
        /// Where.
        arch: String,
        /// The way out.
        hint: String,
    },
    /// A check of the compiler's own work failed.
    #[error("bug in stage {stage} of {kernel}: {message}")]
    Bug {
        /// Stage whose product is wrong.
        stage: &'static str,
        /// Kernel being compiled.
        kernel: String,
        /// Which check failed, with its numbers.
        message: String,
        /// The offending value, printed.
        dump: String,
    },
    /// The layout algebra refused an operation that the plan needs.
    #[error("layout algebra: {0}")]
    Algebra(#[from] tilewright_layout::Error),
    /// A file could not be read or written.
    #[error("{path}: {}", not_done(source))]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A tool the build needs is missing or failed.
    #[error("{tool}: {message}")]
    Tool {
        /// Name of the tool, such as `ptxas`.
        tool: &'static str,
        /// What happened and what to do.
        message: String,
    },
}

impl Error {
    /// The refusal of a point, without a place in a file.
    pub fn plan(kernel: impl Into<String>, violations: Vec<Violation>) -> Error {
        Error::Plan {
            kernel: kernel.into(),
            violations,
            file: None,
        }
    }

    /// The code of the first limit that a refused point violates.
    pub fn first_code(&self) -> &'static str {
        match self {
            Error::Plan { violations, .. } => violations
                .first()
                .map_or("plan", |violation| violation.code),
            _ => "",
        }
    }

    /// The codes of all limits that a refused point violates, each once, in their order.
    pub fn codes(&self) -> Vec<&'static str> {
        let mut codes = Vec::new();
        if let Error::Plan { violations, .. } = self {
            for violation in violations {
                if !codes.contains(&violation.code) {
                    codes.push(violation.code);
                }
            }
        }
        codes
    }

    /// A check of a stage's own work that failed for a kernel, and what it failed on, printed.
    pub fn bug(
        stage: &'static str,
        kernel: impl Into<String>,
        message: impl Into<String>,
        dump: impl ToString,
    ) -> Error {
        Error::Bug {
            stage,
            kernel: kernel.into(),
            message: message.into(),
            dump: dump.to_string(),
        }
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    items
        .into_iter()
        .map(|item| item.to_string())
        .collect::<Vec<_>>()
        .join("; ")
}

/// Text of the user as messages quote it: control and direction-changing characters escaped, long
/// text cut.
///
/// ```
/// use tilewright_codegen::error::shown;
/// assert_eq!(shown("a\u{1b}[31m"), "a\\u{1b}[31m");
/// ```
pub fn shown(text: &str) -> String {
    const LONGEST_CHARS: usize = 60;
    match text.char_indices().nth(LONGEST_CHARS) {
        Some((end, _)) => escaped(text.get(..end).unwrap_or_default()) + "…",
        None => escaped(text),
    }
}

/// The whole text with control and direction-changing characters escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) {
            out.extend(c.escape_default())
        } else {
            out.push(c)
        }
    }
    out
}

/// Whether a character is unseen, moves the cursor or turns the direction of writing.
pub(crate) fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Why a file could not be read or written.
fn not_done(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            "there is no file or folder of this name: name another one, or write a spec with \
             `tilewright init`"
                .to_owned()
        }
        _ => error.to_string(),
    }
}
