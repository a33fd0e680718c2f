//! Choices by a word, and their reasons.
#![allow(clippy::unwrap_used)]

use tilewright_bundle::DType;
use tilewright_fixture::bundle;

use super::*;
use crate::device::Device;
use crate::layout::Extents;
use crate::request::Placed;
use crate::tensors::Described;

fn gemm(dtype: DType, lead: i64) -> Request<'static> {
    let operands = [("a", (4, 16), lead), ("b", (5, 16), lead), ("d", (4, 5), 5)];
    let operands = operands.map(|(operand, (rows, cols), lead)| Placed {
        tensor: Described {
            operand,
            dtype,
            place: Extents::new([(rows, lead), (cols, 1)]),
        },
        address: 0x1000,
        bytes: None,
    });
    Request {
        operands: operands.to_vec(),
        ..Request::default()
    }
}

fn explained(word: &str, request: &Request<'_>) -> String {
    let runtime = Runtime::new(bundle(), Device::emulator());
    let meant = runtime.meant(word).unwrap();
    let meant: Vec<_> = meant.into_iter().map(|k| (k, request)).collect();
    runtime.explain(word, &meant).to_string()
}

#[test]
fn what_is_passed_over_has_its_reason() {
    let text = explained("gemm", &gemm(DType::F32, 17));
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("gemm: acc[m,n]: f32 = sum[k] a[m,k] * b[n,k]; d[m,n] = acc"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("chosen: gemm_f32@plain-2 (untuned)"),
        "{text}"
    );
    let picky = "refused: gemm_f32@picky-1: it assumes lda % 8 == 0, which is 1 against 0";
    assert!(lines[2].starts_with(picky), "{text}");
    assert!(text.contains("fits: gemm_f32_tn@hopper-1"), "{text}");
    let aligned = explained("gemm", &gemm(DType::F32, 16));
    assert!(aligned.contains("chosen: gemm_f32@picky-1"), "{aligned}");
}

#[test]
fn an_operand_out_of_line_costs_the_kernel_that_minds() {
    let mut request = gemm(DType::F32, 16);
    request.operands[0].address += 4;
    let text = explained("gemm", &request);
    assert!(text.contains("chosen: gemm_f32@plain-2"), "{text}");
    assert!(text.contains("picky-1: `a` is at address 0x1004"), "{text}");
}

#[test]
fn words_that_mean_nothing_are_told() {
    let runtime = Runtime::new(bundle(), Device::emulator());
    let error = runtime.meant("softmax").unwrap_err().to_string();
    assert_eq!(
        error,
        "no kernel of the bundle is a \"softmax\": it has copy, gemm"
    );
    let text = explained("gemm", &gemm(DType::F16, 16));
    assert!(
        text.contains("chosen: none: no \"gemm\" kernel takes these tensors"),
        "{text}"
    );
    assert!(text.contains("its a is f32, not f16"), "{text}");
    assert_eq!(runtime.functions().len(), 2);
}
