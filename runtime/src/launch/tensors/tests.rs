//! Problems made of tensors.
#![allow(clippy::unwrap_used)]

use tilewright_fixture::{copy_kernel, gemm_kernel, picky_gemm, resolved};

use super::*;
use crate::launch::fit::fit;
use crate::launch::info::DeviceInfo;
use crate::launch::request::Request;

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
fn a_scalar_in_memory_is_told_how_to_be_given() {
    let refusal = Refusal::Rank {
        operand: "sc".to_owned(),
        layout: "():()".to_owned(),
        needs: 0,
        shape: vec![1],
    };
    assert_eq!(
        refusal.to_string(),
        "`sc` has the shape (1); the kernel takes 0 axes: ():(); of one element sc.reshape(()) \
         makes it so"
    );
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

/// A product whose second factor is packed in tiles of 16 by 64.
fn packed_gemm() -> Kernel {
    let mut kernel = gemm_kernel("gemm@x");
    let b = &mut kernel.semantics.operands[1];
    b.layout = "(n,k):(k,1)".parse().unwrap();
    b.packed = Some(tilewright_bundle::PackedOrder {
        shape: vec![vec![16], vec![64]],
        stride: vec![vec![64], vec![1]],
        swizzle: None,
        order: vec![1, 0],
        multiple: vec![1, 1],
    });
    for param in &mut kernel.launches[0].params {
        let stride = match param.name.as_str() {
            "rsb" => "k",
            "csb" => "1",
            _ => continue,
        };
        let ty = tilewright_bundle::ScalarType::I64;
        param.value = tilewright_bundle::ParamValue::scalar(ty, stride.parse().unwrap());
    }
    resolved(kernel)
}

#[test]
fn packed_operands_have_one_axis_of_all_their_tiles() {
    let kernel = packed_gemm();
    let types = dtypes(&kernel);
    let given = |elems: i64, stride: i64| {
        let b = Described {
            operand: "b",
            dtype: types[1],
            place: Extents::new([(elems, stride)]),
        };
        let [a, d] = [
            tensor("a", types[0], [(4, 40), (32, 1)]),
            tensor("d", types[2], [(4, 18), (18, 1)]),
        ];
        problem_of(&kernel, &[a, b, d], &nothing())
    };
    let problem = given(2 * 16 * 64, 1).unwrap();
    assert_eq!(problem.to_string(), "4x18x32 a:(40,1) d:(18,1) b:(32,1)");
    for (elems, stride) in [(18 * 32, 1), (2 * 16 * 64, 2)] {
        let refusals = given(elems, stride).unwrap_err();
        let told = refusals[0].to_string();
        let wanted = "`b` is packed: its 18x32 elements take one axis of 2048 and stride 1";
        assert!(told.starts_with(wanted), "{told}");
        assert_eq!(refusals[0].kind(), "shape");
    }
}

/// A launch is refused memory that ends before the last tile does.
#[test]
fn packed_memory_ends_behind_the_last_tile() {
    let kernel = packed_gemm();
    let device = crate::Device::emulator();
    // Its strides need not be said, and are no others.
    let problem = Problem::new(4, 18, 32)
        .row_major("a", 32)
        .row_major("d", 18);
    let fit = fit(&kernel, &problem, device.info()).unwrap();
    let said = problem.clone().row_major("b", 32);
    assert_eq!(crate::fit(&kernel, &said, device.info()).unwrap(), fit);
    let wider = problem.clone().row_major("b", 40);
    assert!(crate::fit(&kernel, &wider, device.info()).is_err());
    let accepts = |problem: &Problem| {
        let acceptance = crate::select::accept::Acceptance::new(&kernel, device.info());
        acceptance.takes(&kernel, problem, [].into_iter())
    };
    assert!(accepts(&problem) && accepts(&said) && !accepts(&wider));
    let b = &kernel.semantics.operands[1];
    let needs = 2 * 16 * 64 * u64::from(b.dtype.bytes());
    assert_eq!(crate::operand_bytes(b, &fit.operands[1]), Some(needs));
    let view = |operand, address, bytes| crate::View {
        operand,
        address,
        bytes,
    };
    let views = |bytes| {
        [
            view("a", 1 << 20, 1 << 16),
            view("b", 2 << 20, bytes),
            view("d", 3 << 20, 1 << 16),
        ]
    };
    crate::prepare(&kernel, &fit, device.info(), &views(needs)).unwrap();
    let refusals = crate::prepare(&kernel, &fit, device.info(), &views(needs - 1)).unwrap_err();
    let wanted = Refusal::BufferTooSmall {
        operand: "b".to_owned(),
        needs,
        has: needs - 1,
    };
    assert_eq!(refusals, [wanted]);
}

/// A single row reaches no other, whatever its stride; one that others share keeps its own.
#[test]
fn strides_of_single_rows_mind_no_assumption() {
    let kernel = resolved(picky_gemm("gemm_f32@picky-1"));
    let device = DeviceInfo::of_capability(80);
    let problem = |m: i64| {
        let problem = Problem::new(m, 8, 8).row_major("a", 63);
        problem.row_major("b", 8).row_major("d", 8)
    };
    let one = problem(1);
    assert!(fit(&kernel, &one, &device).is_err());
    let told = Request::as_of_tensors(&kernel, one);
    assert_eq!(told.strides("a"), Some([256, 1].as_slice()));
    assert!(fit(&kernel, &told, &device).is_ok());
    // Of two rows it is what it is.
    assert_eq!(Request::as_of_tensors(&kernel, problem(2)), problem(2));
}
