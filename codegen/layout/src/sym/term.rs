//! The parts of a polynomial: a rational coefficient and a sorted list of factors.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Sym;
use crate::error::{Error, Result};

/// A reduced fraction with a positive denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ratio {
    pub num: i64,
    pub den: i64,
}

pub(super) fn gcd(a: i64, b: i64) -> u64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl From<i64> for Ratio {
    fn from(num: i64) -> Self {
        Self { num, den: 1 }
    }
}

impl Ratio {
    fn reduced(num: i128, den: i128) -> Result<Self> {
        let (mut a, mut b) = (num.unsigned_abs(), den.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let g = i128::try_from(a.max(1)).unwrap_or(1);
        let (num, den) = if den < 0 {
            (-num / g, -den / g)
        } else {
            (num / g, den / g)
        };
        match (i64::try_from(num), i64::try_from(den)) {
            (Ok(num), Ok(den)) => Ok(Self { num, den }),
            _ => Err(Error::overflow(format!("the coefficient {num}/{den}"))),
        }
    }

    pub fn add(self, o: Self) -> Result<Self> {
        let (a, b) = (i128::from(self.num), i128::from(o.num));
        let (c, d) = (i128::from(self.den), i128::from(o.den));
        match (a * d).checked_add(b * c) {
            Some(num) => Self::reduced(num, c * d),
            None => Err(Error::overflow("a sum of coefficients")),
        }
    }

    pub fn mul(self, o: Self) -> Result<Self> {
        Self::reduced(
            i128::from(self.num) * i128::from(o.num),
            i128::from(self.den) * i128::from(o.den),
        )
    }

    pub fn div(self, o: Self) -> Result<Self> {
        if o.num == 0 {
            return Err(Error::domain("division by zero"));
        }
        Self::reduced(
            i128::from(self.num) * i128::from(o.den),
            i128::from(self.den) * i128::from(o.num),
        )
    }

    pub fn whole(self) -> Option<i64> {
        (self.den == 1).then_some(self.num)
    }

    pub fn is_positive(self) -> bool {
        self.num > 0
    }

    pub fn is_negative(self) -> bool {
        self.num < 0
    }
}

/// A name and what is known of it. Two are equal when their names are.
#[derive(Debug, Clone)]
pub(crate) struct Var {
    pub name: String,
    pub divisor: i64,
    pub min: i64,
}

/// What a monomial is a product of.
#[derive(Debug, Clone)]
pub(crate) enum Factor {
    /// A name.
    Var(Arc<Var>),
    /// `ceil_div(a, b)` where `b` does not divide `a`, or is not known to.
    Ceil(Arc<(Sym, i64)>),
}

impl Factor {
    /// A number known to divide the factor.
    pub fn divisor(&self) -> i64 {
        match self {
            Self::Var(v) => v.divisor,
            Self::Ceil(_) => 1,
        }
    }
}

impl Ord for Factor {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Var(a), Self::Var(b)) => a.name.cmp(&b.name),
            (Self::Var(_), Self::Ceil(_)) => Ordering::Less,
            (Self::Ceil(_), Self::Var(_)) => Ordering::Greater,
            (Self::Ceil(a), Self::Ceil(b)) => a.1.cmp(&b.1).then_with(|| compare(&a.0, &b.0)),
        }
    }
}

/// A total order of expressions that has nothing to do with their values.
fn compare(a: &Sym, b: &Sym) -> Ordering {
    use crate::int::Int;
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.terms().cmp(b.terms()),
    }
}

impl PartialOrd for Factor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Factor {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Factor {}

impl std::hash::Hash for Factor {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match self {
            Self::Var(v) => v.name.hash(state),
            Self::Ceil(c) => c.hash(state),
        }
    }
}

/// A coefficient times a product of factors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Term {
    pub coeff: Ratio,
    pub factors: Vec<Factor>,
}

impl Term {
    /// The order of monomials: higher degree first, then by name.
    pub fn monomial_cmp(&self, other: &Self) -> Ordering {
        let degree = other.factors.len().cmp(&self.factors.len());
        degree.then_with(|| self.factors.cmp(&other.factors))
    }

    /// Whether the facts show that `by` divides the term.
    pub fn divisible(&self, by: i64) -> bool {
        // The term is num * prod(divisors) / den times whole numbers: clear den * by factor by
        // factor so that no product overflows.
        let Some(mut left) = self.coeff.den.checked_mul(by) else {
            return false;
        };
        for known in std::iter::once(self.coeff.num).chain(self.factors.iter().map(Factor::divisor))
        {
            let g = gcd(left, known);
            left /= i64::try_from(g.max(1)).unwrap_or(1);
        }
        left == 1
    }
}

impl Ord for Term {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_value = (self.coeff.num, self.coeff.den).cmp(&(other.coeff.num, other.coeff.den));
        self.monomial_cmp(other).then(by_value)
    }
}

impl PartialOrd for Term {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
