//! Copies: kernels that leave bytes as they are, which is what `cuMemcpyDtoDAsync` does.

use tilewright_bundle::Kernel;
use tilewright_formula::form::Form;

use tilewright_runtime::{Fit, operand_bytes};

/// The operands of a copy that leaves all bytes of an operand as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copied {
    /// From where to where.
    pub places: [usize; 2],
    pub bytes: u64,
}

impl Copied {
    /// Those of a kernel at its problem; `None` of one that converts, permutes or leaves gaps.
    pub fn of(kernel: &Kernel, fit: &Fit) -> Option<Copied> {
        let Some(Form::Rows(rows)) = kernel.form() else {
            return None;
        };
        let places = rows.copy?;
        let [from, to] = places.map(|at| kernel.semantics.operands.get(at));
        let [own, others] = places.map(|at| fit.operands.get(at));
        let (from, to, own, others) = (from?, to?, own?, others?);
        let is_same = from.layout.shape == to.layout.shape && own == others;
        let bytes = operand_bytes(from, own)?;
        let is_all = from.dtype.row_bytes(u64::try_from(own.elems()).ok()?) == Some(bytes);
        let is_plain = from.packed.is_none() && to.packed.is_none() && from.dtype == to.dtype;
        (is_same && is_all && is_plain).then_some(Copied { places, bytes })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tilewright_bundle::DType;
    use tilewright_fixture::{copy_kernel, resolved};
    use tilewright_runtime::{Device, Problem, fit};

    use super::*;

    fn copied(kernel: &Kernel, strides: [i64; 2]) -> Option<Copied> {
        let [s, d] = strides;
        let problem = Problem::of([("m", 3), ("n", 5)]);
        let problem = problem.row_major("s", s).row_major("d", d);
        let device = Device::emulator();
        Copied::of(kernel, &fit(kernel, &problem, device.info()).unwrap())
    }

    #[test]
    fn whole_operands_are_copies_of_bytes_and_gaps_and_casts_are_none() {
        let kernel = copy_kernel("copy_f32@any-1");
        let all = Copied {
            places: [0, 1],
            bytes: 60,
        };
        assert_eq!(copied(&resolved(kernel.clone()), [5, 5]), Some(all));
        // Rows with gaps, and rows that come to lie elsewhere.
        assert_eq!(copied(&resolved(kernel.clone()), [8, 8]), None);
        assert_eq!(copied(&resolved(kernel), [8, 5]), None);
        let mut cast = copy_kernel("copy_f32@any-1");
        cast.semantics.operands[1].dtype = DType::BF16;
        assert_eq!(copied(&resolved(cast), [5, 5]), None);
    }
}
