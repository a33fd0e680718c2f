//! The decoded form of an instruction: everything a lane loop needs, no names.
//!
//! Comes in: decoded once from text. Goes out: executed many times. Registers are slots of a
//! frame, labels are indices into the module's code, modifiers have become function pointers and
//! flags.

use crate::counters::InstClass;
use crate::finding::Space;
use crate::num::convert::Conversion;
use crate::num::video::Video;

mod hopper;
mod operation;
mod registers;

pub(crate) use hopper::*;
pub(crate) use operation::*;
pub(crate) use registers::{CARRY, CLOCK, Effect, Named};

/// Marks the slots of predicates where they stand among those of registers.
pub(crate) const PREDICATE: u32 = 1 << 31;

/// One value for each lane of a warp, zero-extended to 64 bits.
pub(crate) type Lanes = [u64; 32];
/// A pure operation on whole warps; `u32` carries its modifiers.
pub(crate) type LaneFn = fn(&Lanes, &Lanes, &Lanes, &mut Lanes, u32);
/// A comparison of whole warps; one result bit for each lane.
pub(crate) type CompareFn = fn(&Lanes, &Lanes, u32) -> u32;

/// A register of the current frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reg {
    pub(crate) slot: u32,
    /// Declared width in bits; values are kept zero-extended.
    pub(crate) width: u32,
}

/// Read-only registers of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    Clock64,
    ClockHi,
    Globaltimer,
    DynamicSmemSize,
    TotalSmemSize,
    Clusterid(u8),
    Nclusterid(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
}

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Src {
    Reg(u32),
    Imm(u64),
    /// A register plus a constant.
    Moved {
        slot: u32,
        offset: i32,
        /// Bits of the register; the sum wraps.
        width: u8,
    },
    Special(Special),
    /// The address of a shared variable, which depends on the entry.
    Shared {
        var: u32,
        offset: u32,
    },
    /// The address of a variable of the frame, within the thread's local memory.
    Local(u32),
}

/// A predicate as source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredSrc {
    Const(bool),
    Reg { slot: u32, negate: bool },
}

/// The state space of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessSpace {
    Generic,
    Of(Space),
}

/// `[base + offset]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Address {
    pub(crate) base: Src,
    pub(crate) offset: i64,
}

/// Where a load or store goes, and how: `count` elements of `bytes`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Access {
    pub(crate) space: AccessSpace,
    pub(crate) address: Address,
    pub(crate) order: Order,
    pub(crate) bytes: u32,
    pub(crate) count: u32,
}

/// How a comparison joins with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    None,
    And,
    Or,
    Xor,
}

/// Operations on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredOp {
    Move,
    Not,
    And,
    Or,
    Xor,
}

/// What an instruction does.
///
/// NOTE: functions at one address do the same; one function at two addresses makes two
/// instructions look different, which whoever compares them must bear.
#[derive(Clone, Debug, PartialEq)]
#[allow(unpredictable_function_pointer_comparisons)]
pub(crate) enum Exec {
    Nop,
    /// `griddepcontrol.wait`.
    FollowGrid,
    /// A pure function of up to three sources.
    Alu {
        f: LaneFn,
        imm: u32,
        dst: Reg,
        src: [Src; 3],
    },
    /// The same of a constant of which ptxas computes another result.
    Folded {
        f: LaneFn,
        imm: u32,
        dst: Reg,
        src: Src,
    },
    /// Integer division and remainder, which look for zero divisors.
    Divide {
        bits: u32,
        signed: bool,
        remainder: bool,
        dst: Reg,
        src: [Src; 2],
    },
    /// `bfi`, the one pure function of four sources.
    Insert {
        bits: u32,
        dst: Reg,
        src: [Src; 2],
        pos: Src,
        len: Src,
    },
    /// Arithmetic with the carry flag of the thread: `dst = a + b` or a - b, in and out as said.
    Carry {
        subtract: bool,
        carry_in: bool,
        carry_out: bool,
        bits: u32,
        dst: Reg,
        src: [Src; 2],
    },
    /// `mad` with carries: the product's half plus `c`.
    MadCarry {
        f: LaneFn,
        carry_in: bool,
        carry_out: bool,
        bits: u32,
        dst: Reg,
        src: [Src; 3],
    },
    Convert {
        conversion: Box<Conversion>,
        sign_from: u32,
        dst: Reg,
        src: Src,
    },
    /// Two sources into the halves of one result; the first one becomes the high half.
    ConvertPack {
        conversion: Box<Conversion>,
        half_bits: u32,
        dst: Reg,
        src: [Src; 2],
    },
    /// Both halves of a packed source.
    ConvertEach {
        conversion: Box<Conversion>,
        from_bits: u32,
        to_bits: u32,
        dst: Reg,
        src: Src,
    },
    Setp {
        compare: CompareFn,
        imm: u32,
        /// Whether what is compared are integers.
        whole: bool,
        combine: Combine,
        p: Option<u32>,
        q: Option<u32>,
        src: [Src; 2],
        with: PredSrc,
    },
    /// A comparison with a data result: `yes` where it holds, else 0.
    Set {
        compare: CompareFn,
        imm: u32,
        combine: Combine,
        yes: u64,
        dst: Reg,
        src: [Src; 2],
        with: PredSrc,
    },
    /// Lane-wise comparison of packed halves: results for the low and the high half.
    SetPair {
        compare: CompareFn,
        imm: u32,
        combine: Combine,
        p: Option<u32>,
        q: Option<u32>,
        dst: Option<(Reg, u64)>,
        src: [Src; 2],
        with: PredSrc,
    },
    Select {
        dst: Reg,
        src: [Src; 2],
        with: PredSrc,
    },
    Pred {
        op: PredOp,
        dst: u32,
        a: PredSrc,
        b: PredSrc,
    },
    Pack {
        dst: Reg,
        part_bits: u32,
        parts: Box<[Src]>,
    },
    Unpack {
        dst: Box<[Option<Reg>]>,
        part_bits: u32,
        src: Src,
    },
    /// Register by register, all read before one is written.
    MoveVector {
        dst: Box<[Option<Reg>]>,
        src: Box<[Src]>,
    },
    /// A scalar video instruction.
    Video {
        video: Box<Video>,
        dst: Reg,
        src: [Src; 3],
    },
    Load {
        access: Access,
        sign_bits: u32,
        dst: Box<[Option<Reg>]>,
    },
    Store {
        access: Access,
        src: Box<[Src]>,
    },
    Atomic(Box<Atomic>),
    Logic(Box<Logic>),
    /// `discard`: 128 bytes of global memory become undefined.
    Discard {
        address: Address,
    },
    /// `cvta`: between a space's addresses and generic ones.
    Convey {
        space: Space,
        to_space: bool,
        dst: Reg,
        src: Src,
    },
    /// `isspacep`.
    IsSpace {
        space: Space,
        /// Only the shared memory of the thread's own CTA.
        own: bool,
        dst: u32,
        src: Src,
    },
    Branch {
        target: u32,
    },
    BranchIndexed {
        index: Src,
        targets: Box<[u32]>,
    },
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Barrier(Box<Barrier>),
    Collective(Box<Collective>),
    ActiveMask {
        dst: Reg,
    },
    AsyncCopy(Box<AsyncCopy>),
    AsyncCommit,
    /// Waits until at most so many groups are pending.
    AsyncWait {
        pending: u32,
        all: bool,
    },
    LoadMatrix(Box<MatrixMove>),
    StoreMatrix(Box<MatrixMove>),
    MoveMatrix {
        dst: Reg,
        src: Src,
    },
    Mma(Box<Mma>),
    LoadFragment(Box<FragmentMove>),
    StoreFragment(Box<FragmentMove>),
    Wmma(Box<Wmma>),
    Mbarrier(Box<MbarrierOp>),
    /// `cp.async.mbarrier.arrive`.
    CopyArrive {
        space: AccessSpace,
        address: Address,
        no_increment: bool,
    },
    ClusterArrive {
        aligned: bool,
        /// Passes on only what a fence released before.
        relaxed: bool,
    },
    ClusterWait {
        aligned: bool,
    },
    Mapa(Box<Mapa>),
    Bulk(Box<BulkCopy>),
    BulkCommit,
    /// Waits until at most so many bulk groups are pending. With `.read` their writes need not
    /// be visible yet.
    BulkWait {
        pending: u32,
        read: bool,
    },
    Tensor(Box<TensorCopy>),
    MapReplace(Box<MapReplace>),
    MapCopy(Box<MapCopy>),
    StoreAsync(Box<StoreAsync>),
    Fence(Box<Fence>),
    SetMaxRegisters {
        increase: bool,
        count: u32,
    },
    Wgmma(Box<Wgmma>),
    WgmmaFence,
    WgmmaCommit,
    WgmmaWait {
        pending: u32,
    },
}

/// A guard `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) slot: u32,
    pub(crate) negate: bool,
}

/// A decoded instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Inst {
    pub(crate) exec: Exec,
    pub(crate) guard: Option<Guard>,
    pub(crate) class: InstClass,
    /// How far it reaches.
    pub(crate) effect: Effect,
    pub(crate) line: u32,
    /// The registers it names: start and count in the module's list.
    pub(crate) operands: (u32, u32),
}

impl Inst {
    /// An instruction that names these registers: start and count in the module's list.
    pub(crate) fn new(
        exec: Exec,
        guard: Option<Guard>,
        class: InstClass,
        (line, operands): (u32, (u32, u32)),
    ) -> Inst {
        Inst {
            effect: exec.effect(),
            exec,
            guard,
            class,
            line,
            operands,
        }
    }
}
