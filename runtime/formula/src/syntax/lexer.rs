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
