//! Comparisons of expressions: what a kernel assumes of a problem.

use serde::{Deserialize, Serialize};

use super::{
    Compare, Env, EvalError, Name, Names, Op, ParseError, is_readable, names_of, parse, resolve,
    run, unknown,
};

/// A comparison of two expressions, such as `lda % 8 == 0`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    pub(super) text: String,
    pub(super) lhs: Vec<Op>,
    pub(super) compare: Compare,
    pub(super) rhs: Vec<Op>,
    pub(super) words: Vec<String>,
}

impl Condition {
    /// The text it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it holds for the names bound in `env`.
    ///
    /// # Errors
    /// As [`Expr::eval`](super::Expr::eval), for either side.
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
    /// As [`Expr::eval`](super::Expr::eval).
    pub fn sides(&self, env: &Env) -> Result<(i64, i64), EvalError> {
        Ok((
            run(&self.lhs, env, &self.text, &self.words)?,
            run(&self.rhs, env, &self.text, &self.words)?,
        ))
    }

    /// As [`Expr::resolve`](super::Expr::resolve).
    pub fn resolve(&mut self, names: &Names) -> Vec<String> {
        resolve(&mut self.lhs, &self.words, names);
        resolve(&mut self.rhs, &self.words, names);
        unknown(&self.words, names)
    }

    /// As [`Expr::is_readable`](super::Expr::is_readable).
    pub(crate) fn is_readable(&self) -> bool {
        is_readable(&self.text, [self.lhs.as_slice(), self.rhs.as_slice()])
    }

    /// The name and the constant of a condition such as `n <= 8192`; none of any other.
    pub fn most(&self) -> Option<(Name, i64)> {
        match (self.lhs.as_slice(), self.compare, self.rhs.as_slice()) {
            ([Op::Word(word)], Compare::Le, [Op::Const(most)]) => Some((word.name?, *most)),
            _ => None,
        }
    }

    /// As [`Expr::names`](super::Expr::names).
    pub fn names(&self) -> impl Iterator<Item = Name> + '_ {
        names_of(&self.lhs).chain(names_of(&self.rhs))
    }
}

impl std::str::FromStr for Condition {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Condition, ParseError> {
        let (lhs, compare, rhs, words) = parse::condition(text)?;
        Ok(Condition {
            text: text.to_owned(),
            lhs,
            compare,
            rhs,
            words,
        })
    }
}
