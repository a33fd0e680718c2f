//! The model of an atom record: one machine instruction, or one idiom of a few, as data.
//!
//! Records live in `specs/atoms/*.yaml`. No code branches on an atom's id: what a stage needs to
//! know about an instruction stands here. What a record spells as the model names it is read as it
//! stands; `record` translates the rest.

use std::fmt;

use serde::Deserialize;
use tilewright_bundle::Sums;
use tilewright_layout::Layout;

use super::arithmetic::ArithmeticFacts;
pub use super::register::RegType;
pub use super::space::Space;
use super::sync::SyncFacts;
use crate::arch::Arch;
use crate::dtype::DType;

/// What an atom does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Moves data between memory spaces.
    Copy,
    /// `d = a · b + c`.
    Mma,
    /// Orders, waits or tells: barriers, commits, fences, flags, prefetches.
    Sync,
    /// Converts register values.
    Convert,
    /// Computes on numbers in registers.
    Arithmetic,
}

/// How an operand is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// `count` registers the atom reads.
    RegsIn {
        /// Register type.
        ty: RegType,
        /// How many.
        count: u32,
    },
    /// `count` registers the atom writes.
    RegsOut {
        /// Register type.
        ty: RegType,
        /// How many.
        count: u32,
    },
    /// `count` registers the atom reads and writes in place.
    RegsInOut {
        /// Register type.
        ty: RegType,
        /// How many.
        count: u32,
    },
    /// As many registers as the call gives, read and written in place: of that type, or each of
    /// its own.
    RegsInOuts {
        /// Register type.
        ty: Option<RegType>,
    },
    /// A predicate that the atom defines.
    Predicate,
    /// An address in that space.
    Address(Space),
    /// A tensor map among the kernel's parameters.
    TensorMap,
    /// A run-time 32-bit integer.
    Int,
    /// So many of them, or as many as the call gives.
    Ints(Option<u32>),
    /// A constant of the instruction text.
    Imm,
    /// As many constants of the text as the call gives.
    Imms,
}

/// One operand of the instruction, in the order an atom call lists its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandDecl {
    /// Name, used by `emit` and templates: `d`, `a`, `src`, `src_bytes`.
    pub name: String,
    /// How it is passed.
    pub kind: OperandKind,
    /// Alignment of an address where it is not the atom's.
    pub align_bytes: Option<u32>,
}

/// A closed set of operations LLVM has itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlvmOp {
    /// `regs-out = load address`: all registers as one vector, aligned to the atom's `align_bytes`.
    Load,
    /// `store regs-in to address`, as one vector.
    Store,
    /// `d = fma(a, b, c)` on f32 or f64 registers.
    Fma,
    /// `dst[0] = src[0]` rounded to nearest even, or widened exactly; types from the record's
    /// `convert`.
    FloatConvert,
    /// `dst[0] = pack(round(src[0]), round(src[1]))`, first source in the low half; types from
    /// `convert`.
    FloatPack2,
}

/// One parameter of an intrinsic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntrinsicArg {
    /// All registers, the address or the integer of the operand of that name.
    Operand(String),
    /// One register of an operand: written `src[1]` in records.
    Register(String, u32),
    /// A 32-bit constant.
    Const(i32),
}

/// One result of an intrinsic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntrinsicResult {
    /// The predicate of the operand of that name.
    Predicate(String),
    /// One that nobody reads.
    Unused(RegType),
}

/// How an atom becomes code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Emit {
    /// An operation LLVM has itself.
    Llvm(LlvmOp),
    /// A call of an `llvm.nvvm.*` intrinsic.
    Intrinsic {
        /// Full name, with overload suffixes.
        name: String,
        /// The intrinsic's parameters in order.
        args: Vec<IntrinsicArg>,
        /// Type of each argument or result register in the intrinsic's signature where it differs
        /// from the register's own, by operand name: `v2f16` for `<2 x half>`.
        types: Vec<(String, String)>,
        /// Its results behind the registers that the atom writes, in order.
        gives: Vec<IntrinsicResult>,
    },
    /// Inline assembly rendered from `templates/ptx/<file>`.
    Template {
        /// Path below `templates/ptx`.
        file: String,
        /// Constants handed to the template.
        values: Vec<(String, String)>,
    },
}

/// Layouts and types of an MMA atom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MmaFacts {
    /// Shape m, n, k.
    pub mnk: [i64; 3],
    /// Types of d, a, b, c.
    pub types: [DType; 4],
    /// Logical thread to lane.
    pub thr_id: Layout<i64>,
    /// (thread, value) to `m + M*k`.
    pub a_tv: Layout<i64>,
    /// (thread, value) to `n + N*k`.
    pub b_tv: Layout<i64>,
    /// (thread, value) to `m + M*n`.
    pub c_tv: Layout<i64>,
    /// Whether a and b are read from shared memory, through matrix descriptors, by the tensor
    /// cores themselves.
    pub smem: [bool; 2],
    /// How it adds its products, in the words of bundles.
    pub sums: Sums,
}

impl MmaFacts {
    /// Whether it is a thread's own multiplication, without tensor cores.
    pub fn is_of_one_thread(&self) -> bool {
        self.mnk == [1; 3]
    }

    /// Bits that its sums keep on that architecture, where they are fewer than the accumulator's
    /// type has.
    pub fn short_sums(&self, arch: Arch) -> Option<u32> {
        let kept = self.sums.on(arch.sm)?.kept_bits?;
        let bits = self.types[0].fraction_bits()?;
        (kept < bits).then_some(kept)
    }
}

/// Layouts of a copy atom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFacts {
    /// Where the data is.
    pub from: Space,
    /// Where it goes.
    pub to: Space,
    /// Logical thread to lane.
    pub thr_id: Layout<i64>,
    /// (thread, bit) to bit index, at the source.
    pub src_tv_bits: Layout<i64>,
    /// (thread, bit) to bit index, at the destination.
    pub dst_tv_bits: Layout<i64>,
    /// Side that names the values (`dst` for ldmatrix): the reference of retiling.
    pub ref_is_dst: bool,
    /// Bytes one thread's address names: 16 for ldmatrix rows and 16-byte vectors.
    pub access_bytes: u32,
    /// Whether the data arrives later, by commit and wait groups.
    pub asynchronous: bool,
    /// Name of the operand that says how many source bytes are valid (the rest arrive as zeros), if
    /// there is one.
    pub src_bytes: Option<String>,
    /// Whether it moves whole boxes of a tensor that a tensor map describes, and how.
    pub tensor: Option<TensorFacts>,
    /// Whether it moves as many bytes in a row as its operand `bytes` says, and where to.
    pub bulk: Option<BulkFacts>,
    /// How what arrives is combined with what is there; `None` where it replaces it.
    pub reduce: Option<Reduction>,
    /// The type of its elements, where what it does depends on it.
    pub dtype: Option<DType>,
}

/// A copy of bytes in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BulkFacts {
    /// Whether they arrive in several CTAs of the cluster.
    #[serde(default)]
    pub multicast: bool,
    /// Whether destination and barrier are in another CTA of the cluster, as registers that `mapa`
    /// gives.
    #[serde(default)]
    pub remote: bool,
}

/// Operations on values in memory (PTX ISA, cp.reduce.async.bulk).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduction {
    /// Sum.
    Add,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// One more, or 0 when that would be more than the operand.
    Inc,
    /// One less, or the operand when there is no less or it is more than the operand.
    Dec,
    /// Bits that both have.
    And,
    /// Bits that one has.
    Or,
    /// Bits in which they differ.
    Xor,
}

/// A copy of boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorFacts {
    /// Modes of the tensor.
    pub rank: u32,
    /// Whether the box arrives in several CTAs of the cluster.
    #[serde(default)]
    pub multicast: bool,
}

/// Types of a convert atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvertFacts {
    /// Type of each source value.
    pub from: DType,
    /// Type of each result.
    pub to: DType,
    /// Values converted by one run of the atom, the first in the low bits of a packed register.
    pub values: u32,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// Id used by specs: `sm80_mma_16x8x16_f32_bf16_bf16`, `sm80_cp_async_cg_16`.
    pub id: String,
    /// CuTe's name of the same instruction, if it has one.
    pub cute: Option<String>,
    /// What it does.
    pub kind: Kind,
    /// MMA layouts (`kind` is `Mma`).
    pub mma: Option<MmaFacts>,
    /// Copy layouts (`kind` is `Copy`).
    pub copy: Option<CopyFacts>,
    /// Types of the conversion (`kind` is `Convert`).
    pub convert: Option<ConvertFacts>,
    /// What it computes (`kind` is `Arithmetic`).
    pub arithmetic: Option<ArithmeticFacts>,
    /// What it does and how far (`kind` is `Sync`).
    pub sync: Option<SyncFacts>,
    /// Operands in call order.
    pub operands: Vec<OperandDecl>,
    /// Alignment in bytes that every address operand needs that has none of its own.
    pub align_bytes: u32,
    /// Lowest compute capability times ten.
    pub min_sm: u32,
    /// Whether the instruction exists on architecture-specific targets (`sm_90a`) alone.
    pub exact: bool,
    /// Lowest PTX `.version`, major * 10 + minor.
    pub min_ptx: u32,
    /// Section of the PTX ISA or other source of the facts.
    pub source: String,
    /// How it becomes code.
    pub emit: Emit,
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

impl Atom {
    /// Whether that architecture has the instruction.
    pub fn runs_on(&self, arch: Arch) -> bool {
        arch.sm >= self.min_sm && (!self.exact || (arch.exact && arch.sm == self.min_sm))
    }

    /// The architecture it needs, as specs name it.
    pub fn needs(&self) -> String {
        format!("sm_{}{}", self.min_sm, if self.exact { "a" } else { "" })
    }

    /// Type of the registers that it moves values into or out of.
    pub fn moved(&self) -> Option<RegType> {
        self.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::RegsIn { ty, .. } | OperandKind::RegsOut { ty, .. } => Some(ty),
            _ => None,
        })
    }

    /// Type of the registers of the operand of that name.
    pub fn register_type(&self, name: &str) -> Option<RegType> {
        let operand = self.operands.iter().find(|operand| operand.name == name)?;
        match operand.kind {
            OperandKind::RegsIn { ty, .. }
            | OperandKind::RegsOut { ty, .. }
            | OperandKind::RegsInOut { ty, .. } => Some(ty),
            _ => None,
        }
    }

    /// Bits of all registers one thread reads and writes in one run, besides those that a call
    /// gives at will.
    pub fn register_bits(&self) -> u32 {
        let bits = |operand: &OperandDecl| match operand.kind {
            OperandKind::RegsIn { ty, count } | OperandKind::RegsOut { ty, count } => {
                ty.bits() * count
            }
            OperandKind::RegsInOut { ty, count } => 2 * ty.bits() * count,
            OperandKind::RegsInOuts { .. }
            | OperandKind::Predicate
            | OperandKind::Address(_)
            | OperandKind::TensorMap
            | OperandKind::Int
            | OperandKind::Ints(_)
            | OperandKind::Imm
            | OperandKind::Imms => 0,
        };
        self.operands.iter().map(bits).sum()
    }
}
