//! Layouts of any number of axes are matched with strides.
#![allow(clippy::unwrap_used)]
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tilewright_bundle::{DType, Kernel, Role, Semantics};

use super::*;

/// A kernel of one operand, `a`, and strides `held` and `also` of another one.
fn kernel(text: &str) -> Kernel {
    let operand =
        |name, text: &str| Operand::new(name, Role::Out, DType::F32, text.parse().unwrap());
    let mut kernel = Kernel {
        semantics: Semantics {
            operands: vec![operand("a", text), operand("d", "(m,n,k):(held,also,1)")],
            ..Semantics::default()
        },
        ..Kernel::new("copy_f32@x", "copy")
    };
    // Its names are wanted alone: it computes nothing.
    assert!(kernel.resolve().is_err());
    kernel
}

fn env(kernel: &Kernel, m: i64, n: i64, k: i64) -> Env {
    let mut env = Env::new();
    for (text, value) in [("m", m), ("n", n), ("k", k), ("held", 8), ("also", 7)] {
        env.set(kernel.names.find(text).unwrap(), value);
    }
    env
}

fn bound(text: &str, [m, n, k]: [i64; 3], given: &[i64]) -> Result<(Extents, Env), Refusal> {
    let kernel = kernel(text);
    let mut env = env(&kernel, m, n, k);
    let extents = bind(&kernel.semantics.operands[0], given, &mut env)?;
    Ok((extents, env))
}

const FIVE: [i64; 3] = [5, 6, 7];

#[test]
fn names_are_bound_and_compared() {
    let (extents, env) = bound("(m,k):(lda,1)", FIVE, &[8, 1]).unwrap();
    assert_eq!(
        (extents.shape(), extents.stride()),
        ([5, 7].as_slice(), [8, 1].as_slice())
    );
    assert_eq!(extents.span_elems(), Some(4 * 8 + 6 + 1));
    let lda = kernel("(m,k):(lda,1)").names.find("lda").unwrap();
    assert_eq!(env.get(lda), Some(8));
    assert!(bound("(n,k):(held,1)", FIVE, &[8, 1]).is_ok());
    for (text, given) in [("(n,k):(held,1)", [9, 1]), ("(n,k):(ldb,1)", [1, 9])] {
        assert!(matches!(
            bound(text, FIVE, &given),
            Err(Refusal::Layout { .. })
        ));
    }
    assert!(bound("(n,k):(rsb, csb)", FIVE, &[1, 9]).is_ok());
    let (extents, _) = bound("(m,n,k):(x,y,1)", FIVE, &[48, 8, 1]).unwrap();
    assert_eq!((extents.elems(), extents.matrix()), (5 * 6 * 7, None));
    assert_eq!(bound("():()", FIVE, &[]).unwrap().0.span_elems(), Some(1));
    assert!(matches!(
        bound("(m,k):(lda,1)", FIVE, &[1]),
        Err(Refusal::Layout { .. })
    ));
}

#[test]
fn extents_as_strides() {
    assert!(bound("(m,n):(n,1)", FIVE, &[6, 1]).is_ok());
    assert!(bound("(m,n):(n,1)", FIVE, &[7, 1]).is_err());
    assert!(bound("(m,n):(max(n,8),1)", FIVE, &[8, 1]).is_ok());
    let told = |text, given: &[i64]| bound(text, FIVE, given).unwrap_err().to_string();
    assert_eq!(
        told("(m,n):(n,1)", &[7, 1]),
        "`a` has strides (7,1); the kernel takes (m,n):(n,1): build a kernel of a spec with any \
         strides, `(m,n):(lda,sa)`, or pad rows to whole 16 bytes, which one with `(m,n):(lda,1)` \
         takes"
    );
    assert!(told("(m,n):(n,1)", &[32, 1]).ends_with(
        ": build a kernel of a spec that names its strides, `(m,n):(lda,1)`, which takes rows of \
         whole 16 bytes"
    ));
    let of_three = told("(m,n,k):(n * k,k,1)", &[99, 9, 1]);
    assert!(of_three.contains("`(m,n,k):(lda0,lda1,1)`"), "{of_three}");
    // Another axis is contiguous, or none is.
    let copy = "give a copy in that order, or build a kernel of a spec";
    for (text, given, spec) in [
        (
            "(n,k):(k,1)",
            [1, 48].as_slice(),
            "of the order given, `(n,k):(1,lda)`",
        ),
        (
            "(n,k):(lda,1)",
            &[1, 48],
            "of the order given, `(n,k):(1,lda)`",
        ),
        (
            "(n,k):(lda,1)",
            &[48, 2],
            "with any strides, `(n,k):(lda,sa)`",
        ),
        (
            "(n,k):(k,1)",
            &[48, 2],
            "with any strides, `(n,k):(lda,sa)`",
        ),
        (
            "(m,n,k):(x,y,1)",
            &[84, 14, 2],
            "with any strides, `(m,n,k):(x,y,sa)`",
        ),
    ] {
        let told = told(text, given);
        assert!(told.ends_with(&format!(": {copy} {spec}")), "{told}");
    }
    let few = told("(m,k):(lda,1)", &[1]);
    assert!(
        few.ends_with("takes (m,k):(lda,1): give 2, one of each axis"),
        "{few}"
    );
    assert_eq!(bound("(n):(1)", FIVE, &[1]).unwrap().0.elems(), 6);
}

#[test]
fn strides_that_another_operand_has_as_well() {
    let told = |text, given: &[i64]| bound(text, FIVE, given).unwrap_err().to_string();
    let of_names = told("(n,k):(held,1)", &[9, 1]);
    assert_eq!(
        of_names,
        "`a` has strides (9,1); the kernel takes (n,k):(held,1), and held is 8 by another \
         operand: give both the same, or build a kernel of a spec that names this one apart, \
         `(n,k):(lda,1)`"
    );
    let of_two = told("(n,k):(held,sa)", &[9, 1]);
    assert!(of_two.ends_with("apart, `(n,k):(lda,sa)`"), "{of_two}");
    // Several of them, whose order is as good.
    assert_eq!(
        told("(m,n,k):(held,also,sa)", &[390, 78, 1]),
        "`a` has strides (390,78,1); the kernel takes (m,n,k):(held,also,sa), and held is 8, also \
         is 7 by another operand: give both the same, or build a kernel of a spec that names these \
         apart, `(m,n,k):(lda0,lda1,sa)`"
    );
}

#[test]
fn constant_strides_of_zero_repeat_what_is_there() {
    let (rows, _) = bound("(m,k):(0,1)", FIVE, &[0, 1]).unwrap();
    assert_eq!(rows.span_elems(), Some(7));
    assert!(!rows.is_injective());
    let (columns, _) = bound("(m,k):(1,0)", FIVE, &[1, 0]).unwrap();
    assert!(!columns.is_injective());
    assert!(bound("(m,k):(0,1)", FIVE, &[7, 1]).is_err());
    assert!(bound("(m,k):(0,lda)", FIVE, &[0, 0]).is_err());
}

#[test]
fn strides_of_single_elements_match_anything() {
    assert!(bound("(m,k):(3,5)", [1, 6, 1], &[77, -4]).is_ok());
    assert!(bound("(m,n):(3,1)", [1, 6, 1], &[77, 1]).is_ok());
}

#[test]
fn bad_strides_are_refused() {
    let refused = bound("(m,k):(lda,1)", FIVE, &[0, 1]).unwrap_err();
    let text = "`a` has strides (0,1) for 5x7: strides must be positive: give memory of its own \
                for each element";
    assert_eq!(refused.to_string(), text);
    // What is read may be repeated by a spec that says so.
    let mut kernel = kernel("(m,k):(lda,1)");
    kernel.semantics.operands[0].role = Role::In;
    let mut names = env(&kernel, 5, 6, 7);
    let refused = bind(&kernel.semantics.operands[0], &[0, 1], &mut names).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`a` has strides (0,1) for 5x7: strides must be positive: give a copy that repeats \
         nothing, or build a kernel of a spec that says so, `(m,k):(0,1)`"
    );
    let mut names = env(&kernel, 5, 6, 7);
    let refused = bind(&kernel.semantics.operands[0], &[-7, 1], &mut names).unwrap_err();
    let copy = "strides must be positive: give a copy, which lies in the order of its axes";
    assert!(refused.to_string().ends_with(copy), "{refused}");
    assert!(bound("(m,k):(lda,1)", FIVE, &[i64::MAX, 1]).is_err());
}

#[test]
fn outputs_are_injective() {
    let e = |rows, cols, row, col| Extents::new([(rows, row), (cols, col)]);
    assert!(e(4, 3, 3, 1).is_injective());
    assert!(!e(4, 3, 2, 1).is_injective());
    assert!(e(4, 3, 1, 4).is_injective());
    assert!(e(1, 3, 0, 1).is_injective());
    assert!(!e(4, 3, 0, 1).is_injective());
    assert!(!e(1, 3, 1, 0).is_injective());
    assert!(!e(2, 2, 1, 1).is_injective());
    assert!(e(125, 512, 1024, 1000).is_injective());
    assert!(e(512, 128, 1024, 1000).is_injective());
    assert!(!e(126, 129, 1024, 1000).is_injective());
    assert!(Extents::new([(2, 12), (3, 4), (4, 1)]).is_injective());
    assert!(!Extents::new([(2, 11), (3, 4), (4, 1)]).is_injective());
    assert!(Extents::new([]).is_injective());
}

/// Runs visit every element once, in dense order, at its own offset.
#[test]
fn runs_visit_every_element() {
    let mut rng = StdRng::seed_from_u64(7);
    for _ in 0..500 {
        let rank = rng.random_range(0..5);
        let mut axis = || (rng.random_range(1..4), rng.random_range(0..9));
        let axes: Vec<(i64, i64)> = (0..rank).map(|_| axis()).collect();
        let extents = Extents::new(axes.iter().copied());
        let mut visited: Vec<i64> = Vec::new();
        extents.for_each_run(|offset, dense, count| {
            assert_eq!(dense, visited.len() as i64);
            visited.extend((0..count).map(|one| offset + one));
        });
        let mut wanted = vec![0];
        for (extent, stride) in axes {
            let steps = |base: i64| (0..extent).map(move |at| base + at * stride);
            wanted = wanted.into_iter().flat_map(steps).collect();
        }
        assert_eq!(visited, wanted, "{extents}");
        assert_eq!(extents.elems(), wanted.len() as i64);
        let last = wanted.iter().max().copied().unwrap();
        assert_eq!(extents.span_elems(), Some(last + 1));
        wanted.sort_unstable();
        wanted.dedup();
        assert!(
            !extents.is_injective() || wanted.len() == visited.len(),
            "{extents}"
        );
    }
}

/// Every address of two axes by itself, against the rule.
#[test]
fn elements_share_an_address_when_the_rule_says_so() {
    let at = |case: i64, count: i64| case / count % 6;
    for case in 0..6i64.pow(4) {
        let rows = (at(case, 1) + 1, at(case, 36));
        let extents = Extents::new([rows, (at(case, 6) + 1, at(case, 216))]);
        let mut offsets = Vec::new();
        extents.for_each_run(|offset, _, count| offsets.extend(offset..offset + count));
        let count = offsets.len();
        offsets.sort_unstable();
        offsets.dedup();
        assert_eq!(extents.is_injective(), offsets.len() == count, "{extents}");
    }
}
