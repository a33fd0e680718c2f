//! The columns of B, eight at a time, with the exponents of their values.

use super::super::format::Format;
use super::super::step::Step;
use super::lanes::{self, Lanes, WIDTH, Work};

/// The columns of B in panels of eight: k rows of each lie one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub(super) k: usize,
    pub(super) values: Vec<f32>,
    /// Of each value the power of two that is its exponent; 0 for zero.
    pub(super) powers: Vec<f32>,
    /// Of each panel, whether it needs the slow way.
    pub(super) wild: Vec<bool>,
}

impl Columns {
    /// Room for `k` rows of `n` columns; what was there stays until it is overwritten.
    pub(crate) fn resize(&mut self, k: usize, n: usize) {
        let panels = n.div_ceil(WIDTH);
        self.k = k;
        self.values.resize(panels * k * WIDTH, 0.0);
        self.powers.resize(panels * k * WIDTH, 0.0);
        self.wild.resize(panels, false);
    }

    /// Puts the element of a row of B and a column.
    #[inline]
    pub(crate) fn put(&mut self, row: usize, column: usize, value: f32) {
        let at = (column / WIDTH * self.k + row) * WIDTH + column % WIDTH;
        if let Some(place) = self.values.get_mut(at) {
            *place = value;
        }
    }

    /// All values; those of eight columns are rows of eight.
    pub(crate) fn values(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// To be called when all values are there.
    pub(crate) fn close(&mut self, step: &Step) {
        if !step.is_ruled() {
            return;
        }
        lanes::widest(Exponents {
            least: least(step.formats().1),
            columns: self,
        });
    }
}

/// The exponents of all columns, to be taken on registers of some width.
struct Exponents<'c> {
    least: f32,
    columns: &'c mut Columns,
}

impl Work for Exponents<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let columns = self.columns;
        let size = (columns.k * WIDTH).max(1);
        let panels = columns.values.chunks_exact(size);
        let powers = columns.powers.chunks_exact_mut(size);
        for ((values, powers), wild) in panels.zip(powers).zip(&mut columns.wild) {
            *wild = exponents(values, powers, self.least);
        }
    }
}

/// The least normal number of a format.
pub(super) fn least(format: Format) -> f32 {
    f32::from_bits(((format.least_exponent() + 127) as u32) << 23)
}

/// Exponents of products of these magnitudes are exact in f32, and so are the products.
const TAME: (f32, f32) = (
    f32::from_bits((127 - 60) << 23),
    f32::from_bits((127 + 60) << 23),
);

/// The exponent of a value as a power of two; 0 for zero, infinite for an infinity and NaN.
#[inline(always)]
pub(super) fn power(value: f32, least: f32) -> f32 {
    let power = f32::from_bits(value.to_bits() & 0x7f80_0000);
    let power = if power > least { power } else { least };
    if value == 0.0 { 0.0 } else { power }
}

/// Writes the powers of values; whether one of them is beyond what is tame.
#[inline(always)]
pub(super) fn exponents(values: &[f32], powers: &mut [f32], least: f32) -> bool {
    let mut wild = false;
    for (value, place) in values.iter().zip(powers) {
        let power = power(*value, least);
        *place = power;
        wild |= (power > TAME.1) | ((power < TAME.0) & (power != 0.0));
    }
    wild
}
