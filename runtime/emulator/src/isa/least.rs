//! The least architecture of instructions: what a text for an older one may not say.
//!
//! A row has a base, or the beginning of bases up to a dot, and a modifier or type with which it
//! counts; without one it counts always. Of several rows the most demanding one holds.
//!
//! Source: the target notes of the PTX ISA (9.7), each compared with what ptxas 13.0 refuses for
//! `sm_75`, `sm_80`, `sm_89`, `sm_90` and `sm_90a`.

use super::decoder::Form;
use super::need::Need;

/// Base, modifier or type, need.
type Row = (&'static str, &'static str, Need);

const TURING: Need = Need::Since(75);
const AMPERE: Need = Need::Since(80);
const ADA: Need = Need::Since(89);
const HOPPER: Need = Need::Since(90);

/// Modifiers of any instruction.
const MODIFIERS: [(&str, Need); 3] = [
    ("cluster", HOPPER),
    ("shared::cluster", HOPPER),
    ("L2::cache_hint", AMPERE),
];

const ROWS: &[Row] = &[
    // 9.7.9 data movement.
    ("cp.async", "", AMPERE),
    ("cp.async.bulk", "", HOPPER),
    ("cp.reduce.async.bulk", "", HOPPER),
    ("prefetch.tensormap", "", HOPPER),
    ("st.async", "", HOPPER),
    ("red.async", "", HOPPER),
    ("tensormap.replace", "", Need::Own(90)),
    ("tensormap.cp_fenceproxy", "", HOPPER),
    ("mapa", "", HOPPER),
    ("getctarank", "", HOPPER),
    ("createpolicy", "", AMPERE),
    ("applypriority", "", AMPERE),
    ("discard", "", AMPERE),
    ("cvt", "bf16", AMPERE),
    ("cvt", "bf16x2", AMPERE),
    ("cvt", "f16x2", AMPERE),
    ("cvt", "tf32", AMPERE),
    ("cvt", "e4m3x2", ADA),
    ("cvt", "e5m2x2", ADA),
    // 9.7.4 arithmetic on short floats.
    ("add", "bf16", HOPPER),
    ("add", "bf16x2", HOPPER),
    ("sub", "bf16", HOPPER),
    ("sub", "bf16x2", HOPPER),
    ("mul", "bf16", HOPPER),
    ("mul", "bf16x2", HOPPER),
    ("fma", "bf16", AMPERE),
    ("fma", "bf16x2", AMPERE),
    ("min", "NaN", AMPERE),
    ("max", "NaN", AMPERE),
    // 9.7.13 synchronization and communication.
    ("barrier.cluster", "", HOPPER),
    ("elect", "", HOPPER),
    ("griddepcontrol", "", HOPPER),
    ("redux", "", AMPERE),
    ("mbarrier", "", AMPERE),
    ("mbarrier", "expect_tx", HOPPER),
    ("mbarrier", "relaxed", HOPPER),
    ("mbarrier.expect_tx", "", HOPPER),
    ("mbarrier.complete_tx", "", HOPPER),
    ("mbarrier.try_wait", "", HOPPER),
    ("fence.mbarrier_init", "", HOPPER),
    ("fence.proxy.async", "", HOPPER),
    ("fence.proxy.tensormap::generic", "", HOPPER),
    ("atom", "b128", HOPPER),
    ("atom", "v2", HOPPER),
    ("atom", "v4", HOPPER),
    ("red", "v2", HOPPER),
    ("red", "v4", HOPPER),
    // 9.7.14 matrices.
    ("ldmatrix", "", TURING),
    ("movmatrix", "", TURING),
    ("stmatrix", "", HOPPER),
    ("mma", "m16n8k8", TURING),
    ("mma", "m8n8k16", TURING),
    ("mma", "m8n8k32", TURING),
    ("mma", "m16n8k4", AMPERE),
    ("mma", "m16n8k16", AMPERE),
    ("mma", "m16n8k32", AMPERE),
    ("mma", "m16n8k64", AMPERE),
    ("mma", "bf16", AMPERE),
    ("mma", "tf32", AMPERE),
    ("mma", "f64", AMPERE),
    ("mma", "e4m3", ADA),
    ("mma", "e5m2", ADA),
    // 9.7.15 and 9.7.19.5 warpgroups.
    ("wgmma", "", Need::Only(90)),
    ("setmaxnreg", "", Need::Own(90)),
];

/// Whether a base is that of a row, or begins with it up to a dot.
fn begins(base: &str, row: &str) -> bool {
    let rest = base.strip_prefix(row);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// What an opcode needs; none where every architecture has it.
pub(super) fn need(form: &Form) -> Option<Need> {
    let has = |word: &str| {
        let mut types = form.types.iter();
        word.is_empty() || form.mods.contains(&word) || types.any(|ty| ty.name() == word)
    };
    let rows = ROWS
        .iter()
        .filter(|(row, word, _)| begins(form.spec.base, row) && has(word));
    let modifiers = MODIFIERS.iter().filter(|(word, _)| has(word));
    let needs = rows.map(|(.., need)| *need);
    needs.chain(modifiers.map(|(_, need)| *need)).max()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::architecture::Architecture;

    #[test]
    fn rows_are_of_opcodes_and_of_what_they_take() {
        for (row, word, _) in ROWS {
            let mut specs = super::super::table::rows().filter(|spec| begins(spec.base, row));
            let takes = specs.any(|spec| {
                let mut names = spec.groups.iter().flat_map(|group| group.names);
                let ty = crate::types::Ty::parse(word);
                word.is_empty()
                    || names.any(|name| name == word)
                    || ty.is_some_and(|ty| spec.types.iter().any(|set| set.has(ty)))
            });
            assert!(takes, "{row} {word}");
        }
    }

    #[test]
    fn the_most_demanding_row_holds() {
        let need = |opcode: &str| Form::new(opcode).ok().unwrap().need;
        let cases = [
            ("add.u32", None),
            ("ld.global.u32", None),
            ("ld.relaxed.cluster.global.u32", Some(HOPPER)),
            ("cp.async.wait_all", Some(AMPERE)),
            ("cp.async.mbarrier.arrive.shared.b64", Some(AMPERE)),
            ("cp.async.bulk.wait_group", Some(HOPPER)),
            ("mbarrier.arrive.shared.b64", Some(AMPERE)),
            ("mbarrier.arrive.expect_tx.shared.b64", Some(HOPPER)),
            ("wgmma.wait_group.sync.aligned", Some(Need::Only(90))),
        ];
        for (opcode, wanted) in cases {
            assert_eq!(need(opcode), wanted, "{opcode}");
        }
        let target = |name: &str| Architecture::named(name).unwrap();
        let is_allowed = |need: Need| {
            ["sm_80", "sm_90", "sm_90a", "sm_100a"].map(|name| need.allows(&target(name)))
        };
        assert_eq!(is_allowed(HOPPER), [false, true, true, true]);
        assert_eq!(is_allowed(Need::Own(90)), [false, false, true, true]);
        assert_eq!(is_allowed(Need::Only(90)), [false, false, true, false]);
    }
}
