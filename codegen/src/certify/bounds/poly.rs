//! Polynomials with integer coefficients over numbered terms, and ranges of integers.

use std::collections::BTreeMap;

/// A term: index into the prover's table.
pub(super) type TermId = u32;

/// Terms multiplied in one monomial at most.
const MAX_DEGREE: usize = 6;
/// Largest coefficient of a product: two of them can be multiplied once more.
pub(super) const MAX_COEFFICIENT: i128 = 1 << 62;
/// What no bound stands for: beyond every number that a 64-bit program computes.
pub(super) const INFINITE: i128 = 1 << 100;

/// A product of terms, ascending; 1 when there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(super) struct Mono {
    len: u8,
    terms: [TermId; MAX_DEGREE],
}

impl Mono {
    pub(super) fn one() -> Mono {
        Mono::default()
    }

    pub(super) fn of(term: TermId) -> Mono {
        let mut terms = [0; MAX_DEGREE];
        terms[0] = term;
        Mono { len: 1, terms }
    }

    pub(super) fn terms(&self) -> &[TermId] {
        &self.terms[..usize::from(self.len)]
    }

    /// The product; `None` beyond the largest degree.
    pub(super) fn times(&self, other: &Mono) -> Option<Mono> {
        let mut product = *self;
        for term in other.terms() {
            let mut at = usize::from(product.len);
            *product.terms.get_mut(at)? = *term;
            while at > 0 && product.terms[at - 1] > *term {
                product.terms.swap(at - 1, at);
                at -= 1;
            }
            product.len += 1;
        }
        Some(product)
    }

    /// What `other` has to be multiplied by to be this; `None` when it does not divide it.
    pub(super) fn over(&self, other: &Mono) -> Option<Mono> {
        let mut rest = Mono::one();
        let mut divisors = other.terms();
        for term in self.terms() {
            match divisors.split_first() {
                Some((first, more)) if first == term => divisors = more,
                _ => {
                    rest.terms[usize::from(rest.len)] = *term;
                    rest.len += 1;
                }
            }
        }
        divisors.is_empty().then_some(rest)
    }
}

/// A polynomial: no coefficient is zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Poly(pub BTreeMap<Mono, i128>);

impl Poly {
    pub(super) fn constant(value: i128) -> Poly {
        let mut poly = Poly::default();
        poly.add_term(Mono::one(), value);
        poly
    }

    pub(super) fn term(term: TermId) -> Poly {
        let mut poly = Poly::default();
        poly.add_term(Mono::of(term), 1);
        poly
    }

    pub(super) fn add_term(&mut self, mono: Mono, by: i128) {
        let coefficient = self.0.entry(mono).or_insert(0);
        *coefficient += by;
        if *coefficient == 0 {
            self.0.remove(&mono);
        }
    }

    /// `self + scale * other`
    pub(super) fn plus(&self, scale: i128, other: &Poly) -> Poly {
        let mut sum = self.clone();
        for (mono, coefficient) in &other.0 {
            sum.add_term(*mono, scale * coefficient);
        }
        sum
    }

    pub(super) fn plus_constant(&self, value: i128) -> Poly {
        let mut sum = self.clone();
        sum.add_term(Mono::one(), value);
        sum
    }

    pub(super) fn scaled(&self, scale: i128) -> Poly {
        Poly::default().plus(scale, self)
    }

    pub(super) fn times_mono(&self, by: &Mono) -> Option<Poly> {
        let mut product = Poly::default();
        for (mono, coefficient) in &self.0 {
            product.add_term(mono.times(by)?, *coefficient);
        }
        Some(product)
    }

    /// The product; `None` beyond the largest degree or the largest coefficient.
    pub(super) fn times(&self, other: &Poly) -> Option<Poly> {
        let mut product = Poly::default();
        for (mono, coefficient) in &self.0 {
            for (by, scale) in &other.0 {
                let scaled = coefficient.checked_mul(*scale)?;
                let small = scaled.abs() < MAX_COEFFICIENT;
                product.add_term(mono.times(by)?, small.then_some(scaled)?);
            }
        }
        Some(product)
    }

    /// The sum with a polynomial that differs from its opposite by a number alone.
    pub(super) fn against(&self, other: &Poly) -> Option<i128> {
        let terms = |poly: &'_ Poly| poly.0.len() - usize::from(poly.0.contains_key(&Mono::one()));
        if terms(self) != terms(other) {
            return None;
        }
        let ours = self.0.iter().filter(|(mono, _)| !mono.terms().is_empty());
        let theirs = other.0.iter().filter(|(mono, _)| !mono.terms().is_empty());
        let opposite = |((a, x), (b, y)): ((&Mono, &i128), (&Mono, &i128))| a == b && *x == -*y;
        let number = |poly: &Poly| poly.0.get(&Mono::one()).copied().unwrap_or(0);
        (ours.zip(theirs).all(opposite)).then(|| number(self) + number(other))
    }

    /// The number it is, if it is one.
    pub(super) fn as_constant(&self) -> Option<i128> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Mono::one()).copied(),
            _ => None,
        }
    }

    /// The term it is, if it is one.
    pub(super) fn as_term(&self) -> Option<TermId> {
        let (mono, coefficient) = self.0.first_key_value()?;
        match (self.0.len(), coefficient, mono.terms()) {
            (1, 1, [term]) => Some(*term),
            _ => None,
        }
    }

    /// The quotient by a number that divides every coefficient.
    pub(super) fn divided(&self, by: i128) -> Option<Poly> {
        let exact = by != 0 && self.0.values().all(|coefficient| coefficient % by == 0);
        let parts = self
            .0
            .iter()
            .map(|(mono, coefficient)| (*mono, coefficient / by));
        exact.then(|| Poly(parts.collect()))
    }

    /// Every term it mentions, possibly repeated.
    pub(super) fn terms(&self) -> impl Iterator<Item = TermId> + '_ {
        self.0.keys().flat_map(|mono| mono.terms().iter().copied())
    }

    /// The same with another polynomial for a term; `None` beyond the largest degree.
    pub(super) fn with(&self, term: TermId, value: &Poly) -> Option<Poly> {
        let mut out = Poly::default();
        for (mono, coefficient) in &self.0 {
            let mut product = Poly::constant(*coefficient);
            for own in mono.terms() {
                product = match *own == term {
                    true => product.times(value)?,
                    false => product.times_mono(&Mono::of(*own))?,
                };
            }
            out = out.plus(1, &product);
        }
        Some(out)
    }
}

/// The integers from `lo` to `hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub lo: i128,
    pub hi: i128,
}

impl Range {
    pub(super) const ALL: Range = Range {
        lo: -INFINITE,
        hi: INFINITE,
    };
    pub(super) const NATURAL: Range = Range {
        lo: 0,
        hi: INFINITE,
    };

    pub(super) fn new(lo: i128, hi: i128) -> Range {
        Range { lo, hi }
    }

    pub(super) fn plus(self, other: Range) -> Range {
        Range {
            lo: if self.lo <= -INFINITE || other.lo <= -INFINITE {
                -INFINITE
            } else {
                clamp(self.lo + other.lo)
            },
            hi: if self.hi >= INFINITE || other.hi >= INFINITE {
                INFINITE
            } else {
                clamp(self.hi + other.hi)
            },
        }
    }

    pub(super) fn times(self, other: Range) -> Range {
        let product = |a: i128, b: i128| match (a, b) {
            (0, _) | (_, 0) => 0,
            _ => a.checked_mul(b).map_or(
                if (a < 0) == (b < 0) {
                    INFINITE
                } else {
                    -INFINITE
                },
                clamp,
            ),
        };
        let ends = [
            product(self.lo, other.lo),
            product(self.lo, other.hi),
            product(self.hi, other.lo),
            product(self.hi, other.hi),
        ];
        Range {
            lo: ends.into_iter().fold(INFINITE, i128::min),
            hi: ends.into_iter().fold(-INFINITE, i128::max),
        }
    }

    pub(super) fn both(self, other: Range) -> Range {
        Range {
            lo: self.lo.max(other.lo),
            hi: self.hi.min(other.hi),
        }
    }

    pub(super) fn either(self, other: Range) -> Range {
        Range {
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
        }
    }
}

fn clamp(value: i128) -> i128 {
    value.clamp(-INFINITE, INFINITE)
}
