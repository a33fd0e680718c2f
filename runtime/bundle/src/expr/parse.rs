//! Text of an expression in, postfix program out.
//!
//! ```text
//! condition := sum ("==" | "!=" | "<" | "<=" | ">" | ">=") sum
//! sum       := product (("+" | "-") product)*
//! product   := unary (("*" | "/" | "%") unary)*
//! unary     := "-" unary | primary
//! primary   := integer | name | ("min" | "max" | "ceil_div") "(" sum "," sum ")" | "(" sum ")"
//! ```
//!
//! The parser counts nodes, nesting and the height of the evaluation stack, so the programs it
//! returns never overflow the fixed stack of the evaluator.

use super::{Compare, MAX_DEPTH, MAX_NODES, MAX_TEXT, Op, ParseError, Word};

/// Parses a whole text as one expression; beside its program stand the names it mentions.
pub(super) fn expression(text: &str) -> Result<(Vec<Op>, Vec<String>), ParseError> {
    let mut parser = Parser::new(text)?;
    let ops = parser.program()?;
    parser.end()?;
    Ok((ops, parser.words))
}

/// A comparison's left side, sign, right side, and the names that both mention.
type Sides = (Vec<Op>, Compare, Vec<Op>, Vec<String>);

/// Parses a whole text as one comparison.
pub(super) fn condition(text: &str) -> Result<Sides, ParseError> {
    let mut parser = Parser::new(text)?;
    let lhs = parser.program()?;
    let compare = parser.compare()?;
    let rhs = parser.program()?;
    parser.end()?;
    Ok((lhs, compare, rhs, parser.words))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    ops: Vec<Op>,
    words: Vec<String>,
    nodes: usize,
    height: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, ParseError> {
        let parser = Parser {
            text,
            at: 0,
            ops: Vec::new(),
            words: Vec::new(),
            nodes: 0,
            height: 0,
            depth: 0,
        };
        if text.len() > MAX_TEXT {
            return Err(parser.error(format!(
                "{} bytes long; at most {MAX_TEXT} are allowed: simplify it",
                text.len()
            )));
        }
        Ok(parser)
    }

    fn error(&self, problem: impl Into<String>) -> ParseError {
        let mut text: String = self.text.chars().take(80).collect();
        if text.len() < self.text.len() {
            text.push('…');
        }
        ParseError {
            text,
            at: self.at,
            problem: problem.into(),
        }
    }

    /// One expression from here on; the operators before it stay with their own program.
    fn program(&mut self) -> Result<Vec<Op>, ParseError> {
        self.height = 0;
        self.sum()?;
        Ok(std::mem::take(&mut self.ops))
    }

    fn push(&mut self, op: Op) -> Result<(), ParseError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.error(format!("more than {MAX_NODES} nodes: simplify it")));
        }
        self.height = match op {
            Op::Const(_) | Op::Word(_) => self.height + 1,
            Op::Neg => self.height,
            _ => self.height.saturating_sub(1),
        };
        if self.height > MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.ops.push(op);
        Ok(())
    }

    fn too_deep(&self) -> ParseError {
        self.error(format!("nested more than {MAX_DEPTH} deep: simplify it"))
    }

    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start_matches([' ', '\t']);
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), ParseError> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.error(format!("expected `{token}`")))
        }
    }

    fn end(&mut self) -> Result<(), ParseError> {
        if self.rest().is_empty() {
            Ok(())
        } else {
            Err(self.error("expected an operator or the end"))
        }
    }

    fn compare(&mut self) -> Result<Compare, ParseError> {
        const TABLE: [(&str, Compare); 6] = [
            ("==", Compare::Eq),
            ("!=", Compare::Ne),
            ("<=", Compare::Le),
            (">=", Compare::Ge),
            ("<", Compare::Lt),
            (">", Compare::Gt),
        ];
        for (token, compare) in TABLE {
            if self.eat(token) {
                return Ok(compare);
            }
        }
        Err(self.error("expected one of == != < <= > >="))
    }

    fn sum(&mut self) -> Result<(), ParseError> {
        self.product()?;
        loop {
            let op = match self.rest().as_bytes().first() {
                Some(b'+') => Op::Add,
                Some(b'-') => Op::Sub,
                _ => return Ok(()),
            };
            self.at += 1;
            self.product()?;
            self.push(op)?;
        }
    }

    fn product(&mut self) -> Result<(), ParseError> {
        self.unary()?;
        loop {
            let op = match self.rest().as_bytes().first() {
                Some(b'*') => Op::Mul,
                Some(b'/') => Op::Div,
                Some(b'%') => Op::Rem,
                _ => return Ok(()),
            };
            self.at += 1;
            self.unary()?;
            self.push(op)?;
        }
    }

    fn unary(&mut self) -> Result<(), ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.too_deep());
        }
        if self.eat("-") {
            self.unary()?;
            self.push(Op::Neg)?;
        } else {
            self.primary()?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn primary(&mut self) -> Result<(), ParseError> {
        let rest = self.rest();
        match rest.as_bytes().first() {
            Some(b'(') => {
                self.at += 1;
                self.sum()?;
                self.expect(")")
            }
            Some(c) if c.is_ascii_digit() => {
                let digits = &rest[..run_of(rest, |c| c.is_ascii_digit())];
                let value = digits
                    .parse::<i64>()
                    .map_err(|_| self.error(format!("{digits} does not fit 64 bits")))?;
                self.at += digits.len();
                self.push(Op::Const(value))
            }
            Some(c) if c.is_ascii_alphabetic() || *c == b'_' => self.word(rest),
            _ => Err(self.error("expected an integer, a name, a function or `(`")),
        }
    }

    fn word(&mut self, rest: &str) -> Result<(), ParseError> {
        let word = &rest[..run_of(rest, |c| c.is_ascii_alphanumeric() || c == b'_')];
        if let Some(op) = function(word) {
            self.at += word.len();
            self.expect("(")?;
            self.sum()?;
            self.expect(",")?;
            self.sum()?;
            self.expect(")")?;
            return self.push(op);
        }
        self.at += word.len();
        let known = self.words.iter().position(|known| known == word);
        let at = known.unwrap_or_else(|| {
            self.words.push(word.to_owned());
            self.words.len() - 1
        });
        // A text has fewer words than bytes.
        let at = u16::try_from(at).unwrap_or(u16::MAX);
        self.push(Op::Word(Word { at, name: None }))
    }
}

/// The function that a word is.
pub(super) fn function(word: &str) -> Option<Op> {
    match word {
        "min" => Some(Op::Min),
        "max" => Some(Op::Max),
        "ceil_div" => Some(Op::CeilDiv),
        _ => None,
    }
}

fn run_of(text: &str, keep: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|c| keep(*c)).count()
}
