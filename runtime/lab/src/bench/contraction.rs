//! The product inside what a kernel computes, as matrices that a library of products takes.
//!
//! In: a kernel at its problem. Out: two factors and an output with one stride that is 1, and how
//! far apart those of a batch lie. Modes that lie behind one another in memory count as one; the
//! others are the batch's. Scales that parts of the sums are multiplied by are told by `scales`.

use tilewright_bundle::{DType, Kernel};
use tilewright_formula::affine::ModeId;
use tilewright_formula::form::{Contraction, Form};
use tilewright_formula::{Formula, Source};

use super::scales::Scales;
use crate::verify::GemmForm;
use tilewright_runtime::{Extents, Matrix};

/// Two factors and an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matrices {
    /// As (rows,k), (columns,k) and (rows,columns).
    pub matrices: [Matrix; 3],
    /// Where a set of operands has them.
    pub places: [usize; 3],
    pub dtypes: [DType; 3],
    pub accumulator: DType,
    /// How many there are.
    pub count: i64,
    /// Elements from one to the next; 0 of what all share.
    pub strides: [i64; 3],
    /// The scales of blocks of its factors, where the library takes them.
    pub scales: Option<Scales>,
    /// Whether nothing else is computed.
    pub is_all: bool,
}

/// An operand's axes: mode, extent, stride.
type Axes = Vec<(ModeId, i64, i64)>;

impl Matrices {
    /// Those of a product of two matrices, whose sets have the operands in this order.
    pub fn of_product(form: &GemmForm, extents: &[Extents]) -> Matrices {
        let factors = [&form.a, &form.b, &form.d];
        Matrices {
            matrices: factors.map(|factor| factor.orient(extents)),
            places: [0, 1, 2],
            dtypes: factors.map(|factor| factor.dtype),
            accumulator: form.accumulator,
            count: 1,
            strides: [0; 3],
            scales: None,
            is_all: true,
        }
    }

    /// Those of the one sum of products in a kernel's formula; `None` where there is none whose
    /// factors and output are operands that lie as matrices do.
    pub fn of_contraction(kernel: &Kernel, extents: &[Extents]) -> Option<Matrices> {
        let (Some(Form::Contraction(form)), Some(formula)) = (kernel.form(), kernel.formula())
        else {
            return None;
        };
        let [a, b] = [form.factors[0].operand?, form.factors[1].operand?];
        let places = match form.alone {
            Some(places) => places,
            None => [a, b, result(formula, form)?],
        };
        let axes = places.map(|at| axes(formula, at, extents.get(at)?));
        let [Some(a), Some(b), Some(d)] = axes else {
            return None;
        };
        // Parts of the summed extent are summed as well.
        let outer = form.parts.iter().flat_map(|parts| &parts.sum.modes);
        let summed: Vec<ModeId> = outer.chain(&form.summed).copied().collect();
        let k = together(&summed, [&a, &b])?;
        let (rows, others) = matrix_side(&form.rows, [&a, &d])?;
        let (columns, more) = matrix_side(&form.columns, [&b, &d])?;
        let batch: Vec<ModeId> = form
            .batch
            .iter()
            .chain(others)
            .chain(more)
            .copied()
            .collect();
        let ([m, _], [n, _]) = (rows.extents, columns.extents);
        let (count, strides) = batch_of(&batch, [&a, &b, &d])?;
        let operands = &kernel.semantics.operands;
        let dtypes = places.map(|at| operands.get(at).map(|operand| operand.dtype));
        let [Some(a), Some(b), Some(d)] = dtypes else {
            return None;
        };
        let matrix = |rows, cols, row_stride, col_stride| Matrix {
            rows,
            cols,
            row_stride,
            col_stride,
        };
        let scales = Scales::of(kernel, extents).filter(|_| count == 1);
        Some(Matrices {
            matrices: [
                matrix(m, k.extents[0], rows.strides[0], k.strides[0]),
                matrix(n, k.extents[0], columns.strides[0], k.strides[1]),
                matrix(m, n, rows.strides[1], columns.strides[1]),
            ],
            places,
            dtypes: [a, b, d],
            accumulator: form.accumulator,
            count,
            strides,
            is_all: form.alone.is_some() || scales.is_some(),
            scales,
        })
    }

    /// Those of the product without its scales.
    pub fn bare(self) -> Matrices {
        let is_all = self.is_all && self.scales.is_none();
        Matrices {
            scales: None,
            is_all,
            ..self
        }
    }

    /// Multiplications and additions of one launch.
    pub fn flops(&self) -> f64 {
        let [a, b, _] = &self.matrices;
        let volume = a.rows as f64 * b.rows as f64 * a.cols as f64;
        2.0 * volume * self.count as f64
    }
}

/// The first output that has the rows, the columns and the batch of a sum of products, and no
/// other mode.
fn result(formula: &Formula, form: &Contraction) -> Option<usize> {
    let mut wanted: Vec<ModeId> = [&form.batch, &form.rows, &form.columns]
        .into_iter()
        .flatten()
        .copied()
        .collect();
    wanted.sort_unstable();
    form.outputs.iter().copied().find(|at| {
        let own = formula.axis_modes(Source::Operand(*at)).into_iter();
        let own: Option<Vec<ModeId>> = own.collect();
        own.is_some_and(|mut own| {
            own.sort_unstable();
            own == wanted
        })
    })
}

/// The axes of an operand, each of which is a mode of its own.
fn axes(formula: &Formula, at: usize, extents: &Extents) -> Option<Axes> {
    let modes = formula.axis_modes(Source::Operand(at)).into_iter();
    let axes = modes.zip(extents.axes());
    axes.map(|(mode, (extent, stride))| Some((mode?, extent, stride)))
        .collect()
}

/// Modes as one, in each of some operands.
struct Together<const N: usize> {
    extents: [i64; N],
    strides: [i64; N],
}

/// Modes, outer ones first, that lie behind one another in each operand.
fn together<const N: usize>(modes: &[ModeId], operands: [&Axes; N]) -> Option<Together<N>> {
    let mut found = Together {
        extents: [1; N],
        strides: [0; N],
    };
    for (at, axes) in operands.into_iter().enumerate() {
        let (mut extent, mut stride) = (1i64, None);
        for mode in modes.iter().rev() {
            let (_, own, step) = axes.iter().find(|(own, ..)| own == mode)?;
            if *own != 1 {
                let first = *stride.get_or_insert(*step);
                if extent.checked_mul(first)? != *step {
                    return None;
                }
            }
            extent = extent.checked_mul(*own)?;
        }
        let alone = modes.last().and_then(|mode| {
            let (.., step) = axes.iter().find(|(own, ..)| own == mode)?;
            Some(*step)
        });
        found.extents[at] = extent;
        found.strides[at] = stride.or(alone)?;
    }
    Some(found)
}

/// One side of a product as a matrix has it: all of its modes where they lie behind one another,
/// else the last, and the others.
fn matrix_side<'f>(
    modes: &'f [ModeId],
    operands: [&Axes; 2],
) -> Option<(Together<2>, &'f [ModeId])> {
    if let Some(all) = together(modes, operands) {
        return Some((all, &[]));
    }
    let (last, others) = modes.split_last()?;
    Some((together(&[*last], operands)?, others))
}

/// How many products there are, and how far apart each operand's matrices lie: 0 where it has none
/// of the modes.
fn batch_of(modes: &[ModeId], operands: [&Axes; 3]) -> Option<(i64, [i64; 3])> {
    let (mut count, mut strides) = (1, [0; 3]);
    if modes.is_empty() {
        return Some((count, strides));
    }
    for (at, axes) in operands.into_iter().enumerate() {
        if modes
            .iter()
            .any(|mode| axes.iter().any(|(own, ..)| own == mode))
        {
            let all = together(modes, [axes])?;
            (count, strides[at]) = (all.extents[0], all.strides[0]);
        }
    }
    Some((count, strides))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tilewright_fixture::{gemm_kernel, layout, resolved};

    use super::*;
    use tilewright_runtime::{Device, Problem, fit};

    /// A kernel of a formula over a, b and d of these layouts.
    fn kernel(layouts: [&str; 3], compute: &str) -> Kernel {
        let mut kernel = gemm_kernel("gemm_f32@any-1");
        for (operand, text) in kernel.semantics.operands.iter_mut().zip(layouts) {
            operand.layout = layout(text);
        }
        compute.clone_into(&mut kernel.semantics.compute);
        // Nothing is launched.
        kernel.launches[0].params.clear();
        resolved(kernel)
    }

    /// Its matrices, without gaps.
    fn matrices(
        layouts: [&str; 3],
        compute: &str,
        extents: &[(&'static str, i64)],
    ) -> Option<Matrices> {
        let kernel = kernel(layouts, compute);
        let problem = Problem::of(extents.iter().copied());
        let device = Device::emulator();
        let problem = tilewright_runtime::tightest(&kernel, &problem, device.info()).unwrap();
        let fit = fit(&kernel, &problem, device.info()).unwrap();
        Matrices::of_contraction(&kernel, &fit.operands)
    }

    #[test]
    fn a_batch_lies_a_stride_apart_and_what_it_shares_does_not() {
        let own = [
            "(g,m,k):(sa,rsa,csa)",
            "(g,n,k):(sb,rsb,csb)",
            "(g,m,n):(sd,rsd,csd)",
        ];
        let extents = [("g", 3), ("m", 4), ("n", 5), ("k", 6)];
        let all = matrices(own, "d[g,m,n] = sum[k] a[g,m,k] * b[g,n,k]", &extents).unwrap();
        assert_eq!((all.count, all.strides), (3, [24, 30, 20]));
        assert!(all.is_all);
        assert_eq!(all.flops(), 2.0 * 3.0 * 4.0 * 5.0 * 6.0);
        let sizes = all.matrices.map(|one| (one.rows, one.cols));
        assert_eq!(sizes, [(4, 6), (5, 6), (4, 5)]);
        // A matrix that the batch shares has no stride, and one mode of rows takes up another
        // where they lie behind one another.
        let shared = [own[0], "(n,k):(rsb,csb)", own[2]];
        let compute = "d[g,m,n] = sum[k] a[g,m,k] * b[n,k]";
        let one = matrices(shared, compute, &extents).unwrap();
        assert_eq!((one.count, one.matrices[0].rows), (1, 12));
        let shared = ["(m,k):(rsa,csa)", own[1], own[2]];
        let compute = "d[g,m,n] = sum[k] a[m,k] * b[g,n,k]";
        let one = matrices(shared, compute, &extents).unwrap();
        assert_eq!((one.count, one.strides), (3, [0, 30, 20]));
    }

    #[test]
    fn what_follows_a_product_is_no_part_of_it() {
        let layouts = ["(m,k):(rsa,csa)", "(n,k):(rsb,csb)", "(m,n):(rsd,csd)"];
        let extents = [("m", 4), ("n", 5), ("k", 6)];
        let compute = "acc[m,n] = sum[k] a[m,k] * b[n,k]\nd[m,n] = max(acc[m,n], 0)";
        let part = matrices(layouts, compute, &extents).unwrap();
        assert_eq!(
            (part.is_all, part.places, part.count),
            (false, [0, 1, 2], 1)
        );
        // Rows folded to one value each have no matrix to be compared with.
        let layouts = [layouts[0], layouts[1], "(m):(csd)"];
        let compute = "acc[m,n] = sum[k] a[m,k] * b[n,k]\nd[m] = max[n] acc[m,n]";
        assert_eq!(matrices(layouts, compute, &extents), None);
    }

    #[test]
    fn kernels_of_more_than_a_product_keep_their_order() {
        let layouts = ["(m,k):(lda,1)", "(n,k):(ldb,1)", "(m,n):(ldd,1)"];
        let compute = "acc[m,n] = sum[k] a[m,k] * b[n,k]\nd[m,n] = max(acc[m,n], 0)";
        let kernel = kernel(layouts, compute);
        let device = Device::emulator();
        let told = |text: &str| {
            let extent: crate::bench::Extent = text.parse().unwrap();
            let problem = extent.problem(&kernel, device.info());
            problem.map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(told("4x5x6:TN"), Ok(()));
        assert_eq!(told("4x5x6:TN,pad=8"), Ok(()));
        let turned = told("4x5x6:NN").unwrap_err();
        assert!(turned.ends_with("is asked for in the order NN, and its factors lie TN"));
        let leading = told("4x5x6:lda=8").unwrap_err();
        assert!(
            leading.ends_with("say how far apart rows are by pad=8"),
            "{leading}"
        );
    }
}
