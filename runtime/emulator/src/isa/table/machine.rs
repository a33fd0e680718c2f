//! Data movement, control flow, synchronization and matrix instructions (ISA 9.7.9 on).

use super::super::{atomic, control, conversion, matrix, memory, warp, wmma};
use super::*;

/// A load or a store: the modifiers both take, and those of the one.
macro_rules! access {
    ($base:literal, [$($group:expr),*], $class:ident, $decode:expr) => {
        spec!(
            $base,
            [ORDER, SCOPE, SPACE, CACHE, L1, L2, L2_HINT, WIDE_VECTOR $(, $group)*],
            [DATA.or(B128)],
            $class,
            $decode
        )
    };
}

/// An atomic operation with or without a result.
macro_rules! atomic {
    ($base:literal, $ops:expr, $types:expr) => {
        spec!(
            $base,
            [
                ORDER,
                SCOPE,
                MEMORY_SPACE,
                req(&$ops),
                opt(&["noftz"]),
                WIDE_VECTOR,
                L2_HINT
            ],
            [$types],
            Atomic,
            atomic::atom
        )
    };
}

/// 8x8 matrices from or to shared memory.
macro_rules! matrices {
    ($base:literal, $decode:expr) => {
        spec!(
            $base,
            [
                SYNC,
                ALIGNED,
                req(&["m8n8"]),
                req(&["x1", "x2", "x4"]),
                opt(&["trans"]),
                opt(&["shared", "shared::cta"])
            ],
            [B16],
            Matrix,
            $decode
        )
    };
}

/// How a matrix of `wmma` lies in memory.
const LAYOUT: Group = req(&["row", "col"]);
const WMMA_SHAPE: Group = req(&["m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8", "m8n8k4"]);

/// The rows.
pub(super) static ROWS: &[Spec] = &[
    // 9.7.9 data movement and conversion.
    spec!("mov", [WIDE_VECTOR], [MOVE.or(B128)], Move, memory::mov),
    access!(
        "ld",
        [opt(&["nc"]), L2_SIZE, opt(&["unified"])],
        Load,
        memory::ld
    ),
    spec!("ldu", [opt(&["global"]), VECTOR], [DATA], Load, memory::ld),
    access!("st", [], Store, memory::st),
    spec!(
        "cvta",
        [opt(&["to"]), SPACE_REQ],
        [U3264],
        Move,
        memory::cvta
    ),
    spec_min!(
        0,
        "isspacep",
        [req(&[
            "global",
            "shared",
            "shared::cta",
            "shared::cluster",
            "local",
            "param",
            "param::entry",
            "const"
        ])],
        [U3264],
        Compare,
        memory::isspacep
    ),
    spec!(
        "cvt",
        [
            opt(&["rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp", "rna"]),
            FTZ,
            SAT,
            RELU,
            opt(&["satfinite"])
        ],
        [CONVERT, CONVERT],
        Convert,
        conversion::cvt
    ),
    spec_min!(
        2,
        "cvt.pack",
        [req(&["sat"])],
        [PACKED, TypeSet::of(&[Ty::S32]), B32],
        Convert,
        conversion::cvt_pack
    ),
    spec!(
        "prefetch",
        [
            opt(&["global", "local"]),
            req(&["L1", "L2", "L2::evict_last", "L2::evict_normal"])
        ],
        [],
        Other,
        control::nop
    ),
    spec!("prefetchu", [req(&["L1"])], [], Other, control::nop),
    spec!(
        "applypriority",
        [opt(&["global"]), req(&["L2::evict_normal"])],
        [],
        Other,
        control::nop
    ),
    spec!(
        "discard",
        [opt(&["global"]), req(&["L2"])],
        [],
        Store,
        control::discard
    ),
    spec!(
        "createpolicy.fractional",
        [
            req(&["L2::evict_last", "L2::evict_normal", "L2::evict_first"]),
            opt(&["L2::evict_unchanged"])
        ],
        [TypeSet::of(&[Ty::B64])],
        Other,
        control::create_policy
    ),
    spec!(
        "createpolicy.cvt",
        [req(&["L2"])],
        [TypeSet::of(&[Ty::B64])],
        Other,
        control::create_policy
    ),
    // 9.7.9.25 asynchronous copies.
    spec!(
        "cp.async",
        [
            req(&["ca", "cg"]),
            req(&["shared", "shared::cta"]),
            req(&["global"]),
            L2_HINT,
            L2_SIZE
        ],
        [],
        AsyncCopy,
        matrix::cp_async
    ),
    spec!("cp.async.commit_group", [], [], AsyncCopy, matrix::commit),
    spec!("cp.async.wait_group", [], [], AsyncCopy, matrix::wait_group),
    spec!("cp.async.wait_all", [], [], AsyncCopy, matrix::wait_all),
    // 9.7.12 control flow.
    spec!("bra", [UNI], [], Control, control::bra),
    spec!("brx.idx", [UNI], [], Control, control::brx),
    spec!("call", [UNI], [], Control, control::call),
    spec!("ret", [UNI], [], Control, control::ret),
    spec!("exit", [], [], Control, control::exit),
    spec!("trap", [], [], Control, control::trap),
    // 9.7.13 synchronization and communication.
    spec_min!(
        0,
        "bar",
        [CTA, BARRIER, BARRIER_OP],
        [TypeSet::of(&[Ty::U32, Ty::Pred])],
        Barrier,
        warp::barrier
    ),
    spec_min!(
        0,
        "barrier",
        [CTA, BARRIER, BARRIER_OP, ALIGNED_OPT],
        [TypeSet::of(&[Ty::U32, Ty::Pred])],
        Barrier,
        warp::barrier
    ),
    spec!("bar.warp", [SYNC], [], Collective, warp::bar_warp),
    atomic!(
        "atom",
        [
            "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"
        ],
        ATOMIC.or(B128)
    ),
    atomic!(
        "red",
        ["add", "min", "max", "and", "or", "xor", "inc", "dec"],
        ATOMIC
    ),
    spec!(
        "vote",
        [SYNC_OPT, req(&["all", "any", "uni", "ballot"])],
        [TypeSet::of(&[Ty::Pred, Ty::B32])],
        Collective,
        warp::vote
    ),
    spec!(
        "match",
        [req(&["any", "all"]), SYNC],
        [B3264],
        Collective,
        warp::matching
    ),
    spec_min!(0, "activemask", [], [B32], Collective, warp::activemask),
    spec!(
        "redux",
        [
            SYNC,
            req(&["add", "min", "max", "and", "or", "xor"]),
            opt(&["abs"]),
            NAN
        ],
        [W32.or(B32).or(F32)],
        Collective,
        warp::redux
    ),
    spec!(
        "shfl",
        [SYNC_OPT, req(&["up", "down", "bfly", "idx"])],
        [B32],
        Collective,
        warp::shfl
    ),
    spec!("elect", [SYNC], [], Collective, warp::elect),
    spec!(
        "griddepcontrol",
        [req(&["launch_dependents", "wait"])],
        [],
        Other,
        control::griddepcontrol
    ),
    // 9.7.14 matrix instructions.
    matrices!("ldmatrix", matrix::ldmatrix),
    matrices!("stmatrix", matrix::stmatrix),
    spec!(
        "movmatrix",
        [SYNC, ALIGNED, req(&["m8n8"]), req(&["trans"])],
        [B16],
        Matrix,
        matrix::movmatrix
    ),
    spec!(
        "mma",
        [
            SYNC,
            ALIGNED,
            req(&[
                "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m16n8k64", "m8n8k4", "m8n8k16",
                "m8n8k32"
            ]),
            req(&["row"]),
            req(&["col"]),
            opt(&["satfinite"]),
            opt(&["kind::f8f6f4"])
        ],
        [MMA, MMA, MMA, MMA],
        Mma,
        matrix::mma
    ),
    spec!(
        "wmma.load",
        [
            req(&["a", "b", "c"]),
            SYNC,
            ALIGNED,
            LAYOUT,
            WMMA_SHAPE,
            opt(&["global", "shared", "shared::cta"])
        ],
        [MMA],
        Matrix,
        wmma::load
    ),
    spec!(
        "wmma.store",
        [
            req(&["d"]),
            SYNC,
            ALIGNED,
            LAYOUT,
            WMMA_SHAPE,
            opt(&["global", "shared", "shared::cta"])
        ],
        [MMA],
        Matrix,
        wmma::store
    ),
    spec_min!(
        2,
        "wmma.mma",
        [
            SYNC,
            ALIGNED,
            LAYOUT,
            LAYOUT,
            WMMA_SHAPE,
            opt(&["rn"]),
            opt(&["satfinite"])
        ],
        [MMA, MMA, MMA, MMA],
        Mma,
        wmma::mma
    ),
    // 9.7.19 miscellaneous.
    spec!("nanosleep", [], [U32], Other, control::nop),
    spec!("pmevent", [opt(&["mask"])], [], Other, control::nop),
    spec!("brkpt", [], [], Other, control::nop),
];
