//! Elements as numbers: encoding to and from device bytes, and how exact a type is.
//!
//! Every conversion is correctly rounded (ties to even). References are f64; a type that f64 does
//! not hold exactly is not supported.

use rayon::prelude::*;
use tilewright_bundle::DType;

use super::format::{Format, scaled};
use crate::error::Error;

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
        .for_each(|(to, from)| {
            for (place, value) in to.chunks_exact_mut(size).zip(from) {
                write(dtype, *value, place);
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
            for (value, place) in to.iter_mut().zip(from.chunks_exact(size)) {
                *value = read(dtype, place);
            }
        });
    Ok(values)
}

/// `value` rounded to `dtype`, or itself for types without numbers here.
pub fn round(dtype: DType, value: f64) -> f64 {
    let mut bytes = [0u8; 8];
    let size = (dtype.bytes() as usize).min(bytes.len());
    if check(dtype).is_err() {
        return value;
    }
    write(dtype, value, &mut bytes[..size]);
    read(dtype, &bytes[..size])
}

/// 2 to the exponents with which tensor cores take values; 1 for integers, 0 for zeros.
pub(super) fn weights(values: &[f64], dtype: DType) -> Vec<f64> {
    let format = Format::of(dtype);
    let weight = |value: &f64| match format {
        Some(format) => format.weight(*value),
        None => f64::from(u8::from(*value != 0.0)),
    };
    values.par_iter().map(weight).collect()
}

fn check(dtype: DType) -> Result<(), Error> {
    use DType::{BF16, E4M3, E5M2, F16, F32, F64, S8, S16, S32, TF32, U8, U16, U32};
    if matches!(
        dtype,
        F16 | BF16 | TF32 | F32 | F64 | E4M3 | E5M2 | S8 | S16 | S32 | U8 | U16 | U32
    ) {
        return Ok(());
    }
    Err(Error::Request(format!(
        "elements of type {dtype} cannot be compared as numbers yet"
    )))
}

/// Whether `dtype` holds integers only.
pub fn is_integer(dtype: DType) -> bool {
    use DType::{S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(dtype, S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64)
}

/// How many integers from 0 up `dtype` holds exactly, as a power of two; more for wide types.
pub(super) fn exact_integers(dtype: DType) -> f64 {
    match dtype {
        DType::E5M2 => 8.0,
        DType::E4M3 => 16.0,
        DType::S8 => 128.0,
        DType::U8 | DType::BF16 => 256.0,
        DType::F16 | DType::TF32 => 2048.0,
        DType::S16 | DType::U16 => 32_768.0,
        _ => 16_777_216.0,
    }
}

/// Unit roundoff: largest relative error of rounding to `dtype`; 0 for integers.
pub fn unit_roundoff(dtype: DType) -> f64 {
    match Format::of(dtype) {
        Some(format) => scaled(0.5, -format.fraction_bits.cast_signed()),
        None => 0.0,
    }
}

fn write(dtype: DType, value: f64, place: &mut [u8]) {
    if let Some(format) = Format::of(dtype) {
        let code = format.encode(value).to_le_bytes();
        place.copy_from_slice(&code[..place.len()]);
        return;
    }
    match dtype {
        DType::S8 => place.copy_from_slice(&(value as i8).to_le_bytes()),
        DType::U8 => place.copy_from_slice(&(value as u8).to_le_bytes()),
        DType::S16 => place.copy_from_slice(&(value as i16).to_le_bytes()),
        DType::U16 => place.copy_from_slice(&(value as u16).to_le_bytes()),
        DType::S32 => place.copy_from_slice(&(value as i32).to_le_bytes()),
        DType::U32 => place.copy_from_slice(&(value as u32).to_le_bytes()),
        _ => {}
    }
}

fn read(dtype: DType, place: &[u8]) -> f64 {
    let mut code = [0u8; 8];
    code[..place.len()].copy_from_slice(place);
    let code = u64::from_le_bytes(code);
    match dtype {
        DType::F32 | DType::TF32 => f64::from(f32::from_bits(code as u32)),
        DType::F64 => f64::from_bits(code),
        DType::S8 => f64::from(code as i8),
        DType::S16 => f64::from(code as i16),
        DType::S32 => f64::from(code as i32),
        DType::U8 | DType::U16 | DType::U32 => code as f64,
        _ => Format::of(dtype).map_or(f64::NAN, |format| format.decode(code)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

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
            DType::S32,
        ] {
            let values = [0.0, 1.0, -3.0, 64.0];
            assert_eq!(
                decode(dtype, &encode(dtype, &values).unwrap()).unwrap(),
                values
            );
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
