//! The picture of README is drawn of the committed rows, losses among them.
//!
//! `BLESS=1 cargo nextest run -p tilewright-bench --test bars` draws it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use tilewright_bench::bars::{markdown, plot};

/// The measurements that the picture is of, oldest first: the last row of a kernel on a problem
/// counts. Left out are those of candidates and techniques, and of strides that cuBLASLt's best
/// kernels refuse, where ours are several times as fast.
const MEASURED: [&str; 15] = [
    "2026-11-21-spine",
    "2026-11-21-hopper-floors",
    "2026-11-22-8bit",
    "2026-11-22-lengths",
    "2026-11-22-rows",
    "2026-11-22-vectors",
    "2026-11-23-early",
    "2026-11-23-epilogues",
    "2026-11-23-staged",
    "2026-11-23-layernorm",
    "2026-11-23-marks",
    "2026-11-23-packed",
    "2026-11-21-hopper",
    "2026-11-21-hopper-tuned",
    "2026-11-23-early-before",
];

fn row(kernel: &str, ours_us: f64, ratio: f64, peer: &str) -> String {
    let rest = concat!(
        r#""best_us":3.0,"ratio_default":1.25,"aa_ratio":1.001,"tbps":3.0,"tflops":1.0,"#,
        r#""rel_err":0.001,"gpu":"H","family":"gemm","layout":"TN","mode":"sustained","#,
        r#""problem":{"m":64,"n":64,"k":64},"dtype":{"a":"bf16"}"#,
    );
    format!(
        r#"{{"kernel":"{kernel}","ours_us":{ours_us},"ratio_best":{ratio},"peer":"{peer}",{rest}}}"#
    )
}

#[test]
fn the_picture_of_the_first_page_is_of_the_rows() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/h200");
    let rows = MEASURED.map(|name| fs::read_to_string(results.join(format!("{name}.jsonl"))));
    let rows: String = rows.into_iter().map(Result::unwrap).collect();
    let head = format!(
        "# What the bars are of\n\nOf each problem our fastest kernel, sustained, each result \
         compared with f64 in the run that timed it.\nDrawn by `bench/tests/bars.rs` of the rows \
         in `{}.jsonl`.\n\n",
        MEASURED.join(".jsonl`, `")
    );
    let table = head + &markdown(&rows).unwrap();
    for (name, made) in [("classes.svg", plot(&rows).unwrap()), ("classes.md", table)] {
        let path = results.join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &made).unwrap();
        }
        let there = fs::read_to_string(path).unwrap();
        assert_eq!(there, made, "BLESS=1 makes {name} anew");
    }
}

#[test]
fn of_a_problem_the_fastest_kernel_counts_and_of_a_kernel_the_last_row() {
    let rows = [
        row("gemm_sm90_x@1", 10.0, 0.5, "cublasLt heuristic 1 of 8"),
        row("gemm_sm90_x@1", 4.0, 1.25, "cublasLt heuristic 1 of 8"),
        row("gemm_sm90_x@2", 5.0, 1.0, "cublasLt heuristic 1 of 8"),
        row("gemm_sm90_x@2", 1.0, 9.0, "cuBLASLt none, default"),
        row("gemm_sm90_x@2", 1.0, 9.0, "before: something"),
        row("gemm_x@2", 8.0, 0.625, "cublasLt heuristic 1 of 8"),
    ];
    let drawn = plot(&rows.join("\n")).unwrap();
    let said = drawn
        .split("<desc>")
        .nth(1)
        .unwrap()
        .split("</desc>")
        .next()
        .unwrap();
    assert_eq!(
        said.trim(),
        "bf16 products beside cuBLASLt, best of its candidates: 1.25 of 1 problem, 1.25 to 1.25. \
         bf16 products, mma.sync beside cuBLASLt, best of its candidates: 0.62 of 1 problem, 0.62 \
         to 0.62"
    );
}
