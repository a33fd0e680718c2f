//! Integer expressions over a problem's extents: text in, a checked program out.
//!
//! `ceil_div(m, 128) * ceil_div(n, 256)` is parsed once, when a bundle is opened, into a short
//! postfix program; evaluation neither allocates nor recurses. Arithmetic is checked `i64`.
//! Divisors must be positive: `/` rounds down, `%` is never negative, `ceil_div` rounds up.
//!
//! Bounds: [`MAX_TEXT`] bytes of text, [`MAX_DEPTH`] levels of nesting, [`MAX_NODES`] nodes, so a
//! hostile manifest costs at most that much.

mod names;

mod parse;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use names::{Env, Name};

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
        name: &'static str,
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
    /// What the name stands for.
    Name(Name),
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
            Op::Const(_) | Op::Name(_) | Op::Neg => None,
        };
        value.ok_or(StepError::Overflow)
    }
}

/// An integer expression such as `ceil_div(m, 128)`.
///
/// ```
/// use tilewright_bundle::{Env, Expr, Name};
/// let e: Expr = "ceil_div(m, 128) * min(n, 4)".parse()?;
/// let env = Env::new().with(Name::M, 129).with(Name::N, 9);
/// assert_eq!(e.eval(&env)?, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expr {
    text: String,
    ops: Vec<Op>,
}

impl Expr {
    /// The constant `value`.
    pub fn constant(value: i64) -> Expr {
        Expr {
            text: value.to_string(),
            ops: vec![Op::Const(value)],
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
        run(&self.ops, env, &self.text)
    }

    /// Its steps, in the order in which they are taken.
    pub fn steps(&self) -> &[Op] {
        &self.ops
    }

    /// The names it mentions, in order of appearance, possibly repeated.
    pub fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.ops.iter().filter_map(|op| match op {
            Op::Name(name) => Some(*name),
            _ => None,
        })
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr::constant(value)
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
        Ok(Expr {
            text: text.to_owned(),
            ops: parse::expression(text)?,
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

/// A comparison of two expressions, such as `lda % 8 == 0`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    text: String,
    lhs: Vec<Op>,
    compare: Compare,
    rhs: Vec<Op>,
}

impl Condition {
    /// The text it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it holds for the names bound in `env`.
    ///
    /// # Errors
    /// As [`Expr::eval`], for either side.
    pub fn holds(&self, env: &Env) -> Result<bool, EvalError> {
        let (a, b) = self.sides(env)?;
        Ok(match self.compare {
            Compare::Eq => a == b,
            Compare::Ne => a != b,
            Compare::Lt => a < b,
            Compare::Le => a <= b,
            Compare::Gt => a > b,
            Compare::Ge => a >= b,
        })
    }

    /// The values of both sides, for messages.
    ///
    /// # Errors
    /// As [`Expr::eval`].
    pub fn sides(&self, env: &Env) -> Result<(i64, i64), EvalError> {
        Ok((
            run(&self.lhs, env, &self.text)?,
            run(&self.rhs, env, &self.text)?,
        ))
    }

    /// The names it mentions, in order of appearance, possibly repeated.
    pub fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.lhs.iter().chain(&self.rhs).filter_map(|op| match op {
            Op::Name(name) => Some(*name),
            _ => None,
        })
    }
}

impl std::str::FromStr for Condition {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Condition, ParseError> {
        let (lhs, compare, rhs) = parse::condition(text)?;
        Ok(Condition {
            text: text.to_owned(),
            lhs,
            compare,
            rhs,
        })
    }
}

macro_rules! text_form {
    ($type:ty) => {
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
fn run(ops: &[Op], env: &Env, text: &str) -> Result<i64, EvalError> {
    let overflow = || EvalError::Overflow {
        text: text.to_owned(),
    };
    let mut stack = [0i64; MAX_DEPTH];
    let mut height = 0usize;
    for op in ops {
        let value = match *op {
            Op::Const(value) => value,
            Op::Name(name) => env.get(name).ok_or_else(|| EvalError::Unbound {
                text: text.to_owned(),
                name: name.text(),
            })?,
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

#[cfg(test)]
mod tests;
