//! Elements that the answer of a fold by order hangs on, where a kernel that is cut wrong loses
//! them: the largest or the smallest of a row, and the last.
//!
//! In: the random elements of an operand that is folded by `max`, `min` or `argmax`. Out: the same,
//! in half of the rows with a last element beyond all others. Random ones alone seldom have the
//! answer at the end of a row.

use tilewright_bundle::Kernel;
use tilewright_formula::affine::ModeId;
use tilewright_formula::form::Form;
use tilewright_formula::functions::Fold;
use tilewright_formula::{Formula, Source};

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Its last element is the largest.
    Largest,
    /// Its last element is the smallest.
    Smallest,
    /// As it is.
    Random,
}

impl Ends {
    /// That of the row of a number: by turns, another turn for another seed.
    fn of(row: usize, seed: u64) -> Ends {
        match (row as u64).wrapping_add(seed) % 4 {
            0 => Ends::Largest,
            1 => Ends::Smallest,
            _ => Ends::Random,
        }
    }
}

/// Whether a kernel folds by order.
pub(super) fn are_in(kernel: &Kernel) -> bool {
    kernel.form().is_some_and(|form| !ordered(form).is_empty())
}

/// The modes that a formula folds by order.
fn ordered(form: &Form) -> Vec<ModeId> {
    let Form::Rows(rows) = form else {
        return Vec::new();
    };
    let by_order = |fold: Fold| matches!(fold, Fold::Max | Fold::Min | Fold::Argmax);
    let sites = rows.folds.iter().filter(|site| by_order(site.fold));
    sites.flat_map(|site| site.modes.iter().copied()).collect()
}

/// Makes the last element of some rows the largest or the smallest of all: of an operand whose
/// elements lie without gaps, last axis innermost. Says whether there are such rows.
pub(super) fn place(
    (formula, form): (&Formula, &Form),
    (at, shape): (usize, &[i64]),
    values: &mut [f64],
    seed: u64,
) -> bool {
    let ordered = ordered(form);
    let modes = formula.axis_modes(Source::Operand(at));
    let is_along = |axis: &Option<ModeId>| axis.is_some_and(|mode| ordered.contains(&mode));
    if modes.len() != shape.len() || !modes.iter().any(is_along) || values.is_empty() {
        return false;
    }
    let most = values.iter().copied().fold(f64::MIN, f64::max) + 1.0;
    // Types without signs have none below 0.
    let least = values.iter().copied().fold(f64::MAX, f64::min);
    let least = if least < 0.0 { least - 1.0 } else { 0.0 };
    let extents = shape
        .iter()
        .map(|extent| usize::try_from(*extent).unwrap_or(0));
    let axes: Vec<(usize, bool)> = extents.zip(modes.iter().map(is_along)).collect();
    for (element, value) in values.iter_mut().enumerate() {
        let (mut rest, mut row, mut rows, mut is_last) = (element, 0, 1, true);
        for (extent, along) in axes.iter().rev() {
            let place = rest % extent.max(&1);
            rest /= extent.max(&1);
            if *along {
                is_last &= place + 1 == *extent;
            } else {
                row += place * rows;
                rows *= extent;
            }
        }
        match Ends::of(row, seed) {
            Ends::Largest if is_last => *value = most,
            Ends::Smallest if is_last => *value = least,
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tilewright_fixture::{layout, resolved};

    use super::*;

    #[test]
    fn some_rows_end_with_what_a_fold_by_order_gives() {
        let mut kernel = tilewright_fixture::gemm_kernel("gemm_f32@any-1");
        kernel.semantics.operands.remove(1);
        let layouts = ["(m,k):(lda,1)", "(m):(1)"];
        for (operand, text) in kernel.semantics.operands.iter_mut().zip(layouts) {
            operand.layout = layout(text);
        }
        kernel.semantics.compute = "d[m] = max[k] a[m,k]".to_owned();
        kernel.launches.clear();
        let kernel = resolved(kernel);
        let parts = (kernel.formula().unwrap(), kernel.form().unwrap());
        let mut values = vec![0.5; 8 * 5];
        assert!(place(parts, (0, &[8, 5]), &mut values, 2));
        let last: Vec<f64> = values.chunks(5).map(|row| row[4]).collect();
        assert_eq!(last, [0.5, 0.5, 1.5, 0.0, 0.5, 0.5, 1.5, 0.0]);
        let others = values.chunks(5).flat_map(|row| &row[..4]);
        assert!(others.into_iter().all(|value| *value == 0.5));
        // What is not folded stays.
        let mut sums = vec![0.5; 8];
        assert!(!place(parts, (1, &[8]), &mut sums, 2));
    }
}
