//! Scales of blocks of fp8 factors, as a library of products takes them.
//!
//! In: a kernel whose sums of 128 products are multiplied by a scale of each factor and added. Out:
//! which operands the scales are, how many elements of a factor share one, and the scales in the
//! order that the library wants, whatever order the kernel reads them in.

use tilewright_bundle::{DType, Kernel};
use tilewright_formula::affine::ModeId;
use tilewright_formula::form::{Contraction, Form};
use tilewright_formula::syntax::Combine;
use tilewright_formula::{Expr, ExprKind, Formula, Source};
use tilewright_runtime::Extents;
use tilewright_runtime::cuda::ScaleMode;

/// Elements of a factor along k, and of one of blocks along its other index, that share a scale.
const BLOCK: i64 = 128;

/// The scales of the factor with the output's rows, and of the one with its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scales([FactorScales; 2]);

/// The scales of a factor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FactorScales {
    /// The operand.
    place: usize,
    mode: ScaleMode,
    /// Where the library has each of the operand's axes.
    axes: Extents,
    /// Bytes of all, gaps included.
    bytes: u64,
}

impl Scales {
    /// Those of a kernel that computes nothing but such a product; `None` of any other.
    pub fn of(kernel: &Kernel, extents: &[Extents]) -> Option<Scales> {
        let (Some(Form::Contraction(form)), Some(formula)) = (kernel.form(), kernel.formula())
        else {
            return None;
        };
        let places = scaled(formula, form)?;
        let is_f32 = |place: &usize| {
            let operand = kernel.semantics.operands.get(*place);
            operand.is_some_and(|operand| operand.dtype == DType::F32)
        };
        let fits =
            form.batch.is_empty() && places.iter().all(is_f32) && is_a_block(formula, &form.summed);
        let [k] = form.parts.as_ref()?.sum.modes[..] else {
            return None;
        };
        let of = |place: usize, side: &[ModeId]| {
            FactorScales::of((formula, extents), place, side, k).filter(|_| fits)
        };
        let [first, second] = places;
        // Either may be named first.
        let found = |a, b| Some([of(a, &form.rows)?, of(b, &form.columns)?]);
        found(first, second)
            .or_else(|| found(second, first))
            .map(Scales)
    }

    /// How many elements share a scale, of each factor.
    pub fn modes(&self) -> [ScaleMode; 2] {
        [0, 1].map(|at| self.0[at].mode)
    }

    /// Both in the library's order, of what a set's operands hold.
    pub fn images(&self, given: &[Option<Vec<u8>>]) -> Option<[Vec<u8>; 2]> {
        let image = |scales: &FactorScales| {
            let dense = given.get(scales.place)?.as_ref()?;
            let mut image = vec![0; usize::try_from(scales.bytes).ok()?];
            scales.axes.scatter(DType::F32, dense, (&mut image, 0));
            Some(image)
        };
        let [a, b] = &self.0;
        Some([image(a)?, image(b)?])
    }
}

impl FactorScales {
    /// The scales in an operand of a factor that has these modes besides k.
    fn of(
        (formula, extents): (&Formula, &[Extents]),
        place: usize,
        side: &[ModeId],
        k: ModeId,
    ) -> Option<FactorScales> {
        let modes = formula.axis_modes(Source::Operand(place));
        let modes: Vec<ModeId> = modes.into_iter().collect::<Option<_>>()?;
        let shape = extents.get(place)?.shape();
        let extent = |mode: ModeId| {
            let at = modes.iter().position(|own| *own == mode)?;
            shape.get(at).copied()
        };
        let (last, blocks) = side.split_last()?;
        let (mode, own) = match modes.contains(last) {
            true => (ScaleMode::Vec128, side),
            false if is_a_block(formula, &[*last]) => (ScaleMode::Blk128x128, blocks),
            false => return None,
        };
        if modes.len() != own.len() + 1 || own.contains(&k) {
            return None;
        }
        let along_k = extent(k)?;
        let along = own
            .iter()
            .try_fold(1i64, |all, mode| all.checked_mul(extent(*mode)?))?;
        let (of_k, mut step, elements) = match mode {
            ScaleMode::Vec128 => (along, 1, along),
            ScaleMode::Blk128x128 => (
                1,
                (along_k.checked_add(3)? / 4) * 4,
                along.checked_mul(BLOCK)?,
            ),
        };
        let mut strides = vec![of_k; modes.len()];
        for mode in own.iter().rev() {
            let at = modes.iter().position(|one| one == mode)?;
            strides[at] = step;
            step = step.checked_mul(extent(*mode)?)?;
        }
        Some(FactorScales {
            place,
            mode,
            axes: Extents::new(shape.iter().copied().zip(strides)),
            bytes: mode.bytes(elements, along_k.checked_mul(BLOCK)?),
        })
    }
}

/// Whether modes have the elements of a block together.
fn is_a_block(formula: &Formula, modes: &[ModeId]) -> bool {
    let mut extents = modes.iter().map(|mode| formula.constant(*mode));
    extents.try_fold(1i64, |all, extent| all.checked_mul(extent?)) == Some(BLOCK)
}

/// The two operands whose elements the parts of a sum are multiplied by, where that sum is all that
/// is stored.
fn scaled(formula: &Formula, form: &Contraction) -> Option<[usize; 2]> {
    let parts = form.parts.as_ref()?;
    let sum = formula.statements.get(parts.sum.statement)?;
    let is_stored = sum.value.span == parts.sum.span
        && sum.combine == Combine::Set
        && matches!(sum.target, Source::Operand(_))
        && form.outputs.len() == 1;
    let places: Option<Vec<usize>> = parts.scales.iter().map(read).collect();
    <[usize; 2]>::try_from(places?).ok().filter(|_| is_stored)
}

/// The operand whose element, at bare modes, an expression is.
fn read(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Read {
            source: Source::Operand(at),
            indices,
        } => indices
            .iter()
            .all(|index| index.bare().is_some())
            .then_some(*at),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tilewright_bundle::{Operand, Role};
    use tilewright_fixture::{expr, gemm_kernel, layout, resolved};
    use tilewright_runtime::{Device, Problem, fit};

    use super::super::contraction::Matrices;
    use super::*;

    const INNER: &str = "p[m,h,j,g] = sum[i] a[m,g,i] * b[h,j,g,i]\n";

    /// A kernel over operands a, b, sa, sb and d of that formula.
    fn kernel(inner: i64, compute: &str, sb: &str) -> Kernel {
        let mut kernel = gemm_kernel("scaled@any-1");
        let of = |name, role, dtype, text: &str| Operand::new(name, role, dtype, layout(text));
        let a = format!("(m,g,i):(lda,{inner},1)");
        let b = format!("(h,j,g,i):(block_b,ldb,{inner},1)");
        kernel.semantics.operands = vec![
            of("a", Role::In, DType::E4M3, &a),
            of("b", Role::In, DType::E4M3, &b),
            of("sa", Role::In, DType::F32, "(m,g):(row_sa,col_sa)"),
            of("sb", Role::In, DType::F32, sb),
            of("d", Role::Out, DType::BF16, "(m,h,j):(ldd,128,1)"),
        ];
        let modes = [("i", inner), ("j", 128)];
        kernel.semantics.modes = modes.map(|(name, extent)| (name.to_owned(), extent)).into();
        kernel.semantics.compute = format!("{INNER}{compute}");
        // Nothing is launched.
        kernel.launches[0].params.clear();
        kernel.launches[0].grid = ["1"; 3].map(expr);
        resolved(kernel)
    }

    fn matrices(kernel: &Kernel, extents: [i64; 3]) -> Matrices {
        let device = Device::emulator();
        let problem = Problem::of(["m", "h", "g"].into_iter().zip(extents));
        let problem = tilewright_runtime::tightest(kernel, &problem, device.info()).unwrap();
        let fit = fit(kernel, &problem, device.info()).unwrap();
        Matrices::of_contraction(kernel, &fit.operands).unwrap()
    }

    const BLOCKS: &str = "(h,g):(row_sb,col_sb)";
    const SCALED: &str = "d[m,h,j] = sum[g] p[m,h,j,g] * (sa[m,g] * sb[h,g])";

    #[test]
    fn scales_are_brought_into_the_order_of_the_library() {
        let found = matrices(&kernel(128, SCALED, BLOCKS), [3, 2, 5]);
        assert!(found.is_all);
        let scales = found.scales.clone().unwrap();
        assert_eq!(scales.modes(), [ScaleMode::Vec128, ScaleMode::Blk128x128]);
        let numbers = |rows: u32, columns: u32| -> Option<Vec<u8>> {
            let all = (0..rows).flat_map(|r| (0..columns).map(move |c| (10 * r + c) as f32));
            Some(all.flat_map(f32::to_le_bytes).collect())
        };
        let given = [None, None, numbers(3, 5), numbers(2, 5), None];
        let [of_a, of_b] = scales.images(&given).unwrap().map(|image| {
            let values = image
                .chunks(4)
                .map(|four| f32::from_le_bytes(four.try_into().unwrap()));
            values.collect::<Vec<_>>()
        });
        // Those of rows lie side by side, and those of blocks along k, each row of them padded.
        assert_eq!(of_a[..6], [0., 10., 20., 1., 11., 21.]);
        assert_eq!(of_a.len(), 15);
        assert_eq!(
            of_b,
            [
                0., 1., 2., 3., 4., 0., 0., 0., 10., 11., 12., 13., 14., 0., 0., 0.
            ]
        );
        // The product alone is not all.
        let bare = found.bare();
        assert_eq!((bare.is_all, bare.scales), (false, None));
    }

    #[test]
    fn either_scale_may_come_first_and_both_may_be_of_rows() {
        let turned = "d[m,h,j] = sum[g] sb[h,g] * p[m,h,j,g] * sa[m,g]";
        let found = matrices(&kernel(128, turned, BLOCKS), [3, 2, 5]);
        let modes = found.scales.unwrap().modes();
        assert_eq!(modes, [ScaleMode::Vec128, ScaleMode::Blk128x128]);
        let of_rows = "d[m,h,j] = sum[g] p[m,h,j,g] * (sa[m,g] * sb[h,j,g])";
        let layout = "(h,j,g):(block_sb,row_sb,col_sb)";
        let found = matrices(&kernel(128, of_rows, layout), [3, 2, 5]);
        assert_eq!(found.scales.unwrap().modes(), [ScaleMode::Vec128; 2]);
    }

    #[test]
    fn other_scales_are_none_of_the_library() {
        let none = |kernel: &Kernel| matrices(kernel, [3, 2, 5]).scales.is_none();
        // Of 64 elements; followed by something; added.
        assert!(none(&kernel(64, SCALED, BLOCKS)));
        let followed = "s[m,h,j] = sum[g] p[m,h,j,g] * (sa[m,g] * sb[h,g])\n\
                        d[m,h,j] = max(s[m,h,j], 0)";
        assert!(none(&kernel(128, followed, BLOCKS)));
        let added = "d[m,h,j] = sum[g] p[m,h,j,g] * (sa[m,g] + sb[h,g])";
        assert!(none(&kernel(128, added, BLOCKS)));
    }
}
