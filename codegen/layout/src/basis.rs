//! Strides that are basis vectors: coordinates as values.
//!
//! In: paths into a coordinate (`1@0` is the first entry, `1@1@0` the second entry of the first)
//! and coefficients. Out: linear combinations of them. Invariants: terms are sorted by path, each
//! path occurs once, no coefficient is zero.

use std::fmt;

use crate::error::{Error, Result};
use crate::inline::Inline;
use crate::int::{Int, Stride};
use crate::tuple::IntTuple;

/// Deepest path of a basis vector.
pub const MAX_PATH: usize = 7;
/// Terms of a basis element beyond which nothing is added to it.
const MAX_TERMS: usize = 64;

/// The place of an entry in a nested coordinate, outermost index first.
///
/// In text the innermost index comes first: `@1@0` is entry 1 of entry 0. The empty path is the
/// plain integer unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Path {
    // Compared first, so that paths are in the order of the tree.
    index: [u8; MAX_PATH],
    len: u8,
}

impl Path {
    /// The path with the given indices, outermost first.
    ///
    /// # Errors
    /// [`Error::Domain`] for more than [`MAX_PATH`] indices or an index above 255.
    pub fn new(indices: &[usize]) -> Result<Self> {
        let mut path = Self::default();
        if indices.len() > MAX_PATH {
            return Err(Error::domain(format!(
                "a basis path of {} indices; at most {MAX_PATH} are allowed",
                indices.len()
            )));
        }
        for (slot, &i) in path.index.iter_mut().zip(indices) {
            *slot = u8::try_from(i).map_err(|_| {
                Error::domain(format!("basis index {i}; at most {} is allowed", u8::MAX))
            })?;
        }
        path.len = indices.len() as u8;
        Ok(path)
    }

    /// The indices, outermost first.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.index[..self.len as usize].iter().map(|&i| i as usize)
    }

    /// Whether `head` is this path or leads to it from above.
    pub fn begins_with(&self, head: &Self) -> bool {
        self.index[..self.len as usize].starts_with(&head.index[..head.len as usize])
    }

    /// Number of indices; 0 for the plain integer unit.
    pub fn depth(&self) -> usize {
        self.len as usize
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.indices().rev().try_for_each(|i| write!(f, "@{i}"))
    }
}

/// A linear combination of basis vectors, the stride of a coordinate layout: `1@0`, `2@1@0+3@1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Basis<I> {
    terms: Inline<(Path, I), 2>,
}

impl<I: Int> Basis<I> {
    /// `coefficient` times the basis vector of `path`.
    pub fn scaled_unit(coefficient: I, path: Path) -> Self {
        let mut terms = Inline::new();
        if !coefficient.is(0) {
            terms.push((path, coefficient));
        }
        Self { terms }
    }

    /// The basis vector of entry `i`: `1@i`.
    ///
    /// # Errors
    /// [`Error::Domain`] for an index above 255.
    pub fn unit(i: usize) -> Result<Self> {
        Ok(Self::scaled_unit(I::constant(1), Path::new(&[i])?))
    }

    /// The terms, sorted by path.
    pub fn terms(&self) -> &[(Path, I)] {
        &self.terms
    }

    /// The coefficient at `path`; zero where there is none.
    pub fn coefficient(&self, path: &Path) -> I {
        self.terms
            .iter()
            .find(|(p, _)| p == path)
            .map(|(_, c)| c.clone())
            .unwrap_or_default()
    }

    /// Everything below entry `i`, with that index taken off the paths.
    pub fn entry(&self, i: usize) -> Self {
        let mut terms = Inline::new();
        for (path, c) in self.terms.iter() {
            let mut rest = path.indices();
            if rest.next() == Some(i) {
                let mut p = Path::default();
                for (slot, x) in p.index.iter_mut().zip(rest) {
                    *slot = x as u8;
                    p.len += 1;
                }
                terms.push((p, c.clone()));
            }
        }
        Self { terms }
    }

    /// The element as a flat coordinate of `rank` entries.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when a term lies elsewhere.
    pub fn to_coord(&self, rank: usize) -> Result<IntTuple<I>> {
        let mut coord: Inline<I, 8> = (0..rank).map(|_| I::default()).collect();
        for (path, c) in self.terms.iter() {
            let mut indices = path.indices();
            match (indices.next(), indices.next()) {
                (Some(i), None) if i < rank => coord[i] = c.clone(),
                _ => {
                    return Err(Error::mismatch(format!(
                        "{self} is no coordinate of {rank} entries"
                    )));
                }
            }
        }
        Ok(IntTuple::flat(coord.iter().cloned()))
    }
}

impl<I: Int> Stride<I> for Basis<I> {
    fn plus(&self, other: &Self) -> Result<Self> {
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        let mut terms = Inline::new();
        if self.terms.len() + other.terms.len() > 2 * MAX_TERMS {
            return Err(Error::domain(format!(
                "a basis element of more than {MAX_TERMS} terms"
            )));
        }
        loop {
            let order = match (a.peek(), b.peek()) {
                (None, None) => return Ok(Self { terms }),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(x), Some(y)) => x.0.cmp(&y.0),
            };
            let (x, y) = match order {
                std::cmp::Ordering::Less => (a.next(), None),
                std::cmp::Ordering::Greater => (None, b.next()),
                std::cmp::Ordering::Equal => (a.next(), b.next()),
            };
            match (x, y) {
                (Some((p, x)), Some((_, y))) => {
                    let sum = x.try_add(y)?;
                    if !sum.is(0) {
                        terms.push((*p, sum));
                    }
                }
                (Some(t), None) | (None, Some(t)) => terms.push(t.clone()),
                (None, None) => {}
            }
        }
    }

    fn scaled(&self, by: &I) -> Result<Self> {
        let mut terms = Inline::new();
        for (p, c) in self.terms.iter() {
            let c = c.try_mul(by)?;
            if !c.is(0) {
                terms.push((*p, c));
            }
        }
        Ok(Self { terms })
    }

    fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    fn magnitude(&self) -> Result<Self> {
        let terms = self.terms.iter().map(|(p, c)| Ok((*p, c.magnitude()?)));
        Ok(Self {
            terms: terms.collect::<Result<_>>()?,
        })
    }
}

impl<I: Int> fmt::Display for Basis<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        for (i, (path, c)) in self.terms.iter().enumerate() {
            let text = c.to_string();
            // A coefficient that is a sum is distributed over its terms: `m@0+1@0`.
            let at = path.to_string();
            let text = distribute(&text, &at);
            if i > 0 && !text.starts_with('-') {
                f.write_str("+")?;
            }
            f.write_str(&text)?;
        }
        Ok(())
    }
}

/// Puts `at` behind every summand of `text` that stands outside parentheses.
fn distribute(text: &str, at: &str) -> String {
    let mut out = String::with_capacity(text.len() + at.len());
    let mut open = 0;
    for (i, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            '+' | '-' if open == 0 && i > 0 => out.push_str(at),
            _ => {}
        }
        out.push(c);
    }
    out.push_str(at);
    out
}
