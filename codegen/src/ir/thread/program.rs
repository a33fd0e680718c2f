//! The thread program: what one thread does, with every address spelled out.
//!
//! It is what lowering ends in and what the PTX stage translates statement by statement. Register
//! files hold the fragments; every index into them is a constant, so that they become virtual
//! registers. Integers are 32-bit for coordinates and shared memory, 64-bit for global memory.

use std::rc::Rc;
use std::sync::Arc;

use crate::atoms::model::{Atom, RegType, Space};
use crate::dtype::DType;
use crate::spec::keys::model::OperandId;

/// Type of an integer expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntType {
    /// A predicate.
    I1,
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
}

/// A variable of the program: index into [`Program::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// A kernel parameter: index into [`Program::params`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId(pub u32);

/// Special registers. All are 32-bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// `%tid.x`
    TidX,
    /// `%ctaid.x`
    CtaidX,
    /// `%ctaid.y`
    CtaidY,
    /// `%ctaid.z`
    CtaidZ,
    /// `%nctaid.x`
    NctaidX,
}

/// Integer operations on two values of one type. Division and remainder are of non-negative values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// Sum; does not wrap.
    Add,
    /// Difference; does not wrap as a signed number.
    Sub,
    /// Product; does not wrap.
    Mul,
    /// Quotient of non-negative values.
    Div,
    /// Remainder of non-negative values.
    Rem,
    /// Bitwise and (also of predicates).
    And,
    /// Bitwise or (also of predicates).
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Signed minimum.
    Min,
    /// Signed maximum.
    Max,
    /// Shift left of a non-negative value by fewer bits than it has; no bit is lost.
    Shl,
}

/// Signed comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CmpOp {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `==`
    Eq,
    /// `!=`
    Ne,
}

/// An integer expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant of that type.
    Int(i64, IntType),
    /// A variable.
    Var(VarId),
    /// A scalar parameter.
    Param(ParamId),
    /// A special register.
    Special(Special),
    /// An operation on two values of one type, which is the result's type.
    Binary(BinOp, Rc<Expr>, Rc<Expr>),
    /// A comparison; the result is a predicate.
    Compare(CmpOp, Rc<Expr>, Rc<Expr>),
    /// `if .0 { .1 } else { .2 }`
    Select(Rc<Expr>, Rc<Expr>, Rc<Expr>),
    /// Sign extension or truncation to that type.
    Convert(IntType, Rc<Expr>),
    /// Where the kernel's shared memory starts in the window of the CTA: 32-bit, in bytes.
    Smem,
}

/// One register: file and constant index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg {
    /// Index into [`Program::files`].
    pub file: u32,
    /// Index into the file.
    pub index: u32,
}

/// What an address is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// The pointer passed as that parameter (global memory).
    Param(ParamId),
    /// The start of the kernel's shared memory.
    Smem,
}

/// `base + offset + imm`, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Memory space: `Gmem` or `Smem`.
    pub space: Space,
    /// Start.
    pub base: Base,
    /// Run-time offset in bytes: `I64` in global memory, `I32` in shared memory.
    pub offset: Expr,
    /// Constant offset in bytes, meant for the instruction's immediate field.
    pub imm: i64,
    /// Which element of an operand it is of: 64-bit coordinates along [`Operand::all_axes`], by
    /// variables that are known there. Nothing is computed of them; the certificate shows that they
    /// give the offset, and that each is inside. None of what is no element of an operand: shared
    /// memory, scratch memory, packed tiles.
    ///
    /// [`Operand::all_axes`]: crate::spec::keys::model::Operand::all_axes
    pub coords: Vec<Expr>,
}

/// One argument of an atom call, matching the atom's operand declaration of the same position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// Registers, in the atom's order.
    Regs(Vec<Reg>),
    /// An address.
    Address(Address),
    /// A run-time integer.
    Int(Expr),
    /// Several of them.
    Ints(Vec<Expr>),
    /// A constant of the instruction.
    Imm(i64),
    /// Several of them.
    Imms(Vec<i64>),
    /// A tensor map.
    TensorMap(ParamId),
    /// An immutable predicate that the atom defines.
    Predicate(VarId),
}

/// What a register is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// These bits, the low ones of a narrower register.
    Bits(u64),
    /// An integer of as many bits.
    Int(Expr),
    /// A scalar parameter of the register's type.
    Param(ParamId),
    /// What another register of as many bits holds.
    Reg(Reg),
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// Defines an immutable variable.
    Let(VarId, Expr),
    /// Defines an immutable variable of 32 or 64 bits equal to the expression, in a way no
    /// optimizer sees through: what depends on it stays where it is written, instead of holding
    /// registers across a loop.
    Pin(VarId, Expr),
    /// Defines an immutable 32-bit variable: the value that the first lane of the warp has, which
    /// the assembler then knows to be the same in all of them.
    Uniform(VarId, Expr),
    /// Defines an immutable 32-bit variable: what a register of 32 bits holds.
    Get(VarId, Reg),
    /// Gives a mutable variable (declared so in [`Program::vars`]) a value.
    Assign(VarId, Expr),
    /// `for var in from..to step step`: `var` is immutable in the body, all of one type; no trip
    /// when `from >= to`.
    For {
        /// The loop variable.
        var: VarId,
        /// First value.
        from: Expr,
        /// First value past the end.
        to: Expr,
        /// Positive step.
        step: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// A branch.
    If {
        /// Predicate.
        cond: Expr,
        /// Taken when it holds.
        then: Vec<Stmt>,
        /// Taken otherwise.
        otherwise: Vec<Stmt>,
    },
    /// Sets registers to zero bits.
    Zero(Vec<Reg>),
    /// Sets a register to the bits of a scalar.
    Set(Reg, Scalar),
    /// Runs an atom.
    Atom {
        /// The record.
        atom: Arc<Atom>,
        /// One argument for each operand.
        args: Vec<Arg>,
    },
    /// What follows comes from the tile operation of that number, in the order of the kernel's
    /// text: for dumps and line tables.
    From(u32),
}

/// Type of a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamType {
    /// A global-memory pointer.
    Pointer {
        /// Alignment the launch guarantees.
        align_bytes: u32,
        /// Whether the kernel only reads through it.
        readonly: bool,
        /// Whether another parameter may point to the same memory.
        shared: bool,
    },
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer.
    I64,
    /// A scalar of the formula, as the caller gives it.
    Scalar(DType),
    /// A tensor map: 128 bytes, aligned to 64.
    TensorMap,
}

impl ParamType {
    /// Bytes in the parameter block, with the gap before the largest alignment.
    pub fn bytes(self) -> usize {
        match self {
            ParamType::Pointer { .. } | ParamType::I32 | ParamType::I64 | ParamType::Scalar(_) => 8,
            ParamType::TensorMap => 192,
        }
    }
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name, as in the launch ABI.
    pub name: String,
    /// Type.
    pub ty: ParamType,
    /// The operand whose address or tensor map it is.
    pub operand: Option<OperandId>,
}

/// A declared variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VarDecl {
    /// Name, for dumps and LLVM value names.
    pub name: String,
    /// Type.
    pub ty: IntType,
    /// Whether `Assign` may change it.
    pub mutable: bool,
}

/// A register file: one fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegFile {
    /// Name, for dumps.
    pub name: String,
    /// Type of each register.
    pub ty: RegType,
    /// How many.
    pub len: u32,
}

/// A whole kernel, thread by thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Entry name: a PTX identifier.
    pub entry: String,
    /// Parameters in launch order.
    pub params: Vec<Param>,
    /// Threads of a CTA, exact (`.reqntid`).
    pub threads: u32,
    /// `.minnctapersm`, if asked for.
    pub min_ctas_per_sm: Option<u32>,
    /// Dynamic shared memory in bytes; 0 for none.
    pub smem_bytes: u32,
    /// Alignment of its start.
    pub smem_align_bytes: u32,
    /// Variables.
    pub vars: Vec<VarDecl>,
    /// Register files.
    pub files: Vec<RegFile>,
    /// Statements.
    pub body: Vec<Stmt>,
}
