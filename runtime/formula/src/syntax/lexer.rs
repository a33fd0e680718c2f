//! Text to tokens.
//!
//! In: text. Out: tokens with their places, the last one [`TokenKind::End`], and a problem for each
//! stretch that is none. A line's end is a token where no parenthesis is open.

use super::{Combine, MAX_TEXT};
use crate::functions::{CHOOSES, NO_POWER};
use crate::problem::{Problem, Span, shown};

/// A word, number or sign.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TokenKind {
    /// A name or a word.
    Name,
    /// An integer.
    Integer(i64),
    /// A number with a point or an exponent.
    Real(f64),
    /// A sign or bracket, as it is written.
    Sign(&'static str),
    /// `=`, `max=`, `+=` or `min=`.
    Assign(Combine),
    /// `;` or a line's end.
    Stop,
    /// The text's end.
    End,
}

/// Signs, the longer of two that begin alike first.
const SIGNS: &[&str] = &[
    "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",", ":",
];

/// Signs of mathematics and of other languages, and what of the notation they stand for.
const MEANT: &[(&str, &str)] = &[
    ("\u{b7}", "*"),
    ("\u{d7}", "*"),
    ("\u{22c5}", "*"),
    ("\u{f7}", "/"),
    ("\u{2212}", "-"),
    ("\u{2264}", "<="),
    ("\u{2265}", ">="),
    ("\u{2260}", "!="),
    ("&&", "and"),
    ("&", "and"),
    ("||", "or"),
    ("|", "or"),
    ("!", "not"),
];

/// Signs that assign; `==` is none.
const ASSIGNS: &[(&str, Combine)] = &[
    ("max=", Combine::Max),
    ("min=", Combine::Min),
    ("+=", Combine::Add),
    ("=", Combine::Set),
];

/// A sign or word as it stands between others: a word joins none of them.
fn spaced(sign: &str) -> String {
    match sign.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => format!(" {sign} "),
        false => sign.to_owned(),
    }
}

/// The tokens of a text, and what in it is none.
pub fn tokens(text: &str) -> (Vec<Token>, Vec<Problem>) {
    let mut lexer = Lexer {
        text,
        at: 0,
        open: 0,
        tokens: Vec::new(),
        problems: Vec::new(),
    };
    if text.len() > MAX_TEXT {
        let message = format!("{} bytes of text; at most {MAX_TEXT} are read", text.len());
        lexer
            .problems
            .push(Problem::new("too-long", &(0..0), message));
        lexer.text = "";
    }
    while lexer.at < lexer.text.len() {
        lexer.next();
    }
    lexer.push(TokenKind::End, 0);
    (lexer.tokens, lexer.problems)
}

/// Names behind which functions stand in Python.
const MODULES: &[&str] = &[
    "torch",
    "F",
    "nn",
    "np",
    "numpy",
    "math",
    "jnp",
    "jax",
    "tf",
    "tl",
    "cp",
    "functional",
];

/// Methods of Python's tensors, and what of the notation they stand for.
const METHODS: &[(&[&str], &str)] = &[
    (&["pow", "square"], NO_POWER),
    (
        &["sum", "mean", "max", "min", "amax", "amin", "argmax"],
        "a fold stands before its value and names its mode: `mean[n] x[m,n]`",
    ),
    (
        &[
            "to", "type", "astype", "float", "half", "bfloat16", "double", "int",
        ],
        "an element type is a function of the value: `f16(x[m,n])`",
    ),
    (
        &[
            "T",
            "t",
            "mT",
            "transpose",
            "permute",
            "view",
            "reshape",
            "unsqueeze",
            "squeeze",
        ],
        "elements are read by their modes, in any order: `x[n,m]`",
    ),
    (&["size", "shape"], "the extent of a mode is `size(n)`"),
];

/// What a word behind a point says elsewhere, of what stands before it, from there on.
fn elsewhere(problem: Problem, before: &str, (start, rest): (usize, &str)) -> Problem {
    let word = rest.get(1..).unwrap_or_default();
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let word = &word[..end.unwrap_or(word.len())];
    if MODULES.contains(&before) {
        let span = start..start + before.len() + 1;
        let help = format!("write `{word}` alone: functions stand by themselves");
        return problem.help(help).edit(&span, "");
    }
    let method = METHODS.iter().find(|(words, _)| words.contains(&word));
    problem.help(match method {
        Some((_, help)) => (*help).to_owned(),
        None => format!("nothing has parts or methods: a function takes its value, `{word}(…)`"),
    })
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// Parentheses that are open.
    open: usize,
    tokens: Vec<Token>,
    problems: Vec<Problem>,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn push(&mut self, kind: TokenKind, bytes: usize) {
        let span = self.at..self.at + bytes;
        self.at += bytes;
        self.tokens.push(Token { kind, span });
    }

    /// Takes one token, blank, comment, or character that is none.
    fn next(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return;
        };
        match first {
            '\n' if self.open == 0 => self.push(TokenKind::Stop, 1),
            c if c.is_ascii_whitespace() => self.at += 1,
            '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
            ';' => {
                self.open = 0;
                self.push(TokenKind::Stop, 1);
            }
            c if c.is_ascii_digit() => self.number(),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
            _ => self.word_or_sign(rest, first),
        }
    }

    fn word_or_sign(&mut self, rest: &str, first: char) {
        let assign = ASSIGNS.iter().find(|(sign, _)| {
            rest.strip_prefix(sign)
                .is_some_and(|after| !after.starts_with('='))
        });
        if let Some((sign, combine)) = assign {
            return self.push(TokenKind::Assign(*combine), sign.len());
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let other = |c: char| !c.is_ascii_alphanumeric() && c != '_';
            return self.push(TokenKind::Name, rest.find(other).unwrap_or(rest.len()));
        }
        let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) else {
            return self.stray(rest);
        };
        match *sign {
            "(" => self.open += 1,
            ")" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.push(TokenKind::Sign(sign), sign.len());
    }

    /// Whether a point joins a word to what ends right before it, as in other languages.
    fn is_attribute(&self, rest: &str) -> bool {
        let before = self.tokens.last();
        let ends = |kind| matches!(kind, TokenKind::Name | TokenKind::Sign(")" | "]"));
        before.is_some_and(|token| ends(token.kind) && token.span.end == self.at)
            && rest[1..].starts_with(|c: char| c.is_ascii_alphabetic())
    }

    /// Passes over characters that begin nothing.
    fn stray(&mut self, rest: &str) {
        let known = |c: char| c.is_ascii_alphanumeric() || " \t\r\n#;_.=!<>+-*/%()[],:".contains(c);
        let end = rest.char_indices().skip(1).find(|(_, c)| known(*c));
        let end = end.map_or(rest.len(), |(at, _)| at);
        let span = self.at..self.at + end;
        let message = format!("`{}` begins nothing", shown(&rest[..end]));
        let problem = Problem::new("stray-character", &span, message);
        let meant = MEANT.iter().find(|(other, _)| *other == &rest[..end]);
        self.problems.push(match meant {
            Some((_, sign)) => problem
                .help(format!("write `{sign}`"))
                .edit(&span, spaced(sign)),
            None if rest.starts_with('.') && self.is_attribute(rest) => {
                let before = self
                    .tokens
                    .last()
                    .map_or(self.at..self.at, |one| one.span.clone());
                elsewhere(problem, &self.text[before.clone()], (before.start, rest))
            }
            None if rest.starts_with('?') => problem.help(CHOOSES),
            None if rest.starts_with('^') => problem.help(NO_POWER),
            None if rest.starts_with('@') => {
                problem.help("a product of matrices is a fold: `sum[k] a[m,k] * b[n,k]`")
            }
            None => problem
                .help("take it out; names are of letters, digits and underscores")
                .edit(&span, ""),
        });
        self.at += end;
    }

    /// Takes a number: digits, a point, an exponent.
    fn number(&mut self) {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits = |from: usize| {
            let tail = bytes.get(from..).unwrap_or(&[]);
            from + tail.iter().take_while(|c| c.is_ascii_digit()).count()
        };
        let mut end = digits(0);
        let whole = end;
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let after = digits(end + 1 + sign);
            if after > end + 1 + sign {
                end = after;
            }
        }
        let text = &rest[..end];
        let kind = if end == whole {
            text.parse().ok().map(TokenKind::Integer)
        } else {
            let real = text.parse::<f64>().ok().filter(|value| value.is_finite());
            real.map(TokenKind::Real)
        };
        let kind = kind.unwrap_or_else(|| {
            let span = self.at..self.at + end;
            let message = format!("`{}` is beyond every type", shown(text));
            let problem = Problem::new("number-range", &span, message)
                .help("integers have at most 19 digits, exponents reach 308; `inf` is infinity");
            self.problems.push(problem);
            TokenKind::Integer(0)
        });
        self.push(kind, end);
    }
}
