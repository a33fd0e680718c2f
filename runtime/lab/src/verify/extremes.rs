//! Elements that the answer of a fold hangs on, where a kernel that is cut wrong loses them, or
//! whose functions do not keep what is no number.
//!
//! In: the random elements of an operand. Out: the same, in some of the rows with one element that
//! random ones seldom have: of what is folded by order ([`Data::Ends`]) a last one beyond all
//! others; of any floats ([`Data::Nonfinite`]) NaN or an infinity, in the last place or in any.

use tilewright_bundle::{DType, Kernel};
use tilewright_formula::affine::ModeId;
use tilewright_formula::form::Form;
use tilewright_formula::functions::Fold;
use tilewright_formula::number::{Kind, stored};
use tilewright_formula::{Formula, Source};

use super::along::{Along, Place};
use super::data::Data;

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Becomes {
    /// Its last element is this.
    Last(f64),
    /// Its element of this number is this, counted modulo its length.
    Any(u64, f64),
    /// As it is.
    Random,
}

/// What becomes of the rows of an operand.
#[derive(Debug, Clone, Copy)]
enum Rows {
    /// The largest and the smallest value.
    Ends { most: f64, least: f64 },
    /// What the type keeps of NaN and of both infinities.
    Nonfinite([f64; 3]),
}

impl Rows {
    fn of(data: Data, dtype: DType, values: &[f64]) -> Rows {
        if data == Data::Nonfinite {
            let all = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            return Rows::Nonfinite(all.map(|one| stored(dtype, one)));
        }
        // Types without signs have none below 0.
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        Rows::Ends {
            most: values.iter().copied().fold(f64::MIN, f64::max) + 1.0,
            least: if least < 0.0 { least - 1.0 } else { 0.0 },
        }
    }

    /// The row of a number: by turns of so many rows, another turn for another seed.
    fn row(self, row: usize, turns: u64, seed: u64) -> Becomes {
        let turn = (row as u64).wrapping_add(seed);
        match (self, turn % turns) {
            (Rows::Ends { most, .. }, 0) => Becomes::Last(most),
            (Rows::Ends { least, .. }, 1) => Becomes::Last(least),
            // Of two rows that follow one another one has NaN.
            (Rows::Nonfinite([nan, _, _]), 0) => Becomes::Last(nan),
            (Rows::Nonfinite([_, plus, minus]), 1) => {
                let is_even = (turn / turns).is_multiple_of(2);
                let infinity = if is_even { plus } else { minus };
                Becomes::Any(mixed(turn), infinity)
            }
            (Rows::Nonfinite([nan, _, _]), 2) => Becomes::Any(mixed(turn), nan),
            _ => Becomes::Random,
        }
    }
}

/// Bits that differ from turn to turn.
fn mixed(turn: u64) -> u64 {
    turn.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

/// Whether a kernel has what these inputs are made for.
pub(super) fn are_in(data: Data, kernel: &Kernel) -> bool {
    let mut operands = kernel.semantics.operands.iter();
    match data {
        Data::Nonfinite => operands.any(|operand| has_nonfinite(operand.dtype)),
        _ => kernel.form().is_some_and(form_has_order),
    }
}

/// Gives every other NaN among some elements the other sign.
pub(super) fn sign_some(values: &[f64], bytes: &mut [u8]) {
    let size = bytes.len() / values.len().max(1);
    let elements = values.iter().zip(bytes.chunks_mut(size.max(1)));
    let nans = elements.filter(|(value, _)| value.is_nan());
    for (_, bytes) in nans.step_by(2) {
        if let Some(last) = bytes.last_mut() {
            *last ^= 0x80;
        }
    }
}

/// Whether a type has numbers, and NaN.
pub(super) fn has_nonfinite(dtype: DType) -> bool {
    matches!(Kind::of(dtype), Kind::Float(format) if format.has_nan)
}

fn form_has_order(form: &Form) -> bool {
    !folded(form, is_by_order).is_empty()
}

pub(super) fn is_by_order(fold: Fold) -> bool {
    matches!(fold, Fold::Max | Fold::Min | Fold::Argmax)
}

/// The modes that a formula folds by some folds.
pub(super) fn folded(form: &Form, by: impl Fn(Fold) -> bool) -> Vec<ModeId> {
    let Form::Rows(rows) = form else {
        return Vec::new();
    };
    let sites = rows.folds.iter().filter(|site| by(site.fold));
    sites.flat_map(|site| site.modes.iter().copied()).collect()
}

/// Makes one element of some rows what `data` says: of an operand whose elements lie without gaps,
/// last axis innermost. Says whether there are such rows. A row goes along the modes that are
/// folded; where none of an operand's are, NaN and infinities come along its last axis.
pub(super) fn place(
    data: Data,
    (formula, form): (&Formula, &Form),
    (at, dtype, shape): (usize, DType, &[i64]),
    values: &mut [f64],
    seed: u64,
) -> bool {
    let modes = formula.axis_modes(Source::Operand(at));
    let is_nonfinite = data == Data::Nonfinite;
    let along = match is_nonfinite {
        true => folded(form, |_| true),
        false => folded(form, is_by_order),
    };
    let is_along = |axis: &Option<ModeId>| axis.is_some_and(|mode| along.contains(&mode));
    if modes.len() != shape.len() || values.is_empty() || is_nonfinite && !has_nonfinite(dtype) {
        return false;
    }
    let mut is_along: Vec<bool> = modes.iter().map(is_along).collect();
    if !is_along.contains(&true) {
        match is_along.last_mut() {
            _ if !is_nonfinite => return false,
            Some(last) => *last = true,
            // One element is a row.
            None => {}
        }
    }
    // A row of a factor is a row or a column of what comes of it.
    let is_written = formula.writer(Source::Operand(at)).is_some();
    let turns = match form {
        Form::Contraction(_) | Form::Chain(_) if !is_written => 32,
        _ => 4,
    };
    let rows = Rows::of(data, dtype, values);
    let along = Along::new(shape, is_along);
    for (element, value) in values.iter_mut().enumerate() {
        let Place { row, place, places } = along.place(element);
        match rows.row(row, turns, seed) {
            Becomes::Last(last) if place + 1 == places => *value = last,
            Becomes::Any(any, new) if place as u64 == any % (places as u64).max(1) => *value = new,
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
        let f32 = DType::F32;
        let ends = Data::Ends;
        assert!(place(ends, parts, (0, f32, &[8, 5]), &mut values, 2));
        let last: Vec<f64> = values.chunks(5).map(|row| row[4]).collect();
        assert_eq!(last, [0.5, 0.5, 1.5, 0.0, 0.5, 0.5, 1.5, 0.0]);
        let others = values.chunks(5).flat_map(|row| &row[..4]);
        assert!(others.into_iter().all(|value| *value == 0.5));
        // What is not folded stays.
        let mut sums = vec![0.5; 8];
        assert!(!place(ends, parts, (1, f32, &[8]), &mut sums, 2));

        let mut values = vec![0.5; 8 * 5];
        let nonfinite = Data::Nonfinite;
        assert!(place(nonfinite, parts, (0, f32, &[8, 5]), &mut values, 0));
        let rows = values.chunks(5);
        let odd = |row: &[f64]| row.iter().position(|one| *one != 0.5);
        let found: Vec<_> = rows.map(|row| odd(row).map(|at| (at, row[at]))).collect();
        let is_nan = |row: Option<(usize, f64)>| row.is_some_and(|(_, value)| value.is_nan());
        assert!(is_nan(found[0]) && found[0].map(|(at, _)| at) == Some(4) && is_nan(found[2]));
        assert_eq!(found[1].map(|(_, value)| value), Some(f64::INFINITY));
        assert_eq!(found[5].map(|(_, value)| value), Some(f64::NEG_INFINITY));
        assert_eq!([3, 7].map(|row| found[row]), [None; 2]);
        let mut bytes = [0, 0, 0xC0, 0x7F].repeat(3);
        sign_some(&[f64::NAN, 1.0, f64::NAN], &mut bytes);
        assert_eq!([3, 7, 11].map(|at| bytes[at]), [0xFF, 0x7F, 0x7F]);
        // Of what is not folded, along its last axis; integers stay.
        assert!(place(nonfinite, parts, (1, f32, &[8]), &mut sums, 0));
        assert!(!place(
            nonfinite,
            parts,
            (1, DType::S32, &[8]),
            &mut sums,
            0
        ));
    }
}
