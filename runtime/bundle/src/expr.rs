//! Integer expressions over a problem's extents: text in, a checked program out.
//!
//! `ceil_div(m, 128) * ceil_div(n, 256)` is parsed once, when a bundle is opened, into a short
//! postfix program, and its names are looked up among those of its kernel; evaluation neither
//! allocates nor recurses. Arithmetic is checked `i64`.
//! Divisors must be positive: `/` rounds down, `%` is never negative, `ceil_div` rounds up.
//!
//! Bounds: [`MAX_TEXT`] bytes of text, [`MAX_DEPTH`] levels of nesting, [`MAX_NODES`] nodes, so a
//! hostile manifest costs at most that much.

mod names;

mod parse;

mod condition;

mod build;

mod part;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use condition::Condition;
pub use names::{Env, MAX_NAMES, Name, NameKind, Names};
pub use part::{Factors, Part};

/// Longest accepted text of one expression, in bytes.
pub const MAX_TEXT: usize = 512;
/// Deepest accepted nesting, and the height of the evaluation stack.
pub const MAX_DEPTH: usize = 32;
/// Most operands and operators of one expression.
pub const MAX_NODES: usize = 256;

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expression {text:?}: {problem} at byte {at}")]
pub struct ParseError {
    /// The text, shortened when it is too long to quote.
    pub text: String,
    /// Byte offset of the problem.
    pub at: usize,
    /// What is wrong and what is allowed.
    pub problem: String,
}

/// Why an expression has no value for a problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A name has no value in this problem.
    #[error("`{name}` in `{text}` has no value for this problem: give it one")]
    Unbound {
        /// The expression.
        text: String,
        /// The name without a value.
        name: String,
    },
    /// A name was never looked up.
    #[error("`{name}` in `{text}` is no kernel's name yet: open the bundle, or resolve the kernel")]
    Unresolved {
        /// The expression.
        text: String,
        /// The name.
        name: String,
    },
    /// A result leaves the range of `i64`.
    #[error("`{text}` overflows 64 bits: use smaller extents")]
    Overflow {
        /// The expression.
        text: String,
    },
    /// A divisor is zero or negative.
    #[error("`{text}` divides by {divisor}: divisors must be positive")]
    Divisor {
        /// The expression.
        text: String,
        /// The offending divisor.
        divisor: i64,
    },
}

/// One step of a postfix program: it takes its operands from a stack and leaves its result there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// A number.
    Const(i64),
    /// What the name stands for; [`Expr::word`] is its spelling.
    Word(Word),
    /// `-a`
    Neg,
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`, rounded down.
    Div,
    /// `a % b`, never negative.
    Rem,
    /// `a / b`, rounded up.
    CeilDiv,
    /// The lesser.
    Min,
    /// The greater.
    Max,
}

/// A name where a program mentions it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// Place among the expression's words.
    at: u16,
    /// Place among the kernel's names, once it was looked up.
    name: Option<Name>,
}

enum StepError {
    Overflow,
    Divisor(i64),
}

impl Op {
    fn apply(self, a: i64, b: i64) -> Result<i64, StepError> {
        let divisor = || {
            if b > 0 {
                Ok(b)
            } else {
                Err(StepError::Divisor(b))
            }
        };
        let value = match self {
            Op::Add => a.checked_add(b),
            Op::Sub => a.checked_sub(b),
            Op::Mul => a.checked_mul(b),
            Op::Div => a.checked_div_euclid(divisor()?),
            Op::Rem => a.checked_rem_euclid(divisor()?),
            Op::CeilDiv => {
                let b = divisor()?;
                let up = i64::from(a.rem_euclid(b) != 0);
                a.div_euclid(b).checked_add(up)
            }
            Op::Min => Some(a.min(b)),
            Op::Max => Some(a.max(b)),
            Op::Const(_) | Op::Word(_) | Op::Neg => None,
        };
        value.ok_or(StepError::Overflow)
    }
}

/// An integer expression such as `ceil_div(m, 128)`.
///
/// ```
/// use tilewright_bundle::{Env, Expr, NameKind, Names};
/// let mut names = Names::default();
/// let [m, n] = ["m", "n"].map(|text| names.declare(text, NameKind::Extent).unwrap());
/// let mut e: Expr = "ceil_div(m, 128) * min(n, 4)".parse()?;
/// assert!(e.resolve(&names).is_empty());
/// assert_eq!(e.eval(&Env::new().with(m, 129).with(n, 9))?, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expr {
    text: String,
    ops: Vec<Op>,
    words: Vec<String>,
}

impl Expr {
    /// The constant `value`.
    pub fn constant(value: i64) -> Expr {
        Expr {
            text: value.to_string(),
            ops: vec![Op::Const(value)],
            words: Vec::new(),
        }
    }

    /// The text it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value for the names bound in `env`.
    ///
    /// # Errors
    /// When a name is unbound, a divisor is not positive, or a step leaves `i64`.
    pub fn eval(&self, env: &Env) -> Result<i64, EvalError> {
        run(&self.ops, env, &self.text, &self.words)
    }

    /// Its steps, in the order in which they are taken.
    pub fn steps(&self) -> &[Op] {
        &self.ops
    }

    /// The spelling of a name of its steps.
    pub fn word(&self, word: Word) -> &str {
        self.words
            .get(usize::from(word.at))
            .map_or("", String::as_str)
    }

    /// Looks its names up among a kernel's; returns those that are none of them.
    pub fn resolve(&mut self, names: &Names) -> Vec<String> {
        resolve(&mut self.ops, &self.words, names);
        unknown(&self.words, names)
    }

    /// Whether its text is read again: what was made of others may be too long or too deep.
    pub(crate) fn is_readable(&self) -> bool {
        is_readable(&self.text, [self.ops.as_slice()])
    }

    /// The names it mentions as they are spelled, in order of appearance, each once.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The value, when it mentions no name and has one.
    pub fn constant_value(&self) -> Option<i64> {
        let constant = self.words.is_empty().then(|| self.eval(&Env::new()).ok());
        constant.flatten()
    }

    /// The word, when it is nothing else.
    pub fn single_word(&self) -> Option<&str> {
        match self.ops.as_slice() {
            [Op::Word(_)] => self.words.first().map(String::as_str),
            _ => None,
        }
    }

    /// The name, when it is nothing else and was looked up.
    pub fn single_name(&self) -> Option<Name> {
        match self.ops.as_slice() {
            [Op::Word(word)] => word.name,
            _ => None,
        }
    }

    /// The names it mentions that were looked up, in order of appearance, possibly repeated.
    pub fn names(&self) -> impl Iterator<Item = Name> + '_ {
        names_of(&self.ops)
    }
}

fn resolve(ops: &mut [Op], words: &[String], names: &Names) {
    for op in ops {
        if let Op::Word(word) = op {
            let text = words.get(usize::from(word.at));
            word.name = text.and_then(|text| names.find(text));
        }
    }
}

/// Whether a text and its steps keep to the bounds that one is read under; what is made of others
/// may not.
fn is_readable<'o>(text: &str, sides: impl IntoIterator<Item = &'o [Op]>) -> bool {
    let mut levels = 1usize;
    let opened = text.bytes().map(|c| {
        match c {
            b'(' => levels += 1,
            b')' => levels = levels.saturating_sub(1),
            _ => {}
        }
        levels
    });
    let fits = text.len() <= MAX_TEXT && opened.max().unwrap_or(1) <= MAX_DEPTH;
    let mut nodes = 0;
    let mut is_low = |ops: &[Op]| {
        nodes += ops.len();
        let mut height = 0usize;
        ops.iter().all(|op| {
            height = match op {
                Op::Const(_) | Op::Word(_) => height + 1,
                Op::Neg => height,
                _ => height.saturating_sub(1),
            };
            height <= MAX_DEPTH
        })
    };
    let all_low = sides.into_iter().all(&mut is_low);
    fits && all_low && nodes <= MAX_NODES
}

fn unknown(words: &[String], names: &Names) -> Vec<String> {
    let unknown = words.iter().filter(|word| names.find(word).is_none());
    unknown.cloned().collect()
}

fn names_of(ops: &[Op]) -> impl Iterator<Item = Name> + '_ {
    ops.iter().filter_map(|op| match op {
        Op::Word(word) => word.name,
        _ => None,
    })
}

impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr::constant(value)
    }
}

impl From<i32> for Expr {
    fn from(value: i32) -> Expr {
        Expr::constant(i64::from(value))
    }
}

impl From<u32> for Expr {
    fn from(value: u32) -> Expr {
        Expr::constant(i64::from(value))
    }
}

impl std::str::FromStr for Expr {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Expr, ParseError> {
        let (ops, words) = parse::expression(text)?;
        Ok(Expr {
            text: text.to_owned(),
            ops,
            words,
        })
    }
}

/// How the two sides of a [`Condition`] compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

macro_rules! text_form {
    ($type:ty) => {
        // The text says all; where its names were looked up is no part of it.
        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.text == other.text
            }
        }
        impl Eq for $type {}
        impl TryFrom<String> for $type {
            type Error = ParseError;
            fn try_from(text: String) -> Result<Self, ParseError> {
                text.parse()
            }
        }
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.text
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.text)
            }
        }
    };
}
text_form!(Expr);
text_form!(Condition);

/// Runs a postfix program whose stack height the parser has bounded by [`MAX_DEPTH`].
fn run(ops: &[Op], env: &Env, text: &str, words: &[String]) -> Result<i64, EvalError> {
    let overflow = || EvalError::Overflow {
        text: text.to_owned(),
    };
    let mut stack = [0i64; MAX_DEPTH];
    let mut height = 0usize;
    for op in ops {
        let value = match *op {
            Op::Const(value) => value,
            Op::Word(word) => {
                let value = word.name.and_then(|name| env.get(name));
                value.ok_or_else(|| no_value(word, text, words))?
            }
            Op::Neg => {
                height = height.saturating_sub(1);
                stack[height].checked_neg().ok_or_else(overflow)?
            }
            binary => {
                height = height.saturating_sub(2);
                let (a, b) = (stack[height], stack[height + 1]);
                binary.apply(a, b).map_err(|e| match e {
                    StepError::Overflow => overflow(),
                    StepError::Divisor(divisor) => EvalError::Divisor {
                        text: text.to_owned(),
                        divisor,
                    },
                })?
            }
        };
        *stack.get_mut(height).ok_or_else(overflow)? = value;
        height += 1;
    }
    Ok(stack[0])
}

/// Why a name has no value.
#[cold]
fn no_value(word: Word, text: &str, words: &[String]) -> EvalError {
    let name = words.get(usize::from(word.at)).cloned().unwrap_or_default();
    let text = text.to_owned();
    match word.name {
        Some(_) => EvalError::Unbound { text, name },
        None => EvalError::Unresolved { text, name },
    }
}

#[cfg(test)]
mod tests;
