//! What a type of values keeps of a result: its range, and what rounding may do to it.
//!
//! In: a value with its error, in f64. Out: the same as a register of the type holds it, or, of a
//! product, as a sum may take it before it is rounded.

use crate::formula::ValueType;
use crate::functions::Slack;

/// Roundoff of f64, in which results are computed.
pub(super) const ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// What a type of values keeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keeps {
    pub roundoff: f64,
    least_normal: f64,
    /// Steps below the normal range.
    least: f64,
    largest: f64,
}

impl Keeps {
    pub fn of(ty: ValueType) -> Keeps {
        match ty {
            ValueType::F64 => Keeps {
                roundoff: ROUNDOFF,
                least_normal: f64::MIN_POSITIVE,
                // The reference is rounded to it as well.
                least: f64::from_bits(2),
                largest: f64::MAX,
            },
            _ => Keeps {
                roundoff: f64::from(f32::EPSILON) / 2.0,
                least_normal: f64::from(f32::MIN_POSITIVE),
                least: f64::from(f32::from_bits(1)),
                largest: f64::from(f32::MAX),
            },
        }
    }

    /// The largest number of the type.
    pub fn largest(self) -> f64 {
        self.largest
    }

    /// The smallest number of the type that is not subnormal.
    pub fn least_normal(self) -> f64 {
        self.least_normal
    }

    /// What becomes of a result with that error below the normal range, beside its relative
    /// rounding: what flushes may make it 0, what rounds has steps of the smallest number.
    pub fn below(self, slack: &Slack, value: f64, error: f64) -> f64 {
        let size = value.abs();
        let is_below = size - error < self.least_normal && size + error > 0.0;
        match is_below {
            true if slack.flushes => self.lost(value, error),
            true => 0.5 * slack.roundoffs * self.least,
            false => 0.0,
        }
    }

    /// How far off a result with that error is where what is below the normal range is 0.
    pub fn lost(self, value: f64, error: f64) -> f64 {
        let size = value.abs();
        match size - error < self.least_normal {
            true => self.least_normal.min(size + error),
            false => 0.0,
        }
    }

    /// Takes a result into the range of its type: beyond it infinity, unknown where that depends
    /// on rounding.
    pub fn range(self, value: f64, error: f64) -> (f64, f64) {
        self.register(self.product(value, error))
    }

    /// The same of a product or quotient, which a sum may take as it is before it is rounded: what
    /// is surely beyond the range stays there.
    pub fn product(self, value: f64, error: f64) -> (f64, f64) {
        if value.is_nan() {
            return (value, if error == 0.0 { 0.0 } else { f64::INFINITY });
        }
        if error.is_nan() || error == f64::INFINITY {
            return (value, f64::INFINITY);
        }
        if value.is_infinite() {
            return (value, 0.0);
        }
        let size = value.abs();
        if self.is_beyond(value, error) {
            return (value, error);
        }
        if size + error > self.largest {
            return (value, f64::INFINITY);
        }
        (value, error)
    }

    fn is_beyond(self, value: f64, error: f64) -> bool {
        value.abs() - error > self.largest * (1.0 + self.roundoff)
    }

    /// A sum, of which one summand may be a product that is not rounded before: unknown where that
    /// decides.
    pub fn sum(
        self,
        pairs: [(f64, f64); 2],
        of: impl Fn([(f64, f64); 2]) -> (f64, f64),
    ) -> (f64, f64) {
        let [a, b] = pairs.map(|pair| self.register(pair));
        let rounded = of([a, b]);
        let unrounded = [[pairs[0], b], [a, pairs[1]]];
        let same = |other: (f64, f64)| {
            let (value, error) = other;
            error == rounded.1 && (value == rounded.0 || value.is_nan() && rounded.0.is_nan())
        };
        let beyond = pairs
            .iter()
            .any(|pair| self.is_beyond(pair.0, pair.1) && pair.0.is_finite());
        if !beyond || unrounded.into_iter().all(|pairs| same(of(pairs))) {
            return rounded;
        }
        (rounded.0, f64::INFINITY)
    }

    /// What a register holds of it: infinity in place of what is beyond the range.
    pub fn register(self, (value, error): (f64, f64)) -> (f64, f64) {
        if self.is_beyond(value, error) {
            return (f64::INFINITY.copysign(value), 0.0);
        }
        (value, error)
    }
}
