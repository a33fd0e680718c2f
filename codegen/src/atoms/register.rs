//! Types of registers.

use serde::Deserialize;

/// Type of the registers an operand is held in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegType {
    /// A condition.
    Pred,
    /// 8 untyped bits: one narrow value, in the low bits of a register of 16.
    B8,
    /// 16 untyped bits: one f16 or bf16 value.
    B16,
    /// 32 untyped bits: packed narrow values.
    B32,
    /// 64 untyped bits.
    B64,
    /// One f32.
    F32,
    /// One f64.
    F64,
}

impl RegType {
    /// Bits one register holds.
    pub fn bits(self) -> u32 {
        match self {
            RegType::Pred => 1,
            RegType::B8 => 8,
            RegType::B16 => 16,
            RegType::B32 | RegType::F32 => 32,
            RegType::B64 | RegType::F64 => 64,
        }
    }

    /// The name in records: `b32`.
    pub fn name(self) -> &'static str {
        match self {
            RegType::Pred => "pred",
            RegType::B8 => "b8",
            RegType::B16 => "b16",
            RegType::B32 => "b32",
            RegType::B64 => "b64",
            RegType::F32 => "f32",
            RegType::F64 => "f64",
        }
    }
}
