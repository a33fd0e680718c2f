//! The searches of a composition: the first carry, and what accidental strides make of it.
//!
//! In: modes whose digits may overflow. Out: the first coordinate with a wrong value, or that there
//! is none. Invariants: the first carry is found by bisection; from there points are looked at one
//! by one, at most [`SEARCH_LIMIT`] of them in a whole composition.

use super::{Composer, Piece, SEARCH_LIMIT};
use crate::error::{Error, Fact, Reason, Result};
use crate::int::{Int, Stride};

impl<I: Int, D: Stride<I>> Composer<'_, I, D> {
    /// Looks on after a carry that accidental strides have cancelled.
    pub(super) fn search_bend(&self, piece: &Piece<I, D>, from: &I) -> Result<Option<I>> {
        let (Some(from), Some(size)) = (from.as_i64(), piece.size.as_i64()) else {
            return Err(self.undecided(0));
        };
        for x in from..size {
            self.count_point()?;
            let x = I::constant(x);
            if self.locate(&piece.step.try_mul(&x)?)?.1 != piece.value.scaled(&x)? {
                return Ok(Some(x));
            }
        }
        Ok(None)
    }

    /// Finds the first coordinate with a carry, and from there the first with a wrong sum.
    pub(super) fn search_carry(&self) -> Result<()> {
        let constant = |x: &I| {
            let fact = Fact::Order {
                left: x.to_string(),
                right: "the radix".into(),
            };
            x.as_i64().ok_or(Error::Unproven { fact })
        };
        let sizes: Vec<i64> = self
            .pieces
            .iter()
            .map(|p| constant(&p.size))
            .collect::<Result<_>>()?;
        let mut radix = Vec::new();
        for (i, (n, _)) in self.outer[..self.outer.len() - 1].iter().enumerate() {
            let digits: Vec<i64> = self
                .pieces
                .iter()
                .map(|p| constant(&p.digits[i]))
                .collect::<Result<_>>()?;
            radix.push((constant(n)?, digits));
        }
        let carries = |x: &[i64]| {
            radix.iter().any(|(n, digits)| {
                let products = x
                    .iter()
                    .zip(digits)
                    .map(|(&x, &d)| i128::from(x) * i128::from(d));
                products.fold(0i128, i128::saturating_add) >= i128::from(*n)
            })
        };
        let Some(mut x) = first_point(&sizes, carries) else {
            return Ok(());
        };
        loop {
            self.count_point()?;
            self.check_point(&x, &sizes)?;
            if !advance(&mut x, &sizes) {
                return Ok(());
            }
        }
    }

    /// Counts a point that is looked at; the whole composition shares one limit.
    fn count_point(&self) -> Result<()> {
        let searched = self.searched.get();
        if searched >= SEARCH_LIMIT {
            return Err(self.undecided(searched));
        }
        self.searched.set(searched + 1);
        Ok(())
    }

    fn check_point(&self, x: &[i64], sizes: &[i64]) -> Result<()> {
        let (mut index, mut sum) = (I::default(), D::default());
        for (&x, piece) in x.iter().zip(self.pieces.iter()) {
            index = index.try_add(&piece.step.try_mul(&I::constant(x))?)?;
            // A step of zero has no value of its own unless its extent is 1.
            if !piece.step.is(0) {
                sum = sum.plus(&piece.value.scaled(&I::constant(x))?)?;
            }
        }
        let want = self.locate(&index)?.1;
        if want == sum {
            return Ok(());
        }
        let mut at = 0i64;
        for (&x, &size) in x.iter().zip(sizes).rev() {
            at = at.try_mul(&size)?.try_add(&x)?;
        }
        Err(self.refuse(at, &want, &sum, Reason::Carry))
    }
}

/// The first point, in linear order, of the box of `sizes` where the monotone `holds` is true.
fn first_point(sizes: &[i64], holds: impl Fn(&[i64]) -> bool) -> Option<Vec<i64>> {
    let mut x: Vec<i64> = vec![0; sizes.len()];
    let top = (0..sizes.len()).find(|&t| {
        x[t] = sizes[t] - 1;
        holds(&x)
    })?;
    for p in (0..=top).rev() {
        let (mut low, mut high) = (0, x[p]);
        while low < high {
            let middle = low + (high - low) / 2;
            x[p] = middle;
            if holds(&x) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        x[p] = low;
    }
    Some(x)
}

/// Steps to the next point of the box; false at its end.
fn advance(x: &mut [i64], sizes: &[i64]) -> bool {
    for (x, size) in x.iter_mut().zip(sizes) {
        if *x + 1 < *size {
            *x += 1;
            return true;
        }
        *x = 0;
    }
    false
}
