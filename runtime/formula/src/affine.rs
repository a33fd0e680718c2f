//! Polynomials over coordinates, extents and integer scalars: what indices are made of.
//!
//! Kept in normal form, so that equal polynomials compare equal and differences cancel.

use std::collections::BTreeMap;

/// A mode of a formula, by its index there.
pub type ModeId = usize;

/// What a polynomial is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Symbol {
    /// The coordinate of a mode.
    Mode(ModeId),
    /// The extent of a mode; of a ragged one that of its group.
    Size(ModeId),
    /// Where the group of a ragged mode starts.
    Start(ModeId),
    /// A scalar of the signature, by its index.
    Scalar(usize),
}

/// A sum of products of symbols.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, PartialOrd, Ord)]
pub struct Poly {
    /// Factors of each product, sorted, and its coefficient, which is not zero; in order.
    terms: Vec<(Vec<Symbol>, i64)>,
}

/// Most products of a polynomial, and most factors of a product.
const MOST: usize = 32;

impl Poly {
    /// A number.
    pub fn constant(value: i64) -> Poly {
        Poly::term(Vec::new(), value)
    }

    /// A symbol.
    pub fn symbol(symbol: Symbol) -> Poly {
        Poly::term(vec![symbol], 1)
    }

    fn term(factors: Vec<Symbol>, coefficient: i64) -> Poly {
        let terms = (coefficient != 0).then_some((factors, coefficient));
        Poly {
            terms: terms.into_iter().collect(),
        }
    }

    /// Its products: factors, sorted, and coefficient.
    pub fn terms(&self) -> impl Iterator<Item = (&[Symbol], i64)> {
        self.terms
            .iter()
            .map(|(factors, c)| (factors.as_slice(), *c))
    }

    /// `self + scale * other`; `None` beyond 64 bits or what is sensible.
    pub fn plus(&self, other: &Poly, scale: i64) -> Option<Poly> {
        let mut sum: BTreeMap<&[Symbol], i64> = self.terms().collect();
        for (factors, coefficient) in other.terms() {
            let place = sum.entry(factors).or_insert(0);
            *place = place.checked_add(coefficient.checked_mul(scale)?)?;
        }
        sum.retain(|_, coefficient| *coefficient != 0);
        let terms = sum.into_iter().map(|(factors, c)| (factors.to_vec(), c));
        let terms: Vec<(Vec<Symbol>, i64)> = terms.collect();
        (terms.len() <= MOST).then_some(Poly { terms })
    }

    /// The product; `None` beyond 64 bits or what is sensible.
    pub fn times(&self, other: &Poly) -> Option<Poly> {
        let mut product = Poly::default();
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                let mut factors = [left.as_slice(), right].concat();
                factors.sort_unstable();
                if factors.len() > MOST {
                    return None;
                }
                product = product.plus(&Poly::term(factors, a.checked_mul(*b)?), 1)?;
            }
        }
        Some(product)
    }

    /// Its value where it is a number.
    pub fn as_constant(&self) -> Option<i64> {
        match &self.terms[..] {
            [] => Some(0),
            [(factors, c)] if factors.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// The mode whose coordinate it is; where groups start is added to what is a coordinate.
    pub fn bare(&self) -> Option<ModeId> {
        let mut mode = None;
        for (factors, coefficient) in self.terms() {
            match (factors, coefficient) {
                ([Symbol::Mode(found)], 1) if mode.is_none() => mode = Some(*found),
                ([Symbol::Start(_)], 1) => {}
                _ => return None,
            }
        }
        mode
    }

    /// Whether no product has two coordinates.
    pub fn is_affine(&self) -> bool {
        let modes = |factors: &[Symbol]| {
            let modes = factors.iter().filter(|f| matches!(f, Symbol::Mode(_)));
            modes.count()
        };
        self.terms().all(|(factors, _)| modes(factors) <= 1)
    }

    /// Its value; wraps around beyond 64 bits.
    pub fn eval(&self, value: impl Fn(Symbol) -> i64) -> i64 {
        let product = |factors: &[Symbol], coefficient: i64| {
            let factors = factors.iter().map(|symbol| value(*symbol));
            factors.fold(coefficient, i64::wrapping_mul)
        };
        let products = self.terms().map(|(factors, c)| product(factors, c));
        products.fold(0, i64::wrapping_add)
    }

    /// Its symbols, some more than once.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> {
        self.terms.iter().flat_map(|(factors, _)| factors).copied()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn differences_cancel() {
        let [p, u, h] = [Symbol::Mode(0), Symbol::Scalar(0), Symbol::Scalar(1)].map(Poly::symbol);
        let index = p.times(&u).unwrap().plus(&h, -1).unwrap();
        let again = u.times(&p).unwrap().plus(&h, -1).unwrap();
        assert_eq!(index, again);
        assert_eq!(index.plus(&again, -1).unwrap().as_constant(), Some(0));
        let value = |symbol| match symbol {
            Symbol::Mode(_) => 5,
            Symbol::Scalar(0) => 3,
            _ => 1,
        };
        assert_eq!(index.eval(value), 14);
        assert!(index.is_affine() && !p.times(&p).unwrap().is_affine());
    }

    #[test]
    fn overflow_is_no_polynomial() {
        let most = Poly::constant(i64::MAX);
        assert_eq!(most.plus(&most, 1), None);
        assert_eq!(most.times(&most), None);
        let starts = Poly::symbol(Symbol::Mode(2)).plus(&Poly::symbol(Symbol::Start(2)), 1);
        assert_eq!(starts.unwrap().bare(), Some(2));
    }
}
