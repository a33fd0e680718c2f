//! What records say of sums agrees with the types they add in.

use std::collections::BTreeSet;

use crate::atoms::catalogue;
use crate::atoms::catalogue::Catalogue;
use crate::dtype::DType;

/// Sums of integers wrap around; those of floats are rounded to no more bits than their type has,
/// and terms are cut as if none were less than seven binades below its least normal number.
#[test]
fn sums_fit_their_accumulators() {
    let mut short = BTreeSet::new();
    for atom in catalogue().unwrap().iter() {
        let Some(mma) = &atom.mma else { continue };
        let (id, sums) = (&atom.id, &mma.sums);
        assert!(
            sums.on(atom.min_sm).is_some(),
            "{id}: none for its least sm"
        );
        assert_eq!(
            (i64::from(sums.k), &sums.splits),
            (mma.mnk[2], &None),
            "{id}"
        );
        let bits = mma.types[0].fraction_bits();
        let least = match mma.types[0] {
            DType::F16 => -14,
            _ => -126,
        };
        for rule in &sums.rules {
            assert_eq!(rule.result_bits.is_some(), bits.is_some(), "{id}");
            assert!(rule.result_bits <= bits, "{id}: {rule:?}");
            if rule.floor.is_some() {
                assert_eq!(rule.floor, Some(least - 7), "{id}");
            }
            if rule.result_bits < bits {
                short.insert(mma.types[1].text());
            }
        }
    }
    assert_eq!(short, BTreeSet::from(["e4m3", "e5m2"]));
}

#[test]
fn rules_that_contradict_themselves_are_named() {
    let record = |rule: &str| {
        format!(
            "- {{ id: x, kind: mma, operands: [], align_bytes: 1, min_sm: 50, min_ptx: 10, \
             source: s, emit: {{ intrinsic: i, args: [] }}, mma: {{ mnk: [1, 1, 4], \
             types: {{ d: f32, a: f32, b: f32, c: f32 }}, thr_id: '1:0', a_tv: '(1,1):(0,0)', \
             b_tv: '(1,1):(0,0)', c_tv: '(1,1):(0,0)', \
             sums: {{ unit: fma, rules: [{{ min_sm: 50, basis: defined, {rule} }}] }} }} }}"
        )
    };
    let read = |rule: &str| Catalogue::read(&[("a", &record(rule))]);
    assert_eq!(read("alignments: 2").unwrap().iter().len(), 1);
    for (rule, wanted) in [
        ("alignments: 3", "3 alignments do not share out 4 products"),
        ("kept_bits: 25", "kept_bits and floor"),
        ("steps: 3", "unknown field `steps`"),
    ] {
        let problem = read(rule).unwrap_err();
        assert!(problem.contains(wanted), "{wanted:?} is not in {problem:?}");
    }
}
