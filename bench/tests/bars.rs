//! The picture of README is drawn of the committed rows, losses among them.
//!
//! `BLESS=1 cargo nextest run -p tilewright-bench --test bars` draws it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use tilewright_bench::bars::{markdown, plot, shipped};

/// The measurements that the picture is of, of the specs that are shipped. Left out are those of
/// candidates and techniques, and of strides that cuBLASLt's best kernels refuse, where ours are
/// several times as fast.
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

/// The peer of most rows.
const BEST: &str = "cublasLt heuristic 1 of 8";

/// A row of a day of November.
fn row(kernel: &str, day: u32, ours_us: f64, ratio: f64, peer: &str) -> String {
    let rest = concat!(
        r#""best_us":3.0,"ratio_default":1.25,"aa_ratio":1.001,"tbps":3.0,"tflops":1.0,"#,
        r#""rel_err":0.001,"gpu":"H","family":"gemm","layout":"TN","mode":"sustained","#,
        r#""problem":{"m":64,"n":64,"k":64},"dtype":{"a":"bf16"}"#,
    );
    let head = format!(r#""kernel":"{kernel}","date":"2026-11-{day}","ours_us":{ours_us}"#);
    format!(r#"{{{head},"ratio_best":{ratio},"peer":"{peer}",{rest}}}"#)
}

#[test]
fn the_picture_of_the_first_page_is_of_the_rows() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/h200");
    let rows = MEASURED.map(|name| fs::read_to_string(results.join(format!("{name}.jsonl"))));
    let rows: String = rows.into_iter().map(Result::unwrap).collect();
    let head = format!(
        "# What the bars are of\n\nOf each function and problem the fastest of our shipped \
         kernels (those of `ptx.lock`), sustained, beside the faster of cuBLASLt's default and\n\
         the fastest of its candidates, or another peer; each result compared with f64 in the run \
         that timed it. Of a kernel that was\nmeasured several times, on whatever day and card, \
         the medians, and the least and the most of its rows. Where the peer has no product of\n\
         the kernel's types its own stand in the last column. Rows of one problem on other pages \
         are of other runs and cards, which differ by 5%. Drawn by `bench/tests/bars.rs` of the \
         rows in `{}.jsonl`.\n\n",
        MEASURED.join(".jsonl`, `")
    );
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx.lock");
    let shipped = shipped(&fs::read_to_string(lock).unwrap());
    assert!(shipped.len() > 100);
    let table = head + &markdown(&rows, &shipped).unwrap();
    let picture = plot(&rows, &shipped).unwrap();
    for (name, made) in [("classes.svg", picture), ("classes.md", table)] {
        let path = results.join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &made).unwrap();
        }
        let there = fs::read_to_string(path).unwrap();
        assert_eq!(there, made, "BLESS=1 makes {name} anew");
    }
}

#[test]
fn of_a_problem_the_fastest_kernel_counts_and_of_a_kernel_the_median() {
    let rows = [
        row("gemm_sm90_x@1", 24, 4.0, 1.2, BEST),
        row("gemm_sm90_x@1", 21, 10.0, 0.5, BEST),
        row("gemm_sm90_x@1", 22, 4.2, 1.1, BEST),
        row("gemm_sm90_x_wide@2", 21, 5.0, 1.0, BEST),
        row("gemm_sm90_x@2", 21, 1.0, 9.0, "cuBLASLt none, default"),
        row("gemm_sm90_x@2", 21, 1.0, 9.0, "before: something"),
        row("gemm_x@2", 21, 8.0, 0.625, BEST),
        // Another function on the same problem, where the default is faster than all candidates.
        row("gemm_sm90_x_packed@1", 21, 2.0, 1.5, BEST),
        // No kernel that is shipped, of a spec that is.
        row("gemm_sm90_x@0", 21, 0.5, 8.0, BEST),
    ];
    let lock = "# llvm\ngemm_sm90_x@1 a\ngemm_sm90_x@2 b\ngemm_sm90_x_wide@2 c\n\
                gemm_sm90_x_packed@1 d\ngemm_x@2 e\n";
    let shipped = shipped(lock);
    let table = markdown(&rows.join("\n"), &shipped).unwrap();
    let of_three = "| 1.100 | 3 rows, 0.500 to 1.200 | 4.20 | gemm_sm90_x@1 | 2026-11-24 |";
    assert!(table.contains(of_three), "{table}");
    let drawn = plot(&rows.join("\n"), &shipped).unwrap();
    let said = drawn
        .split("<desc>")
        .nth(1)
        .unwrap()
        .split("</desc>")
        .next()
        .unwrap();
    assert_eq!(
        said.trim(),
        "bf16 products beside cuBLASLt, the fastest of its default and candidates: 1.17 of 2 \
         problems, 1.10 to 1.25. bf16 products, mma.sync beside cuBLASLt, the fastest of its \
         default and candidates: 0.62 of 1 problem, 0.62 to 0.62"
    );
}
