//! The scalar video instructions (ISA 9.7.18): one operation on parts of 32-bit values, saturation,
//! then a second operation or a merge with a third value.

use super::int::{sign_extend, truncate};

/// The first operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VideoOp {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    ShiftLeft,
    ShiftRight,
}

/// The operation on the result and the third value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Second {
    None,
    Add,
    Min,
    Max,
}

/// A byte, a half, or all of 32 bits: the first bit and the number of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) start: u8,
    pub(crate) bits: u8,
}

impl Part {
    pub(crate) const WHOLE: Part = Part { start: 0, bits: 32 };

    /// The part of a selector such as `b2` or `h1`.
    pub(crate) fn parse(text: &str) -> Option<Part> {
        let (start, bits) = match text {
            "b0" => (0, 8),
            "b1" => (8, 8),
            "b2" => (16, 8),
            "b3" => (24, 8),
            "h0" => (0, 16),
            "h1" => (16, 16),
            _ => return None,
        };
        Some(Part { start, bits })
    }

    fn of(self, value: u64, signed: bool) -> i128 {
        let part = truncate(value >> self.start, u32::from(self.bits));
        if signed {
            i128::from(sign_extend(part, u32::from(self.bits)) as i64)
        } else {
            i128::from(part)
        }
    }
}

/// An instruction with all its modifiers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Video {
    pub(crate) op: VideoOp,
    /// Whether the result, the first and the second source are signed.
    pub(crate) signed: [bool; 3],
    /// The parts that are written and read, in the same order.
    pub(crate) parts: [Part; 3],
    pub(crate) saturates: bool,
    /// Shift amounts are taken modulo 32; else at most 32.
    pub(crate) wraps: bool,
    pub(crate) second: Second,
}

impl Video {
    pub(crate) fn apply(&self, a: u64, b: u64, c: u64) -> u64 {
        let a = self.parts[1].of(a, self.signed[1]);
        let b = self.parts[2].of(b, self.signed[2]);
        let amount = if self.wraps { b & 31 } else { b.clamp(0, 32) };
        let result = match self.op {
            VideoOp::Add => a + b,
            VideoOp::Sub => a - b,
            VideoOp::AbsDiff => (a - b).abs(),
            VideoOp::Min => a.min(b),
            VideoOp::Max => a.max(b),
            VideoOp::ShiftLeft => a << amount,
            VideoOp::ShiftRight => a >> amount,
        };
        let into = self.parts[0];
        let result = if self.saturates {
            let (bits, signed) = (u32::from(into.bits), self.signed[0]);
            let most = (1i128 << (bits - u32::from(signed))) - 1;
            result.clamp(if signed { -most - 1 } else { 0 }, most)
        } else {
            result
        };
        let third = Part::WHOLE.of(c, self.signed[0]);
        let result = match self.second {
            Second::None => result,
            Second::Add => result + third,
            Second::Min => result.min(third),
            Second::Max => result.max(third),
        };
        let mask = truncate(u64::MAX, u32::from(into.bits)) << into.start;
        (result as u64) << into.start & mask | c & !mask & 0xffff_ffff
    }
}
