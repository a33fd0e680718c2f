//! Elements of inputs, drawn by the hash of their place.

use tilewright_formula::number::{Kind, stored};

use crate::dtype::DType;

/// Inputs are integers up to this, or the nearest that an element type holds.
const LARGEST: i64 = 8;

/// The element of an input at that place.
pub(super) fn drawn(place: [usize; 3], dtype: DType) -> f64 {
    let value = (hashed(place) % (2 * LARGEST as u64 + 1)) as i64 - LARGEST;
    match Kind::of(dtype) {
        Kind::Scale => ((value.abs() % 4) as f64).exp2(),
        Kind::Integer([0, _]) => value.abs() as f64,
        _ => stored(dtype, value as f64),
    }
}

/// A number that tells little of the place (the finalizer of splitmix64).
pub(super) fn hashed(place: [usize; 3]) -> u64 {
    let [a, b, c] = place.map(|part| part as u64 + 1);
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ b.wrapping_mul(0xbf58_476d_1ce4_e5b9)
        ^ c.wrapping_mul(0x94d0_49bb_1331_11eb);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
