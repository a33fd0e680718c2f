//! How far from the exact sum a right kernel may be, from what its instruction keeps of sums.
//!
//! One step loses at most `n * 2^(E - kept)`, `n` being the terms that can lose bits, and then one
//! rounding of its sum. [`Rule::follow`] goes through an element's steps in order and knows of each
//! how large the accumulator is; [`Rule::sized`] takes every partial sum as large as the sum of all
//! magnitudes, which holds in any order. Both count the rounding of the reference itself.

use std::ops::Range;

use rayon::prelude::*;
use tilewright_bundle::DType;

use super::data::Data;
use super::format::{Format, scaled};
use super::numbers::{round, weights};
use super::reference::{Reference, Shape};
use super::steps::Steps;

/// Roundoff of f64, in which references are added.
const ROUNDOFF: f64 = f64::EPSILON / 2.0;
/// Least error of an f64 product.
const UNDERFLOW: f64 = f64::from_bits(1);

/// What a sum is: the exact value, and how far from it a right accumulator may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// The exact sum; infinite where the accumulator overflows, NaN where it is no number.
    pub value: f64,
    /// The largest error; infinite where it depends on rounding whether the accumulator overflows.
    pub error: f64,
}

/// The types and the sums that a judgement depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// How products are added.
    pub steps: Steps,
    /// Types of the factors.
    pub inputs: [DType; 2],
    /// Type of the output.
    pub output: DType,
    /// The contracted extent.
    pub k: usize,
    /// What the inputs hold.
    pub data: Data,
}

/// One factor's row: values, and 2 to the exponents that they enter products with.
#[derive(Debug, Clone, Copy)]
struct Row<'a> {
    values: &'a [f64],
    weights: &'a [f64],
}

/// Products of one step: their sum, the sum of their magnitudes, the largest and the smallest of
/// their weights, which zeros have not.
#[derive(Debug, Clone, Copy)]
struct Terms {
    sum: f64,
    size: f64,
    peak: f64,
    least: f64,
}

/// The accumulator on its way.
#[derive(Debug, Clone, Copy)]
struct Accumulator {
    value: f64,
    error: f64,
    /// Whether all sums so far were small integers, of which no bit is lost.
    exact: bool,
    /// Whether it may have overflowed, which depends on rounding.
    doubtful: bool,
}

impl Rule {
    /// What every element of a product is, row by row, following its steps.
    pub fn follow(&self, a: &[f64], b: &[f64], shape: Shape) -> Vec<Expected> {
        let Shape { m, n, k } = shape;
        let weights = [weights(a, self.inputs[0]), weights(b, self.inputs[1])];
        let row = |side: usize, at: usize| Row {
            values: &[a, b][side][at * k..(at + 1) * k],
            weights: &weights[side][at * k..(at + 1) * k],
        };
        let mut expected = vec![Expected::ZERO; m * n];
        let rows = expected.par_chunks_mut(n.max(1)).enumerate();
        rows.for_each(|(i, places)| {
            let a = row(0, i);
            for (j, place) in places.iter_mut().enumerate() {
                *place = self.element(a, row(1, j));
            }
        });
        expected
    }

    fn element(&self, a: Row<'_>, b: Row<'_>) -> Expected {
        if self.steps.sum_bits == Some(52) {
            return self.double(a.values, b.values);
        }
        let step = self.steps.products.max(1);
        let mut accumulator = Accumulator {
            value: 0.0,
            error: 0.0,
            exact: true,
            doubtful: false,
        };
        let k = a.values.len().min(b.values.len());
        for start in (0..k).step_by(step) {
            let range = start..(start + step).min(k);
            let (a, b) = (a.part(range.clone()), b.part(range));
            let terms = Terms::of(a, b);
            // Sums do not change by zeros; of infinity times zero the weight is none.
            if terms.peak > 0.0 || !terms.sum.is_finite() {
                self.step(&mut accumulator, terms, |below| lossy(a, b, below));
            }
        }
        accumulator.expected(self.data)
    }

    /// One step; `lossy` counts the products of a weight below some other.
    fn step(&self, c: &mut Accumulator, terms: Terms, lossy: impl Fn(f64) -> usize) {
        let steps = &self.steps;
        let after = c.value + terms.sum;
        let known = !c.doubtful && after.is_finite();
        let Some(bits) = steps.sum_bits.filter(|_| known) else {
            c.value = after;
            return;
        };
        let before = c.value.abs() + c.error;
        let mut error = c.error + ROUNDOFF * (steps.products as f64 * terms.size + after.abs());
        if let Some(kept) = steps.kept_bits {
            let floor = scaled(1.0, steps.range[0] - 7);
            // A subnormal accumulator is aligned as the smallest normal number.
            let aligned = if before > 0.0 {
                before.max(scaled(1.0, steps.range[0]))
            } else {
                0.0
            };
            let quantum = scaled(terms.peak.max(aligned).max(floor), -kept);
            let below = scaled(quantum, steps.product_bits);
            let count = if terms.least < below { lossy(below) } else { 0 };
            // The accumulator loses nothing unless products are much larger.
            let least = (c.value.abs() - c.error).max(0.0);
            let whole = least >= 2.0 * scaled(terms.peak.max(floor), bits - kept);
            let count = count + usize::from(before > 0.0 && !whole);
            error += count as f64 * quantum;
        }
        error += steps.rounding(after.abs() + error);
        let largest = before.max(after.abs()).max(terms.peak);
        c.exact &= largest < steps.exact_below();
        let top = scaled(1.0, steps.range[1]);
        let overflows = after.abs() - error >= top;
        c.doubtful = after.abs() + error >= top * (1.0 - scaled(1.0, -bits)) && !overflows;
        c.value = if overflows {
            f64::INFINITY.copysign(after)
        } else {
            after
        };
        c.error = error;
    }

    /// Fused multiply-adds of f64, whose reference needs twice its digits.
    fn double(&self, a: &[f64], b: &[f64]) -> Expected {
        let (mut high, mut low, mut error) = (0.0f64, 0.0f64, 0.0f64);
        let (mut largest, mut doubtful) = (0.0f64, false);
        for (x, y) in a.iter().zip(b) {
            let product = x * y;
            let sum = high + product;
            if sum.is_finite() {
                let shadow = sum - high;
                let lost = (high - (sum - shadow)) + (product - shadow);
                low += lost + x.mul_add(*y, -product);
            } else if high.is_finite() && x.is_finite() && y.is_finite() {
                // Beyond f64 a product is still a number, which the sum may bring back.
                doubtful = true;
                continue;
            }
            high = sum;
            let size = (high + low).abs() + error;
            largest = largest.max(size);
            error += ROUNDOFF * (1.0 + 8.0 * ROUNDOFF) * size + UNDERFLOW;
        }
        let value = if high.is_finite() { high + low } else { high };
        let exact = self.data == Data::Integers && largest < self.steps.exact_below();
        let error = match (doubtful && !value.is_nan(), exact || !value.is_finite()) {
            (true, _) => f64::INFINITY,
            (false, true) => 0.0,
            (false, false) => error + ROUNDOFF * value.abs(),
        };
        Expected { value, error }
    }

    /// What an element is, from its reference, the sum of its magnitudes and the largest weight
    /// that a product of it can have, whatever the order of additions.
    pub fn sized(&self, product: f64, magnitude: f64, peak: f64) -> Expected {
        let steps = &self.steps;
        let exact = self.data == Data::Integers && magnitude < steps.exact_below();
        let Some(bits) = steps.sum_bits.filter(|_| !exact && !product.is_nan()) else {
            return Expected {
                value: product,
                error: 0.0,
            };
        };
        let least = scaled(1.0, steps.range[0]);
        let count = self.k.div_ceil(steps.products.max(1)) as f64;
        // Sums that are rounded to nearest may grow by that.
        let growth = if steps.nearest {
            (count * scaled(1.0, -bits - 1)).exp()
        } else {
            1.0
        };
        let largest = magnitude * growth;
        let cut = steps.kept_bits.map_or(0.0, |kept| {
            let terms = (steps.products + 1) as f64;
            terms * scaled(peak.max(largest).max(least), -kept)
        });
        let join = steps.joined as f64 * scaled(largest.max(least), -bits - 1);
        let reference = (self.k as f64 + 8.0) * (ROUNDOFF * magnitude + UNDERFLOW);
        let error = count * (cut + steps.rounding(largest)) + join + 2.0 * reference;
        let top = scaled(1.0, steps.range[1]);
        let doubtful = largest + error >= top * (1.0 - scaled(1.0, -bits));
        let error = match (doubtful, product.is_infinite()) {
            (true, _) => f64::INFINITY,
            (false, true) => 0.0,
            (false, false) => error,
        };
        Expected {
            value: product,
            error,
        }
    }

    /// What an element of a reference is.
    pub fn at(&self, reference: &Reference, at: usize) -> Expected {
        let columns = reference.peaks[1].len().max(1);
        let peak = |side: usize, at: usize| reference.peaks[side].get(at).copied().unwrap_or(0.0);
        let peak = peak(0, at / columns) * peak(1, at % columns);
        self.sized(reference.product[at], reference.magnitude[at], peak)
    }
}

impl Expected {
    const ZERO: Expected = Expected {
        value: 0.0,
        error: 0.0,
    };

    /// Anything may be right.
    pub(super) const UNKNOWN: Expected = Expected {
        value: 0.0,
        error: f64::INFINITY,
    };

    /// The least and the largest output that a right kernel may write.
    pub fn outputs(&self, output: DType) -> [f64; 2] {
        let exact = self.error == 0.0 || !self.value.is_finite();
        let error = if exact { 0.0 } else { self.error };
        [self.value - error, self.value + error].map(|value| round(output, value))
    }

    /// Error over allowed error of an output; above 1 is wrong. Allowed are the accumulator's error
    /// and, where outputs are narrower, half a step of theirs.
    pub fn ratio(&self, got: f64, output: DType) -> f64 {
        // Anything may be right, NaN and what is none in place of it as well.
        if self.error.is_infinite() {
            return 0.0;
        }
        if self.value.is_nan() {
            // Some types have none.
            let none = round(output, self.value);
            let right = got.is_nan() && none.is_nan() || got == none;
            return if right { 0.0 } else { f64::INFINITY };
        }
        let [low, high] = self.outputs(output);
        let right = (low..=high).contains(&got);
        if right && low == high {
            return 0.0;
        }
        let narrow = Format::of(output).filter(|format| format.fraction_bits < 23);
        let half = narrow.map_or(0.0, |format| {
            format.half_step(self.value.abs() + self.error)
        });
        let ratio = (got - self.value).abs() / (self.error + half);
        match (right, ratio.is_nan()) {
            (true, nan) => {
                if nan {
                    0.0
                } else {
                    ratio.min(1.0)
                }
            }
            (false, true) => f64::INFINITY,
            // Outside, by however little.
            (false, false) => ratio.max(1.0f64.next_up()),
        }
    }
}

impl Accumulator {
    fn expected(self, data: Data) -> Expected {
        let exact = data == Data::Integers && self.exact || !self.value.is_finite();
        let error = match (self.doubtful, exact) {
            (true, _) if !self.value.is_nan() => f64::INFINITY,
            (_, true) => 0.0,
            _ => self.error,
        };
        Expected {
            value: self.value,
            error,
        }
    }
}

impl<'a> Row<'a> {
    #[inline]
    fn part(self, range: Range<usize>) -> Row<'a> {
        Row {
            values: &self.values[range.clone()],
            weights: &self.weights[range],
        }
    }
}

impl Terms {
    #[inline]
    fn of(a: Row<'_>, b: Row<'_>) -> Terms {
        const LANES: usize = 4;
        if let ([x], [y], [v], [w]) = (a.values, b.values, a.weights, b.weights) {
            let (sum, weight) = (x * y, v * w);
            return Terms {
                sum,
                size: sum.abs(),
                peak: weight,
                least: weight,
            };
        }
        let (mut sums, mut sizes) = ([0f64; LANES], [0f64; LANES]);
        let (mut peaks, mut leasts) = ([0f64; LANES], [f64::INFINITY; LANES]);
        let values = a.values.chunks(LANES).zip(b.values.chunks(LANES));
        let weights = a.weights.chunks(LANES).zip(b.weights.chunks(LANES));
        for ((av, bv), (aw, bw)) in values.zip(weights) {
            for (lane, ((x, y), (v, w))) in av.iter().zip(bv).zip(aw.iter().zip(bw)).enumerate() {
                let (term, weight) = (x * y, v * w);
                sums[lane] += term;
                sizes[lane] += term.abs();
                peaks[lane] = if weight > peaks[lane] {
                    weight
                } else {
                    peaks[lane]
                };
                let there = if weight > 0.0 { weight } else { f64::INFINITY };
                leasts[lane] = if there < leasts[lane] {
                    there
                } else {
                    leasts[lane]
                };
            }
        }
        Terms {
            sum: (sums[0] + sums[1]) + (sums[2] + sums[3]),
            size: (sizes[0] + sizes[1]) + (sizes[2] + sizes[3]),
            peak: peaks.into_iter().fold(0.0, f64::max),
            least: leasts.into_iter().fold(f64::INFINITY, f64::min),
        }
    }
}

/// Products whose weight is below another, zeros apart.
fn lossy(a: Row<'_>, b: Row<'_>, below: f64) -> usize {
    let weights = a.weights.iter().zip(b.weights).map(|(v, w)| v * w);
    weights
        .filter(|weight| *weight > 0.0 && *weight < below)
        .count()
}

#[cfg(test)]
mod formula_tests;
