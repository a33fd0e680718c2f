//! Parts of an expression that have values of their own: what a limit holds down, and its factors.

use super::{Env, EvalError, Expr, Name, Op, names_of, run};

/// A part of an expression, with a value of its own.
#[derive(Debug, Clone, Copy)]
pub struct Part<'e> {
    whole: &'e Expr,
    ops: &'e [Op],
}

/// The factors of a part, the last one first: it alone where it is no product.
#[derive(Debug, Clone)]
pub struct Factors<'e> {
    rest: Option<Part<'e>>,
}

impl Expr {
    /// What `min` holds down to the value of that name, if it does so anywhere.
    ///
    /// ```
    /// use tilewright_bundle::{Env, Expr, Name, NameKind, Names};
    /// let mut names = Names::default();
    /// let m = names.declare("m", NameKind::Extent).unwrap();
    /// let mut grid: Expr = "min(min(ceil_div(m, 64) * 3, max_clusters), 132) * 2".parse()?;
    /// grid.resolve(&names);
    /// let tiles = grid.limited_by(Name::MAX_CLUSTERS).unwrap();
    /// assert_eq!(tiles.eval(&Env::new().with(m, 129))?, 9);
    /// assert_eq!(tiles.factors().count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn limited_by(&self, name: Name) -> Option<Part<'_>> {
        let is_limit = |ops: &[Op]| matches!(ops, [Op::Word(word)] if word.name == Some(name));
        let places = self.ops.iter().enumerate();
        let mut least = places.filter(|(_, op)| **op == Op::Min);
        least.find_map(|(at, _)| {
            let [left, right] = operands(self.ops.get(..at)?)?;
            let ops = match (is_limit(left), is_limit(right)) {
                (true, _) => right,
                (_, true) => left,
                (false, false) => return None,
            };
            Some(Part { whole: self, ops })
        })
    }
}

impl<'e> Part<'e> {
    /// The value for the names bound in `env`.
    ///
    /// # Errors
    /// As of the whole expression, whose text they tell.
    pub fn eval(&self, env: &Env) -> Result<i64, EvalError> {
        run(self.ops, env, &self.whole.text, &self.whole.words)
    }

    /// The names it mentions that were looked up, in order of appearance, possibly repeated.
    pub fn names(&self) -> impl Iterator<Item = Name> + 'e {
        names_of(self.ops)
    }

    /// What it is the product of.
    pub fn factors(self) -> Factors<'e> {
        Factors { rest: Some(self) }
    }
}

impl<'e> Iterator for Factors<'e> {
    type Item = Part<'e>;

    fn next(&mut self) -> Option<Part<'e>> {
        let all = self.rest.take()?;
        let split = match all.ops.split_last() {
            Some((Op::Mul, before)) => operands(before),
            _ => None,
        };
        let Some([left, right]) = split else {
            return Some(all);
        };
        self.rest = Some(Part { ops: left, ..all });
        Some(Part { ops: right, ..all })
    }
}

/// The last two values that steps leave on the stack, each with the steps that it is made by.
fn operands(ops: &[Op]) -> Option<[&[Op]; 2]> {
    let (before, right) = ops.split_at(start(ops)?);
    let left = before.get(start(before)?..)?;
    Some([left, right])
}

/// Where the steps begin that make the last value.
fn start(ops: &[Op]) -> Option<usize> {
    let mut wanted = 1usize;
    let steps = ops.iter().enumerate().rev();
    for (at, op) in steps {
        wanted = match op {
            Op::Const(_) | Op::Word(_) => wanted.checked_sub(1)?,
            Op::Neg => wanted,
            _ => wanted + 1,
        };
        if wanted == 0 {
            return Some(at);
        }
    }
    None
}
