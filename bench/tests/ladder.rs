//! The ladder's table and plot say what their rows say.
#![allow(clippy::unwrap_used)]

use tilewright_bench::ladder::{markdown, plot};

/// A row of a rung.
fn row(kernel: &str, m: u32, mode: &str, tflops: f64, ratio: f64) -> String {
    let rest = concat!(
        r#""best_us":3.0,"peer":"p","ratio_default":1.25,"aa_ratio":1.001,"tbps":3.0,"#,
        r#""rel_err":0.001,"gpu":"H","family":"gemm","layout":"TN","ours_us":2.0,"#,
        r#""dtype":{"a":"bf16"}"#,
    );
    let problem = format!(r#"{{"m":{m},"n":{m},"k":{m}}}"#);
    format!(r#"{{"kernel":"{kernel}","problem":{problem},"mode":"{mode}","tflops":{tflops},"#,)
        + &format!(r#""ratio_best":{ratio},{rest}}}"#)
}

fn rows() -> String {
    [
        row("ladder_10_cluster@x-1", 4096, "rested", 600.0, 0.75),
        row("ladder_02_ring@x-1", 4096, "rested", 100.0, 0.125),
        row("ladder_02_ring@x-1", 4096, "rested", 400.0, 0.5),
        row("ladder_02_ring@x-1", 8192, "rested", 500.0, 0.5),
        row("ladder_10_cluster@x-1", 8192, "rested", 750.0, 0.75),
        row("ladder_01_mma_sync@x-1", 8192, "rested", 250.0, 0.25),
        row("ladder_01_mma_sync@x-1", 8192, "sustained", 240.0, 0.5),
        row("gemm_other@x-1", 8192, "rested", 999.0, 0.999),
    ]
    .join("\n")
}

#[test]
fn the_table_has_rungs_in_order_with_their_gains() {
    let table = markdown(&rows()).unwrap();
    let rested = table.split("### ").nth(1).unwrap();
    assert!(rested.starts_with("The ladder on H, rested"), "{table}");
    let lines: Vec<&str> = rested
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    assert_eq!(
        lines[1..],
        [
            "| 1 mma sync | - | - | - | 250.0 | 0.250 | - |",
            "| 2 ring | 400.0 | 0.500 | - | 500.0 | 0.500 | 2.000 |",
            "| 10 cluster | 600.0 | 0.750 | 1.500 | 750.0 | 0.750 | 1.500 |",
            "| *the peer's best* | 800.0 | | | 1000.0 | | |",
        ]
    );
    assert!(table.contains("### The ladder on H, sustained"), "{table}");
    assert!(!table.contains("other"), "{table}");
}

#[test]
fn the_plot_has_a_bar_for_each_row_and_a_line_for_each_peer() {
    let drawing = plot(&rows()).unwrap();
    let bars = |words: &str| drawing.matches(words).count();
    assert_eq!(
        bars(" TFLOP/s\n</title>") + bars(" TFLOP/s</title>"),
        6,
        "{drawing}"
    );
    assert_eq!(bars("class=\"peer\""), 3, "{drawing}");
    for word in ["10 cluster", "rested", "sustained", "4096x4096x4096 TN"] {
        assert!(drawing.contains(word), "{word}");
    }
    // Bars are as long as their rates: 750 is three times 250.
    let width = |kernel: &str| -> f64 {
        let after = drawing
            .split(&format!("{kernel}@x-1 on 8192"))
            .nth(1)
            .unwrap();
        let width = after.split("width=\"").nth(1).unwrap();
        width.split('"').next().unwrap().parse().unwrap()
    };
    let ratio = width("ladder_10_cluster") / width("ladder_01_mma_sync");
    assert!((ratio - 3.0).abs() < 0.01, "{ratio}");
}

#[test]
fn a_line_that_is_no_row_is_named() {
    assert_eq!(plot("\n{}\n").unwrap_err().line, 2);
    assert_eq!(markdown("{}").unwrap_err().line, 1);
}
