//! The Rust source of hand-written bundles.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use tilewright_build::source;
use tilewright_bundle::{DType, Kernel};
use tilewright_fixture::{
    COPY, GEMM, LOOKED_UP, SCALED, bundle_of, copy_kernel, gemm_kernel, hopper_gemm,
    looked_up_kernel, packed_copy_kernel, picky_gemm, scaled_kernel,
};

/// A launcher for each kind of field: `BLESS=1` writes the file.
#[test]
fn launchers_are_as_they_were() {
    let bundle = bundle_of([
        (copy_kernel("copy_f32@plain-1"), COPY),
        (gemm_kernel("gemm_f32@plain-2"), GEMM),
        (hopper_gemm("gemm_f32_tn@hopper-1"), GEMM),
        (picky_gemm("gemm_f32@picky-1"), GEMM),
        (packed_copy_kernel("copy_f32_packed@x-1", [1, 4]), COPY),
        (scaled_kernel("scaled@x-1"), SCALED),
        (looked_up_kernel("looked_up@x-1"), LOOKED_UP),
    ]);
    let text = source(&bundle, "kernels.zip").unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/launchers.rs.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&golden).unwrap());
}

fn of_dtype(id: &str, dtype: DType) -> Kernel {
    let mut kernel = copy_kernel(id);
    for operand in &mut kernel.semantics.operands {
        operand.dtype = dtype;
    }
    kernel
}

#[test]
fn two_functions_of_one_name_are_refused_with_both_places() {
    let kernels = [
        (copy_kernel("copy_f32@plain-1"), COPY),
        (of_dtype("copy__f32@plain-1", DType::S32), COPY),
    ];
    let told = source(&bundle_of(kernels), "kernels.zip")
        .unwrap_err()
        .to_string();
    for part in [
        "copy_f32",
        "copy__f32",
        "both are `CopyF32` in Rust",
        "another name",
    ] {
        assert!(told.contains(part), "{told}");
    }
    // Two specs of one function share it.
    let kernels = [
        (copy_kernel("copy_f32@plain-1"), COPY),
        (copy_kernel("copy__f32@plain-1"), COPY),
    ];
    let text = source(&bundle_of(kernels), "kernels.zip").unwrap();
    assert_eq!(text.matches("CopyF32<'a>").count(), 2, "{text}");
}

#[test]
fn every_element_type_has_a_type_of_rust() {
    for dtype in DType::ALL {
        let bundle = bundle_of([(of_dtype("copy_x@plain-1", *dtype), COPY)]);
        let text = source(&bundle, "kernels.zip").unwrap();
        assert_eq!(text.matches("typed::In<'a, ").count(), 1, "{dtype}");
    }
}
