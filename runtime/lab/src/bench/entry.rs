//! A kernel at the problem that it is measured on.

use tilewright_bundle::Kernel;

use super::bytes_of;
use super::copy::Copied;
use crate::verify::GemmForm;
use tilewright_runtime::Fit;
use tilewright_runtime::Problem;

/// A kernel at its problem.
pub(crate) struct Entry<'k> {
    pub kernel: &'k Kernel,
    pub problem: Problem,
    pub fit: Fit,
    /// The operands of a product of two matrices; `None` of what computes anything else.
    pub form: Option<GemmForm>,
    /// The operands of a copy of bytes.
    pub copied: Option<Copied>,
}

impl Entry<'_> {
    /// Of each buffer of a set, as far as it is the kernel's, the operand.
    pub fn places(&self) -> Vec<usize> {
        match (&self.form, self.copied) {
            (Some(form), _) => vec![form.a.at, form.b.at, form.d.at],
            (None, Some(copied)) => copied.places.to_vec(),
            (None, None) => (0..self.kernel.semantics.operands.len()).collect(),
        }
    }

    /// Bytes of all operands.
    pub fn moved_bytes(&self) -> f64 {
        let operands = self.kernel.semantics.operands.iter();
        let operands = operands.zip(&self.fit.operands);
        let bytes = operands.map(|(operand, extents)| bytes_of(extents.elems(), operand.dtype));
        bytes.sum()
    }

    /// Whether two kernels compute the same problem from the same memory.
    pub fn shares_with(&self, other: &Entry<'_>) -> bool {
        match (&self.form, &other.form) {
            (Some(own), Some(others)) => {
                let types = |form: &GemmForm| {
                    let factors = [form.a.dtype, form.b.dtype];
                    (factors, form.d.dtype, form.accumulator)
                };
                let places = |form: &GemmForm, entry: &Entry<'_>| {
                    let extents = &entry.fit.operands;
                    [&form.a, &form.b, &form.d].map(|factor| factor.orient(extents))
                };
                types(own) == types(others) && places(own, self) == places(others, other)
            }
            (None, None) => {
                let function = |entry: &Entry<'_>| {
                    let semantics = &entry.kernel.semantics;
                    let types = semantics.operands.iter().map(|operand| operand.dtype);
                    (semantics.function.clone(), types.collect::<Vec<_>>())
                };
                function(self) == function(other)
                    && self.fit.operands == other.fit.operands
                    && self.problem.extents().eq(other.problem.extents())
            }
            _ => false,
        }
    }
}
