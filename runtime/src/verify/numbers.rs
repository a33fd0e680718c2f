//! Elements as numbers: encoding to and from device bytes, and how exact a type is.
//!
//! Every conversion is correctly rounded (ties to even). References are f64; a type that f64 does
//! not hold exactly is not supported.

use half::{bf16, f16};
use rayon::prelude::*;
use tilewright_bundle::DType;

use super::float8;
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
    let mut bytes = [0u8; 16];
    let size = (dtype.bytes() as usize).min(bytes.len());
    if check(dtype).is_err() {
        return value;
    }
    write(dtype, value, &mut bytes[..size]);
    read(dtype, &bytes[..size])
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
    match dtype {
        DType::F16 | DType::TF32 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        DType::F32 => 2f64.powi(-24),
        DType::F64 => 2f64.powi(-53),
        DType::E4M3 => 2f64.powi(-4),
        DType::E5M2 => 2f64.powi(-3),
        _ => 0.0,
    }
}

/// Half the smallest subnormal: largest absolute error of rounding tiny values to `dtype`.
pub fn underflow(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-25),
        DType::BF16 => 2f64.powi(-134),
        DType::F32 | DType::TF32 => 2f64.powi(-150),
        DType::E4M3 => 2f64.powi(-10),
        DType::E5M2 => 2f64.powi(-17),
        _ => 0.0,
    }
}

fn write(dtype: DType, value: f64, place: &mut [u8]) {
    match dtype {
        DType::F16 => place.copy_from_slice(&f16::from_f64(value).to_le_bytes()),
        DType::BF16 => place.copy_from_slice(&bf16::from_f64(value).to_le_bytes()),
        DType::F32 => place.copy_from_slice(&(value as f32).to_le_bytes()),
        DType::TF32 => place.copy_from_slice(&tf32(value).to_le_bytes()),
        DType::E4M3 | DType::E5M2 => place.copy_from_slice(&[float8::encode(dtype, value)]),
        DType::F64 => place.copy_from_slice(&value.to_le_bytes()),
        DType::S8 => place.copy_from_slice(&(value as i8).to_le_bytes()),
        DType::U8 => place.copy_from_slice(&(value as u8).to_le_bytes()),
        DType::S16 => place.copy_from_slice(&(value as i16).to_le_bytes()),
        DType::U16 => place.copy_from_slice(&(value as u16).to_le_bytes()),
        DType::S32 => place.copy_from_slice(&(value as i32).to_le_bytes()),
        DType::U32 => place.copy_from_slice(&(value as u32).to_le_bytes()),
        _ => {}
    }
}

/// The nearest number with 11 bits of mantissa, held as f32.
fn tf32(value: f64) -> f32 {
    const LOST_BITS: u32 = 13;
    let value = value as f32;
    if !value.is_finite() {
        return value;
    }
    let bits = value.to_bits();
    let odd = bits >> LOST_BITS & 1;
    let rounded = bits.wrapping_add((1 << (LOST_BITS - 1)) - 1 + odd);
    f32::from_bits(rounded & !((1 << LOST_BITS) - 1))
}

fn read(dtype: DType, place: &[u8]) -> f64 {
    let pair = || [place[0], place[1]];
    let quad = || [place[0], place[1], place[2], place[3]];
    match dtype {
        DType::F16 => f16::from_le_bytes(pair()).to_f64(),
        DType::BF16 => bf16::from_le_bytes(pair()).to_f64(),
        DType::F32 | DType::TF32 => f64::from(f32::from_le_bytes(quad())),
        DType::E4M3 | DType::E5M2 => float8::decode(dtype, place[0]),
        DType::F64 => {
            let mut bytes = [0u8; 8];
            bytes.copy_from_slice(&place[..8]);
            f64::from_le_bytes(bytes)
        }
        DType::S8 => f64::from(place[0] as i8),
        DType::U8 => f64::from(place[0]),
        DType::S16 => f64::from(i16::from_le_bytes(pair())),
        DType::U16 => f64::from(u16::from_le_bytes(pair())),
        DType::S32 => f64::from(i32::from_le_bytes(quad())),
        DType::U32 => f64::from(u32::from_le_bytes(quad())),
        _ => f64::NAN,
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
        assert!(encode(DType::B128, &[1.0]).is_err());
    }
}
