//! f64 operations on raw bits, in every rounding mode.

use super::float::{FloatMods, pick};
use super::round::Round;

/// f64 `min` or `max`.
pub(crate) fn minmax64(a: u64, b: u64, larger: bool) -> u64 {
    match pick(f64::from_bits(a), f64::from_bits(b), larger, FloatMods(0)) {
        None => 0x7ff8_0000_0000_0000,
        Some(true) => a,
        Some(false) => b,
    }
}

/// The sign of the exact sum of four doubles, by error-free transformations.
fn sign_of_sum(terms: [f64; 4]) -> f64 {
    let mut parts: Vec<f64> = Vec::with_capacity(8);
    for term in terms {
        let mut carry = term;
        for part in &mut parts {
            let sum = carry + *part;
            let virtual_part = sum - carry;
            let error = (carry - (sum - virtual_part)) + (*part - virtual_part);
            (carry, *part) = (sum, error);
        }
        parts.push(carry);
    }
    parts
        .into_iter()
        .rev()
        .find(|part| *part != 0.0)
        .unwrap_or(0.0)
}

/// Moves an f64 rounded to nearest to the neighbour a directed mode asks for.
fn direct64(result: f64, error: f64, mode: Round) -> f64 {
    let step = match mode {
        Round::Nearest | Round::Away => return result,
        Round::Zero if result > 0.0 && error < 0.0 => result.next_down(),
        Round::Zero if result < 0.0 && error > 0.0 => result.next_up(),
        Round::Down if error < 0.0 => result.next_down(),
        Round::Up if error > 0.0 => result.next_up(),
        _ => return result,
    };
    if result.is_finite() { step } else { result }
}

/// f64 `a * b + c` with one rounding in any mode; `add` and `mul` are its special cases.
pub(crate) fn fma64(a: u64, b: u64, c: u64, mods: FloatMods) -> u64 {
    let (a, b, c) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
    let result = a.mul_add(b, c);
    let mode = mods.mode();
    if mode == Round::Nearest || !result.is_finite() {
        return result.to_bits();
    }
    let product = a * b;
    let low = a.mul_add(b, -product);
    if result == 0.0 && product == -c && low == 0.0 && product != 0.0 {
        return if mode == Round::Down {
            (-0.0f64).to_bits()
        } else {
            0
        };
    }
    direct64(result, sign_of_sum([product, low, c, -result]), mode).to_bits()
}

/// f64 `a + b`.
pub(crate) fn add64(a: u64, b: u64, mods: FloatMods) -> u64 {
    if mods.mode() == Round::Nearest {
        return (f64::from_bits(a) + f64::from_bits(b)).to_bits();
    }
    fma64(a, 1.0f64.to_bits(), b, mods)
}

/// f64 `a * b`.
pub(crate) fn mul64(a: u64, b: u64, mods: FloatMods) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let product = x * y;
    direct64(product, x.mul_add(y, -product), mods.mode()).to_bits()
}

/// f64 `a / b`.
pub(crate) fn div64(a: u64, b: u64, mods: FloatMods) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let quotient = x / y;
    let remainder = (-quotient).mul_add(y, x);
    direct64(
        quotient,
        if y < 0.0 { -remainder } else { remainder },
        mods.mode(),
    )
    .to_bits()
}

/// f64 square root.
pub(crate) fn sqrt64(a: u64, mods: FloatMods) -> u64 {
    let x = f64::from_bits(a);
    let root = x.sqrt();
    direct64(root, (-root).mul_add(root, x), mods.mode()).to_bits()
}
