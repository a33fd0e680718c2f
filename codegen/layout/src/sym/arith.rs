//! Sums, products, quotients and bounds of polynomials.

use std::sync::Arc;

use super::term::{Factor, Ratio, Term};
use super::{MAX_DEGREE, MAX_TERMS, Repr, Sym};
use crate::error::{Error, Fact, Result};
use crate::int::Int;

/// All terms, a constant being the term without factors.
fn all_terms(a: &Sym) -> Vec<Term> {
    match &a.0 {
        Repr::Const(0) => Vec::new(),
        Repr::Const(c) => vec![Term {
            coeff: Ratio::from(*c),
            factors: Vec::new(),
        }],
        Repr::Poly(terms) => terms.to_vec(),
    }
}

/// Sorts, merges and drops terms, and turns a bare constant into one.
fn normal(mut terms: Vec<Term>) -> Result<Sym> {
    terms.sort_by(Term::monomial_cmp);
    let mut out: Vec<Term> = Vec::with_capacity(terms.len());
    for term in terms {
        match out.last_mut() {
            Some(last) if last.factors == term.factors => {
                last.coeff = last.coeff.add(term.coeff)?
            }
            _ => out.push(term),
        }
    }
    out.retain(|t| t.coeff.num != 0);
    if let Some(t) = out.iter().find(|t| t.factors.len() > MAX_DEGREE) {
        let degree = t.factors.len();
        return Err(Error::domain(format!(
            "a term of degree {degree}; at most {MAX_DEGREE}"
        )));
    }
    if out.len() > MAX_TERMS {
        return Err(Error::domain(format!(
            "a sum of {} terms; at most {MAX_TERMS}",
            out.len()
        )));
    }
    match out.as_slice() {
        [] => Ok(Sym::constant(0)),
        [t] if t.factors.is_empty() => from_ratio(t.coeff),
        _ => Ok(Sym(Repr::Poly(out.into()))),
    }
}

pub(super) fn from_factor(factor: Factor) -> Result<Sym> {
    normal(vec![Term {
        coeff: Ratio::from(1),
        factors: vec![factor],
    }])
}

/// A constant; a fraction stays a polynomial until a product makes it whole.
pub(super) fn from_ratio(value: Ratio) -> Result<Sym> {
    Ok(match value.whole() {
        Some(whole) => Sym::constant(whole),
        None => Sym(Repr::Poly(Arc::from([Term {
            coeff: value,
            factors: Vec::new(),
        }]))),
    })
}

pub(super) fn add(a: &Sym, b: &Sym) -> Result<Sym> {
    let mut terms = all_terms(a);
    terms.extend(all_terms(b));
    normal(terms)
}

pub(super) fn mul(a: &Sym, b: &Sym) -> Result<Sym> {
    let (a, b) = (all_terms(a), all_terms(b));
    let mut terms = Vec::with_capacity(a.len() * b.len());
    for x in &a {
        for y in &b {
            let mut factors = x.factors.clone();
            factors.extend(y.factors.iter().cloned());
            factors.sort();
            terms.push(Term {
                coeff: x.coeff.mul(y.coeff)?,
                factors,
            });
        }
    }
    normal(terms)
}

fn unproven(value: &Sym, by: i64) -> Error {
    Error::Unproven {
        fact: Fact::Divides {
            value: value.to_string(),
            by,
        },
    }
}

/// Quotient and remainder by a constant: every term with a name must be a known multiple.
pub(super) fn div_rem_const(a: &Sym, by: i64) -> Result<(Sym, Sym)> {
    if by <= 0 {
        return Err(Error::domain(format!(
            "{a} divided by {by}: the divisor must be positive"
        )));
    }
    let (mut quotient, mut rest) = (Vec::new(), Ratio::from(0));
    for term in all_terms(a) {
        if term.factors.is_empty() {
            rest = term.coeff;
        } else if term.divisible(by) {
            let coeff = term.coeff.div(Ratio::from(by))?;
            quotient.push(Term {
                coeff,
                factors: term.factors,
            });
        } else if a.try_sub(&Sym::constant(by)).is_ok_and(|d| is_negative(&d))
            && !may_be_negative(a)
        {
            return Ok((Sym::constant(0), a.clone()));
        } else {
            return Err(unproven(a, by));
        }
    }
    let (q, r) = rest.whole().ok_or_else(|| unproven(a, by))?.div_rem(&by)?;
    quotient.push(Term {
        coeff: Ratio::from(q),
        factors: Vec::new(),
    });
    Ok((normal(quotient)?, Sym::constant(r)))
}

pub(super) fn is_positive(a: &Sym) -> bool {
    lower_bound(a).is_some_and(Ratio::is_positive)
}

fn is_negative(a: &Sym) -> bool {
    a.try_mul(&Sym::constant(-1)).is_ok_and(|n| is_positive(&n))
}

fn may_be_negative(a: &Sym) -> bool {
    lower_bound(a).is_none_or(Ratio::is_negative)
}

/// Polynomial division by leading terms; what is left must be provably smaller than the divisor.
pub(super) fn div_rem_poly(a: &Sym, by: &Sym) -> Result<(Sym, Sym)> {
    let unknown = || Error::Unproven {
        fact: Fact::Quotient {
            value: a.to_string(),
            by: by.to_string(),
        },
    };
    if lower_bound(by).is_none_or(|b| !b.is_positive()) {
        return Err(unknown());
    }
    let divisor = all_terms(by);
    let lead = divisor.first().ok_or_else(unknown)?;
    let (mut left, mut quotient, mut rest) = (a.clone(), Vec::new(), Vec::new());
    for _ in 0..2 * MAX_TERMS {
        let terms = all_terms(&left);
        let Some(head) = terms.first() else { break };
        let step = without(&head.factors, &lead.factors)
            .map(|factors| {
                head.coeff
                    .div(lead.coeff)
                    .map(|coeff| Term { coeff, factors })
            })
            .transpose()?
            .filter(|t| t.divisible(1));
        match step {
            Some(step) => {
                let part = normal(vec![step.clone()])?;
                left = left.try_sub(&by.try_mul(&part)?)?;
                quotient.push(step);
            }
            None => {
                left = left.try_sub(&normal(vec![head.clone()])?)?;
                rest.push(head.clone());
            }
        }
    }
    let (mut quotient, mut rest) = (normal(quotient)?, normal(rest)?);
    if is_negative(&rest) {
        (quotient, rest) = (quotient.try_sub(&Sym::constant(1))?, rest.try_add(by)?);
    }
    let smaller = || rest.order(by).is_ok_and(std::cmp::Ordering::is_lt);
    if !left.is(0) || (!rest.is(0) && (may_be_negative(&rest) || !smaller())) {
        return Err(unknown());
    }
    Ok((quotient, rest))
}

/// The factors of `a` that remain when those of `b` are taken away; `None` if one is missing.
fn without(a: &[Factor], b: &[Factor]) -> Option<Vec<Factor>> {
    let mut left = a.to_vec();
    for factor in b {
        let at = left.iter().position(|f| f == factor)?;
        left.remove(at);
    }
    Some(left)
}

/// The quotient rounded up: exact where the facts allow, else a factor of its own.
pub(super) fn ceil_div_const(a: &Sym, by: i64) -> Result<Sym> {
    match (a.as_i64(), div_rem_const(a, by)) {
        (Some(a), _) => a.ceil_div(&by).map(Sym::constant),
        (None, Ok((q, r))) if r.is(0) => Ok(q),
        (None, Ok((q, r))) if is_positive(&r) => q.try_add(&Sym::constant(1)),
        (None, Ok(_) | Err(Error::Unproven { .. })) => {
            if let [
                Term {
                    coeff: Ratio { num: 1, den: 1 },
                    factors,
                },
            ] = a.terms()
                && let [Factor::Ceil(inner)] = factors.as_slice()
            {
                return ceil_div_const(&inner.0, inner.1.try_mul(&by)?);
            }
            from_factor(Factor::Ceil(Arc::new((a.clone(), by))))
        }
        (None, Err(e)) => Err(e),
    }
}

/// A number that a factor never falls below.
fn least(factor: &Factor) -> Option<i64> {
    match factor {
        Factor::Var(v) => Some(v.min.max(v.divisor)),
        Factor::Ceil(c) => {
            let bound = lower_bound(&c.0)?;
            bound.num.ceil_div(&bound.den).ok()?.ceil_div(&c.1).ok()
        }
    }
}

/// A number the value never falls below, when one is found: every factor is written as its minimum
/// plus something non-negative; if then no coefficient is negative, the constant term is a bound.
pub(super) fn lower_bound(a: &Sym) -> Option<Ratio> {
    let mut sum = Sym::constant(0);
    for term in all_terms(a) {
        let mut product = from_ratio(term.coeff).ok()?;
        for factor in term.factors {
            let min = Sym::constant(least(&factor)?);
            product = product
                .try_mul(&from_factor(factor).ok()?.try_add(&min).ok()?)
                .ok()?;
        }
        sum = sum.try_add(&product).ok()?;
    }
    let terms = all_terms(&sum);
    if terms
        .iter()
        .any(|t| !t.factors.is_empty() && t.coeff.is_negative())
    {
        return None;
    }
    Some(
        terms
            .iter()
            .find(|t| t.factors.is_empty())
            .map_or(Ratio::from(0), |t| t.coeff),
    )
}

impl Sym {
    /// `self / by`, where the caller states that `by` divides it, as the text `m/8` does.
    ///
    /// # Errors
    /// [`Error::Domain`] for a constant that is no multiple, or `by` below 1; [`Error::Overflow`].
    pub fn exact_quotient(&self, by: i64) -> Result<Self> {
        if by < 1 {
            return Err(Error::domain(format!(
                "{self}/{by}: the divisor must be at least 1"
            )));
        }
        match self.as_i64() {
            Some(a) if a % by == 0 => Ok(Self::constant(a / by)),
            Some(a) => Err(Error::domain(format!("{a}/{by} is not a whole number"))),
            None => {
                let terms = all_terms(self).into_iter().map(|t| {
                    Ok(Term {
                        coeff: t.coeff.div(Ratio::from(by))?,
                        factors: t.factors,
                    })
                });
                normal(terms.collect::<Result<_>>()?)
            }
        }
    }
}
