//! What is known about the names: divisors and lower bounds.
//!
//! In: statements such as "8 divides `lda`". Out: symbols that carry them. Invariant: facts change
//! what can be proven, never what two expressions mean.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::term::{Factor, Var, gcd};
use super::{Repr, Sym, arith};
use crate::error::{Error, Fact, Result};
use crate::int::Int;

/// Known divisors and lower bounds of named extents.
///
/// ```
/// use tilewright_layout::{Facts, Int, Sym};
/// let mut facts = Facts::default();
/// facts.divides("lda", 8)?;
/// let (quotient, rest) = facts.symbol("lda")?.div_rem(&Sym::constant(4))?;
/// assert_eq!((quotient.to_string(), rest.to_string()), ("lda/4".into(), "0".into()));
/// # Ok::<(), tilewright_layout::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    known: BTreeMap<String, Known>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    divisor: i64,
    min: i64,
}

/// Most facts that [`Facts::assuming`] adds.
const MAX_ASSUMED: usize = 64;

const NOTHING: Known = Known { divisor: 1, min: 1 };

impl Facts {
    /// Records that `by` divides `name`.
    ///
    /// # Errors
    /// [`Error::Domain`] when `by` is below 1 or `name` is no name, [`Error::Overflow`].
    pub fn divides(&mut self, name: &str, by: i64) -> Result<&mut Self> {
        if by < 1 {
            return Err(Error::domain(format!(
                "{name} % {by} == 0: the divisor must be at least 1"
            )));
        }
        let known = self.entry(name)?;
        let g = i64::try_from(gcd(known.divisor, by)).unwrap_or(1);
        known.divisor = known.divisor.try_mul(&(by / g))?;
        Ok(self)
    }

    /// Records that `name` is at least `min`.
    ///
    /// # Errors
    /// [`Error::Domain`] when `min` is below 1 or `name` is no name.
    pub fn at_least(&mut self, name: &str, min: i64) -> Result<&mut Self> {
        if min < 1 {
            return Err(Error::domain(format!(
                "{name} >= {min}: every extent is at least 1"
            )));
        }
        let known = self.entry(name)?;
        known.min = known.min.max(min);
        Ok(self)
    }

    /// The known divisor of `name`; 1 when nothing is known.
    pub fn divisor(&self, name: &str) -> i64 {
        self.known.get(name).unwrap_or(&NOTHING).divisor
    }

    /// The symbol `name` with what is known of it.
    ///
    /// # Errors
    /// [`Error::Domain`] when it is no name.
    pub fn symbol(&self, name: &str) -> Result<Sym> {
        check_name(name)?;
        let known = self.known.get(name).unwrap_or(&NOTHING);
        let var = Var {
            name: name.to_owned(),
            divisor: known.divisor,
            min: known.min,
        };
        arith::from_factor(Factor::Var(Arc::new(var)))
    }

    /// The same expression, its names carrying the facts of this collection.
    ///
    /// # Errors
    /// [`Error::Overflow`] when a quotient that becomes exact overflows.
    pub fn apply(&self, value: &Sym) -> Result<Sym> {
        let Repr::Poly(terms) = &value.0 else {
            return Ok(value.clone());
        };
        let mut sum = Sym::constant(0);
        for term in terms.iter() {
            let mut product = arith::from_ratio(term.coeff)?;
            for factor in &term.factors {
                let factor = match factor {
                    Factor::Var(v) => self.symbol(&v.name)?,
                    Factor::Ceil(c) => arith::ceil_div_const(&self.apply(&c.0)?, c.1)?,
                };
                product = product.try_mul(&factor)?;
            }
            sum = sum.try_add(&product)?;
        }
        Ok(sum)
    }

    /// Runs `operation`, adding each divisibility of a name that it lacks, and lists what was
    /// added.
    ///
    /// ```
    /// use tilewright_layout::{Facts, Int, Sym};
    /// let (tiles, assumed) = Facts::default().assuming(|facts| {
    ///     facts.symbol("m")?.div_rem(&Sym::constant(128)).map(|(q, _)| q)
    /// })?;
    /// assert_eq!(tiles.to_string(), "m/128");
    /// assert_eq!(assumed[0].to_string(), "m % 128 == 0");
    /// # Ok::<(), tilewright_layout::Error>(())
    /// ```
    ///
    /// # Errors
    /// What `operation` reports, when it is not a missing divisor of a name.
    pub fn assuming<T>(&self, operation: impl Fn(&Self) -> Result<T>) -> Result<(T, Vec<Fact>)> {
        let (mut facts, mut assumed) = (self.clone(), Vec::new());
        loop {
            match operation(&facts) {
                Ok(value) => return Ok((value, assumed)),
                Err(Error::Unproven {
                    fact: Fact::Divides { value, by },
                }) if assumed.len() < MAX_ASSUMED && check_name(&value).is_ok() => {
                    facts.divides(&value, by)?;
                    assumed.push(Fact::Divides { value, by });
                }
                Err(e) => return Err(e),
            }
        }
    }

    fn entry(&mut self, name: &str) -> Result<&mut Known> {
        check_name(name)?;
        Ok(self.known.entry(name.to_owned()).or_insert(NOTHING))
    }
}

fn check_name(name: &str) -> Result<()> {
    let mut chars = name.chars();
    let head = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    if head && name.len() <= 64 && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(Error::domain(format!(
        "`{}` is no name: use a letter, then letters, digits and `_`, at most 64",
        name.chars().take(80).collect::<String>()
    )))
}
