//! Expressions: the notation of the algebra, with calls around it.
//!
//! In: untrusted text such as `composition((36,18):(1,72), (9,4):(4,9))`. Out: a tree whose nodes
//! know their place in the text, or the place and the reason why it is none. Invariants: literals
//! are read by the algebra's own parser; the tree is at most [`MOST_NESTED`] deep.

use std::ops::Range;

use tilewright_layout::{Error, IntTuple, MAX_TEXT_BYTES, Slot, Sym, Tiler};

use super::cute;
use super::value::{Tensor, Value};

/// Deepest nesting of calls.
pub const MOST_NESTED: usize = 64;

/// A part of an expression.
#[derive(Debug, Clone)]
pub struct Expr {
    /// Its place in the text, in bytes.
    pub span: Range<usize>,
    /// What it is.
    pub kind: Kind,
}

/// What a part of an expression is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A value as it stands.
    Literal(Box<Value>),
    /// A name alone: an atom of the catalogue, or a symbol.
    Name(String),
    /// A function and its arguments.
    Call(String, Vec<Expr>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `a o b o c`.
    Chain(Vec<Expr>),
}

/// Why a text is no expression, or an expression has no value for reasons of form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The part at fault.
    pub span: Range<usize>,
    /// What is wrong with it.
    pub message: String,
}

/// Reads an expression.
///
/// # Errors
///
/// The first place that does not fit.
pub fn parse(text: &str) -> Result<Expr, Malformed> {
    if text.len() > MAX_TEXT_BYTES {
        let message = format!(
            "an expression of {} bytes; at most {MAX_TEXT_BYTES} are read",
            text.len()
        );
        return Err(Malformed {
            span: 0..0,
            message,
        });
    }
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
    };
    let read = reader.chain().and_then(|expr| match reader.peek() {
        None => Ok(expr),
        Some(_) => Err(reader.unexpected("the end, or ` o ` and another layout")),
    });
    read.map_err(|malformed| match cute::written(text) {
        Some(own) => Malformed {
            span: 0..text.len(),
            message: format!("that is a type of CuTe: write `{own}`"),
        },
        None => malformed,
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn unexpected(&mut self, wanted: &str) -> Malformed {
        let (found, width) = match self.peek() {
            None => ("the text ends".to_owned(), 0),
            Some(c) => (format!("found `{}`", c.escape_default()), c.len_utf8()),
        };
        let hint = match self.peek() {
            Some('(') => "; a layout's value at a coordinate is `at(l, c)`",
            _ => "",
        };
        Malformed {
            span: self.at..self.at + width,
            message: format!("expected {wanted}, {found}{hint}"),
        }
    }

    /// `a o b o c`, or one part alone.
    fn chain(&mut self) -> Result<Expr, Malformed> {
        self.depth += 1;
        if self.depth > MOST_NESTED {
            let message = format!("calls nested deeper than {MOST_NESTED}");
            let span = self.at..self.at;
            return Err(Malformed { span, message });
        }
        let mut parts = vec![self.part()?];
        while self.peek() == Some('o') && self.rest()[1..].starts_with(char::is_whitespace) {
            self.at += 1;
            parts.push(self.part()?);
        }
        self.depth -= 1;
        let span = parts[0].span.start..self.end_of(&parts);
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Expr {
                span,
                kind: Kind::Chain(parts),
            },
        })
    }

    fn end_of(&self, parts: &[Expr]) -> usize {
        parts.last().map_or(self.at, |part| part.span.end)
    }

    fn part(&mut self) -> Result<Expr, Malformed> {
        match self.peek() {
            None => Err(self.unexpected("a layout, a number or a call")),
            Some('[') => {
                let start = self.at;
                self.at += 1;
                let items = self.items(']')?;
                Ok(Expr {
                    span: start..self.at,
                    kind: Kind::List(items),
                })
            }
            Some(c) if c.is_ascii_alphabetic() => self.named(),
            Some(_) => self.literal(),
        }
    }

    /// Items up to a closing bracket, which is eaten.
    fn items(&mut self, close: char) -> Result<Vec<Expr>, Malformed> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(self.chain()?);
            if self.eat(close) {
                return Ok(items);
            }
            if !self.eat(',') {
                return Err(self.unexpected(&format!("`,` or `{close}`")));
            }
        }
    }

    fn named(&mut self) -> Result<Expr, Malformed> {
        let start = self.at;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = self.rest();
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        if name == "Sw" || name == "ceil_div" {
            return self.literal();
        }
        self.at += name.len();
        if self.peek() == Some('(') {
            self.at += 1;
            let items = self.items(')')?;
            return Ok(Expr {
                span: start..self.at,
                kind: Kind::Call(name.to_owned(), items),
            });
        }
        // A name that goes on, as `2*m` or `m:1` do, is part of a literal.
        let goes_on = self.peek().is_some_and(|c| "*/+-:@".contains(c));
        self.at = start;
        if goes_on {
            return self.literal();
        }
        self.at += name.len();
        Ok(Expr {
            span: start..self.at,
            kind: Kind::Name(name.to_owned()),
        })
    }

    fn literal(&mut self) -> Result<Expr, Malformed> {
        let start = self.at;
        let text = literal_text(self.rest()).trim_end();
        if text.is_empty() {
            return Err(self.unexpected("a layout, a number or a call"));
        }
        let value = read_literal(text).map_err(|error| match error {
            Error::Parse { at, message } => Malformed {
                span: place(self.text, start + at),
                message: match cute::meant(text) {
                    Some(hint) => format!("{message}; {hint}"),
                    None => message,
                },
            },
            other => Malformed {
                span: start..start + text.len(),
                message: other.to_string(),
            },
        })?;
        self.at = start + text.len();
        Ok(Expr {
            span: start..self.at,
            kind: Kind::Literal(Box::new(value)),
        })
    }
}

/// The character at a byte, as a range; empty at the end.
fn place(text: &str, at: usize) -> Range<usize> {
    let width = text.get(at..).and_then(|rest| rest.chars().next());
    at..at + width.map_or(0, char::len_utf8)
}

/// The longest beginning that can be one literal: up to a comma, a closing bracket or an ` o ` that
/// stands outside its own brackets.
fn literal_text(rest: &str) -> &str {
    let mut open = 0usize;
    let bytes = rest.as_bytes();
    for (index, &byte) in bytes.iter().enumerate() {
        let blank = |at: Option<&u8>| at.is_some_and(u8::is_ascii_whitespace);
        match byte {
            b'(' | b'<' => open += 1,
            b')' | b'>' if open > 0 => open -= 1,
            b')' | b'>' | b']' | b',' if open == 0 => return &rest[..index],
            b'o' if open == 0
                && index > 0
                && blank(bytes.get(index - 1))
                && blank(bytes.get(index + 1)) =>
            {
                return &rest[..index];
            }
            _ => {}
        }
    }
    rest
}

/// A literal by its form.
fn read_literal(text: &str) -> Result<Value, Error> {
    let named = text.starts_with(|c: char| c.is_ascii_alphabetic()) || has_name(text);
    if text.starts_with("Sw") {
        return text.parse().map(Value::Swizzle);
    }
    if text.starts_with('<') {
        return text.parse::<Tiler>().map(Value::Tiler);
    }
    if text.contains(':') {
        return Ok(Value::Tensor(match (named, text.contains('@')) {
            (false, false) => Tensor::Plain(text.parse()?),
            (false, true) => Tensor::Coords(text.parse()?),
            (true, false) => Tensor::Symbolic(text.parse()?),
            (true, true) => Tensor::SymbolicCoords(text.parse()?),
        }));
    }
    if named {
        return text.parse::<Sym>().map(Value::Symbol);
    }
    if text.contains('_') {
        return text.parse::<IntTuple<Slot<i64>>>().map(Value::Slots);
    }
    let tuple: IntTuple<i64> = text.parse()?;
    Ok(match tuple.as_leaf() {
        Some(&number) => Value::Int(number),
        None => Value::Tuple(tuple),
    })
}

fn has_name(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_alphabetic())
}
