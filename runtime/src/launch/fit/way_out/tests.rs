//! Ways out that work when they are followed.
#![allow(clippy::unwrap_used)]

use tilewright_bundle::{Assumption, DType, Kernel, Operand, OperandLayout, Role};

use crate::error::Refusal;
use crate::launch::fit::fit;
use crate::launch::info::DeviceInfo;
use crate::launch::problem::Problem;

/// A copy of batches whose rows and batches begin at multiples of 8.
fn batched() -> Kernel {
    let layout = |text: &str| text.parse::<OperandLayout>().unwrap();
    let mut kernel = Kernel::new("copy@x-1", "copy");
    kernel.semantics.operands = vec![
        Operand::new("a", Role::In, DType::F32, layout("(z,m,k):(sa,lda,1)")),
        Operand::new("d", Role::Out, DType::F32, layout("(z,m,k):(sd,ldd,1)")),
    ];
    kernel.semantics.compute = "d[z,m,k] = a[z,m,k]".to_owned();
    let assumed = ["lda % 8 == 0", "sa % 8 == 0"].map(|text| Assumption::Expr {
        expr: text.parse().unwrap(),
        reason: "copies of 16 bytes".to_owned(),
    });
    kernel.assumptions = assumed.to_vec();
    kernel.resolve().unwrap();
    kernel
}

fn told([sa, lda]: [i64; 2]) -> Vec<String> {
    let problem = Problem::of([("z", 3), ("m", 70), ("k", 64)]);
    let problem = problem.with_strides("a", [sa, lda, 1]);
    let problem = problem.with_strides("d", [70 * 64, 64, 1]);
    let refused = fit(&batched(), &problem, &DeviceInfo::of_capability(90)).unwrap_err();
    let assumed = refused.iter();
    let assumed = assumed.filter(|one| matches!(one, Refusal::Assumption { .. }));
    assumed.map(Refusal::to_string).collect()
}

#[test]
fn padded_rows_and_batches_stay_apart() {
    let both = told([75 * 70, 75]);
    let rows = "it assumes lda % 8 == 0, and lda is 75 (copies of 16 bytes): pad lda to 80 and \
                with it sa to 5600, or build a kernel that does not assume it, of a spec with any \
                strides, `(z,m,k):(sa,lda,sa0)`";
    assert_eq!(both[0], rows);
    assert!(
        both[1].contains("and sa is 5250 (copies of 16 bytes): pad sa to 5600, or"),
        "{both:?}"
    );
    // Batches that are far apart already stay where they are.
    let alone = told([8000, 75]);
    assert_eq!(alone.len(), 1);
    assert!(alone[0].contains(": pad lda to 80, or"), "{alone:?}");
    // The batches of one row after another that overlap on purpose still do.
    let shared = told([75, 75]);
    assert!(shared[1].contains(": pad sa to 80, or"), "{shared:?}");
}
