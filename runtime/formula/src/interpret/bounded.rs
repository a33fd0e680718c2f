//! A value with its bound: how far a right kernel's may be from it, and what it may be as stored.

use crate::dtype::DType;
use crate::number::stored;

/// A value, and how far a right kernel's may be from it. It is what comes before the cast to the
/// type it is stored in. Of an infinite error nothing is known, not even that it is a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The value in f64.
    pub value: f64,
    /// The largest error.
    pub error: f64,
}

impl Bounded {
    /// The least and the largest that may be stored in a type.
    pub fn stored(&self, dtype: DType) -> [f64; 2] {
        let error = if self.value.is_finite() {
            self.error
        } else {
            0.0
        };
        [self.value - error, self.value + error].map(|value| stored(dtype, value))
    }

    /// Whether a stored value is right.
    pub fn allows(&self, dtype: DType, got: f64) -> bool {
        if self.error == f64::INFINITY {
            return true;
        }
        if self.value.is_nan() {
            let none = stored(dtype, self.value);
            return got.is_nan() && none.is_nan() || got == none;
        }
        let [least, most] = self.stored(dtype);
        (least..=most).contains(&got)
    }
}
