//! What a kernel keeps of its sums, as the reference asks for it.

use tilewright_bundle::DType;
use tilewright_formula::interpret::{Bounded, Fma, SumSite, Sums, Terms};

use super::super::bound::{Expected, Rule};
use super::super::data::Data;
use super::super::reference::element;
use super::super::steps::Steps;
use super::FormulaReference;

/// Sums as a kernel keeps them: by its instruction where it is known, else by their types, in any
/// order of additions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept<'a> {
    pub data: Data,
    pub reference: FormulaReference<'a>,
}

impl Kept<'_> {
    /// The rule of products of these types, summed and stored in those.
    pub fn rule(self, inputs: [DType; 2], [sum, output]: [DType; 2], k: usize) -> Rule {
        let FormulaReference {
            kernel, fit, sm, ..
        } = self.reference;
        let own = kernel.accumulator() == Some(sum);
        let steps = match sm.filter(|_| own) {
            Some(sm) => Steps::of(kernel, (inputs, sum), k, (sm, &fit.env)),
            None => Steps::of_types(inputs, sum),
        };
        Rule {
            steps,
            inputs,
            output,
            k,
            data: self.data,
        }
    }
}

impl Sums for Kept<'_> {
    fn sum(&self, site: &SumSite, terms: &Terms<'_>) -> Bounded {
        let (Some([a, b]), Some(inputs)) = (terms.factors, site.factors) else {
            return Fma.sum(site, terms);
        };
        let k = a.len();
        let rule = self.rule(inputs, [site.dtype; 2], k);
        let (product, magnitude, peak) = element(a, b, inputs);
        let Expected { value, error } = rule.sized(product, magnitude, peak);
        Bounded { value, error }
    }
}
