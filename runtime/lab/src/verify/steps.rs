//! How an instruction adds products: what of each sum is kept.
//!
//! A step aligns some products and the accumulator to the largest of their exponents `E`, cuts
//! every term to a multiple of `2^(E - kept_bits)`, adds what is left exactly and rounds once. A
//! fused multiply-add is a step of one product that cuts nothing.

use tilewright_bundle::{DType, Env, Kernel, SumRounding};
use tilewright_emulator::tensor_core::Step;

use super::format::{Format, scaled};

/// How the products of one element of the output are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// Products of one step.
    pub products: usize,
    /// Bits below the largest exponent that terms keep; `None` when nothing is cut.
    pub kept_bits: Option<i32>,
    /// Fraction bits of a step's sum; `None` for integers, whose sums are exact.
    pub sum_bits: Option<i32>,
    /// Whether sums are rounded to nearest, not toward zero.
    pub nearest: bool,
    /// Whether the steps of an element follow one another in ascending k on one accumulator.
    pub ordered: bool,
    /// Additions that join sums of parts of k, besides.
    pub joined: usize,
    /// Fraction bits of a product.
    pub product_bits: i32,
    /// Exponent of the smallest normal sum, and of the smallest that overflows.
    pub range: [i32; 2],
}

impl Steps {
    /// What a kernel keeps of its sums of `k` products on a device of compute capability `sm`, on a
    /// problem of these names. A kernel that does not say how it adds is judged by its types, those
    /// of the factors and of the sum.
    pub(crate) fn of(
        kernel: &Kernel,
        (inputs, accumulator): ([DType; 2], DType),
        k: usize,
        (sm, env): (u32, &Env),
    ) -> Steps {
        let types = Steps::of_types(inputs, accumulator);
        let Some(sums) = &kernel.semantics.sums else {
            return types;
        };
        let Some(rule) = sums.on(sm) else {
            return types;
        };
        let most = i64::try_from(k).unwrap_or(i64::MAX);
        let parts = sums
            .splits
            .as_ref()
            .map_or(1, |expr| expr.eval(env).unwrap_or(most));
        let bits = |bits: Option<u32>| bits.map(u32::cast_signed);
        Steps {
            products: (sums.k / rule.alignments.max(1)).max(1) as usize,
            kept_bits: bits(rule.kept_bits),
            sum_bits: bits(rule.result_bits),
            nearest: rule.rounding == Some(SumRounding::Nearest),
            ordered: parts <= 1,
            joined: usize::try_from(parts - 1).unwrap_or(0),
            ..types
        }
    }

    /// What a chain of an instruction's steps keeps.
    pub(super) fn of_step(step: &Step, inputs: [DType; 2], accumulator: DType) -> Steps {
        let precision = step.precision();
        let bits = |bits: Option<u32>| bits.map(u32::cast_signed);
        Steps {
            products: precision.products as usize,
            kept_bits: bits(precision.kept_bits),
            sum_bits: bits(precision.result_bits),
            nearest: precision.nearest,
            ordered: true,
            ..Steps::of_types(inputs, accumulator)
        }
    }

    /// What any kernel of these types keeps of its sums, in whatever order it adds: that of fused
    /// multiply-adds for inputs of 32 and 64 bits, and for narrower ones that of a tensor core
    /// which takes one product after the other and cuts toward zero.
    pub fn of_types(inputs: [DType; 2], accumulator: DType) -> Steps {
        let fused = inputs
            .iter()
            .all(|dtype| matches!(dtype, DType::F32 | DType::F64));
        let format = Format::of(accumulator);
        let bits = |dtype| Format::of(dtype).map_or(0, |format| format.fraction_bits.cast_signed());
        let sum_bits = format.map(|format| format.fraction_bits.cast_signed());
        Steps {
            products: 1,
            kept_bits: sum_bits.filter(|_| !fused).map(|bits| bits + 2),
            sum_bits,
            nearest: fused || accumulator == DType::F16,
            ordered: false,
            joined: 0,
            product_bits: inputs.map(bits).iter().sum(),
            range: format.map_or([0, 1000], |format| {
                [format.least_exponent(), format.top_exponent() + 1]
            }),
        }
    }

    /// What either keeps, in any order of additions.
    pub(super) fn or_less(self, other: Steps) -> Steps {
        let least = |a: Option<i32>, b: Option<i32>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Steps {
            products: self.products.min(other.products),
            kept_bits: least(self.kept_bits, other.kept_bits),
            sum_bits: least(self.sum_bits, other.sum_bits),
            nearest: self.nearest && other.nearest,
            ordered: false,
            ..self
        }
    }

    /// Sums of integers below this lose nothing.
    pub(super) fn exact_below(&self) -> f64 {
        let bits = self
            .sum_bits
            .map_or(1000, |bits| bits.min(self.kept_bits.unwrap_or(bits)));
        scaled(2.0, bits)
    }

    /// The error of rounding a sum of that magnitude once.
    pub(super) fn rounding(&self, magnitude: f64) -> f64 {
        let Some(bits) = self.sum_bits else {
            return 0.0;
        };
        let magnitude = magnitude.max(scaled(1.0, self.range[0]));
        scaled(magnitude, -bits - i32::from(self.nearest))
    }
}
