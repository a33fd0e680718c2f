//! The picture of README is drawn of the committed rows, losses among them.
//!
//! `BLESS=1 cargo nextest run -p tilewright-bench --test bars` draws it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use tilewright_bench::bars::{markdown, plot, shipped};

/// Files of rows that do not count, with the reason why; all others of the folder do.
const NOT_COUNTED: [(&str, &[&str]); 8] = [
    (
        "how far results are from f64, without times",
        &["2026-11-22-bounds"],
    ),
    (
        "candidates of searches, by which what was chosen would look better than it is",
        &[
            "2026-11-21-hopper-candidates",
            "2026-11-21-hopper-floors-candidates",
            "2026-11-22-8bit-candidates",
        ],
    ),
    (
        "the rows of kernels in `2026-11-21-hopper-tuned.jsonl` again",
        &["2026-11-21-hopper-records"],
    ),
    (
        "products that nobody tuned for, and points of spaces on them (`README.md` has their \
         pages)",
        &[
            "2026-11-26-promotion-rows",
            "2026-11-26-random-rows",
            "2026-11-28-sm80-random-rows",
            "2026-11-28-types-rows",
            "2026-11-28-shared-rows",
            "2026-11-29-clusters-rows",
            "2026-11-29-stream-k-rows",
            "2026-11-29-catalogue-rows",
            "2026-11-30-wide-rows",
            "2026-11-30-rows-rows",
            "2026-11-30-marks-rows",
            "2026-11-30-marks-space-rows",
            "2026-11-30-long-k-rows",
            "2026-11-30-long-k-before-rows",
            "2026-11-30-long-k-space-rows",
            "2026-12-01-long-k-space-rows",
        ],
    ),
    (
        "products with scales of random sizes, some with kernels that are not shipped (a page of \
         their own)",
        &["2026-11-27-scaled-random-rows"],
    ),
    (
        "products of few rows and of random sizes, of candidates in part (a page of their own)",
        &[
            "2026-11-27-few-rows-rows",
            "2026-11-28-few-orders-rows",
            "2026-11-28-shared-split-rows",
        ],
    ),
    (
        "points of the wide spaces, which are not shipped (a page of their own)",
        &["2026-11-29-space-rows"],
    ),
    (
        "products whose strides no tensor map takes (a page of their own)",
        &["2026-11-28-any-strides-rows", "2026-11-28-sm80-any-rows"],
    ),
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

/// What the page says before its table.
fn head() -> String {
    let kinds = NOT_COUNTED.map(|(why, files)| {
        let files: Vec<String> = files.iter().map(|file| format!("`{file}.jsonl`")).collect();
        format!("- {why}: {}", files.join(", "))
    });
    format!(
        "# What the bars are of\n\nOf each function and problem the fastest of our shipped \
         kernels (those of `ptx.lock`), by its median time, sustained, beside the faster of \
         cuBLASLt's\ndefault and the fastest of its candidates, or another peer; each result \
         compared with f64 in the run that timed it. The last column says how many candidates\n\
         cuBLASLt gave: `heuristic 3 of 8` is the third of eight. It gives eight for most \
         products, however many are asked for, and up to 23. Where the peer has no\nproduct of \
         the kernel's types its own stand in that column.\n\nOf a kernel that was measured \
         several times, on whatever day and card, the row with the median ratio counts, of two in \
         the middle the lower; the table says how\nmany rows there are, and the least and the \
         most of them. A class's bar is the geometric mean of its problems.\n\nCards differ by \
         5%, so do rows of one problem on other pages, of other runs. Problems of 2 to 5 us vary \
         with the peer's own autotuning as well: for the\nsums of 32x8192 torch.compile took \
         4.75 us in one run and 11.56 in another.\n\nBeside torch.compile launches are replayed \
         from graphs, back to back, where ours overlap by programmatic dependent launch: at 0.5 \
         and 1 MB\nthat is worth 1.35 to 1.39 times (`codegen/docs/tuning.md`), and a launch by \
         itself gains less. No peer is CUTLASS or a Triton kernel written by hand.\n\nRows of \
         every `.jsonl` file of this folder count that are sustained, of a kernel of `ptx.lock`, \
         and beside cuBLASLt (PyTorch's `scaled_mm` among it), torch.compile or cuMemcpy; kernels \
         that were renamed since (`renamed.txt`) under their new names. Rows \
         of strides with gaps do not (`2026-11-25-strides.jsonl`):\nof a product they are \
         several times as fast as cuBLASLt where its best kernels refuse them, and slower where \
         it takes them. At 4096x4096x4096 with rows of `a` 4104 apart\nthe fastest of ours was \
         0.987 (128x256, two consumers), other tiles 0.546 to 0.828.\nNor do those of \
         these files (`bench/tests/bars.rs` draws the picture and writes this page):\n\n{}\n\n",
        kinds.join("\n")
    )
}

/// The rows of all files that count, in the order of their names. Kernels that are shipped under
/// another name by now have that name in them.
fn rows_of(results: &Path) -> String {
    let of = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().path();
    let mut paths: Vec<_> = fs::read_dir(results).unwrap().map(of).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "jsonl")
    });
    paths.sort();
    let all = paths.len();
    let mut not_counted: Vec<&str> = NOT_COUNTED
        .iter()
        .flat_map(|(_, files)| *files)
        .copied()
        .collect();
    not_counted.sort_unstable();
    paths.retain(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
        !not_counted.contains(&stem)
    });
    assert_eq!(paths.len() + not_counted.len(), all, "each file is there");
    let rows: String = paths
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let renamed = fs::read_to_string(results.join("renamed.txt")).unwrap();
    let names = renamed.lines().filter(|line| !line.starts_with('#'));
    names.fold(rows, |rows, line| {
        let (before, now) = line.split_once(' ').unwrap();
        rows.replace(&format!("\"{before}\""), &format!("\"{now}\""))
    })
}

#[test]
fn the_picture_of_the_first_page_is_of_the_rows() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/h200");
    let (head, rows) = (head(), rows_of(&results));
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
        row("scaled_x@1", 21, 8.0, 0.5, "torch scaled_mm 1x128, 128x128")
            .replace(r#""family":"gemm""#, r#""family":"scaled_gemm""#),
        row("scaled_x@1", 21, 8.0, 0.25, "DeepGEMM fp8_gemm_nt"),
        // Another function on the same problem, where the default is faster than all candidates.
        row("gemm_sm90_x_packed@1", 21, 2.0, 1.5, BEST),
        // No kernel that is shipped, of a spec that is.
        row("gemm_sm90_x@0", 21, 0.5, 8.0, BEST),
    ];
    let lock = "# llvm\ngemm_sm90_x@1 a\ngemm_sm90_x@2 b\ngemm_sm90_x_wide@2 c\n\
                gemm_sm90_x_packed@1 d\ngemm_x@2 e\nscaled_x@1 f\n";
    let shipped = shipped(lock);
    let table = markdown(&rows.join("\n"), &shipped).unwrap();
    let of_three = "| 1.100 | 3 rows, 0.500 to 1.200 | 4.20 | gemm_sm90_x@1 | 2026-11-22 |";
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
         default and candidates: 0.62 of 1 problem, 0.62 to 0.62. fp8 with scales by blocks beside \
         cuBLASLt, the fastest of its default and candidates: 0.50 of 1 problem, 0.50 to 0.50"
    );
}

#[test]
fn of_two_rows_the_lower_ratio_counts() {
    let rows = [
        row("gemm_sm90_x@1", 21, 4.0, 1.2, BEST),
        row("gemm_sm90_x@1", 22, 5.0, 0.955, BEST),
    ];
    let table = markdown(&rows.join("\n"), &shipped("gemm_sm90_x@1 a\n")).unwrap();
    assert!(
        table.contains("| 0.955 | 2 rows, 0.955 to 1.200 | 5.00 |"),
        "{table}"
    );
}
