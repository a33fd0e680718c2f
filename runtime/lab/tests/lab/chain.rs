//! Chains of launches that read one another's results.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::fixture::*;
use tilewright_lab::verify;
use tilewright_runtime::{Device, Runtime};

fn runtime_of(ptx: &str) -> Runtime {
    let bundle = bundle_of([
        (copy_kernel("copy_f32@plain-1"), COPY),
        (gemm_kernel("gemm_f32@plain-2"), ptx),
    ]);
    Runtime::new(bundle, Device::emulator())
}

#[test]
fn a_right_kernel_shifts_its_input_once_a_launch() {
    let runtime = runtime_of(GEMM);
    let kernel = runtime.bundle().kernel("gemm_f32@plain-2").unwrap();
    for (side, links) in [(24, 5), (17, 1), (8, 20)] {
        let outcome = verify::chain(&runtime, kernel, side, links, 3)
            .unwrap()
            .unwrap();
        assert_eq!(outcome.failure, None);
        assert!(
            outcome
                .problem
                .starts_with(&format!("chain of {links} launches"))
        );
    }
    let copy = runtime.bundle().kernel("copy_f32@plain-1").unwrap();
    assert!(verify::chain(&runtime, copy, 8, 2, 3).unwrap().is_none());
}

#[test]
fn a_kernel_that_loses_a_product_breaks_the_chain() {
    // The last product overwrites the sum of those before it.
    let wrong = GEMM.replace(
        "fma.rn.f32 %f1, %f2, %f3, %f1;",
        "mul.rn.f32 %f1, %f2, %f3;",
    );
    assert_ne!(wrong, GEMM);
    let runtime = runtime_of(&wrong);
    let kernel = runtime.bundle().kernel("gemm_f32@plain-2").unwrap();
    let outcome = verify::chain(&runtime, kernel, 16, 4, 3).unwrap().unwrap();
    let failure = outcome.failure.unwrap();
    assert!(
        failure.contains("are not those of 4 shifts, first d("),
        "{failure}"
    );
}
