//! The approximated functions of f32, f16 and bf16.

use super::float::{FloatMods, finish32, input};
use super::short::Short;

/// The approximated functions; each is correctly rounded from f64, well inside the documented
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approx {
    Rsqrt,
    Sin,
    Cos,
    Lg2,
    Ex2,
    Tanh,
}

impl Approx {
    /// The function on f64.
    pub(crate) fn value(self, x: f64) -> f64 {
        match self {
            Approx::Rsqrt => 1.0 / x.sqrt(),
            Approx::Sin => x.sin(),
            Approx::Cos => x.cos(),
            Approx::Lg2 => x.log2(),
            Approx::Ex2 => x.exp2(),
            Approx::Tanh => x.tanh(),
        }
    }

    /// The function on f32 bits.
    pub(crate) fn apply32(self, a: u64, mods: FloatMods) -> u64 {
        let x = input(a, mods);
        finish32((self.value(f64::from(x)) as f32).to_bits(), mods)
    }

    /// The function on the bits of a 16-bit format.
    pub(crate) fn apply16(self, a: u64, short: Short, mods: FloatMods) -> u64 {
        short.finish(self.value(short.input(a, mods)), mods)
    }
}
