//! Ways out that work when they are followed.
#![allow(clippy::unwrap_used)]

use tilewright_bundle::{
    Assumption, DType, Kernel, Operand, OperandLayout, Param, ParamValue, Role, TensorMapAbi,
};
use tilewright_fixture::{gemm_kernel, picky_gemm};

use crate::error::Refusal;
use crate::launch::fit::{fit, stride_multiples};
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
    let multiples = |at: usize| {
        let kernel = batched();
        stride_multiples(&kernel, &kernel.semantics.operands[at])
    };
    assert_eq!([multiples(0), multiples(1)], [vec![8, 8, 1], vec![1, 1, 1]]);
    // Batches that are far apart already stay where they are.
    let alone = told([8000, 75]);
    assert_eq!(alone.len(), 1);
    assert!(alone[0].contains(": pad lda to 80, or"), "{alone:?}");
    // The batches of one row after another that overlap on purpose still do.
    let shared = told([75, 75]);
    assert!(shared[1].contains(": pad sa to 80, or"), "{shared:?}");
}

/// A kernel that assumes this as well.
fn assuming(mut kernel: Kernel, text: &str) -> Kernel {
    kernel.assumptions = vec![Assumption::Expr {
        expr: text.parse().unwrap(),
        reason: "a tile holds it".to_owned(),
    }];
    kernel.resolve().unwrap();
    kernel
}

fn first_refusal(kernel: &Kernel, problem: &Problem) -> String {
    let refused = fit(kernel, problem, &DeviceInfo::of_capability(90)).unwrap_err();
    refused[0].to_string()
}

#[test]
fn passes_are_told_of_rows_alone() {
    let rows = assuming(batched(), "k <= 64");
    let problem = Problem::of([("z", 1), ("m", 4), ("k", 65)]);
    let problem = problem.with_strides("a", [260, 65, 1]);
    let problem = problem.with_strides("d", [260, 65, 1]);
    let told = first_refusal(&rows, &problem);
    assert!(
        told.ends_with("along k or with `scheduler: { passes: many }`"),
        "{told}"
    );
    let product = assuming(gemm_kernel("gemm_f32@x-1"), "n <= 64");
    let problem = Problem::new(4, 65, 8).row_major("a", 8).row_major("b", 8);
    let told = first_refusal(&product, &problem.row_major("d", 65));
    assert!(
        told.ends_with(
            "of a spec with a longer cta_tile along n (at most 256, and what registers hold), or \
             compute what folds along n in a kernel behind it"
        ),
        "{told}"
    );
}

#[test]
fn all_operands_of_an_extent_are_named() {
    let mut kernel = gemm_kernel("gemm_f32@x-1");
    for (at, text) in [(0, "(m,k):(k,1)"), (1, "(n,k):(k,1)")] {
        kernel.semantics.operands[at].layout = text.parse().unwrap();
    }
    for launch in &mut kernel.launches {
        launch
            .params
            .retain(|param| !param.name.starts_with("rs") && !param.name.starts_with("cs"));
    }
    let kernel = assuming(kernel, "k % 8 == 0");
    let problem = Problem::new(4, 5, 60).row_major("a", 60).row_major("b", 60);
    let told = first_refusal(&kernel, &problem.row_major("d", 5));
    let both = "name the strides of `a` and `b` in the spec, `(m,k):(lda,1)` and \
                `(n,k):(ldb,1)`, and pad these to 64, or build";
    assert!(told.contains(both), "{told}");
}

#[test]
fn products_by_tensor_maps_have_copies_for_other_strides() {
    let mut kernel = picky_gemm("gemm_f32@x-1");
    let problem = Problem::new(4, 5, 60).row_major("a", 61);
    let problem = problem.row_major("b", 64).row_major("d", 5);
    kernel.resolve().unwrap();
    assert!(first_refusal(&kernel, &problem).contains("of a spec with any strides"));
    let map = TensorMapAbi::new(
        "a",
        DType::F32,
        ["k".parse().unwrap(), "m".parse().unwrap()],
        ["lda".parse().unwrap()],
        [32, 8],
    );
    let params = Param::pack([("a_map", ParamValue::TensorMap(map))]);
    kernel.launches[0].params = params;
    kernel.resolve().unwrap();
    let told = first_refusal(&kernel, &problem);
    let copied = "pad lda to 64, or build a kernel of a spec with `copy: { a: { realign: workspace \
                  } }`, which copies it first";
    assert!(told.contains(copied), "{told}");
    // A result is brought to its place behind the product.
    let mut kernel = assuming(gemm_kernel("gemm_f32@x-1"), "rsd % 8 == 0");
    kernel.semantics.operands[2].layout = "(m,n):(rsd,1)".parse().unwrap();
    let map = TensorMapAbi::new(
        "d",
        DType::F32,
        ["n".parse().unwrap(), "m".parse().unwrap()],
        ["rsd".parse().unwrap()],
        [32, 8],
    );
    kernel.launches[0].params = Param::pack([("d_map", ParamValue::TensorMap(map))]);
    kernel.resolve().unwrap();
    let told = first_refusal(&kernel, &problem.row_major("a", 64));
    let behind = "`copy: { d: { realign: workspace } }`, which writes it to the workspace and \
                  copies it to its place afterwards";
    assert!(told.contains(behind), "{told}");
}

/// A stride that is refused is no reason to leave an assumption for later.
#[test]
fn layouts_and_assumptions_are_told_at_once() {
    let mut kernel = batched();
    kernel.semantics.operands[1].layout = "(z,m,k):(m * k,k,1)".parse().unwrap();
    kernel.resolve().unwrap();
    let problem = Problem::of([("z", 3), ("m", 70), ("k", 64)]);
    let problem = problem.with_strides("a", [70 * 75, 75, 1]);
    let problem = problem.with_strides("d", [70 * 65, 65, 1]);
    let refused = fit(&kernel, &problem, &DeviceInfo::of_capability(90)).unwrap_err();
    let kinds: Vec<_> = refused.iter().map(Refusal::kind).collect();
    assert_eq!(kinds, ["layout", "assumption", "assumption"], "{refused:?}");
}

/// What lies over an operand has its layout, so that both have to change.
#[test]
fn operands_that_lie_over_one_another_change_alike() {
    let mut kernel = batched();
    let layout = kernel.semantics.operands[0].layout.clone();
    kernel.semantics.operands[1].layout = layout;
    kernel.semantics.operands[1].over = Some("a".to_owned());
    kernel.semantics.function = Default::default();
    kernel.resolve().unwrap();
    let told = |strides: [i64; 3]| {
        let problem = Problem::of([("z", 3), ("m", 70), ("k", 64)]);
        let problem = problem
            .with_strides("a", strides)
            .with_strides("d", strides);
        let refused = fit(&kernel, &problem, &DeviceInfo::of_capability(90)).unwrap_err();
        refused.iter().map(Refusal::to_string).collect::<Vec<_>>()
    };
    let alike = "`(z,m,k):(sa,lda,sa0)` (of `a` and of `d` alike, as one lies over the other)";
    assert!(told([75 * 70, 75, 1])[0].ends_with(alike));
    let repeated = told([0, 64, 1]);
    let copy = "strides must be positive, as `d` is written over it: give a copy, or build a \
                kernel of a spec without `over` in `d`";
    assert!(repeated[0].ends_with(copy), "{repeated:?}");
    let output = "strides must be positive, also of `a`, which it is written over";
    assert!(repeated[1].ends_with(output), "{repeated:?}");
    // What is wrong otherwise stays so.
    let far = told([i64::MAX, 64, 1]);
    assert!(far[0].contains("beyond 64 bits"), "{far:?}");
}

#[test]
fn a_multiple_that_another_has_is_told_once() {
    let mut kernel = assuming(gemm_kernel("gemm_f32@x-1"), "rsa % 2 == 0");
    let more = assuming(gemm_kernel("gemm_f32@x-1"), "rsa % 8 == 0");
    kernel.assumptions.extend(more.assumptions);
    kernel.resolve().unwrap();
    let told = |lda: i64| -> Vec<String> {
        let problem = Problem::new(4, 8, 8).row_major("a", lda).row_major("b", 8);
        let problem = problem.row_major("d", 8);
        let refused = fit(&kernel, &problem, &DeviceInfo::of_capability(90)).unwrap_err();
        let assumed = refused.iter();
        let assumed = assumed.filter(|one| matches!(one, Refusal::Assumption { .. }));
        assumed.map(Refusal::to_string).collect()
    };
    let odd = told(9);
    assert_eq!(odd.len(), 1, "{odd:?}");
    assert!(
        odd[0].starts_with("it assumes rsa % 8 == 0, and rsa is 9"),
        "{odd:?}"
    );
}

/// Elements that share bytes end rows with one: no kernel takes others.
#[test]
fn rows_of_elements_that_share_bytes_are_whole_bytes() {
    let layout = |text: &str| text.parse::<OperandLayout>().unwrap();
    let mut kernel = Kernel::new("cast@x-1", "cast");
    kernel.semantics.operands = vec![
        Operand::new("w", Role::In, DType::S4, layout("(n,k):(ldw,1)")),
        Operand::new("d", Role::Out, DType::F32, layout("(n,k):(ldd,1)")),
    ];
    kernel.semantics.compute = "d[n,k] = w[n,k]".to_owned();
    let assumed = ["k % 2 == 0", "ldw % 8 == 0"].map(|text| Assumption::Expr {
        expr: text.parse().unwrap(),
        reason: "bytes".to_owned(),
    });
    kernel.assumptions = assumed.to_vec();
    kernel.resolve().unwrap();
    let problem = Problem::of([("n", 3), ("k", 5)]);
    let problem = problem.row_major("w", 6).row_major("d", 5);
    let refused = fit(&kernel, &problem, &DeviceInfo::of_capability(90)).unwrap_err();
    let told: Vec<String> = refused.iter().map(Refusal::to_string).collect();
    let all = told.join("\n");
    assert!(
        all.contains("end with a whole byte in every kernel: compute with k = 6"),
        "{all}"
    );
    assert!(
        all.contains("pad ldw to 8: rows beside elements that share a byte (s4)"),
        "{all}"
    );
    assert!(!all.contains("build a kernel"), "{all}");
}
