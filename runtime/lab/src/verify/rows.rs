//! Rows of factors as bit patterns: wide exponents, cancellation, and what is no number.
//!
//! A row has a shape of its own: where its exponents lie and how far they spread, how many zeros
//! there are, which signs and fractions. Products cancel in pairs whose places both factors agree
//! on: the first factor has two numbers of opposite signs there, the second one the same twice.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use tilewright_bundle::DType;

use super::data::{Data, Recipe, Side, small};
use super::format::Format;
use super::numbers::is_integer;
use tilewright_runtime::Error;

/// Which products cancel: those at `k` and `k + distance`, where the first of them is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pairs {
    distance: usize,
    marked: Vec<bool>,
}

impl Pairs {
    /// The pairs of a problem, the same for both factors.
    pub fn draw(data: Data, k: usize, seed: u64) -> Pairs {
        let mut rng = StdRng::seed_from_u64(seed ^ 0xCA9C_E15E);
        let distances = [1, 1, 4, 16, k / 2];
        let distance = distances.choose(&mut rng).copied().unwrap_or(1).max(1);
        let share = match data {
            Data::Cancelling => 1.0,
            Data::Wide => [0.0, 0.0, 0.5, 0.9]
                .choose(&mut rng)
                .copied()
                .unwrap_or(0.0),
            _ => 0.0,
        };
        // Blocks of `distance` numbers are firsts and seconds in turn.
        let first = |at: usize| (at / distance).is_multiple_of(2) && at + distance < k;
        Pairs {
            distance,
            marked: (0..k)
                .map(|at| first(at) && rng.random_bool(share))
                .collect(),
        }
    }

    /// Both places of each pair.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let marked = self
            .marked
            .iter()
            .enumerate()
            .filter(|(_, marked)| **marked);
        marked.map(|(at, _)| (at, at + self.distance))
    }
}

/// Makes the rows of one factor.
pub(super) struct Rows {
    data: Data,
    side: Side,
    k: usize,
    kind: Kind,
    pairs: Pairs,
}

enum Kind {
    /// Numbers with a largest exponent for most of them.
    Floats(Format, i32),
    /// Integers: the type, and the largest magnitude for which sums of products fit 32 bits.
    Integers(DType, i64),
}

impl Rows {
    /// # Errors
    /// When the type has no numbers here.
    pub fn new(recipe: &Recipe, pairs: Pairs) -> Result<Rows, Error> {
        let dtype = recipe.dtype;
        let kind = match Format::of(dtype) {
            Some(format) => Kind::Floats(format, recipe.top.div_euclid(2)),
            None if is_integer(dtype) => {
                let depth = recipe.k.max(1).next_power_of_two().ilog2();
                let most = 1i64 << (30u32.saturating_sub(depth) / 2).max(2);
                Kind::Integers(dtype, most)
            }
            None => {
                let text = format!("elements of type {dtype} cannot be compared as numbers yet");
                return Err(Error::Request(text));
            }
        };
        Ok(Rows {
            data: recipe.data,
            side: recipe.side,
            k: recipe.k,
            kind,
            pairs,
        })
    }

    /// The codes of one row.
    pub fn row(&self, rng: &mut StdRng) -> Vec<u64> {
        let (format, high) = match self.kind {
            Kind::Floats(format, high) => (format, high),
            Kind::Integers(dtype, most) => return self.integers(dtype, most, rng),
        };
        let mut codes: Vec<u64> = match self.data {
            Data::Wide => {
                let shape = Shape::draw(format, high, rng);
                (0..self.k).map(|_| shape.number(rng)).collect()
            }
            _ => (0..self.k).map(|_| normal(format, rng)).collect(),
        };
        if self.data == Data::OneSigned {
            let sign = if rng.random_bool(0.5) {
                format.sign()
            } else {
                0
            };
            codes
                .iter_mut()
                .for_each(|code| *code = *code & !format.sign() | sign);
        }
        self.cancel(format, &mut codes, rng);
        if self.data == Data::Special {
            specials(format, &mut codes, rng);
        }
        codes
    }

    /// Makes the pairs equal, and opposite in the first factor, up to a few units in the last
    /// place.
    fn cancel(&self, format: Format, codes: &mut [u64], rng: &mut StdRng) {
        let noise = [0, 0, 1, 3].choose(rng).copied().unwrap_or(0);
        for (first, second) in self.pairs.places() {
            let Some(code) = codes.get(first).copied() else {
                continue;
            };
            let steps = rng.random_range(0..=noise) << format.unused_bits;
            let magnitude = code & (format.sign() - 1);
            let near = (magnitude + steps).min(format.largest().max(magnitude));
            let sign = match self.side {
                Side::A => !code & format.sign(),
                Side::B => code & format.sign(),
            };
            if let Some(place) = codes.get_mut(second) {
                *place = sign | near;
            }
        }
    }

    /// A row of integers, in two's complement.
    fn integers(&self, dtype: DType, most: i64, rng: &mut StdRng) -> Vec<u64> {
        use DType::{U8, U16, U32, U64};
        let unsigned = matches!(dtype, U8 | U16 | U32 | U64);
        let bits = dtype.bits().min(62);
        let (least, largest) = match unsigned {
            true => (0, (1i64 << bits) - 1),
            false => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
        };
        let (least, largest) = (least.max(-most), largest.min(most));
        let one = |rng: &mut StdRng| match self.data {
            Data::Wide => rng.random_range(least..=largest),
            Data::Special if rng.random_bool(0.5) => {
                [least, largest, 0, 1].choose(rng).copied().unwrap_or(0)
            }
            Data::OneSigned => i64::from(rng.random_range(small(dtype))).abs(),
            _ => i64::from(rng.random_range(small(dtype))),
        };
        let mut row: Vec<i64> = (0..self.k).map(|_| one(rng)).collect();
        for (first, second) in self.pairs.places() {
            let negated = self.side == Side::A && !unsigned;
            let Some(value) = row.get(first).copied() else {
                continue;
            };
            if let Some(place) = row.get_mut(second) {
                let value = if negated { -value } else { value };
                *place = value.clamp(least, largest);
            }
        }
        row.into_iter().map(|value| value as u64).collect()
    }
}

/// The nearest code of a standard normal value.
fn normal(format: Format, rng: &mut StdRng) -> u64 {
    let value: f64 = StandardNormal.sample(rng);
    format.encode(value)
}

/// How the numbers of a row of [`Data::Wide`] are made.
struct Shape {
    format: Format,
    centre: i32,
    spread: i32,
    zeros: f64,
    one_signed: Option<u64>,
    fraction: Fraction,
}

#[derive(Debug, Clone, Copy)]
enum Fraction {
    Full,
    OneBit,
    Zero,
    Ones,
}

impl Shape {
    fn draw(format: Format, high: i32, rng: &mut StdRng) -> Shape {
        let least = format.least_exponent() - format.fraction_bits.cast_signed();
        let top = format.top_exponent();
        let high = high.clamp(least, top);
        // Few rows are so large that their sums overflow beside another such row.
        let overflows = !is_double(format) && rng.random_bool(1.0 / 16.0);
        let centre = match overflows {
            true => rng.random_range(high..=top),
            false => rng.random_range(least..=high),
        };
        let sign = if rng.random_bool(0.5) {
            format.sign()
        } else {
            0
        };
        use Fraction::{Full, OneBit, Ones, Zero};
        let fractions = [Full, Full, Full, OneBit, Zero, Ones];
        Shape {
            format,
            centre,
            spread: [0, 2, 6, 12, 35].choose(rng).copied().unwrap_or(0),
            zeros: [0.0, 0.0, 0.125, 0.5].choose(rng).copied().unwrap_or(0.0),
            one_signed: rng.random_bool(0.25).then_some(sign),
            fraction: fractions.choose(rng).copied().unwrap_or(Full),
        }
    }

    fn number(&self, rng: &mut StdRng) -> u64 {
        let format = self.format;
        let drawn = if rng.random_bool(0.5) {
            format.sign()
        } else {
            0
        };
        if self.zeros > 0.0 && rng.random_bool(self.zeros) {
            return drawn;
        }
        let exponent = self.centre - rng.random_range(0..=self.spread);
        let fraction = match self.fraction {
            Fraction::Full => rng.random(),
            Fraction::OneBit => 1u64 << rng.random_range(0..format.fraction_bits),
            Fraction::Zero => 0,
            Fraction::Ones => u64::MAX,
        };
        self.one_signed.unwrap_or(drawn) | format.code(exponent, fraction)
    }
}

/// Puts what is no ordinary number into a few rows, so that most sums stay numbers.
fn specials(format: Format, codes: &mut [u64], rng: &mut StdRng) {
    const ROWS: f64 = 1.0 / 6.0;
    if codes.is_empty() || !rng.random_bool(ROWS) {
        return;
    }
    let unit = 1u64 << format.unused_bits;
    let largest = match is_double(format) {
        true => format.code(format.top_exponent() / 2 - 16, u64::MAX),
        false => format.largest(),
    };
    let nothing_infinite = rng.random_bool(0.5);
    let most = (codes.len() / 8).clamp(1, 16);
    for _ in 0..rng.random_range(1..=most) {
        let sign = if rng.random_bool(0.5) {
            format.sign()
        } else {
            0
        };
        let magnitude = match rng.random_range(0..8) {
            0..3 => largest,
            3 => unit,
            4 => (1 << format.fraction_bits) * unit,
            5 if nothing_infinite => 0,
            5 => not_a_number(format, rng),
            _ if nothing_infinite => largest - unit,
            _ => format.infinity().unwrap_or(format.largest()),
        };
        let at = rng.random_range(0..codes.len());
        if let Some(place) = codes.get_mut(at) {
            *place = sign | magnitude;
        }
    }
}

/// Whether products may be beyond the references, which are f64.
fn is_double(format: Format) -> bool {
    format.fraction_bits == 52
}

/// Any NaN, quiet or signalling.
fn not_a_number(format: Format, rng: &mut StdRng) -> u64 {
    let unit = 1u64 << format.unused_bits;
    let first = format.infinity().unwrap_or(format.largest()) + unit;
    let last = format.sign() - unit;
    first + rng.random_range(0..=(last - first) / unit) * unit
}
