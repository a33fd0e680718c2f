//! What a caller wants computed: extents, and two strides for each operand.

use tilewright_bundle::{Env, Name};

use crate::error::Refusal;

/// Largest extent; kernels count rows and columns in 32 bits.
pub const MAX_EXTENT: i64 = i32::MAX as i64;

/// The strides of one operand in elements, along the first and second mode of its shape.
///
/// For `a` of a gemm those modes are `(m,k)`, for `b` `(n,k)`, for `d` `(m,n)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Strides {
    /// Between neighbours along the first mode.
    pub row: i64,
    /// Between neighbours along the second mode.
    pub col: i64,
}

/// One problem of any family.
///
/// ```
/// use tilewright_runtime::Problem;
/// // d(128x64) = a(128x32) * b(64x32), K-major both, rows of `a` padded to 40 elements.
/// let p = Problem::new(128, 64, 32).row_major("a", 40).row_major("b", 32).row_major("d", 64);
/// assert_eq!(p.strides("a").map(|s| (s.row, s.col)), Some((40, 1)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    /// Rows of the output.
    pub m: i64,
    /// Columns of the output.
    pub n: i64,
    /// The contracted extent; 1 for a copy.
    pub k: i64,
    /// How many problems of this form lie behind each other; 1 for one.
    pub batch: i64,
    strides: Vec<(String, Strides)>,
}

impl Problem {
    /// A problem whose operands have no strides yet.
    pub fn new(m: i64, n: i64, k: i64) -> Problem {
        Problem {
            m,
            n,
            k,
            batch: 1,
            strides: Vec::new(),
        }
    }

    /// The same problem with `operand` at these strides.
    #[must_use]
    pub fn with_strides(mut self, operand: &str, row: i64, col: i64) -> Problem {
        self.strides.retain(|(name, _)| name != operand);
        self.strides
            .push((operand.to_owned(), Strides { row, col }));
        self
    }

    /// The same problem with the second mode of `operand` contiguous.
    #[must_use]
    pub fn row_major(self, operand: &str, leading: i64) -> Problem {
        self.with_strides(operand, leading, 1)
    }

    /// The same problem with the first mode of `operand` contiguous.
    #[must_use]
    pub fn col_major(self, operand: &str, leading: i64) -> Problem {
        self.with_strides(operand, 1, leading)
    }

    /// The strides of `operand`, if given.
    pub fn strides(&self, operand: &str) -> Option<Strides> {
        self.strides
            .iter()
            .find(|(name, _)| name == operand)
            .map(|(_, s)| *s)
    }

    /// Operands with strides, in the order given.
    pub fn operands(&self) -> impl Iterator<Item = (&str, Strides)> {
        self.strides
            .iter()
            .map(|(name, strides)| (name.as_str(), *strides))
    }

    /// The extents as the names of expressions, after checking their range.
    pub(crate) fn env(&self, refusals: &mut Vec<Refusal>) -> Env {
        let mut env = Env::new();
        let named = [
            ("m", Name::M, self.m),
            ("n", Name::N, self.n),
            ("k", Name::K, self.k),
            ("batch", Name::Batch, self.batch),
        ];
        for (text, name, value) in named {
            if !(1..=MAX_EXTENT).contains(&value) {
                refusals.push(Refusal::Extent {
                    name: text,
                    value,
                    most: MAX_EXTENT,
                });
            }
            env.set(name, value);
        }
        env
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)?;
        if self.batch != 1 {
            write!(f, " batch {}", self.batch)?;
        }
        for (name, Strides { row, col }) in &self.strides {
            write!(f, " {name}:({row},{col})")?;
        }
        Ok(())
    }
}
