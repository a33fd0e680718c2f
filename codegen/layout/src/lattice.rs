//! Integer solutions of linear equations.
//!
//! In: equations with integer coefficients, one at a time. Out: whether integers satisfy all of
//! them, and one solution. How: the solutions are one of them plus a lattice; an equation cuts the
//! lattice by steps of Euclid's algorithm. Invariant: exact in 128 bits; an overflow is reported.

/// All integer solutions of the equations required so far.
#[derive(Debug, Clone)]
pub(crate) struct Solutions {
    base: Vec<i128>,
    free: Vec<Vec<i128>>,
}

/// A coefficient left 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

fn dot(row: &[i64], x: &[i128]) -> Result<i128, TooLarge> {
    row.iter()
        .zip(x)
        .try_fold(0i128, |sum, (&c, &x)| {
            i128::from(c)
                .checked_mul(x)
                .and_then(|p| sum.checked_add(p))
        })
        .ok_or(TooLarge)
}

/// `x + by * y`, in place.
fn add_scaled(x: &mut [i128], by: i128, y: &[i128]) -> Result<(), TooLarge> {
    for (x, &y) in x.iter_mut().zip(y) {
        let sum = by.checked_mul(y).and_then(|p| x.checked_add(p));
        *x = sum.ok_or(TooLarge)?;
    }
    Ok(())
}

impl Solutions {
    /// All integer vectors of `unknowns` entries.
    pub fn all(unknowns: usize) -> Self {
        let unit = |i: usize| (0..unknowns).map(|j| i128::from(i == j)).collect();
        Self {
            base: vec![0; unknowns],
            free: (0..unknowns).map(unit).collect(),
        }
    }

    /// Keeps the solutions with `row * x == value`; false when there are none.
    pub fn require(&mut self, row: &[i64], value: i64) -> Result<bool, TooLarge> {
        let missing = i128::from(value)
            .checked_sub(dot(row, &self.base)?)
            .ok_or(TooLarge)?;
        let mut steps: Vec<i128> = Vec::with_capacity(self.free.len());
        for direction in &self.free {
            steps.push(dot(row, direction)?);
        }
        // Euclid on the steps until one direction alone changes the left side.
        let moving = loop {
            let smallest = (0..steps.len())
                .filter(|&k| steps[k] != 0)
                .min_by_key(|&k| steps[k].unsigned_abs());
            let Some(k) = smallest else { break None };
            let mut alone = true;
            let direction = self.free[k].clone();
            for other in (0..steps.len()).filter(|&other| other != k) {
                let quotient = steps[other] / steps[k];
                if quotient != 0 {
                    add_scaled(&mut self.free[other], -quotient, &direction)?;
                    steps[other] -= quotient * steps[k];
                }
                alone &= steps[other] == 0;
            }
            if alone {
                break Some(k);
            }
        };
        let Some(k) = moving else {
            return Ok(missing == 0);
        };
        if missing % steps[k] != 0 {
            return Ok(false);
        }
        let direction = self.free.swap_remove(k);
        add_scaled(&mut self.base, missing / steps[k], &direction)?;
        Ok(true)
    }

    /// One solution.
    pub fn one(&self) -> Result<Vec<i64>, TooLarge> {
        let narrow = |&x: &i128| i64::try_from(x).map_err(|_| TooLarge);
        self.base.iter().map(narrow).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn integer_systems_are_decided() {
        let mut s = Solutions::all(2);
        assert!(s.require(&[6, 10], 8).unwrap());
        let x = s.one().unwrap();
        assert_eq!(6 * x[0] + 10 * x[1], 8);
        assert!(s.require(&[1, 1], 0).unwrap());
        assert_eq!(s.one().unwrap(), [-2, 2]);
        assert!(s.clone().require(&[1, 0], -2).unwrap());
        assert!(!s.require(&[1, 0], -1).unwrap());
        // Rationals would do, integers do not.
        assert!(!Solutions::all(2).require(&[4, 6], 3).unwrap());
    }
}
