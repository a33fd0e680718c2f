//! Clusters, mbarriers, bulk and tensor copies, fences (ISA 9.7.9.25 to 9.7.13).

use super::super::{control, hopper};
use super::*;

const SHARED: Group = opt(&["shared", "shared::cta", "shared::cluster"]);
const SEM: Group = opt(&["release", "acquire", "relaxed"]);
const MBARRIER: Group = opt(&["mbarrier::complete_tx::bytes", "bulk_group"]);
const MULTICAST: Group = opt(&["multicast::cluster"]);
const DIM: Group = req(&["1d", "2d", "3d", "4d", "5d"]);
const LOAD_MODE: Group = opt(&["tile", "im2col", "im2col_no_offs"]);
const OPS: Group = req(&["add", "min", "max", "and", "or", "xor", "inc", "dec"]);
const B64: TypeSet = TypeSet::of(&[Ty::B64]);
const ASYNC: TypeSet = W3264.or(B3264).or(F3264);

/// The rows.
pub(super) static ROWS: &[Spec] = &[
    // 9.7.13 clusters.
    spec!(
        "barrier.cluster.arrive",
        [opt(&["release", "relaxed"]), ALIGNED_OPT],
        [],
        Barrier,
        hopper::cluster_arrive
    ),
    spec!(
        "barrier.cluster.wait",
        [opt(&["acquire"]), ALIGNED_OPT],
        [],
        Barrier,
        hopper::cluster_wait
    ),
    spec!(
        "mapa",
        [opt(&["shared::cluster"])],
        [U3264],
        Move,
        hopper::mapa
    ),
    spec!(
        "getctarank",
        [opt(&["shared::cluster"])],
        [U3264],
        Move,
        hopper::mapa
    ),
    // 9.7.13.15 mbarrier.
    spec!("mbarrier.init", [SHARED], [B64], Barrier, hopper::mbarrier),
    spec!("mbarrier.inval", [SHARED], [B64], Barrier, hopper::mbarrier),
    spec!(
        "mbarrier.arrive",
        [SEM, SCOPE, SHARED, opt(&["expect_tx", "noComplete"])],
        [B64],
        Barrier,
        hopper::mbarrier
    ),
    spec!(
        "mbarrier.arrive_drop",
        [SEM, SCOPE, SHARED, opt(&["expect_tx", "noComplete"])],
        [B64],
        Barrier,
        hopper::mbarrier
    ),
    spec!(
        "mbarrier.expect_tx",
        [SEM, SCOPE, SHARED],
        [B64],
        Barrier,
        hopper::mbarrier
    ),
    spec!(
        "mbarrier.complete_tx",
        [SEM, SCOPE, SHARED],
        [B64],
        Barrier,
        hopper::mbarrier
    ),
    spec!(
        "mbarrier.test_wait",
        [SEM, SCOPE, SHARED, opt(&["parity"])],
        [B64],
        Barrier,
        hopper::mbarrier
    ),
    spec!(
        "mbarrier.try_wait",
        [SEM, SCOPE, SHARED, opt(&["parity"])],
        [B64],
        Barrier,
        hopper::mbarrier
    ),
    spec!(
        "mbarrier.pending_count",
        [],
        [B64],
        Barrier,
        hopper::mbarrier
    ),
    spec!(
        "cp.async.mbarrier.arrive",
        [opt(&["noinc"]), SHARED],
        [B64],
        AsyncCopy,
        hopper::copy_arrive
    ),
    // 9.7.9.25 bulk copies.
    spec!(
        "cp.async.bulk",
        [
            opt(&["shared::cluster"]),
            opt(&["shared::cta"]),
            MBARRIER,
            MULTICAST,
            L2_HINT,
            opt(&["global"])
        ],
        [],
        AsyncCopy,
        hopper::bulk
    ),
    spec_min!(
        1,
        "cp.reduce.async.bulk",
        [
            opt(&["shared::cluster"]),
            opt(&["shared::cta"]),
            MBARRIER,
            L2_HINT,
            OPS,
            opt(&["noftz"]),
            opt(&["global"])
        ],
        [ATOMIC],
        AsyncCopy,
        hopper::bulk
    ),
    spec!(
        "cp.async.bulk.commit_group",
        [],
        [],
        AsyncCopy,
        hopper::bulk_commit
    ),
    spec!(
        "cp.async.bulk.wait_group",
        [opt(&["read"])],
        [],
        AsyncCopy,
        hopper::bulk_wait
    ),
    spec!(
        "cp.async.bulk.prefetch",
        [req(&["L2"]), req(&["global"]), L2_HINT],
        [],
        Other,
        control::nop
    ),
    spec!(
        "cp.async.bulk.tensor",
        [
            DIM,
            opt(&["shared::cluster"]),
            opt(&["shared::cta"]),
            req(&["global"]),
            LOAD_MODE,
            MBARRIER,
            MULTICAST,
            L2_HINT
        ],
        [],
        AsyncCopy,
        hopper::tensor
    ),
    spec!(
        "cp.reduce.async.bulk.tensor",
        [
            DIM,
            req(&["shared::cta"]),
            req(&["global"]),
            LOAD_MODE,
            MBARRIER,
            L2_HINT,
            OPS
        ],
        [],
        AsyncCopy,
        hopper::tensor
    ),
    spec!(
        "cp.async.bulk.prefetch.tensor",
        [DIM, req(&["L2"]), req(&["global"]), LOAD_MODE, L2_HINT],
        [],
        AsyncCopy,
        hopper::tensor
    ),
    spec!(
        "prefetch.tensormap",
        [opt(&["param", "const"])],
        [],
        Other,
        control::nop
    ),
    spec!(
        "st.async",
        [
            opt(&["weak"]),
            opt(&["shared::cluster"]),
            req(&["mbarrier::complete_tx::bytes"]),
            VECTOR
        ],
        [ASYNC],
        Store,
        hopper::store_async
    ),
    spec!(
        "red.async",
        [
            opt(&["relaxed"]),
            opt(&["cluster"]),
            opt(&["shared::cluster"]),
            req(&["mbarrier::complete_tx::bytes"]),
            OPS
        ],
        [ASYNC],
        Atomic,
        hopper::store_async
    ),
    // 9.7.9.27 tensor maps.
    spec!(
        "tensormap.replace",
        [
            req(&["tile"]),
            req(&[
                "global_address",
                "rank",
                "box_dim",
                "global_dim",
                "global_stride",
                "element_stride",
                "elemtype",
                "interleave_layout",
                "swizzle_mode",
                "fill_mode"
            ]),
            opt(&["global", "shared::cta"]),
            req(&["b1024"])
        ],
        [B3264],
        Store,
        hopper::map_replace
    ),
    spec!(
        "tensormap.cp_fenceproxy",
        [
            req(&["global"]),
            req(&["shared::cta"]),
            req(&["tensormap::generic"]),
            req(&["release"]),
            SCOPE,
            SYNC,
            ALIGNED
        ],
        [],
        Store,
        hopper::map_copy
    ),
    // 9.7.13.4 fences.
    spec!(
        "membar",
        [req(&["cta", "gl", "sys", "gpu"])],
        [],
        Other,
        hopper::fence
    ),
    spec!(
        "fence",
        [
            opt(&["sc", "acq_rel", "acquire", "release"]),
            req(&["cta", "cluster", "gpu", "sys"])
        ],
        [],
        Other,
        hopper::fence
    ),
    spec!(
        "fence.mbarrier_init",
        [req(&["release"]), req(&["cluster"])],
        [],
        Other,
        hopper::fence
    ),
    spec!(
        "fence.proxy.async",
        [opt(&["global", "shared::cta", "shared::cluster"])],
        [],
        Other,
        hopper::fence
    ),
    spec!(
        "fence.proxy.tensormap::generic",
        [req(&["acquire", "release"]), SCOPE],
        [],
        Other,
        hopper::fence
    ),
    spec!("fence.proxy.alias", [], [], Other, hopper::fence),
];
