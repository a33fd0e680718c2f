//! Operations of sm_90: mbarriers, bulk and tensor copies, clusters, warpgroup products.

use super::{AccessSpace, Address, AtomOp, AtomType, PredSrc, Reg, Scope, Src};
use crate::tensor_core::{Element, Sum};

/// How an arrival counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) expect_tx: bool,
    pub(crate) drop: bool,
    pub(crate) no_complete: bool,
}

/// What an mbarrier operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MbarrierKind {
    Init,
    Inval,
    ExpectTx,
    CompleteTx,
    Arrive(Arrival),
    Wait { parity: bool, suspends: bool },
    PendingCount,
}

/// `mbarrier.*`. `count` is the count, the bytes, the token or the parity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MbarrierOp {
    pub(crate) kind: MbarrierKind,
    pub(crate) space: AccessSpace,
    pub(crate) address: Address,
    pub(crate) count: Src,
    pub(crate) dst: Option<Reg>,
    pub(crate) dst_pred: Option<u32>,
    pub(crate) reach: Reach,
}

/// What an arrival or a wait orders for generic accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// `.relaxed`: nothing but what fences released.
    Relaxed,
    /// The threads of the CTA.
    Cta,
    /// The threads of the cluster.
    Cluster,
}

/// `mapa`, or `getctarank` without a rank.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mapa {
    pub(crate) generic: bool,
    pub(crate) dst: Reg,
    pub(crate) address: Src,
    pub(crate) rank: Option<Src>,
}

/// An element-wise operation of a reducing copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) op: AtomOp,
    pub(crate) ty: AtomType,
    pub(crate) bits: u32,
}

/// `cp.async.bulk` and `cp.reduce.async.bulk` of contiguous bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BulkCopy {
    pub(crate) dst: Address,
    pub(crate) src: Address,
    pub(crate) to_shared: bool,
    pub(crate) from_shared: bool,
    pub(crate) bytes: Src,
    /// The mbarrier that counts the bytes; without one the copy belongs to a bulk group.
    pub(crate) mbarrier: Option<Address>,
    pub(crate) multicast: Option<Src>,
    pub(crate) reduce: Option<Reduction>,
}

/// Which way a tensor copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorKind {
    Load,
    Store,
    Reduce(AtomOp),
    Prefetch,
}

/// `cp.async.bulk.tensor` and its kin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TensorCopy {
    pub(crate) kind: TensorKind,
    pub(crate) map: Address,
    pub(crate) coords: Vec<Src>,
    pub(crate) shared: Option<Address>,
    pub(crate) mbarrier: Option<Address>,
    pub(crate) im2col: bool,
    pub(crate) offsets: Vec<Src>,
    pub(crate) multicast: Option<Src>,
}

/// Fields of a tensor map that a device may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapField {
    GlobalAddress,
    Rank,
    BoxDim,
    GlobalDim,
    GlobalStride,
    ElementStride,
    ElemType,
    Interleave,
    Swizzle,
    Fill,
}

/// `tensormap.replace`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MapReplace {
    pub(crate) field: MapField,
    pub(crate) space: AccessSpace,
    pub(crate) address: Address,
    pub(crate) ordinal: u32,
    pub(crate) value: Src,
}

/// `tensormap.cp_fenceproxy`: from shared to global memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MapCopy {
    pub(crate) dst: Address,
    pub(crate) src: Address,
}

/// `st.async` and `red.async`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoreAsync {
    pub(crate) dst: Address,
    pub(crate) values: Vec<Src>,
    pub(crate) bytes: u32,
    pub(crate) mbarrier: Address,
    pub(crate) reduce: Option<Reduction>,
}

/// How far a fence of memory reaches, and whether it acquires and releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadFence {
    pub(crate) scope: Scope,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
}

/// Fences that tell more than the order of one thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fence {
    /// `fence`, `membar`.
    Thread(ThreadFence),
    /// `fence.mbarrier_init`.
    MbarrierInit,
    /// `fence.proxy.async`, of accesses to shared memory and to global memory.
    ProxyAsync { shared: bool, global: bool },
    /// `fence.proxy.tensormap::generic.acquire`, with the address of the map.
    TensormapAcquire(Address),
    /// Other proxies and the release side.
    Other,
}

/// `wgmma.mma_async`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wgmma {
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a_type: Element,
    pub(crate) b_type: Element,
    pub(crate) d_type: Sum,
    pub(crate) d: Vec<Reg>,
    /// The registers of A, or its descriptor.
    pub(crate) a: Result<Vec<Src>, Src>,
    pub(crate) b: Src,
    /// Whether D is added to.
    pub(crate) scale_d: PredSrc,
    pub(crate) negate_a: bool,
    pub(crate) negate_b: bool,
    pub(crate) trans_a: bool,
    pub(crate) trans_b: bool,
}
