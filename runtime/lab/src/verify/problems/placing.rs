//! Where operands of a drawn problem start, and which lie in the place of others.

use rand::RngExt;

use super::Draw;
use tilewright_runtime::Problem;
use tilewright_runtime::alignment_bytes;

impl Draw<'_> {
    /// The problem with outputs where inputs are whose place they may take.
    pub(super) fn in_place(&self, mut problem: Problem) -> Problem {
        for operand in &self.kernel.semantics.operands {
            let over = operand.over.as_ref();
            if let Some(strides) = over.and_then(|over| problem.strides(over)) {
                let strides = strides.to_vec();
                problem = problem.with_strides(&operand.name, strides);
            }
        }
        problem
    }

    /// Offsets that are aligned as far as the kernel asks and, mostly, no further.
    pub(super) fn offsets(&mut self) -> Vec<u64> {
        let operands = &self.kernel.semantics.operands;
        let needs: Vec<u64> = operands
            .iter()
            .map(|o| u64::from(alignment_bytes(self.kernel, o)))
            .collect();
        let mut offsets: Vec<u64> = needs
            .iter()
            .map(|bytes| bytes * self.rng.random_range(0..4))
            .collect();
        // What may take the place of another starts where that one does.
        for at in 0..operands.len() {
            if let Some(over) = self.kernel.semantics.over(at) {
                let offset = offsets[over].next_multiple_of(needs[at].max(needs[over]));
                (offsets[at], offsets[over]) = (offset, offset);
            }
        }
        offsets
    }
}
