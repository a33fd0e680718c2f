//! The correctness rule: what an output may be.
//!
//! A bound says how far a right accumulator may be from the exact sum; the output must lie between
//! the roundings of the ends of that range. Where the exact sum is NaN or infinite, so is the
//! output. Small integers lose nothing and must match exactly.

use rayon::prelude::*;
use tilewright_bundle::DType;

use super::bound::Expected;

/// The element that is worst by the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worst {
    /// Position in the row-by-row output.
    pub at: usize,
    /// What the kernel wrote.
    pub got: f64,
    /// What it should be.
    pub want: f64,
    /// Error over allowed error; above 1 is wrong.
    pub ratio: f64,
}

/// An output compared with its reference.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Comparison {
    /// `‖out − ref‖ / ‖ref‖`, in the Frobenius norm, over numbers.
    pub rel_err: f64,
    /// Largest error over allowed error; at most 1 is right.
    pub max_err: f64,
    /// Elements that break the rule.
    pub wrong: usize,
    /// The worst of them, if any does.
    pub worst: Option<Worst>,
    /// Elements that were computed again in the kernel's order, to be equal bit for bit.
    pub replayed: usize,
}

/// Compares `out`, row by row, with what is expected at each place.
pub fn compare(
    out: &[f64],
    expected: impl Fn(usize) -> Expected + Sync,
    output: DType,
) -> Comparison {
    const BLOCK: usize = 1 << 14;
    let blocks = out.par_chunks(BLOCK).enumerate().map(|(block, out)| {
        let mut sum = Sum::default();
        for (at, got) in out.iter().enumerate() {
            let at = block * BLOCK + at;
            sum.add(at, *got, expected(at), output);
        }
        sum
    });
    let sum = blocks.reduce(Sum::default, Sum::merge);
    let rel_err = if sum.error == 0.0 {
        0.0
    } else {
        (sum.error / sum.reference).sqrt()
    };
    Comparison {
        rel_err,
        ..sum.found
    }
}

impl Comparison {
    /// Counts an element whose ratio is known.
    pub(super) fn add(&mut self, worst: Worst) {
        self.max_err = self.max_err.max(worst.ratio);
        if worst.ratio > 1.0 {
            self.wrong += 1;
            if self.worst.is_none_or(|known| worst.ratio > known.ratio) {
                self.worst = Some(worst);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    error: f64,
    reference: f64,
    found: Comparison,
}

impl Sum {
    fn add(&mut self, at: usize, got: f64, expected: Expected, output: DType) {
        let want = expected.value;
        if want.is_finite() && got.is_finite() {
            self.error += (got - want) * (got - want);
            self.reference += want * want;
        }
        self.found.add(Worst {
            at,
            got,
            want,
            ratio: expected.ratio(got, output),
        });
    }

    fn merge(self, other: Sum) -> Sum {
        let worse = |a: Worst, b: Worst| if b.ratio > a.ratio { b } else { a };
        let worst = match (self.found.worst, other.found.worst) {
            (Some(a), Some(b)) => Some(worse(a, b)),
            (a, b) => a.or(b),
        };
        Sum {
            error: self.error + other.error,
            reference: self.reference + other.reference,
            found: Comparison {
                max_err: self.found.max_err.max(other.found.max_err),
                wrong: self.found.wrong + other.found.wrong,
                worst,
                ..self.found
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const INFINITY: f64 = f64::INFINITY;

    fn found(out: &[f64], value: f64, error: f64, output: DType) -> Comparison {
        compare(out, |_| Expected { value, error }, output)
    }

    #[test]
    fn without_an_error_outputs_are_rounded_sums() {
        assert_eq!(found(&[256.0], 257.0, 0.0, DType::BF16).max_err, 0.0);
        let wrong = found(&[256.0, 258.0], 257.0, 0.0, DType::BF16);
        assert_eq!((wrong.wrong, wrong.worst.unwrap().at), (1, 1));
        let exact = found(&[4.0, 5.0], 4.0, 0.0, DType::F32);
        assert_eq!((exact.wrong, exact.max_err), (1, INFINITY));
        assert_eq!(found(&[-0.0], 0.0, 0.0, DType::F32).max_err, 0.0);
    }

    #[test]
    fn outputs_lie_between_the_roundings_of_the_ends() {
        let close = found(&[1.0, 1.0078125, 0.99609375], 1.0, 0.005, DType::BF16);
        assert_eq!(close.wrong, 0);
        assert!((0.8..=1.0).contains(&close.max_err), "{close:?}");
        let far = found(&[1.0, 1.015625, f64::NAN], 1.0, 0.005, DType::BF16);
        assert_eq!((far.wrong, far.worst.unwrap().at), (2, 2));
        assert_eq!(far.max_err, INFINITY);
    }

    #[test]
    fn what_is_no_number_must_be_none() {
        let nan = found(&[f64::NAN, 0.0, INFINITY], f64::NAN, 0.0, DType::F16);
        assert_eq!(nan.wrong, 2);
        let infinite = found(
            &[-INFINITY, INFINITY, 65504.0, f64::NAN],
            -INFINITY,
            0.0,
            DType::F16,
        );
        assert_eq!(infinite.wrong, 3);
        // f16 ends below what f32 holds; 8-bit outputs stay at their largest number.
        let beyond = found(&[INFINITY, 65504.0], 70000.0, 1.0, DType::F16);
        assert_eq!((beyond.wrong, beyond.worst.unwrap().at), (1, 1));
        assert_eq!(
            found(&[INFINITY, 65504.0], 65520.0, 1.0, DType::F16).wrong,
            0
        );
        assert_eq!(found(&[448.0], INFINITY, 0.0, DType::E4M3).wrong, 0);
        // Where it depends on rounding whether the accumulator overflows, either is right.
        assert_eq!(
            found(&[INFINITY, 3e38], 3.4e38, INFINITY, DType::F32).wrong,
            0
        );
        // So is any where it decides whether there is a number: a quotient of sums around zero.
        let open = found(&[f64::NAN, -INFINITY, 1.0], f64::NAN, INFINITY, DType::F32);
        assert_eq!((open.wrong, open.max_err), (0, 0.0));
    }
}
