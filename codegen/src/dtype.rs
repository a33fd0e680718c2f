//! Element types that kernels are generated of.

pub use tilewright_formula::DType;

/// Every element type that an operand of a spec may have, in the order of their names in messages.
pub const DTYPES: &[DType] = &[
    DType::F16,
    DType::BF16,
    DType::TF32,
    DType::F32,
    DType::F64,
    DType::E4M3,
    DType::E5M2,
    DType::E2M1,
    DType::UE8M0,
    DType::S4,
    DType::U4,
    DType::S8,
    DType::U8,
    DType::S16,
    DType::U16,
    DType::S32,
];

/// The type of that name, if an operand may have it.
pub fn named(name: &str) -> Option<DType> {
    DTYPES.iter().copied().find(|dtype| dtype.text() == name)
}
