//! The opcode table. Columns: base, modifier groups, types by position, class, decode function.
//!
//! Sections follow the instruction set chapter of the PTX ISA (9.7).

mod arithmetic;
mod hopper;
mod machine;
mod warpgroup;

use super::decoder::{Group, Spec};
use crate::counters::InstClass;
use crate::types::{Ty, TypeSet};

pub(super) const fn opt(names: &'static [&'static str]) -> Group {
    Group {
        required: false,
        names,
    }
}

pub(super) const fn req(names: &'static [&'static str]) -> Group {
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

pub(crate) use spec;

/// A row whose types after the first `$min` are optional.
macro_rules! spec_min {
    (
        $min:expr, $base:literal, [$($group:expr),*], [$($types:expr),*], $class:ident,
        $decode:expr
    ) => {
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
pub(crate) use spec_min;

pub(super) const INT: TypeSet =
    TypeSet::of(&[Ty::U16, Ty::U32, Ty::U64, Ty::S16, Ty::S32, Ty::S64]);
pub(super) const PAIR: TypeSet = TypeSet::of(&[Ty::U16x2, Ty::S16x2]);
pub(super) const W32: TypeSet = TypeSet::of(&[Ty::U32, Ty::S32]);
pub(super) const W3264: TypeSet = TypeSet::of(&[Ty::U32, Ty::S32, Ty::U64, Ty::S64]);
pub(super) const SINT: TypeSet = TypeSet::of(&[Ty::S16, Ty::S32, Ty::S64]);
pub(super) const B3264: TypeSet = TypeSet::of(&[Ty::B32, Ty::B64]);
pub(super) const BITS: TypeSet = TypeSet::of(&[Ty::B16, Ty::B32, Ty::B64]);
pub(super) const LOGIC: TypeSet = TypeSet::of(&[Ty::Pred, Ty::B16, Ty::B32, Ty::B64]);
pub(super) const F32: TypeSet = TypeSet::of(&[Ty::F32]);
pub(super) const F3264: TypeSet = TypeSet::of(&[Ty::F32, Ty::F64]);
pub(super) const SHORT: TypeSet = TypeSet::of(&[Ty::F16, Ty::F16x2, Ty::Bf16, Ty::Bf16x2]);
pub(super) const FLOAT: TypeSet = F3264.or(SHORT);
pub(super) const U32: TypeSet = TypeSet::of(&[Ty::U32]);
pub(super) const B32: TypeSet = TypeSet::of(&[Ty::B32]);
pub(super) const B128: TypeSet = TypeSet::of(&[Ty::B128]);
pub(super) const B16: TypeSet = TypeSet::of(&[Ty::B16]);
pub(super) const U3264: TypeSet = TypeSet::of(&[Ty::U32, Ty::U64]);
pub(super) const DATA8: TypeSet = TypeSet::of(&[Ty::B8, Ty::U8, Ty::S8]);
pub(super) const SCALAR: TypeSet = INT.or(F3264).or(BITS);
pub(super) const DATA: TypeSet = SCALAR.or(DATA8).or(SHORT);
pub(super) const MOVE: TypeSet =
    SCALAR
        .or(SHORT)
        .or(TypeSet::of(&[Ty::Pred, Ty::B8, Ty::U8, Ty::S8]));
pub(super) const CONVERT: TypeSet =
    INT.or(F3264)
        .or(SHORT)
        .or(DATA8)
        .or(TypeSet::of(&[Ty::Tf32, Ty::E4m3x2, Ty::E5m2x2]));
pub(super) const PACKED: TypeSet = TypeSet::of(&[
    Ty::U16,
    Ty::S16,
    Ty::U8,
    Ty::S8,
    Ty::U4,
    Ty::S4,
    Ty::U2,
    Ty::S2,
]);
pub(super) const ATOMIC: TypeSet = W3264.or(B3264).or(F3264).or(SHORT).or(B16);
pub(super) const MMA: TypeSet = TypeSet::of(&[
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

pub(super) const RND: Group = opt(&["rn", "rz", "rm", "rp"]);
pub(super) const RND_REQ: Group = req(&["rn", "rz", "rm", "rp"]);
pub(super) const FTZ: Group = opt(&["ftz"]);
pub(super) const SAT: Group = opt(&["sat"]);
pub(super) const RELU: Group = opt(&["relu"]);
pub(super) const NAN: Group = opt(&["NaN"]);
pub(super) const CC: Group = opt(&["cc"]);
pub(super) const HALF: Group = opt(&["lo", "hi", "wide"]);
pub(super) const APPROX: Group = req(&["approx"]);
pub(super) const BOOL: Group = opt(&["and", "or", "xor"]);
pub(super) const COMPARE: Group = req(&[
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
]);
pub(super) const SPACE: Group = opt(&[
    "global",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "param",
    "param::entry",
    "param::func",
    "const",
]);
pub(super) const MEMORY_SPACE: Group = opt(&["global", "shared", "shared::cta", "shared::cluster"]);
pub(super) const SPACE_REQ: Group = req(&[
    "global",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "param",
    "const",
]);
pub(super) const ORDER: Group = opt(&[
    "weak", "relaxed", "acquire", "release", "acq_rel", "volatile",
]);
pub(super) const SCOPE: Group = opt(&["cta", "cluster", "gpu", "sys"]);
pub(super) const CACHE: Group = opt(&["ca", "cg", "cs", "lu", "cv", "wb", "wt"]);
pub(super) const L1: Group = opt(&[
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
]);
pub(super) const L2: Group = opt(&["L2::evict_normal", "L2::evict_first", "L2::evict_last"]);
pub(super) const L2_HINT: Group = opt(&["L2::cache_hint"]);
pub(super) const L2_SIZE: Group = opt(&["L2::64B", "L2::128B", "L2::256B"]);
pub(super) const VECTOR: Group = opt(&["v2", "v4"]);
pub(super) const WIDE_VECTOR: Group = opt(&["v2", "v4", "v8"]);
pub(super) const SYNC: Group = req(&["sync"]);
pub(super) const SYNC_OPT: Group = opt(&["sync"]);
pub(super) const SECOND: Group = opt(&["add", "min", "max"]);
pub(super) const ALIGNED: Group = req(&["aligned"]);
pub(super) const ALIGNED_OPT: Group = opt(&["aligned"]);
pub(super) const UNI: Group = opt(&["uni"]);
pub(super) const CTA: Group = opt(&["cta"]);
pub(super) const BARRIER: Group = req(&["sync", "arrive", "red"]);
pub(super) const BARRIER_OP: Group = opt(&["popc", "and", "or"]);

/// All opcodes.
pub(super) fn rows() -> impl Iterator<Item = &'static Spec> {
    arithmetic::ROWS
        .iter()
        .chain(machine::ROWS)
        .chain(hopper::ROWS)
        .chain(warpgroup::ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn bases_are_unique_and_groups_disjoint() {
        let mut bases = HashSet::new();
        for spec in rows() {
            assert!(bases.insert(spec.base), "{} twice", spec.base);
            let mut names = HashSet::new();
            for (index, group) in spec.groups.iter().enumerate() {
                // One group may stand twice: the layouts of A and of B.
                let earlier = spec.groups.iter().take(index);
                if earlier.clone().any(|earlier| earlier.names == group.names) {
                    continue;
                }
                for name in group.names {
                    assert!(names.insert(name), "{}: .{name} in two groups", spec.base);
                }
            }
        }
    }
}
