//! Sums of whole tiles: rows of A by columns of B, eight columns at a time.
//!
//! Comes in: operands as f32, which holds every element exactly. Goes out: the sums that
//! [`Step::dot`] gives, as f32 again. Nearly all numbers go the fast way: two passes over k find
//! the largest exponent and add up integers, without a branch. Rows and columns with a NaN, an
//! infinity or an exponent so far out that f32 cannot hold a product take the slow one, which is
//! the definition itself.

mod lanes;
mod columns;

use super::element::Sum;
use super::format::{F16, F32, Format};
use super::fused::Fused;
use super::rules::Making;
use super::step::Step;
use columns::{exponents, least, power};
use lanes::{Lanes, WIDTH, Work};

pub(crate) use columns::Columns;

/// The constants of one kind of sum.
#[derive(Clone, Copy)]
struct Kind {
    /// The exponent field of 2^F, twice biased.
    scale: u32,
    /// 2^-F.
    unit: f64,
    /// The least power of an accumulator that is not zero.
    least: f32,
    /// The least exponent that terms are aligned to, where it can be met.
    floor: f32,
    /// The bits of an f64 that an f32 result keeps; none to round to nearest in f16.
    keep: Option<u64>,
}

impl Kind {
    fn new(fused: Fused, sum: Sum) -> Kind {
        let half = sum == Sum::F16;
        let kept_bits = fused.kept_bits as u32;
        let dropped = 52 - fused.f32_bits;
        Kind {
            scale: (2 * 127 + kept_bits) << 23,
            unit: f64::from_bits(u64::from(1023 - kept_bits) << 52),
            least: least(if half { F16 } else { F32 }),
            floor: if half { least(F16) / 128.0 } else { 0.0 },
            keep: (!half).then_some(u64::MAX << dropped),
        }
    }
}

/// Exponents of a sum for which the fast way holds: scales and units are normal numbers of f32,
/// and so is every result.
const SPAN: (f32, f32) = (
    f32::from_bits((127 - 100) << 23),
    f32::from_bits((127 + 100) << 23),
);

/// An f16 to nearest even, infinite beyond the largest; zero is +0.
#[inline(always)]
fn nearest_half(value: f64) -> f32 {
    let power = f64::from_bits(value.to_bits() & 0x7ff0 << 48);
    let least = 1.0 / 16384.0;
    let power = if power > least { power } else { least };
    // Adding so much leaves the bits of f16 alone: one and a half times 2^52 of its last place.
    let magic = power * (1.5 * (1u64 << 42) as f64);
    let rounded = (value + magic) - magic;
    let rounded = if value.abs() < 131_072.0 {
        rounded
    } else {
        value
    };
    if rounded.abs() >= 65_536.0 {
        f32::INFINITY.copysign(rounded as f32)
    } else {
        rounded as f32
    }
}

/// The sums of one piece of k for eight columns; none where the fast way does not hold.
#[inline(always)]
fn sum_panel<L: Lanes>(
    lanes: L,
    kind: Kind,
    (a, a_powers): (&[f32], &[f32]),
    (b, b_powers): (&[f32], &[f32]),
    c: &[f32; WIDTH],
) -> Option<[f32; WIDTH]> {
    let mut high: [f32; WIDTH] = c.map(|c| power(c, kind.least));
    for (a, b) in a_powers.iter().zip(b_powers.as_chunks::<WIDTH>().0) {
        for (high, b) in high.iter_mut().zip(b) {
            let product = a * b;
            *high = if product > *high { product } else { *high };
        }
    }
    let mut holds = true;
    for high in &mut high {
        let zero = *high == 0.0;
        *high = if *high > kind.floor {
            *high
        } else {
            kind.floor
        };
        *high = if zero { 1.0 } else { *high };
        holds &= (*high >= SPAN.0) & (*high <= SPAN.1);
    }
    if !holds {
        return None;
    }
    let scale: [f32; WIDTH] = high.map(|high| f32::from_bits(kind.scale - high.to_bits()));
    // A product is below 2^(F+2), so that 16 of them stay within 32 bits.
    let mut total = [0i32; WIDTH];
    for (a, b) in a.iter().zip(b.as_chunks::<WIDTH>().0) {
        let mut scaled = [0f32; WIDTH];
        for ((scaled, b), scale) in scaled.iter_mut().zip(b).zip(&scale) {
            *scaled = a * b * scale;
        }
        for (total, term) in total.iter_mut().zip(lanes.truncate(scaled)) {
            *total = total.wrapping_add(term);
        }
    }
    let mut start = [0f32; WIDTH];
    for ((start, c), scale) in start.iter_mut().zip(c).zip(&scale) {
        *start = c * scale;
    }
    let start = lanes.truncate(start);
    let mut out = [0f32; WIDTH];
    for index in 0..WIDTH {
        let sum = f64::from(total[index]) + f64::from(start[index]);
        let value = sum * (f64::from(high[index]) * kind.unit);
        out[index] = match kind.keep {
            Some(keep) => f64::from_bits(value.to_bits() & keep) as f32,
            None => nearest_half(value),
        };
    }
    Some(out)
}

/// A piece of a row and of a panel, with what the slow way needs to know.
#[derive(Clone, Copy)]
struct Piece<'p> {
    fused: Fused,
    kind: Kind,
    formats: (Format, Format),
    sum: Sum,
    wild: bool,
    a: (&'p [f32], &'p [f32]),
    b: (&'p [f32], &'p [f32]),
}

impl Piece<'_> {
    #[inline(always)]
    fn add<L: Lanes>(&self, lanes: L, c: &mut [f32; WIDTH]) {
        let fast = match self.wild {
            true => None,
            false => sum_panel(lanes, self.kind, self.a, self.b, c),
        };
        match fast {
            Some(sums) => *c = sums,
            None => self.add_slowly(c),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_slowly(&self, c: &mut [f32; WIDTH]) {
        let (a_format, b_format) = self.formats;
        let fraction_bits = a_format.fraction_bits + b_format.fraction_bits;
        for (column, c) in c.iter_mut().enumerate() {
            let b = self.b.0.iter().skip(column).step_by(WIDTH);
            let pairs = self.a.0.iter().zip(b);
            let pairs = pairs.map(|(a, b)| (a_format.parts_of(*a), b_format.parts_of(*b)));
            let summed = self
                .fused
                .add(self.sum, fraction_bits, pairs, to_bits(self.sum, *c));
            *c = from_bits(self.sum, summed.bits);
        }
    }
}

/// The bits of a sum that is held as f32; NaN is the canonical one.
#[inline]
pub(crate) fn to_bits(sum: Sum, value: f32) -> u64 {
    match sum {
        Sum::F16 if value.is_nan() => F16.nan(),
        Sum::F16 => u64::from(half::f16::from_f32(value).to_bits()),
        _ if value.is_nan() => F32.nan(),
        _ => u64::from(value.to_bits()),
    }
}

/// A sum as f32, which holds every f16.
#[inline]
pub(crate) fn from_bits(sum: Sum, bits: u64) -> f32 {
    match sum {
        Sum::F16 => half::f16::from_bits(bits as u16).to_f32(),
        _ => f32::from_bits(bits as u32),
    }
}

impl Step {
    /// Where the element of that k lies in rows of A and columns of B: products that are summed
    /// together lie side by side.
    pub(crate) fn place(&self, k: usize) -> usize {
        match self.making {
            Making::Widened(_) => k / 4 * 2 + k % 2 + (k & 2) / 2 * (self.k / 2),
            _ => k,
        }
    }

    /// Adds the products of rows of A with columns of B to the sums: rows of k and of n elements.
    pub(crate) fn add_tile(&self, a: &[f32], columns: &Columns, sums: &mut [f32]) {
        lanes::widest(TileSum {
            step: self,
            a,
            columns,
            sums,
        });
    }

    /// Sums of products of 8 bits, all of them integers that f32 holds.
    #[inline(always)]
    fn add_integers(&self, a: &[f32], columns: &Columns, sums: &mut [f32]) {
        let k = self.k.max(1);
        let n = columns.wild.len() * WIDTH;
        for (a, sums) in a.chunks_exact(k).zip(sums.chunks_exact_mut(n.max(1))) {
            let panels = columns.values.chunks_exact(k * WIDTH);
            for (sums, panel) in sums.as_chunks_mut::<WIDTH>().0.iter_mut().zip(panels) {
                for (a, b) in a.iter().zip(panel.as_chunks::<WIDTH>().0) {
                    for (sum, b) in sums.iter_mut().zip(b) {
                        *sum += a * b;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn add_rows<L: Lanes>(&self, lanes: L, a: &[f32], columns: &Columns, sums: &mut [f32]) {
        let (fused, halves) = match self.making {
            Making::Fused(fused) => (fused, false),
            Making::Widened(fused) => (fused, true),
            Making::Chain | Making::Exact => return self.add_integers(a, columns, sums),
        };
        let kind = Kind::new(fused, self.sum);
        let k = self.k.max(1);
        let n = columns.wild.len() * WIDTH;
        let least = least(self.formats().0);
        let mut powers = [0f32; 64];
        for (a, sums) in a.chunks_exact(k).zip(sums.chunks_exact_mut(n.max(1))) {
            let Some(powers) = powers.get_mut(..k) else {
                return;
            };
            let wild = exponents(a, powers, least);
            for (index, c) in sums.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
                let panel = index * k * WIDTH..(index + 1) * k * WIDTH;
                let (Some(b), Some(b_powers)) =
                    (columns.values.get(panel.clone()), columns.powers.get(panel))
                else {
                    return;
                };
                let piece = |start: usize, end: usize| Piece {
                    fused,
                    kind,
                    formats: self.formats(),
                    sum: self.sum,
                    wild: wild | columns.wild[index],
                    a: (&a[start..end], &powers[start..end]),
                    b: (
                        &b[start * WIDTH..end * WIDTH],
                        &b_powers[start * WIDTH..end * WIDTH],
                    ),
                };
                if !halves {
                    for start in (0..k).step_by(fused.terms) {
                        piece(start, k.min(start + fused.terms)).add(lanes, c);
                    }
                    continue;
                }
                let mut sum = [0f32; WIDTH];
                for half in [0, k / 2] {
                    for start in (half..half + k / 2).step_by(fused.terms) {
                        let end = (half + k / 2).min(start + fused.terms);
                        piece(start, end).add(lanes, &mut sum);
                    }
                }
                for (c, sum) in c.iter_mut().zip(sum) {
                    *c = match self.sum {
                        Sum::F16 => nearest_half(f64::from(*c) + f64::from(sum)),
                        _ => *c + sum,
                    };
                }
            }
        }
    }
}

/// One product, to be summed on registers of some width.
struct TileSum<'t> {
    step: &'t Step,
    a: &'t [f32],
    columns: &'t Columns,
    sums: &'t mut [f32],
}

impl Work for TileSum<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        self.step.add_rows(lanes, self.a, self.columns, self.sums);
    }
}
