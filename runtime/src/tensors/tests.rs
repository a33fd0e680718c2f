//! Problems made of tensors.
#![allow(clippy::unwrap_used)]

use tilewright_fixture::{copy_kernel, gemm_kernel, resolved};

use super::*;

fn tensor(operand: &str, dtype: DType, axes: [(i64, i64); 2]) -> Described<'_> {
    Described {
        operand,
        dtype,
        place: Extents::new(axes),
    }
}

fn nothing() -> Problem {
    Problem::default()
}

fn gemm() -> Kernel {
    resolved(gemm_kernel("gemm@x"))
}

fn dtypes(kernel: &Kernel) -> Vec<DType> {
    let operands = kernel.semantics.operands.iter();
    operands.map(|o| o.dtype).collect()
}

#[test]
fn extents_and_strides_follow_from_tensors() {
    let kernel = gemm();
    let types = dtypes(&kernel);
    let tensors = [
        tensor("a", types[0], [(4, 40), (32, 1)]),
        tensor("b", types[1], [(8, 32), (32, 1)]),
        tensor("d", types[2], [(4, 8), (8, 1)]),
    ];
    let problem = problem_of(&kernel, &tensors, &nothing()).unwrap();
    assert_eq!(problem.to_string(), "4x8x32 a:(40,1) b:(32,1) d:(8,1)");
    assert_eq!(
        tensors[0].span_bytes(),
        Some((3 * 40 + 32) * u64::from(types[0].bytes()))
    );
}

#[test]
fn all_disagreements_are_told_with_both_numbers() {
    let kernel = gemm();
    let types = dtypes(&kernel);
    let other = DType::S64;
    let tensors = [
        tensor("a", other, [(4, 32), (32, 1)]),
        tensor("b", types[1], [(8, 31), (31, 1)]),
        tensor("d", types[2], [(4, 9), (9, 1)]),
        tensor("e", types[2], [(4, 9), (9, 1)]),
    ];
    let refusals = problem_of(&kernel, &tensors, &nothing()).unwrap_err();
    let told: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    let all = told.join("\n");
    for part in [
        "`e` is no operand",
        "`a` has elements of s64; the kernel takes",
        "axis 1 of `b` has 31 elements; k is 32 by axis 1 of `a`",
        "axis 1 of `d` has 9 elements; n is 8 by axis 0 of `b`",
    ] {
        assert!(all.contains(part), "{part:?} is not in\n{all}");
    }
    assert_eq!(told.len(), 4, "{all}");
}

#[test]
fn missing_tensors_and_other_ranks_are_told() {
    let kernel = resolved(copy_kernel("copy@x"));
    let flat = Described {
        operand: "s",
        dtype: kernel.semantics.operands[0].dtype,
        place: Extents::new([(32, 1)]),
    };
    let refusals = problem_of(&kernel, &[flat], &nothing()).unwrap_err();
    let told: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    assert!(
        told[0].contains("`s` has the shape (32); the kernel takes 2 axes"),
        "{told:?}"
    );
    assert!(told[1].contains("no buffer was given for `d`"), "{told:?}");
}

#[test]
fn given_extents_stand_against_tensors() {
    let kernel = resolved(copy_kernel("copy@x"));
    let dtype = kernel.semantics.operands[0].dtype;
    let place = [(4, 8), (8, 1)];
    let tensors = [tensor("s", dtype, place), tensor("d", dtype, place)];
    let refusals = problem_of(&kernel, &tensors, &Problem::of([("m", 5)])).unwrap_err();
    let told = refusals[0].to_string();
    assert_eq!(told, "axis 0 of `s` has 4 elements; m is 5 as given");
}

#[test]
fn the_stride_of_one_row_fits_aligned_rows() {
    let kernel = resolved(copy_kernel("copy@x"));
    let dtype = kernel.semantics.operands[0].dtype;
    let place = [(1, 1), (300, 1)];
    let tensors = [tensor("s", dtype, place), tensor("d", dtype, place)];
    let problem = problem_of(&kernel, &tensors, &nothing()).unwrap();
    assert_eq!(problem.strides("s"), Some([512, 1].as_slice()));
}

#[test]
fn operands_of_bits_take_any_type_as_wide() {
    assert!(takes(DType::B16, DType::BF16) && takes(DType::B16, DType::U16));
    assert!(takes(DType::TF32, DType::F32) && !takes(DType::F32, DType::TF32));
    assert!(!takes(DType::B16, DType::F32) && !takes(DType::BF16, DType::F16));
}
