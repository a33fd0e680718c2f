//! Inputs far from normal ones, of what is no product of matrices ([`Data::Far`]).
//!
//! In: an operand of a kernel. Out: its elements as bytes. Floats have exponents anywhere in the
//! range of their type, subnormals and zeros of both signs among them, beside moderate magnitudes
//! from 1 to 128, where functions leave their usual range and results stay numbers. Along what a
//! formula folds every row has a kind of its own, so that some rows stay in range, some cancel,
//! some are subnormal as a whole; of what is folded by order some hold nothing but the identity of
//! the fold, or the finite number next to it. Elsewhere every element has its own. Integers have
//! any bits, small magnitudes and both ends.
//!
//! Factors of a contraction keep normal values: the bound of a sum that may overflow says nothing.
//! Tables, and what says how long groups are, keep theirs. What sines and cosines give of more
//! than fifty turns no manual says, and the reference takes any.
//!
//! [`Data::Far`]: super::data::Data::Far

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use tilewright_bundle::DType;
use tilewright_formula::affine::ModeId;
use tilewright_formula::form::{Contraction, Form};
use tilewright_formula::formula::Extent;
use tilewright_formula::functions::Fold;
use tilewright_formula::number::Kind;
use tilewright_formula::{Formula, Source};

use super::along::Along;
use super::elements::{block_seed, random_codes};
use super::extremes::{folded, is_by_order};
use super::format::Format;

/// Elements made by one task.
const BLOCK: usize = 1 << 14;
/// Exponents of moderate magnitudes.
const MODERATE: std::ops::RangeInclusive<i32> = 0..=6;
/// One in so many numbers of any exponent is a zero.
const ZEROS: u32 = 16;

/// Kinds of rows that are folded by order: the last three, which hold the ends, lie between the
/// others, so that few rows have one.
const ENDS_BETWEEN: [u64; 9] = [0, 6, 1, 7, 2, 3, 8, 4, 5];

/// What the elements of a row are, or a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    /// Moderate magnitudes.
    Moderate,
    /// Any exponents.
    Any,
    /// Exponents of half the range, so that squares and products are numbers.
    Half,
    /// Moderate magnitudes and any exponents.
    Both,
    /// A few exponents somewhere in the range, and one sign where there is one.
    Band { centre: i32, sign: Option<u64> },
    /// Subnormals and zeros.
    Subnormal,
    /// All of them this code.
    All(u64),
}

/// What makes the elements of one operand.
pub(super) struct Far {
    dtype: DType,
    /// Where rows lie; none where each element has a kind of its own.
    along: Option<Along>,
    /// Whether rows are folded by the largest, and by the smallest.
    ends: [bool; 2],
    /// The seed of the operand.
    seed: u64,
}

impl Far {
    /// What makes an operand's elements; none of those that keep what they have.
    pub fn of(
        (formula, form): (&Formula, Option<&Form>),
        (at, dtype, shape): (usize, DType, &[i64]),
        seed: u64,
    ) -> Option<Far> {
        let modes = formula.axis_modes(Source::Operand(at));
        let is_summed = form.is_some_and(|form| {
            let summed = contracted(form);
            modes.iter().flatten().any(|mode| summed.contains(mode))
        });
        let is_number = !matches!(Kind::of(dtype), Kind::Raw) || dtype == DType::U32;
        if is_summed || says_how_long(formula, at) || !is_number {
            return None;
        }
        let has = |by: &dyn Fn(Fold) -> bool| {
            let along = form.map_or_else(Vec::new, |form| folded(form, by));
            let axes = modes.iter();
            let axes = axes.map(|axis| axis.is_some_and(|mode| along.contains(&mode)));
            axes.collect::<Vec<bool>>()
        };
        let axes = has(&|_| true);
        let is_folded = axes.len() == shape.len() && axes.contains(&true);
        let smallest = has(&|fold| fold == Fold::Min).contains(&true);
        let largest = has(&|fold| is_by_order(fold) && fold != Fold::Min).contains(&true);
        Some(Far {
            dtype,
            along: is_folded.then(|| Along::new(shape, axes)),
            ends: [largest, smallest],
            seed,
        })
    }

    /// So many elements, as bytes.
    pub fn bytes(&self, count: usize) -> Vec<u8> {
        let size = self.dtype.bytes().max(1) as usize;
        let format = match Kind::of(self.dtype) {
            Kind::Float(format) if self.dtype.bits() >= 8 => Some(format),
            Kind::Integer(_) | Kind::Raw if self.dtype.bits() >= 8 => None,
            // All of their few codes.
            _ => return random_codes(self.dtype, count, self.seed),
        };
        let mut bytes = vec![0u8; count * size];
        let blocks = bytes.par_chunks_mut(BLOCK * size).enumerate();
        blocks.for_each(|(block, places)| {
            let mut rng = StdRng::seed_from_u64(block_seed(self.seed, block));
            for (at, place) in places.chunks_exact_mut(size).enumerate() {
                let element = block * BLOCK + at;
                let code = match format {
                    Some(format) => self.row(format, element).code(format, &mut rng),
                    None => self.integer(element, &mut rng),
                };
                place.copy_from_slice(&code.to_le_bytes()[..size]);
            }
        });
        bytes
    }

    /// The number of a row, or of an element that has a kind of its own, among kinds that take
    /// turns, and bits that differ from one to the next.
    fn turn(&self, element: usize, kinds: u64) -> (u64, u64) {
        let start = mixed(self.seed);
        match &self.along {
            Some(along) => {
                let turn = start.wrapping_add(along.place(element).row as u64);
                (turn % kinds, mixed(turn))
            }
            None => {
                let bits = mixed(start.wrapping_add(element as u64));
                (bits % kinds, mixed(bits))
            }
        }
    }

    fn row(&self, format: Format, element: usize) -> Row {
        let [largest, smallest] = self.ends;
        let has_ends = largest || smallest;
        let (turn, bits) = self.turn(element, if has_ends { 9 } else { 6 });
        let turn = if has_ends {
            ENDS_BETWEEN[turn as usize]
        } else {
            turn
        };
        let pick = |from: u64, count: u64| (bits >> from) % count;
        match turn {
            0 if pick(48, 2) == 0 => Row::Both,
            0 | 5 => Row::Moderate,
            1 => Row::Any,
            2 => {
                let [least, top] = [lowest(format), format.top_exponent()];
                let places = (top - least + 1).unsigned_abs();
                let signs = [None, Some(0), None, Some(format.sign())];
                Row::Band {
                    centre: least + pick(0, u64::from(places)) as i32,
                    sign: signs[pick(32, 4) as usize],
                }
            }
            3 => Row::Subnormal,
            4 => Row::Half,
            // The finite number next to the identity twice as often: functions of that are numbers.
            _ => {
                let is_largest = largest && (!smallest || pick(40, 2) == 0);
                let sign = if is_largest { format.sign() } else { 0 };
                let finite = format.largest();
                let identity = format.infinity().unwrap_or(finite);
                Row::All(sign | if turn == 7 { identity } else { finite })
            }
        }
    }

    /// An integer in two's complement, in some rows of one sign.
    fn integer(&self, element: usize, rng: &mut StdRng) -> u64 {
        let bits = self.dtype.bits();
        let mask = u64::MAX >> (64 - bits);
        let top = 1u64 << (bits - 1);
        let drawn: u64 = rng.random();
        let code = match rng.random_range(0..8) {
            // A small magnitude, of either sign.
            0..2 => {
                let small = (drawn & mask) >> rng.random_range(1..bits);
                if rng.random_bool(0.5) {
                    small
                } else {
                    small.wrapping_neg()
                }
            }
            2 => [0, 1, mask, top, top - 1][rng.random_range(0..5)],
            _ => drawn,
        };
        let is_signed = !matches!(self.dtype, DType::U8 | DType::U16 | DType::U32);
        let signed = match self.turn(element, 4).0 {
            2 if is_signed => code | top,
            3 if is_signed => code & !top,
            _ => code,
        };
        signed & mask
    }
}

impl Row {
    /// The code of an element.
    fn code(self, format: Format, rng: &mut StdRng) -> u64 {
        let sign = if rng.random_bool(0.5) {
            format.sign()
        } else {
            0
        };
        let [least, top] = [lowest(format), format.top_exponent()];
        let normal = format.least_exponent();
        let is_zero = |rng: &mut StdRng| rng.random_range(0..ZEROS) == 0;
        let exponent = match self {
            Row::All(code) => return code,
            Row::Band { centre, .. } => centre - rng.random_range(0..=2),
            Row::Moderate => rng.random_range(MODERATE),
            Row::Both if rng.random_bool(0.5) => rng.random_range(MODERATE),
            _ if is_zero(rng) => return sign,
            Row::Half => rng.random_range(normal / 2..=top / 2),
            Row::Subnormal => rng.random_range(least..normal),
            Row::Any | Row::Both => rng.random_range(least..=top),
        };
        // Of few bits results are exact.
        let fraction = match rng.random_range(0..4) {
            0 => 0,
            _ => rng.random(),
        };
        let sign = match self {
            Row::Band { sign, .. } => sign.unwrap_or(if rng.random() { format.sign() } else { 0 }),
            _ => sign,
        };
        sign | format.code(exponent, fraction)
    }
}

/// The exponent of the least subnormal number.
fn lowest(format: Format) -> i32 {
    format.least_exponent() - format.fraction_bits.cast_signed()
}

/// Modes along which a contraction sums, one of a chain or the parts of one as well.
pub(super) fn contracted(form: &Form) -> Vec<ModeId> {
    let summed = |one: &Contraction| {
        let parts = one.parts.iter().flat_map(|parts| parts.sum.modes.clone());
        one.summed.iter().copied().chain(parts).collect::<Vec<_>>()
    };
    match form {
        Form::Rows(_) => Vec::new(),
        Form::Contraction(one) => summed(one),
        Form::Chain(chain) => [summed(&chain.first), summed(&chain.second)].concat(),
    }
}

/// Whether an operand says how long groups are.
fn says_how_long(formula: &Formula, at: usize) -> bool {
    let is_table = |extent: &Extent| matches!(extent, Extent::Ragged { table, .. } if *table == at);
    formula.modes.iter().any(|mode| is_table(&mode.extent))
}

/// Bits in which those of a number are mixed, as the finalizer of splitmix64 does.
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::verify::numbers::decode;

    fn far(dtype: DType, along: Option<Along>, ends: [bool; 2]) -> Vec<f64> {
        let far = Far {
            dtype,
            along,
            ends,
            seed: 5,
        };
        let bytes = far.bytes(40 * 33);
        assert_eq!(bytes, far.bytes(40 * 33));
        decode(dtype, &bytes).unwrap()
    }

    #[test]
    fn floats_are_anywhere_in_their_range() {
        for dtype in [
            DType::F16,
            DType::BF16,
            DType::TF32,
            DType::F32,
            DType::F64,
            DType::E4M3,
            DType::E5M2,
        ] {
            let format = Format::of(dtype).unwrap();
            let values = far(dtype, None, [false; 2]);
            let share = |is: &dyn Fn(f64) -> bool| {
                let count = values.iter().filter(|value| is(value.abs())).count();
                count as f64 / values.len() as f64
            };
            let top = f64::from(format.top_exponent());
            assert!(share(&|x| (1.0..128.0).contains(&x)) > 0.2, "{dtype}");
            assert!(share(&|x| x.log2() > 0.75 * top) > 0.01, "{dtype}");
            assert!(
                share(&|x| x != 0.0 && x.log2() < -0.75 * top) > 0.01,
                "{dtype}"
            );
            assert!(
                share(&|x| x != 0.0 && x < format.weight(x)) > 0.05,
                "{dtype}"
            );
            assert!(share(&|x| !x.is_finite()) == 0.0, "{dtype}");
            for sign in [1.0, -1.0f64] {
                let zero = |x: &f64| *x == 0.0 && x.is_sign_negative() == (sign < 0.0);
                assert!(values.iter().any(zero), "{dtype}");
            }
        }
    }

    #[test]
    fn integers_have_any_bits() {
        for dtype in [DType::S8, DType::U8, DType::S16, DType::S32, DType::U32] {
            let values = far(dtype, None, [false; 2]);
            let bits = dtype.bits() as i32;
            let (least, most) = match dtype {
                DType::U8 | DType::U32 => (0.0, f64::from(bits).exp2() - 1.0),
                _ => (
                    -f64::from(bits - 1).exp2(),
                    f64::from(bits - 1).exp2() - 1.0,
                ),
            };
            assert!(values.contains(&least) && values.contains(&most), "{dtype}");
            assert!(values.iter().any(|x| x.abs() < 4.0) && values.iter().any(|x| *x > most / 2.0));
        }
    }

    #[test]
    fn some_rows_hold_nothing_but_what_a_fold_begins_with() {
        let rows = |dtype, ends| {
            let along = Along::new(&[40, 33], vec![false, true]);
            far(dtype, Some(along), ends)
        };
        let all = |values: &[f64], one: f64| {
            let mut rows = values.chunks(33);
            rows.any(|row| row.iter().all(|value| *value == one))
        };
        let f32_most = f64::from(f32::MAX);
        let [largest, smallest] = [[true, false], [false, true]].map(|ends| rows(DType::F32, ends));
        assert!(all(&largest, f64::NEG_INFINITY) && all(&largest, -f32_most));
        assert!(all(&smallest, f64::INFINITY) && all(&smallest, f32_most));
        let both = rows(DType::E4M3, [true, true]);
        assert!(all(&both, 448.0) || all(&both, -448.0));
        let neither = rows(DType::F32, [false; 2]);
        assert!(neither.iter().all(|value| value.is_finite()));
        let integers = rows(DType::S32, [true, false]);
        assert!(
            integers
                .chunks(33)
                .any(|row| row.iter().all(|one| *one < 0.0))
        );
    }
}
