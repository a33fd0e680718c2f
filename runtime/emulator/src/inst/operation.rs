//! The larger operations: atomics, calls, barriers, collectives, copies and matrix instructions.

use super::{AccessSpace, Address, PredSrc, Reg, Src};
use crate::num::float::FloatMods;
use crate::tensor_core::{Element, Sum};

/// Whom a strong access or a fence reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Cta,
    Cluster,
    #[default]
    Gpu,
}

/// How an access orders itself with others at its location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// Not weak.
    pub(crate) strong: bool,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    pub(crate) scope: Scope,
    /// Through the read-only cache.
    pub(crate) constant: bool,
}

/// `lop3` with a predicate result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Logic {
    pub(crate) table: u32,
    pub(crate) dst: Option<Reg>,
    pub(crate) p: u32,
    pub(crate) src: [Src; 3],
    /// Whether the predicate joins by "or", else by "and".
    pub(crate) or: bool,
    pub(crate) with: PredSrc,
}

/// Atomic operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
}

/// How atomic operands are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomType {
    Bits,
    Unsigned,
    Signed,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

/// `atom` and `red`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Atomic {
    pub(crate) op: AtomOp,
    pub(crate) ty: AtomType,
    pub(crate) bits: u32,
    pub(crate) space: AccessSpace,
    pub(crate) address: Address,
    /// Destinations; none for `red`.
    pub(crate) dst: Vec<Option<Reg>>,
    /// One value for each element.
    pub(crate) values: Vec<Src>,
    /// The new values of a compare-and-swap, else nothing.
    pub(crate) swap: Vec<Src>,
    pub(crate) order: Order,
}

/// How actual arguments are passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Actual {
    /// A `.param` variable of the caller's frame.
    Local(u32),
    /// A value.
    Value(Src),
    /// A register that takes a result.
    Result(Reg),
    /// A predicate register.
    Pred(u32),
    /// A result that is not wanted.
    Sink,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// A function of the module, or the register with its address.
    pub(crate) target: Result<u32, Src>,
    pub(crate) results: Vec<Actual>,
    pub(crate) args: Vec<Actual>,
}

/// Kinds of CTA barrier instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    Popc,
    And,
    Or,
}

/// `bar` and `barrier`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    pub(crate) aligned: bool,
    pub(crate) id: Src,
    pub(crate) count: Option<Src>,
    pub(crate) pred: PredSrc,
    pub(crate) dst: Option<Reg>,
    pub(crate) dst_pred: Option<u32>,
}

/// Kinds of warp collectives with a member mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
    BarWarp,
    ShflUp,
    ShflDown,
    ShflBfly,
    ShflIdx,
    VoteAll,
    VoteAny,
    VoteUni,
    VoteBallot,
    MatchAny,
    MatchAll,
    ReduxAdd { float: bool },
    ReduxMin { signed: bool, float: bool },
    ReduxMax { signed: bool, float: bool },
    ReduxAnd,
    ReduxOr,
    ReduxXor,
    Elect,
}

/// A warp collective.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Collective {
    pub(crate) kind: CollectiveKind,
    pub(crate) dst: Option<Reg>,
    pub(crate) dst_pred: Option<u32>,
    pub(crate) a: Src,
    pub(crate) b: Src,
    pub(crate) c: Src,
    pub(crate) pred: PredSrc,
    pub(crate) mask: Option<Src>,
    pub(crate) width: u32,
    pub(crate) mods: FloatMods,
}

/// `cp.async`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AsyncCopy {
    pub(crate) dst: Address,
    pub(crate) src: Address,
    pub(crate) bytes: u32,
    pub(crate) src_bytes: Option<Src>,
    pub(crate) ignore_src: PredSrc,
}

/// `ldmatrix` and `stmatrix` of 8x8 matrices of 16-bit elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MatrixMove {
    pub(crate) address: Address,
    pub(crate) space: AccessSpace,
    pub(crate) trans: bool,
    pub(crate) dst: Vec<Option<Reg>>,
    pub(crate) src: Vec<Src>,
}

/// `mma.sync`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mma {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a_type: Element,
    pub(crate) b_type: Element,
    pub(crate) c_type: Sum,
    pub(crate) d_type: Sum,
    pub(crate) d: Vec<Reg>,
    pub(crate) a: Vec<Src>,
    pub(crate) b: Vec<Src>,
    pub(crate) c: Vec<Src>,
}

/// A matrix spread over the registers of a warp for `wmma`, as [`Fragment::place`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Bits of an element.
    pub(crate) bits: usize,
    pub(crate) registers: usize,
}

impl Fragment {
    /// Elements of one register.
    pub(crate) fn each(&self) -> usize {
        (32 / self.bits).max(1)
    }

    /// Registers that hold the whole matrix; further ones repeat them.
    pub(crate) fn distinct(&self) -> usize {
        self.rows * self.columns / (32 * self.each())
    }

    /// Row and column of element `i` of a lane's register.
    ///
    /// NOTE: the ISA leaves the order open (9.7.14.4.1); here elements follow one another by rows
    /// over the lanes, so that one access of the warp is contiguous.
    pub(crate) fn place(&self, register: usize, i: usize, lane: usize) -> (usize, usize) {
        let index = (register % self.distinct().max(1) * self.each() + i) * 32 + lane;
        (index / self.columns, index % self.columns)
    }
}

/// `wmma.load` and `wmma.store`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FragmentMove {
    pub(crate) fragment: Fragment,
    pub(crate) space: AccessSpace,
    pub(crate) address: Address,
    /// Elements from one row to the next, or from one column to the next.
    pub(crate) stride: Src,
    pub(crate) column_major: bool,
    pub(crate) dst: Vec<Reg>,
    pub(crate) src: Vec<Src>,
}

/// `wmma.mma`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wmma {
    pub(crate) k: usize,
    pub(crate) a_type: Element,
    pub(crate) b_type: Element,
    pub(crate) c_type: Sum,
    pub(crate) d_type: Sum,
    /// A, B, C and D.
    pub(crate) fragments: [Fragment; 4],
    pub(crate) d: Vec<Reg>,
    pub(crate) a: Vec<Src>,
    pub(crate) b: Vec<Src>,
    pub(crate) c: Vec<Src>,
}
