//! The correctness rule: what an output may differ by.
//!
//! Integer-valued inputs must give exactly the reference, rounded to the output's type. Otherwise
//! each element must satisfy
//! `|out - ref| <= c·u·(k+1)·(|A||B|) + u_out·(|ref| + that) + underflow`, where `u` is the unit
//! roundoff of the accumulator, `u_out` that of the output, and `c` is [`accumulation_factor`].

use rayon::prelude::*;
use tilewright_bundle::DType;

use super::data::Data;
use super::numbers::{round, underflow, unit_roundoff};
use super::reference::Reference;

/// How many unit roundoffs of the accumulator one addition may lose.
///
/// 1 for f32 and f64 inputs, whose fused multiply-adds round. 2 for 16- and 8-bit floats: tensor
/// cores align and truncate addends instead of rounding them, which loses up to one unit in the
/// last place, twice the unit roundoff. 0 for integers.
pub fn accumulation_factor(input: DType) -> f64 {
    match input {
        DType::F32 | DType::F64 => 1.0,
        DType::F16 | DType::BF16 | DType::TF32 | DType::E4M3 | DType::E5M2 => 2.0,
        _ => 0.0,
    }
}

/// The types and extent that a comparison depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Type of the factors.
    pub input: DType,
    /// Type of the sums.
    pub accumulator: DType,
    /// Type of the output.
    pub output: DType,
    /// The contracted extent.
    pub k: usize,
    /// What the inputs hold.
    pub data: Data,
}

impl Rule {
    /// Largest allowed error of an element with this reference and magnitude.
    pub fn allowed(&self, reference: f64, magnitude: f64) -> f64 {
        if self.data == Data::Integers {
            return 0.0;
        }
        let steps = accumulation_factor(self.input) * (self.k as f64 + 1.0);
        let sum = steps * unit_roundoff(self.accumulator) * magnitude;
        sum + unit_roundoff(self.output) * (reference.abs() + sum) + underflow(self.output)
    }
}

/// The element that is worst by the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worst {
    /// Position in the row-by-row output.
    pub at: usize,
    /// What the kernel wrote.
    pub got: f64,
    /// What it should be, rounded to the output's type for integers.
    pub want: f64,
    /// Error over allowed error; above 1 is wrong.
    pub ratio: f64,
}

/// An output compared with its reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// `‖out − ref‖ / ‖ref‖`, in the Frobenius norm.
    pub rel_err: f64,
    /// Largest error over allowed error; at most 1 is right.
    pub max_err: f64,
    /// Elements that break the rule.
    pub wrong: usize,
    /// The worst of them, if any does.
    pub worst: Option<Worst>,
}

/// Compares `out` with `reference`, both row by row.
pub fn compare(out: &[f64], reference: &Reference, rule: &Rule) -> Comparison {
    const BLOCK: usize = 1 << 14;
    let blocks = out.par_chunks(BLOCK).enumerate().map(|(block, out)| {
        let start = block * BLOCK;
        let mut sum = Sum::default();
        for (at, got) in out.iter().enumerate() {
            let at = start + at;
            sum.add(
                at,
                *got,
                reference.product[at],
                reference.magnitude[at],
                rule,
            );
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
        max_err: sum.max_err,
        wrong: sum.wrong,
        worst: sum.worst,
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    error: f64,
    reference: f64,
    max_err: f64,
    wrong: usize,
    worst: Option<Worst>,
}

impl Sum {
    fn add(&mut self, at: usize, got: f64, reference: f64, magnitude: f64, rule: &Rule) {
        let want = match rule.data {
            Data::Integers => round(rule.output, reference),
            Data::Normals => reference,
        };
        // Equal infinities differ by nothing; a NaN differs by more than anything.
        let error = if got == want { 0.0 } else { (got - want).abs() };
        let allowed = rule.allowed(reference, magnitude);
        let ratio = match (error == 0.0, error.is_nan()) {
            (true, _) => 0.0,
            (_, true) => f64::INFINITY,
            _ => error / allowed,
        };
        self.error += error * error;
        self.reference += reference * reference;
        self.max_err = self.max_err.max(ratio);
        if ratio > 1.0 {
            self.wrong += 1;
            if self.worst.is_none_or(|w| ratio > w.ratio) {
                self.worst = Some(Worst {
                    at,
                    got,
                    want,
                    ratio,
                });
            }
        }
    }

    fn merge(self, other: Sum) -> Sum {
        let worse = |a: Worst, b: Worst| if b.ratio > a.ratio { b } else { a };
        let worst = match (self.worst, other.worst) {
            (Some(a), Some(b)) => Some(worse(a, b)),
            (a, b) => a.or(b),
        };
        Sum {
            error: self.error + other.error,
            reference: self.reference + other.reference,
            max_err: self.max_err.max(other.max_err),
            wrong: self.wrong + other.wrong,
            worst,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rule(data: Data) -> Rule {
        let (input, output) = (DType::BF16, DType::BF16);
        Rule {
            input,
            accumulator: DType::F32,
            output,
            k: 64,
            data,
        }
    }

    #[test]
    fn integers_are_exact() {
        let reference = Reference {
            product: vec![257.0, 4.0],
            magnitude: vec![300.0, 9.0],
        };
        assert_eq!(
            compare(&[256.0, 4.0], &reference, &rule(Data::Integers)).wrong,
            0
        );
        let found = compare(&[258.0, 4.0], &reference, &rule(Data::Integers));
        assert_eq!((found.wrong, found.worst.unwrap().at), (1, 0));
    }

    #[test]
    fn normals_are_bounded() {
        let reference = Reference {
            product: vec![1.0; 3],
            magnitude: vec![50.0; 3],
        };
        let close = compare(&[1.0, 1.0039, 0.9961], &reference, &rule(Data::Normals));
        assert!(close.wrong == 0 && close.max_err > 0.5 && close.max_err <= 1.0);
        let far = compare(&[1.0, 1.02, f64::NAN], &reference, &rule(Data::Normals));
        assert_eq!((far.wrong, far.worst.unwrap().at), (2, 2));
        assert_eq!(far.max_err, f64::INFINITY);
    }
}
