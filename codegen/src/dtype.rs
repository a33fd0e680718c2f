//! Element types, named as PTX names them.

use std::fmt;

use tilewright_formula::DType;

/// An element type of an operand, an accumulator or a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// TensorFloat-32, stored in 32 bits.
    Tf32,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// 8-bit float, 4 exponent bits.
    E4m3,
    /// 8-bit float, 5 exponent bits.
    E5m2,
    /// Signed 8-bit integer.
    S8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 32-bit integer.
    S32,
}

/// Every element type, in the order of their names in messages.
pub const DTYPES: &[Dtype] = &[
    Dtype::F16,
    Dtype::Bf16,
    Dtype::Tf32,
    Dtype::F32,
    Dtype::F64,
    Dtype::E4m3,
    Dtype::E5m2,
    Dtype::S8,
    Dtype::U8,
    Dtype::S32,
];

impl Dtype {
    /// The type of that PTX name.
    pub fn parse(name: &str) -> Option<Dtype> {
        DTYPES.iter().copied().find(|dtype| dtype.name() == name)
    }

    /// The PTX name: `bf16`.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::Tf32 => "tf32",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
            Dtype::E4m3 => "e4m3",
            Dtype::E5m2 => "e5m2",
            Dtype::S8 => "s8",
            Dtype::U8 => "u8",
            Dtype::S32 => "s32",
        }
    }

    /// Size of one element in bits.
    pub fn bits(self) -> u32 {
        match self {
            Dtype::E4m3 | Dtype::E5m2 | Dtype::S8 | Dtype::U8 => 8,
            Dtype::F16 | Dtype::Bf16 => 16,
            Dtype::Tf32 | Dtype::F32 | Dtype::S32 => 32,
            Dtype::F64 => 64,
        }
    }

    /// Bits of its numbers behind the point; `None` of integers.
    pub fn fraction_bits(self) -> Option<u32> {
        Some(match self {
            Dtype::E5m2 => 2,
            Dtype::E4m3 => 3,
            Dtype::Bf16 => 7,
            Dtype::F16 | Dtype::Tf32 => 10,
            Dtype::F32 => 23,
            Dtype::F64 => 52,
            Dtype::S8 | Dtype::U8 | Dtype::S32 => return None,
        })
    }

    /// Size of one element in bytes.
    pub fn bytes(self) -> u32 {
        self.bits() / 8
    }
}

/// The type of the same name that formulas have.
impl From<Dtype> for DType {
    fn from(dtype: Dtype) -> DType {
        match dtype {
            Dtype::F16 => DType::F16,
            Dtype::Bf16 => DType::BF16,
            Dtype::Tf32 => DType::TF32,
            Dtype::F32 => DType::F32,
            Dtype::F64 => DType::F64,
            Dtype::E4m3 => DType::E4M3,
            Dtype::E5m2 => DType::E5M2,
            Dtype::S8 => DType::S8,
            Dtype::U8 => DType::U8,
            Dtype::S32 => DType::S32,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
