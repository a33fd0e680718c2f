//! Elements as numbers: encoding to and from device bytes, and how exact a type is.
//!
//! Every conversion is correctly rounded (ties to even). References are f64; a type that f64 does
//! not hold exactly is not supported.

use rayon::prelude::*;
use tilewright_bundle::DType;
use tilewright_formula::number::{Kind, scale_code, scale_of, stored};

use super::format::{Format, scaled};
use tilewright_runtime::Error;

/// Elements converted by one task.
const BLOCK: usize = 1 << 14;

/// The bytes of `values` as `dtype`, rounded.
///
/// # Errors
/// When the type has no numbers here.
pub fn encode(dtype: DType, values: &[f64]) -> Result<Vec<u8>, Error> {
    check(dtype)?;
    let size = dtype.bytes() as usize;
    let mut bytes = vec![0u8; values.len() * size];
    bytes
        .par_chunks_mut(BLOCK * size)
        .zip(values.par_chunks(BLOCK))
        .for_each(|(to, from)| match Format::of(dtype) {
            Some(format) => {
                for (place, value) in to.chunks_exact_mut(size).zip(from) {
                    place.copy_from_slice(&format.encode(*value).to_le_bytes()[..size]);
                }
            }
            None => {
                for (place, value) in to.chunks_exact_mut(size).zip(from) {
                    write(dtype, *value, place);
                }
            }
        });
    Ok(bytes)
}

/// The values of `bytes` read as `dtype`.
///
/// # Errors
/// When the type has no numbers here.
pub fn decode(dtype: DType, bytes: &[u8]) -> Result<Vec<f64>, Error> {
    check(dtype)?;
    let size = dtype.bytes() as usize;
    let mut values = vec![0f64; bytes.len() / size];
    values
        .par_chunks_mut(BLOCK)
        .zip(bytes.par_chunks(BLOCK * size))
        .for_each(|(to, from)| {
            let places = to.iter_mut().zip(from.chunks_exact(size));
            match dtype {
                // It is the first half of an f32.
                DType::BF16 => places.for_each(|(value, place)| {
                    let [low, high] = [0, 1].map(|at| place.get(at).copied().unwrap_or(0));
                    *value = f64::from(f32::from_le_bytes([0, 0, low, high]));
                }),
                DType::F32 | DType::TF32 => places.for_each(|(value, place)| {
                    let bytes = place.first_chunk::<4>().copied().unwrap_or_default();
                    *value = f64::from(f32::from_le_bytes(bytes));
                }),
                _ => places.for_each(|(value, place)| *value = read(dtype, place)),
            }
        });
    Ok(values)
}

/// `value` rounded to `dtype`, or itself for types without numbers here.
pub fn round(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::U32 => f64::from(value as u32),
        _ => stored(dtype, value),
    }
}

/// 2 to the exponents with which tensor cores take values; 1 for integers, 0 for zeros.
pub(super) fn weights(values: &[f64], dtype: DType) -> Vec<f64> {
    let format = Format::of(dtype);
    values
        .par_iter()
        .map(|value| weight(format, *value))
        .collect()
}

/// The weight of one value of a format; of integers without one.
fn weight(format: Option<Format>, value: f64) -> f64 {
    match format {
        Some(format) => format.weight(value),
        None => f64::from(u8::from(value != 0.0)),
    }
}

/// The largest weight of some values.
pub(super) fn peak(values: &[f64], dtype: DType) -> f64 {
    // Weights grow with magnitudes, and these with their bits, those of what is no number last.
    let bits = |value: &f64| value.abs().to_bits();
    let largest = values.iter().map(bits).max().unwrap_or_default();
    weight(Format::of(dtype), f64::from_bits(largest))
}

fn check(dtype: DType) -> Result<(), Error> {
    if Kind::of(dtype) != Kind::Raw || dtype == DType::U32 {
        return Ok(());
    }
    Err(Error::Request(format!(
        "elements of type {dtype} cannot be compared as numbers yet"
    )))
}

/// Whether `dtype` holds integers only.
pub fn is_integer(dtype: DType) -> bool {
    use DType::{S64, U32, U64};
    matches!(Kind::of(dtype), Kind::Integer(_)) || matches!(dtype, S64 | U32 | U64)
}

/// How many integers from 0 up `dtype` holds exactly, as a power of two; more for wide types.
pub(super) fn exact_integers(dtype: DType) -> f64 {
    match dtype {
        DType::UE8M0 => 2.0,
        DType::E2M1 => 4.0,
        DType::E5M2 | DType::S4 => 8.0,
        DType::E4M3 | DType::U4 => 16.0,
        DType::S8 => 128.0,
        DType::U8 | DType::BF16 => 256.0,
        DType::F16 | DType::TF32 => 2048.0,
        DType::S16 | DType::U16 => 32_768.0,
        _ => 16_777_216.0,
    }
}

/// Unit roundoff: largest relative error of rounding to `dtype`; 0 for integers.
pub fn unit_roundoff(dtype: DType) -> f64 {
    match (Format::of(dtype), Kind::of(dtype)) {
        (Some(format), _) => scaled(0.5, -format.fraction_bits.cast_signed()),
        // It is rounded up, to less than twice the value.
        (None, Kind::Scale) => 1.0,
        (None, _) => 0.0,
    }
}

fn write(dtype: DType, value: f64, place: &mut [u8]) {
    if let Some(format) = Format::of(dtype) {
        let code = format.encode(value).to_le_bytes();
        place.copy_from_slice(&code[..place.len()]);
        return;
    }
    let code = match Kind::of(dtype) {
        Kind::Scale => scale_code(value),
        // Of integers of four bits the byte has the last four.
        Kind::Integer(_) => stored(dtype, value) as i64 as u64 & mask(dtype),
        _ => u64::from(value as u32),
    };
    place.copy_from_slice(&code.to_le_bytes()[..place.len()]);
}

/// The bits of a code.
fn mask(dtype: DType) -> u64 {
    u64::MAX >> (64 - dtype.bits().min(64))
}

fn read(dtype: DType, place: &[u8]) -> f64 {
    let mut code = [0u8; 8];
    code[..place.len()].copy_from_slice(place);
    let code = u64::from_le_bytes(code);
    let code = code & mask(dtype);
    match (dtype, Kind::of(dtype)) {
        (DType::F32 | DType::TF32, _) => f64::from(f32::from_bits(code as u32)),
        (DType::F64, _) => f64::from_bits(code),
        (_, Kind::Float(format)) => format.decode(code),
        (_, Kind::Scale) => scale_of(code),
        (_, Kind::Integer([least, _])) if least < 0 => {
            let unused = 64 - dtype.bits();
            ((code << unused).cast_signed() >> unused) as f64
        }
        _ => code as f64,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_peak_is_the_largest_weight() {
        let all = [
            0.0,
            -0.0,
            1e-30,
            -3.0,
            0.75,
            448.0,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        for dtype in [DType::BF16, DType::E4M3, DType::F32, DType::S8] {
            for values in (0..all.len()).map(|end| &all[..end]) {
                let largest = weights(values, dtype).into_iter().fold(0.0, f64::max);
                assert_eq!(peak(values, dtype), largest, "{dtype} {values:?}");
            }
        }
    }

    #[test]
    fn values_survive_and_round_to_even() {
        for dtype in [
            DType::F16,
            DType::BF16,
            DType::F32,
            DType::F64,
            DType::TF32,
            DType::E4M3,
            DType::E5M2,
            DType::S8,
            DType::S16,
            DType::S32,
        ] {
            let values = [0.0, 1.0, -3.0, 64.0];
            assert_eq!(
                decode(dtype, &encode(dtype, &values).unwrap()).unwrap(),
                values
            );
        }
        for dtype in [DType::S4, DType::U4, DType::E2M1, DType::UE8M0, DType::U16] {
            let codes: Vec<u8> = (0..16).map(|at| at * dtype.bytes() as u8 % 16).collect();
            let values = decode(dtype, &codes).unwrap();
            assert_eq!(encode(dtype, &values).unwrap(), codes, "{dtype}");
        }
        assert_eq!(round(DType::BF16, 257.0), 256.0);
        assert_eq!(round(DType::BF16, 259.0), 260.0);
        assert_eq!(round(DType::F16, 2049.0), 2048.0);
        assert_eq!(round(DType::TF32, 2049.0), 2048.0);
        assert_eq!(round(DType::TF32, 2051.0), 2052.0);
        // A tie but for what f32 holds far below it.
        let above = f64::from(f32::from_bits(2049f32.to_bits() + 1));
        assert_eq!(round(DType::F16, above), 2050.0);
        assert!(encode(DType::B128, &[1.0]).is_err());
    }
}
