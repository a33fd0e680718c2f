//! Random elements of factors, as bytes and as values.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use tilewright_bundle::DType;

use super::data::{Data, Recipe, Side, small};
use super::numbers::{decode, encode, is_integer, round};
use super::rows::{Pairs, Rows};
use tilewright_runtime::Error;
use tilewright_runtime::parts::check_host_memory;

/// Elements as bytes, row by row, and their values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Elements {
    pub bytes: Vec<u8>,
    pub values: Vec<f64>,
}

impl Recipe {
    /// The elements, the same for the same recipe.
    ///
    /// # Errors
    /// When the type has no numbers here, or the host has no memory for them.
    pub fn elements(&self) -> Result<Elements, Error> {
        let count = self.rows.saturating_mul(self.k);
        let own = match self.side {
            Side::A => self.seed,
            Side::B => self.seed ^ 0xB0B,
        };
        if matches!(self.data, Data::Integers | Data::Normals) {
            let (bytes, values) = random_elements(self.dtype, self.data, count, own)?;
            return Ok(Elements { bytes, values });
        }
        check_host_memory(elements_bytes(self.dtype, count))?;
        let size = self.dtype.bytes() as usize;
        let mut bytes = vec![0u8; count * size];
        let rows = Rows::new(self, Pairs::draw(self.data, self.k, self.seed))?;
        bytes
            .par_chunks_mut((self.k * size).max(1))
            .enumerate()
            .for_each(|(row, place)| {
                let mut rng = StdRng::seed_from_u64(block_seed(own, row));
                for (code, place) in rows.row(&mut rng).iter().zip(place.chunks_mut(size)) {
                    place.copy_from_slice(&code.to_le_bytes()[..size]);
                }
            });
        let values = decode(self.dtype, &bytes)?;
        Ok(Elements { bytes, values })
    }
}

/// Bytes on the host of that many elements and their values.
pub(super) fn elements_bytes(dtype: DType, count: usize) -> u64 {
    (count as u64).saturating_mul(8 + u64::from(dtype.bytes()))
}

pub(super) fn block_seed(seed: u64, block: usize) -> u64 {
    seed.wrapping_mul(0x9E37_79B9).wrapping_add(block as u64)
}

/// `count` random integers or normal values for elements of `dtype`, the same for the same seed.
fn random_values(dtype: DType, data: Data, count: usize, seed: u64) -> Vec<f64> {
    const BLOCK: usize = 1 << 14;
    let mut values = vec![0f64; count];
    values
        .par_chunks_mut(BLOCK)
        .enumerate()
        .for_each(|(at, block)| {
            let mut rng = StdRng::seed_from_u64(block_seed(seed, at));
            for value in block {
                *value = match data {
                    // It has powers of two alone.
                    Data::Integers if dtype == DType::UE8M0 => {
                        f64::from(rng.random_range(0..=2)).exp2()
                    }
                    Data::Integers => f64::from(rng.random_range(small(dtype))),
                    _ => normal(dtype, &mut rng),
                };
            }
        });
    values
}

/// A standard normal value; of a byte, what quantization to its range makes of normal values, with
/// four deviations to either end. Wider integers are small, so that sums fit their type.
fn normal(dtype: DType, rng: &mut StdRng) -> f64 {
    const DEVIATION: f64 = 32.0;
    let value: f64 = StandardNormal.sample(rng);
    match dtype {
        DType::S4 => (value * 3.0).round().clamp(-8.0, 7.0) + 0.0,
        DType::U4 => (value * 3.0 + 8.0).round().clamp(0.0, 15.0),
        DType::E2M1 => round(dtype, value * 2.0),
        DType::UE8M0 => (value * 2.0).round().exp2(),
        // Integers have one zero.
        DType::S8 => (value * DEVIATION).round().clamp(-128.0, 127.0) + 0.0,
        DType::U8 => (value * DEVIATION + 128.0).round().clamp(0.0, 255.0),
        _ if is_integer(dtype) => f64::from(rng.random_range(small(dtype))),
        _ => round(dtype, value),
    }
}

/// Random elements of any type, as bytes row by row, with their values: small integers for
/// [`Data::Integers`], else normal values.
///
/// # Errors
/// When the type has no numbers here, or the host has no memory for them.
pub fn random_elements(
    dtype: DType,
    data: Data,
    count: usize,
    seed: u64,
) -> Result<(Vec<u8>, Vec<f64>), Error> {
    check_host_memory(elements_bytes(dtype, count))?;
    let values = random_values(dtype, data, count, seed);
    Ok((encode(dtype, &values)?, values))
}

/// Whether all codes of a type are drawn where inputs are wide or special: scales, and integers
/// and floats of so few bits that sums of them stay within theirs.
pub(super) fn is_short(dtype: DType) -> bool {
    use DType::{E2M1, S4, S16, U4, U16, UE8M0};
    matches!(dtype, E2M1 | S4 | S16 | U4 | U16 | UE8M0)
}

/// Random codes of elements, each in whole bytes, the same for the same seed.
pub fn random_codes(dtype: DType, count: usize, seed: u64) -> Vec<u8> {
    let mut bytes = random_bytes(count.saturating_mul(dtype.bytes() as usize), seed);
    if dtype.per_byte() > 1 {
        bytes.iter_mut().for_each(|byte| *byte &= 0xF);
    }
    bytes
}

/// Random bytes, the same for the same seed.
pub fn random_bytes(count: usize, seed: u64) -> Vec<u8> {
    const BLOCK: usize = 1 << 16;
    let mut bytes = vec![0u8; count];
    bytes
        .par_chunks_mut(BLOCK)
        .enumerate()
        .for_each(|(at, block)| {
            let mut rng = StdRng::seed_from_u64(block_seed(seed, at));
            rng.fill(block);
        });
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::verify::format::Format;

    fn values(dtype: DType, data: Data, side: Side) -> Vec<f64> {
        let recipe = Recipe {
            dtype,
            data,
            side,
            rows: 64,
            k: 96,
            top: 100,
            seed: 5,
        };
        let elements = recipe.elements().unwrap();
        assert!(elements.bytes == recipe.elements().unwrap().bytes);
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let read = decode(dtype, &elements.bytes).unwrap();
        assert!(bits(&read) == bits(&elements.values));
        elements.values
    }

    #[test]
    fn every_kind_has_what_it_promises() {
        for dtype in [
            DType::F16,
            DType::BF16,
            DType::TF32,
            DType::F32,
            DType::E4M3,
            DType::E5M2,
        ] {
            let format = Format::of(dtype).unwrap();
            let wide = values(dtype, Data::Wide, Side::A);
            let subnormal = |x: &f64| *x != 0.0 && x.abs() < format.weight(*x);
            assert!(wide.iter().any(subnormal), "{dtype}");
            assert!(wide.iter().any(|x| *x == 0.0 && x.is_sign_negative()));
            assert!(wide.iter().all(|x| x.is_finite()));
            let special = values(dtype, Data::Special, Side::B);
            assert!(special.iter().any(|x| x.is_nan()), "{dtype}");
            assert_eq!(special.iter().any(|x| x.is_infinite()), !format.finite);
            let rows = special.chunks(96);
            let finite = rows.filter(|row| row.iter().all(|x| x.is_finite())).count();
            assert!((40..64).contains(&finite), "{finite}");
            for row in values(dtype, Data::OneSigned, Side::A).chunks(96) {
                let signs = row.iter().filter(|x| x.is_sign_negative()).count();
                assert!(signs == 0 || signs == 96);
            }
        }
    }

    #[test]
    fn bytes_spread_over_their_range() {
        for (dtype, ends) in [(DType::S8, [-90.0, 90.0]), (DType::U8, [38.0, 218.0])] {
            let values = values(dtype, Data::Normals, Side::A);
            assert!(values.iter().any(|x| *x < ends[0]), "{dtype}");
            assert!(values.iter().any(|x| *x > ends[1]), "{dtype}");
        }
    }

    #[test]
    fn pairs_cancel() {
        for dtype in [DType::BF16, DType::F64, DType::S8] {
            let [a, b] = [Side::A, Side::B].map(|side| values(dtype, Data::Cancelling, side));
            let products = a.chunks(96).zip(b.chunks(96));
            for (a, b) in products {
                let terms = || a.iter().zip(b).map(|(x, y)| x * y);
                let size: f64 = terms().map(f64::abs).sum();
                assert!(terms().sum::<f64>().abs() < 0.3 * size, "{dtype}");
            }
        }
    }
}
