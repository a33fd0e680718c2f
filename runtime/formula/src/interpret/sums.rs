//! What is known of a sum: the one thing that a kernel's instructions decide.
//!
//! The evaluator hands over the terms of every sum of numbers, in ascending order of its modes, the
//! last fastest; whoever knows the kernel says what it may make of them. [`Fma`] is the rule of
//! fused multiply-adds in any order. Sums of integers are exact and wrap around.

use super::bounded::Bounded;
use super::keeps::ROUNDOFF;
use crate::affine::ModeId;
use crate::dtype::DType;
use crate::format::{Format, scaled};
use crate::problem::Span;

/// A sum in a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumSite {
    /// The statement it stands in.
    pub statement: usize,
    /// Where it stands in the text; of a combined output, the statement.
    pub span: Span,
    /// Its modes.
    pub modes: Vec<ModeId>,
    /// Type that it is kept in.
    pub dtype: DType,
    /// Types of the factors, where its body is a product of elements.
    pub factors: Option<[DType; 2]>,
}

/// The terms of one sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms<'t> {
    /// The terms, products not rounded.
    pub values: &'t [f64],
    /// How far each may be off; none where all are exact.
    pub errors: &'t [f64],
    /// The factors of each term, where [`SumSite::factors`] has their types and both are exact.
    pub factors: Option<[&'t [f64]; 2]>,
}

/// What a kernel makes of its sums.
pub trait Sums: Sync {
    /// The value of a sum, and how far a right kernel's may be from it.
    fn sum(&self, site: &SumSite, terms: &Terms<'_>) -> Bounded;
}

/// Fused multiply-adds, one after the other or in parts, in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fma;

/// The sum, the sum of magnitudes and the sum of errors of some terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// The sum.
    pub sum: f64,
    /// The sum of magnitudes of what is finite.
    pub magnitude: f64,
    /// The sum of errors.
    pub error: f64,
    /// Whether all are integers without error.
    pub whole: bool,
}

impl Terms<'_> {
    /// Their totals, in eight lanes.
    pub fn totals(&self) -> Totals {
        const LANES: usize = 8;
        let (mut sums, mut sizes) = ([0f64; LANES], [0f64; LANES]);
        let mut parts = [0f64; LANES];
        let chunks = self.values.chunks_exact(LANES);
        let mut add = |lane: usize, term: f64| {
            sums[lane] += term;
            let size = term.abs();
            sizes[lane] += if size < f64::INFINITY { size } else { 0.0 };
            // Zero for integers below 2^51: adding this leaves no bits behind the point.
            const WHOLE: f64 = 6_755_399_441_055_744.0;
            parts[lane] += (term - ((term + WHOLE) - WHOLE)).abs();
        };
        for (lane, term) in chunks.remainder().iter().enumerate() {
            add(lane, *term);
        }
        for chunk in chunks {
            for (lane, term) in chunk.iter().enumerate() {
                add(lane, *term);
            }
        }
        let error: f64 = self.errors.iter().sum();
        Totals {
            sum: sums.iter().sum(),
            magnitude: sizes.iter().sum(),
            error: if error.is_nan() { f64::INFINITY } else { error },
            whole: parts.iter().sum::<f64>() == 0.0 && error == 0.0,
        }
    }
}

impl Terms<'_> {
    /// Whether a term is NaN for sure.
    fn has_nan(&self) -> bool {
        let error = |at: usize| self.errors.get(at).copied().unwrap_or(0.0);
        let mut terms = self.values.iter().enumerate();
        terms.any(|(at, term)| term.is_nan() && error(at) < f64::INFINITY)
    }
}

impl Sums for Fma {
    fn sum(&self, site: &SumSite, terms: &Terms<'_>) -> Bounded {
        let Some(format) = Format::of(site.dtype) else {
            let totals = terms.totals();
            return Bounded {
                value: totals.sum,
                error: totals.error,
            };
        };
        let totals = terms.totals();
        let bits = format.fraction_bits.cast_signed();
        let roundoff = scaled(0.5, -bits);
        let count = terms.values.len() as f64;
        let top = format.decode(format.largest());
        if !totals.sum.is_finite() {
            if terms.has_nan() {
                return Bounded {
                    value: f64::NAN,
                    error: 0.0,
                };
            }
            // What is beyond the range may be rounded to infinity before it is added.
            let beyond = |t: &f64| t.is_finite() && t.abs() > top;
            // So may a part of the sum, and infinity with its opposite is NaN.
            let parts = (totals.magnitude + totals.error) * (count * roundoff).exp();
            let known = totals.error < f64::INFINITY
                && terms.values.iter().any(|t| !t.is_finite())
                && !terms.values.iter().any(beyond)
                && (totals.sum.is_nan() || parts < top);
            let error = if known { 0.0 } else { f64::INFINITY };
            let value = totals.sum;
            return Bounded { value, error };
        }
        if totals.whole && totals.magnitude < scaled(2.0, bits) {
            return Bounded {
                value: totals.sum,
                error: 0.0,
            };
        }
        let growth = (count * roundoff).exp();
        let smallest = scaled(1.0, format.least_exponent() - bits);
        let rounded = (count + 1.0) * (roundoff * totals.magnitude * growth + smallest);
        // Twice: of the reference's sum, and of products that f64 does not hold.
        let reference = 2.0 * (count + 8.0) * ROUNDOFF * totals.magnitude;
        let error = rounded + totals.error + reference;
        let doubtful = (totals.magnitude + totals.error) * growth + error > top;
        Bounded {
            value: totals.sum,
            error: if doubtful { f64::INFINITY } else { error },
        }
    }
}
