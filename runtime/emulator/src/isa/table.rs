//! The opcode table. Columns: base, modifier groups, types by position, class, decode function.
//!
//! Sections follow the instruction set chapter of the PTX ISA (9.7).

use super::{Group, Spec, compare, control, conversion, floating, integer, matrix, memory, warp};
use crate::counters::InstClass;
use crate::types::{Ty, TypeSet};

const fn opt(names: &'static [&'static str]) -> Group {
    Group {
        required: false,
        names,
    }
}

const fn req(names: &'static [&'static str]) -> Group {
    Group {
        required: true,
        names,
    }
}

macro_rules! spec {
    ($base:literal, [$($group:expr),*], [$($types:expr),*], $class:ident, $decode:expr) => {
        Spec {
            base: $base,
            groups: &[$($group),*],
            types: &[$($types),*],
            min_types: { const TYPES: &[TypeSet] = &[$($types),*]; TYPES.len() },
            class: InstClass::$class,
            decode: $decode,
        }
    };
}

/// A row whose types after the first `$min` are optional.
macro_rules! spec_min {
    ($min:expr, $base:literal, [$($group:expr),*], [$($types:expr),*], $class:ident, $decode:expr) => {
        Spec {
            base: $base,
            groups: &[$($group),*],
            types: &[$($types),*],
            min_types: $min,
            class: InstClass::$class,
            decode: $decode,
        }
    };
}

const INT: TypeSet = TypeSet::of(&[Ty::U16, Ty::U32, Ty::U64, Ty::S16, Ty::S32, Ty::S64]);
const PAIR: TypeSet = TypeSet::of(&[Ty::U16x2, Ty::S16x2]);
const W32: TypeSet = TypeSet::of(&[Ty::U32, Ty::S32]);
const W3264: TypeSet = TypeSet::of(&[Ty::U32, Ty::S32, Ty::U64, Ty::S64]);
const SINT: TypeSet = TypeSet::of(&[Ty::S16, Ty::S32, Ty::S64]);
const B3264: TypeSet = TypeSet::of(&[Ty::B32, Ty::B64]);
const BITS: TypeSet = TypeSet::of(&[Ty::B16, Ty::B32, Ty::B64]);
const LOGIC: TypeSet = TypeSet::of(&[Ty::Pred, Ty::B16, Ty::B32, Ty::B64]);
const F32: TypeSet = TypeSet::of(&[Ty::F32]);
const F3264: TypeSet = TypeSet::of(&[Ty::F32, Ty::F64]);
const SHORT: TypeSet = TypeSet::of(&[Ty::F16, Ty::F16x2, Ty::Bf16, Ty::Bf16x2]);
const FLOAT: TypeSet = F3264.or(SHORT);
const U32: TypeSet = TypeSet::of(&[Ty::U32]);
const B32: TypeSet = TypeSet::of(&[Ty::B32]);
const B16: TypeSet = TypeSet::of(&[Ty::B16]);
const U3264: TypeSet = TypeSet::of(&[Ty::U32, Ty::U64]);
const DATA8: TypeSet = TypeSet::of(&[Ty::B8, Ty::U8, Ty::S8]);
const SCALAR: TypeSet = INT.or(F3264).or(BITS);
const DATA: TypeSet = SCALAR.or(DATA8).or(SHORT);
const MOVE: TypeSet = SCALAR
    .or(SHORT)
    .or(TypeSet::of(&[Ty::Pred, Ty::B8, Ty::U8, Ty::S8]));
const CONVERT: TypeSet =
    INT.or(F3264)
        .or(SHORT)
        .or(DATA8)
        .or(TypeSet::of(&[Ty::Tf32, Ty::E4m3x2, Ty::E5m2x2]));
const ATOMIC: TypeSet = W3264.or(B3264).or(F3264).or(SHORT).or(B16);
const MMA: TypeSet = TypeSet::of(&[
    Ty::F16,
    Ty::Bf16,
    Ty::Tf32,
    Ty::F32,
    Ty::F64,
    Ty::S8,
    Ty::U8,
    Ty::S4,
    Ty::U4,
    Ty::S32,
    Ty::E4m3,
    Ty::E5m2,
]);

const RND: Group = opt(&["rn", "rz", "rm", "rp"]);
const RND_REQ: Group = req(&["rn", "rz", "rm", "rp"]);
const FTZ: Group = opt(&["ftz"]);
const SAT: Group = opt(&["sat"]);
const RELU: Group = opt(&["relu"]);
const NAN: Group = opt(&["NaN"]);
const CC: Group = opt(&["cc"]);
const HALF: Group = opt(&["lo", "hi", "wide"]);
const APPROX: Group = req(&["approx"]);
const BOOL: Group = opt(&["and", "or", "xor"]);
const COMPARE: Group = req(&[
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
]);
const SPACE: Group = opt(&[
    "global",
    "shared",
    "shared::cta",
    "local",
    "param",
    "param::entry",
    "param::func",
    "const",
]);
const MEMORY_SPACE: Group = opt(&["global", "shared", "shared::cta"]);
const SPACE_REQ: Group = req(&["global", "shared", "shared::cta", "local", "param", "const"]);
const ORDER: Group = opt(&[
    "weak", "relaxed", "acquire", "release", "acq_rel", "volatile",
]);
const SCOPE: Group = opt(&["cta", "cluster", "gpu", "sys"]);
const CACHE: Group = opt(&["ca", "cg", "cs", "lu", "cv", "wb", "wt"]);
const L1: Group = opt(&[
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
]);
const L2: Group = opt(&["L2::evict_normal", "L2::evict_first", "L2::evict_last"]);
const L2_HINT: Group = opt(&["L2::cache_hint"]);
const L2_SIZE: Group = opt(&["L2::64B", "L2::128B", "L2::256B"]);
const VECTOR: Group = opt(&["v2", "v4"]);
const SYNC: Group = req(&["sync"]);
const ALIGNED: Group = req(&["aligned"]);
const ALIGNED_OPT: Group = opt(&["aligned"]);
const UNI: Group = opt(&["uni"]);
const CTA: Group = opt(&["cta"]);
const BARRIER: Group = req(&["sync", "arrive", "red"]);
const BARRIER_OP: Group = opt(&["popc", "and", "or"]);

/// All opcodes.
pub(super) static TABLE: &[Spec] = &[
    // 9.7.1 integer arithmetic; add, sub, mul, fma, neg, abs, min, max are shared with floats.
    spec!(
        "add",
        [RND, FTZ, SAT, CC],
        [INT.or(FLOAT).or(PAIR)],
        Integer,
        integer::add_sub
    ),
    spec!(
        "sub",
        [RND, FTZ, SAT, CC],
        [INT.or(FLOAT)],
        Integer,
        integer::add_sub
    ),
    spec!("addc", [CC], [W3264], Integer, integer::add_sub),
    spec!("subc", [CC], [W3264], Integer, integer::add_sub),
    spec!(
        "mul",
        [HALF, RND, FTZ, SAT],
        [INT.or(FLOAT)],
        Integer,
        integer::mul
    ),
    spec!(
        "mad",
        [HALF, RND, FTZ, SAT, CC],
        [INT.or(F3264)],
        Integer,
        integer::mad
    ),
    spec!(
        "madc",
        [req(&["lo", "hi"]), CC],
        [W3264],
        Integer,
        integer::mad
    ),
    spec!(
        "mul24",
        [req(&["lo", "hi"])],
        [W32],
        Integer,
        integer::mul24
    ),
    spec!(
        "mad24",
        [req(&["lo", "hi"]), SAT],
        [W32],
        Integer,
        integer::mad24
    ),
    spec!("sad", [], [INT], Integer, integer::sad),
    spec!(
        "div",
        [opt(&["approx", "full", "rn", "rz", "rm", "rp"]), FTZ],
        [INT.or(F3264)],
        Integer,
        integer::div_rem
    ),
    spec!("rem", [], [INT], Integer, integer::div_rem),
    spec!("abs", [FTZ], [SINT.or(FLOAT)], Integer, integer::abs),
    spec!("neg", [FTZ], [SINT.or(FLOAT)], Integer, integer::neg),
    spec!(
        "min",
        [FTZ, NAN, opt(&["xorsign"]), opt(&["abs"]), RELU],
        [INT.or(FLOAT).or(PAIR)],
        Integer,
        integer::min_max
    ),
    spec!(
        "max",
        [FTZ, NAN, opt(&["xorsign"]), opt(&["abs"]), RELU],
        [INT.or(FLOAT).or(PAIR)],
        Integer,
        integer::min_max
    ),
    spec!("popc", [], [B3264], Integer, integer::popc),
    spec!("clz", [], [B3264], Integer, integer::clz),
    spec!(
        "bfind",
        [opt(&["shiftamt"])],
        [W3264],
        Integer,
        integer::bfind
    ),
    spec!("fns", [], [B32], Integer, integer::fns),
    spec!("brev", [], [B3264], Integer, integer::brev),
    spec!("bfe", [], [W3264], Integer, integer::bfe),
    spec!("bfi", [], [B3264], Integer, integer::bfi),
    spec!(
        "bmsk",
        [req(&["clamp", "wrap"])],
        [B32],
        Integer,
        integer::bmsk
    ),
    spec!(
        "szext",
        [req(&["clamp", "wrap"])],
        [W32],
        Integer,
        integer::szext
    ),
    spec!("dp4a", [], [W32, W32], Integer, integer::dp4a),
    spec!(
        "dp2a",
        [req(&["lo", "hi"])],
        [W32, W32],
        Integer,
        integer::dp2a
    ),
    // 9.7.3 and 9.7.4 floating point.
    spec!(
        "fma",
        [RND_REQ, FTZ, SAT, RELU],
        [FLOAT],
        Float,
        floating::fma
    ),
    spec!(
        "rcp",
        [opt(&["approx", "rn", "rz", "rm", "rp"]), FTZ],
        [F3264],
        Special,
        floating::rcp_sqrt
    ),
    spec!(
        "sqrt",
        [opt(&["approx", "rn", "rz", "rm", "rp"]), FTZ],
        [F3264],
        Special,
        floating::rcp_sqrt
    ),
    spec!("rsqrt", [APPROX, FTZ], [F3264], Special, floating::approx),
    spec!("sin", [APPROX, FTZ], [F32], Special, floating::approx),
    spec!("cos", [APPROX, FTZ], [F32], Special, floating::approx),
    spec!("lg2", [APPROX, FTZ], [F32], Special, floating::approx),
    spec!(
        "ex2",
        [APPROX, FTZ],
        [F32.or(SHORT)],
        Special,
        floating::approx
    ),
    spec!("tanh", [APPROX], [F32.or(SHORT)], Special, floating::approx),
    spec!(
        "testp",
        [req(&[
            "finite",
            "infinite",
            "number",
            "notanumber",
            "normal",
            "subnormal"
        ])],
        [F3264],
        Compare,
        floating::testp
    ),
    spec!("copysign", [], [F3264], Float, floating::copysign),
    // 9.7.5 to 9.7.8 comparison, selection, logic, shifts.
    spec!(
        "set",
        [COMPARE, BOOL, FTZ],
        [
            TypeSet::of(&[
                Ty::U32,
                Ty::S32,
                Ty::F32,
                Ty::U16,
                Ty::S16,
                Ty::F16,
                Ty::F16x2,
                Ty::Bf16,
                Ty::Bf16x2
            ]),
            SCALAR.or(SHORT)
        ],
        Compare,
        compare::set
    ),
    spec!(
        "setp",
        [COMPARE, BOOL, FTZ],
        [SCALAR.or(SHORT)],
        Compare,
        compare::setp
    ),
    spec!("selp", [], [SCALAR], Compare, compare::selp),
    spec!(
        "slct",
        [FTZ],
        [SCALAR, TypeSet::of(&[Ty::S32, Ty::F32])],
        Compare,
        compare::slct
    ),
    spec!("and", [], [LOGIC], Integer, compare::logic),
    spec!("or", [], [LOGIC], Integer, compare::logic),
    spec!("xor", [], [LOGIC], Integer, compare::logic),
    spec!("not", [], [LOGIC], Integer, compare::not),
    spec!("cnot", [], [BITS], Integer, integer::cnot),
    spec!("lop3", [BOOL], [B32], Integer, integer::lop3),
    spec!(
        "shf",
        [req(&["l", "r"]), req(&["clamp", "wrap"])],
        [B32],
        Integer,
        integer::shf
    ),
    spec!("shl", [], [BITS], Integer, integer::shl),
    spec!("shr", [], [BITS.or(INT)], Integer, integer::shr),
    spec!(
        "prmt",
        [opt(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])],
        [B32],
        Integer,
        integer::prmt
    ),
    // 9.7.9 data movement and conversion.
    spec!("mov", [], [MOVE], Move, memory::mov),
    spec!(
        "ld",
        [
            ORDER,
            SCOPE,
            SPACE,
            opt(&["nc"]),
            CACHE,
            L1,
            L2,
            L2_HINT,
            L2_SIZE,
            VECTOR,
            opt(&["unified"])
        ],
        [DATA],
        Load,
        memory::ld
    ),
    spec!("ldu", [opt(&["global"]), VECTOR], [DATA], Load, memory::ld),
    spec!(
        "st",
        [ORDER, SCOPE, SPACE, CACHE, L1, L2, L2_HINT, VECTOR],
        [DATA],
        Store,
        memory::st
    ),
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
    spec!(
        "membar",
        [req(&["cta", "gl", "sys", "gpu"])],
        [],
        Other,
        control::nop
    ),
    spec!(
        "fence",
        [
            opt(&["sc", "acq_rel"]),
            req(&["cta", "cluster", "gpu", "sys"])
        ],
        [],
        Other,
        control::nop
    ),
    spec!(
        "atom",
        [
            ORDER,
            SCOPE,
            MEMORY_SPACE,
            req(&[
                "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"
            ]),
            opt(&["noftz"]),
            VECTOR,
            L2_HINT
        ],
        [ATOMIC],
        Atomic,
        memory::atom
    ),
    spec!(
        "red",
        [
            ORDER,
            SCOPE,
            MEMORY_SPACE,
            req(&["add", "min", "max", "and", "or", "xor", "inc", "dec"]),
            opt(&["noftz"]),
            VECTOR,
            L2_HINT
        ],
        [ATOMIC],
        Atomic,
        memory::atom
    ),
    spec!(
        "vote",
        [SYNC, req(&["all", "any", "uni", "ballot"])],
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
        [SYNC, req(&["up", "down", "bfly", "idx"])],
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
        control::nop
    ),
    // 9.7.14 matrix instructions.
    spec!(
        "ldmatrix",
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
        matrix::ldmatrix
    ),
    spec!(
        "stmatrix",
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
        matrix::stmatrix
    ),
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
    // 9.7.19 miscellaneous.
    spec!("nanosleep", [], [U32], Other, control::nop),
    spec!("pmevent", [opt(&["mask"])], [], Other, control::nop),
    spec!("brkpt", [], [], Other, control::nop),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn bases_are_unique_and_groups_disjoint() {
        let mut bases = HashSet::new();
        for spec in TABLE {
            assert!(bases.insert(spec.base), "{} twice", spec.base);
            let mut names = HashSet::new();
            for name in spec.groups.iter().flat_map(|group| group.names) {
                assert!(names.insert(name), "{}: .{name} in two groups", spec.base);
            }
        }
    }
}
