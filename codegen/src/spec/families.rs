//! What each kernel family is made of, as data: operands, extents, tile, element types.
//!
//! A new family is a row here; the checks, the schema and the tuning paths follow from it.

use super::words::Raster;
use crate::dtype::Dtype;

/// What computes a kernel: the form of its formula, of which one default formula is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// `d = s`, two-dimensional. Operands `s`, `d`; extents `m`, `n`.
    Copy,
    /// `d = a · bᵀ`, with `a: (m,k)`, `b: (n,k)`, `d: (m,n)`.
    Gemm,
}

/// What an operand is to its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The factor with the output's first mode: the rows of the MMA.
    A,
    /// The factor with the output's second mode: the columns of the MMA.
    B,
    /// What is copied.
    Source,
    /// What is written.
    Output,
}

/// One operand of a family.
#[derive(Debug)]
pub struct OperandFacts {
    /// Name in specs and in the launch ABI.
    pub name: &'static str,
    /// What it is to the kernel.
    pub role: Role,
    /// Names of its extents, in order.
    pub extents: [&'static str; 2],
}

/// A set of element types that a family computes with.
#[derive(Debug)]
pub struct TypeRule {
    /// Type of every input.
    pub inputs: Dtype,
    /// Type sums are held in.
    pub accumulator: Dtype,
    /// Types the output may have.
    pub outputs: &'static [Dtype],
}

impl TypeRule {
    /// Whether an operand, which is written or read, may have that type.
    pub fn takes(&self, is_written: bool, dtype: Dtype) -> bool {
        match is_written {
            true => self.outputs.contains(&dtype),
            false => dtype == self.inputs,
        }
    }
}

/// Facts of one family.
#[derive(Debug)]
pub struct FamilyFacts {
    /// The family.
    pub family: Family,
    /// Value of the key `kernel`, folder of its specs and first part of their names.
    pub name: &'static str,
    /// Operands in parameter order.
    pub operands: &'static [OperandFacts],
    /// Extents that `cta_tile` cuts, in order: those of the output, then those summed over.
    pub tile: &'static [&'static str],
    /// The formula that is generated, as help quotes it.
    pub generated: &'static str,
    /// Order of the output tiles where a spec leaves it open.
    pub raster: Raster,
    /// Legal element types. Empty: any type, the same for all operands.
    pub types: &'static [TypeRule],
}

const fn operand(name: &'static str, role: Role, extents: [&'static str; 2]) -> OperandFacts {
    OperandFacts {
        name,
        role,
        extents,
    }
}

/// Every family, in the order of messages.
pub static FAMILIES: &[FamilyFacts] = &[
    FamilyFacts {
        family: Family::Copy,
        name: "copy",
        operands: &[
            operand("s", Role::Source, ["m", "n"]),
            operand("d", Role::Output, ["m", "n"]),
        ],
        tile: &["m", "n"],
        generated: "d[m,n] = s[m,n]",
        raster: Raster::Row,
        types: &[],
    },
    FamilyFacts {
        family: Family::Gemm,
        name: "gemm",
        operands: &[
            operand("a", Role::A, ["m", "k"]),
            operand("b", Role::B, ["n", "k"]),
            operand("d", Role::Output, ["m", "n"]),
        ],
        tile: &["m", "n", "k"],
        generated: "d[m,n] = sum[k] a[m,k] * b[n,k]",
        raster: Raster::Grouped(8),
        types: &[
            TypeRule {
                inputs: Dtype::F16,
                accumulator: Dtype::F32,
                outputs: &[Dtype::F16, Dtype::F32],
            },
            TypeRule {
                inputs: Dtype::Bf16,
                accumulator: Dtype::F32,
                outputs: &[Dtype::Bf16, Dtype::F32],
            },
            TypeRule {
                inputs: Dtype::F32,
                accumulator: Dtype::F32,
                outputs: &[Dtype::F32],
            },
            TypeRule {
                inputs: Dtype::Tf32,
                accumulator: Dtype::F32,
                outputs: &[Dtype::F32],
            },
            TypeRule {
                inputs: Dtype::E4m3,
                accumulator: Dtype::F32,
                outputs: &[Dtype::F16, Dtype::Bf16, Dtype::F32],
            },
            TypeRule {
                inputs: Dtype::E5m2,
                accumulator: Dtype::F32,
                outputs: &[Dtype::F16, Dtype::Bf16, Dtype::F32],
            },
            TypeRule {
                inputs: Dtype::S8,
                accumulator: Dtype::S32,
                outputs: &[Dtype::S32],
            },
            TypeRule {
                inputs: Dtype::U8,
                accumulator: Dtype::S32,
                outputs: &[Dtype::S32],
            },
        ],
    },
];

impl Family {
    /// The facts of this family.
    pub fn facts(self) -> &'static FamilyFacts {
        match self {
            Family::Copy => &FAMILIES[0],
            Family::Gemm => &FAMILIES[1],
        }
    }

    /// The value of the key `kernel`: `gemm`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }
}
