//! How far a sum may be from the exact one, as constants of an instruction and for magnitudes.
//!
//! Comes in: a step, and how large its operands may be. Goes out: what it keeps, and a bound that
//! no operands of that size exceed.

use super::element::Sum;
use super::format::power_of_two;
use super::fused::Fused;
use super::rules::Making;
use super::step::Step;

/// What a step keeps and loses, as constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Bits kept behind the leading one of the largest term when terms are aligned; none where
    /// each product is added and rounded by itself, or where nothing is lost.
    pub kept_bits: Option<u32>,
    /// Bits of the fraction of a result; none for integers, which are exact.
    pub result_bits: Option<u32>,
    /// Whether results are rounded to nearest, else toward zero.
    pub nearest: bool,
    /// Sums that one instruction makes one after the other, each rounded.
    pub sums: u32,
    /// Products of one of them.
    pub products: u32,
}

impl Step {
    /// The constants of the step.
    pub fn precision(&self) -> Precision {
        let bits = self.sum.format().map(|format| format.fraction_bits);
        let of = |fused: Fused, sums: usize| Precision {
            kept_bits: Some(fused.kept_bits as u32),
            result_bits: Some(fused.rounding(self.sum).fraction_bits),
            nearest: self.sum == Sum::F16,
            sums: sums as u32,
            products: self.k.min(fused.terms) as u32,
        };
        match self.making {
            Making::Fused(fused) => of(fused, self.k.div_ceil(fused.terms)),
            // Both halves of k, and the addition of c.
            Making::Widened(fused) => {
                let half = self.k / 2;
                let precision = of(fused, 2 * half.div_ceil(fused.terms) + 1);
                let products = half.min(fused.terms) as u32;
                Precision {
                    products,
                    ..precision
                }
            }
            Making::Chain => Precision {
                kept_bits: None,
                result_bits: bits,
                nearest: true,
                sums: self.k as u32,
                products: 1,
            },
            Making::Exact => Precision {
                kept_bits: None,
                result_bits: None,
                nearest: false,
                sums: 1,
                products: self.k as u32,
            },
        }
    }

    /// How far a result may be from the exact value for any operands of these magnitudes:
    /// `largest` is at least each |a b| and |c|, `total` at least |c| + Σ|a b|, both of
    /// [`Element::magnitude`] and [`Sum::magnitude`], and nothing overflows. [`Step::bound`] of
    /// the operands themselves is at most that. Steps that follow one another on one accumulator
    /// have the sum of their limits, with |c| of each in its magnitudes.
    ///
    /// [`Element::magnitude`]: super::Element::magnitude
    pub fn limit(&self, largest: f64, total: f64) -> f64 {
        let Some(format) = self.sum.format() else {
            return 0.0;
        };
        // What one rounding may lose of a result of at most `of`.
        let least = power_of_two(format.least_exponent());
        let rounding = |fraction_bits: u32, nearest: bool, of: f64| {
            let power = -(fraction_bits as i32) - i32::from(nearest);
            of.max(least) * power_of_two(power)
        };
        let nearest = |of: f64| rounding(format.fraction_bits, true, of).max(f64::from_bits(1));
        // Sums so far: rounding to nearest may have made them larger than what they sum.
        let mut reached = total;
        let mut error = 0.0;
        let mut fused_sum = |fused: Fused, products: usize, first: bool| {
            let floor = power_of_two(Fused::floor(format));
            // An accumulator that is subnormal is aligned as the least normal number.
            let highest = match first {
                true => largest,
                false => largest.max(reached).max(least),
            };
            let lost = (products + 1) as f64 * power_of_two(-fused.kept_bits);
            let how = fused.rounding(self.sum);
            let last = rounding(how.fraction_bits, how.nearest, reached);
            error += lost * highest.max(floor) + last;
            reached += if how.nearest { last } else { 0.0 };
        };
        match self.making {
            Making::Exact => {}
            Making::Fused(fused) => {
                for start in (0..self.k).step_by(fused.terms) {
                    fused_sum(fused, fused.terms.min(self.k - start), start == 0);
                }
            }
            Making::Widened(fused) => {
                let half = self.k / 2;
                let starts = (0..half).step_by(fused.terms);
                for (index, start) in starts.clone().chain(starts).enumerate() {
                    fused_sum(fused, fused.terms.min(half - start), index == 0);
                }
                error += nearest(reached);
            }
            Making::Chain => {
                for _ in 0..self.k {
                    let last = nearest(reached);
                    error += last;
                    reached += last;
                }
            }
        }
        error * (1.0 + (self.k + 4) as f64 * f64::EPSILON)
    }
}
