//! The quadratic interpolation that all approximate functions share, in integers.
//!
//! Source: the structure is that of Oberman and Siu, "A High-Performance Area-Efficient
//! Multifunction Interpolator" (2005); constants and truncations are measured on an H200.

use std::sync::LazyLock;

/// Bits of the squarer's argument.
const SQUARER_BITS: u32 = 17;

/// The rows of one function and how their terms join.
#[derive(Debug)]
pub(super) struct Interpolation {
    /// Shift of the constant term.
    pub(super) constant_shift: u32,
    /// Shift of the quadratic term.
    pub(super) square_shift: u32,
    /// What is added before the cut.
    pub(super) rounding: i64,
    /// Constant, linear and quadratic coefficient of each piece of the argument.
    pub(super) rows: &'static [[i32; 3]],
}

impl Interpolation {
    /// The sum for remainder `l` in a piece; `square` is the argument of the squarer.
    #[inline]
    pub(super) fn at(&self, piece: u32, l: u32, square: u32) -> i64 {
        let [c0, c1, c2] = self.rows.get(piece as usize).copied().unwrap_or_default();
        (i64::from(c0) << self.constant_shift)
            + i64::from(c1) * i64::from(l)
            + ((i64::from(c2) * i64::from(squared(square))) << self.square_shift)
            + self.rounding
    }
}

/// About `l * l / 2^19`: each partial product of the square is cut before they are added.
fn truncated_square(l: u32) -> u16 {
    let parts = (0..SQUARER_BITS).filter(|bit| l >> bit & 1 == 1);
    (parts.map(|bit| l >> (SQUARER_BITS + 1 - bit)).sum::<u32>() >> 1) as u16
}

/// [`truncated_square`] of an argument of 17 bits.
#[inline]
fn squared(l: u32) -> u16 {
    static SQUARES: LazyLock<Box<[u16]>> =
        LazyLock::new(|| (0..1 << SQUARER_BITS).map(truncated_square).collect());
    SQUARES.get(l as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_cut_by_less_than_nine_steps() {
        for l in 0..1 << SQUARER_BITS {
            let (exact, got) = (u64::from(l) * u64::from(l), u64::from(squared(l)) << 19);
            assert!(got <= exact && exact - got < 9 << 19, "{l}");
        }
        assert_eq!((squared(0x1_ffff), squared(0x1_0000)), (0x7ff7, 0x2000));
    }
}
