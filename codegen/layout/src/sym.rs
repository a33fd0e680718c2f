//! Symbolic integers: polynomials over named extents such as `m`, `k`, `lda`.
//!
//! In: names with what is known of them ([`Facts`]). Out: an [`Int`] whose sums and products are
//! exact and whose quotients and comparisons are answered only when they hold for every value of
//! the names. Invariants: every name stands for an integer of at least 1; terms are sorted, each
//! monomial occurs once with a reduced non-zero rational coefficient, and the value of the whole is
//! an integer because `m/8` is only made when 8 is known to divide `m`.

mod term;
mod arith;
mod facts;
mod print;

pub use facts::Facts;
pub(crate) use term::{Factor, Ratio, Term};

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::error::{Error, Fact, Result};
use crate::int::Int;

/// Most terms of a polynomial.
pub const MAX_TERMS: usize = 64;
/// Highest degree of a term.
pub const MAX_DEGREE: usize = 12;

/// A symbolic integer: `8`, `lda`, `2*m*k+1`, `m/8`, `ceil_div(m,128)`.
///
/// Constants cost no allocation; a copy never does.
#[derive(Clone)]
pub struct Sym(pub(crate) Repr);

#[derive(Clone)]
pub(crate) enum Repr {
    Const(i64),
    Poly(Arc<[Term]>),
}

impl Sym {
    /// The name `name`, of which nothing is known but that it is at least 1.
    ///
    /// # Errors
    /// [`Error::Domain`] when it is no name (a letter, then letters, digits and `_`).
    pub fn named(name: &str) -> Result<Self> {
        Facts::default().symbol(name)
    }

    /// The names that occur, sorted, each once.
    pub fn names(&self) -> Vec<String> {
        let mut names = std::collections::BTreeSet::new();
        self.visit_names(&mut |v| {
            names.insert(v.to_owned());
        });
        names.into_iter().collect()
    }

    fn visit_names(&self, f: &mut dyn FnMut(&str)) {
        for factor in self.terms().iter().flat_map(|t| t.factors.iter()) {
            match factor {
                Factor::Var(v) => f(&v.name),
                Factor::Ceil(c) => c.0.visit_names(f),
            }
        }
    }

    /// The value under an assignment of all names.
    ///
    /// # Errors
    /// [`Error::Domain`] for a name without a value or a quotient that is not whole,
    /// [`Error::Overflow`].
    pub fn value(&self, of: &dyn Fn(&str) -> Option<i64>) -> Result<i64> {
        let mut sum = Ratio::from(0);
        if let Repr::Const(c) = self.0 {
            return Ok(c);
        }
        for term in self.terms() {
            let mut product = term.coeff;
            for factor in &term.factors {
                let value = match factor {
                    Factor::Var(v) => of(&v.name)
                        .ok_or_else(|| Error::domain(format!("`{}` has no value", v.name)))?,
                    Factor::Ceil(c) => c.0.value(of)?.ceil_div(&c.1)?,
                };
                product = product.mul(Ratio::from(value))?;
            }
            sum = sum.add(product)?;
        }
        sum.whole()
            .ok_or_else(|| Error::domain(format!("{self} is not a whole number here")))
    }

    pub(crate) fn terms(&self) -> &[Term] {
        match &self.0 {
            Repr::Const(_) => &[],
            Repr::Poly(terms) => terms,
        }
    }

    fn unproven_order(&self, other: &Self) -> Error {
        Error::Unproven {
            fact: Fact::Order {
                left: self.to_string(),
                right: other.to_string(),
            },
        }
    }
}

impl Int for Sym {
    fn constant(value: i64) -> Self {
        Self(Repr::Const(value))
    }

    fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Const(c) => Some(c),
            Repr::Poly(_) => None,
        }
    }

    fn try_add(&self, other: &Self) -> Result<Self> {
        match (&self.0, &other.0) {
            (Repr::Const(a), Repr::Const(b)) => a.try_add(b).map(Self::constant),
            (Repr::Const(0), _) => Ok(other.clone()),
            (_, Repr::Const(0)) => Ok(self.clone()),
            _ => arith::add(self, other),
        }
    }

    fn try_sub(&self, other: &Self) -> Result<Self> {
        match (&self.0, &other.0) {
            (Repr::Const(a), Repr::Const(b)) => a.try_sub(b).map(Self::constant),
            _ => self.try_add(&other.try_mul(&Self::constant(-1))?),
        }
    }

    fn try_mul(&self, other: &Self) -> Result<Self> {
        match (&self.0, &other.0) {
            (Repr::Const(a), Repr::Const(b)) => a.try_mul(b).map(Self::constant),
            (Repr::Const(1), _) => Ok(other.clone()),
            (_, Repr::Const(1)) => Ok(self.clone()),
            _ => arith::mul(self, other),
        }
    }

    fn div_rem(&self, by: &Self) -> Result<(Self, Self)> {
        match (&self.0, &by.0) {
            (Repr::Const(a), Repr::Const(b)) => a
                .div_rem(b)
                .map(|(q, r)| (Self::constant(q), Self::constant(r))),
            (_, Repr::Const(1)) => Ok((self.clone(), Self::constant(0))),
            (_, Repr::Const(c)) => arith::div_rem_const(self, *c),
            _ => arith::div_rem_poly(self, by),
        }
    }

    fn ceil_div(&self, by: &Self) -> Result<Self> {
        match (&self.0, by.as_i64()) {
            (Repr::Const(a), Some(b)) => a.ceil_div(&b).map(Self::constant),
            (_, Some(c)) => arith::ceil_div_const(self, c),
            (_, None) => {
                let (q, r) = self.div_rem(by)?;
                if r.is(0) {
                    Ok(q)
                } else if arith::is_positive(&r) {
                    q.try_add(&Self::constant(1))
                } else {
                    Err(Self::constant(0).unproven_order(&r))
                }
            }
        }
    }

    fn order(&self, other: &Self) -> Result<Ordering> {
        if let (Some(a), Some(b)) = (self.as_i64(), other.as_i64()) {
            return Ok(a.cmp(&b));
        }
        let difference = self.try_sub(other)?;
        if let Some(c) = difference.as_i64() {
            return Ok(c.cmp(&0));
        }
        if arith::lower_bound(&difference).is_some_and(Ratio::is_positive) {
            return Ok(Ordering::Greater);
        }
        let opposite = other.try_sub(self)?;
        if arith::lower_bound(&opposite).is_some_and(Ratio::is_positive) {
            return Ok(Ordering::Less);
        }
        Err(self.unproven_order(other))
    }

    fn le(&self, other: &Self) -> Result<bool> {
        let difference = other.try_sub(self)?;
        if let Some(c) = difference.as_i64() {
            return Ok(c >= 0);
        }
        if arith::lower_bound(&difference).is_some_and(|b| !b.is_negative()) {
            return Ok(true);
        }
        let opposite = self.try_sub(other)?;
        if arith::lower_bound(&opposite).is_some_and(Ratio::is_positive) {
            return Ok(false);
        }
        Err(self.unproven_order(other))
    }
}

impl Default for Sym {
    fn default() -> Self {
        Self::constant(0)
    }
}

impl From<i64> for Sym {
    fn from(value: i64) -> Self {
        Self::constant(value)
    }
}

impl PartialEq for Sym {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Const(a), Repr::Const(b)) => a == b,
            (Repr::Poly(a), Repr::Poly(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => false,
        }
    }
}

impl Eq for Sym {}

impl Hash for Sym {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Const(c) => c.hash(state),
            Repr::Poly(terms) => terms.hash(state),
        }
    }
}

#[cfg(test)]
mod tests;
