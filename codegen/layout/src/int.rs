//! The integers a layout is built over, and the modules its strides live in.
//!
//! In: values. Out: values or a typed error. Invariants: `i64` never wraps; a symbolic integer
//! answers a comparison or division only when it is proven for every value of its symbols.

use std::cmp::Ordering;
use std::fmt::{Debug, Display};
use std::hash::Hash;

use crate::error::{Error, Result};

/// An integer: checked `i64`, or the symbolic [`Sym`](crate::Sym).
pub trait Int: Clone + Eq + Hash + Default + Debug + Display + Sized {
    /// The constant `value`.
    fn constant(value: i64) -> Self;

    /// The value, when it is a constant.
    fn as_i64(&self) -> Option<i64>;

    /// `self + other`.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    fn try_add(&self, other: &Self) -> Result<Self>;

    /// `self - other`.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    fn try_sub(&self, other: &Self) -> Result<Self>;

    /// `self * other`.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    fn try_mul(&self, other: &Self) -> Result<Self>;

    /// Quotient and remainder, rounding down, for a positive `by`.
    ///
    /// # Errors
    /// [`Error::Domain`] when `by` is not positive, [`Error::Unproven`] when a symbolic quotient
    /// is not known.
    fn div_rem(&self, by: &Self) -> Result<(Self, Self)>;

    /// The quotient rounded up, for a positive `by`.
    ///
    /// # Errors
    /// As [`Int::div_rem`].
    fn ceil_div(&self, by: &Self) -> Result<Self>;

    /// How `self` compares with `other`, for all values of the symbols.
    ///
    /// # Errors
    /// [`Error::Unproven`] when it depends on the symbols.
    fn order(&self, other: &Self) -> Result<Ordering>;

    /// Whether `self <= other` for all values of the symbols.
    ///
    /// # Errors
    /// [`Error::Unproven`] when it depends on the symbols.
    fn le(&self, other: &Self) -> Result<bool> {
        Ok(self.order(other)? != Ordering::Greater)
    }

    /// Whether this is the constant `value`.
    fn is(&self, value: i64) -> bool {
        self.as_i64() == Some(value)
    }
}

impl Int for i64 {
    fn constant(value: i64) -> Self {
        value
    }

    fn as_i64(&self) -> Option<i64> {
        Some(*self)
    }

    fn try_add(&self, other: &Self) -> Result<Self> {
        self.checked_add(*other)
            .ok_or_else(|| Error::overflow(format!("{self} + {other}")))
    }

    fn try_sub(&self, other: &Self) -> Result<Self> {
        self.checked_sub(*other)
            .ok_or_else(|| Error::overflow(format!("{self} - {other}")))
    }

    fn try_mul(&self, other: &Self) -> Result<Self> {
        self.checked_mul(*other)
            .ok_or_else(|| Error::overflow(format!("{self} * {other}")))
    }

    fn div_rem(&self, by: &Self) -> Result<(Self, Self)> {
        if *by <= 0 {
            return Err(Error::domain(format!(
                "{self} divided by {by}: the divisor must be positive"
            )));
        }
        Ok((self.div_euclid(*by), self.rem_euclid(*by)))
    }

    fn ceil_div(&self, by: &Self) -> Result<Self> {
        let (q, r) = self.div_rem(by)?;
        Ok(q + i64::from(r > 0))
    }

    fn order(&self, other: &Self) -> Result<Ordering> {
        Ok(self.cmp(other))
    }
}

/// An element of the module over `I` that strides are taken from: an integer, or a
/// [`Basis`](crate::Basis) element.
pub trait Stride<I: Int>: Clone + Eq + Hash + Default + Debug + Display + Sized {
    /// The sum of two elements.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    fn plus(&self, other: &Self) -> Result<Self>;

    /// The element times an integer.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    fn scaled(&self, by: &I) -> Result<Self>;

    /// Whether this is the zero of the module.
    fn is_zero(&self) -> bool;

    /// The element with the magnitude of each coefficient.
    ///
    /// # Errors
    /// [`Error::Overflow`], and [`Error::Unproven`] when the sign of a symbol is not known.
    fn magnitude(&self) -> Result<Self>;
}

impl<I: Int> Stride<I> for I {
    fn plus(&self, other: &Self) -> Result<Self> {
        self.try_add(other)
    }

    fn scaled(&self, by: &I) -> Result<Self> {
        self.try_mul(by)
    }

    fn is_zero(&self) -> bool {
        self.is(0)
    }

    fn magnitude(&self) -> Result<Self> {
        let zero = I::default();
        if zero.le(self)? {
            Ok(self.clone())
        } else {
            zero.try_sub(self)
        }
    }
}
