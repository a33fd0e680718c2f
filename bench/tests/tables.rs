//! The committed tables are what the committed rows say.
#![allow(clippy::unwrap_used)]

use std::path::Path;

#[test]
fn tables_are_made_from_their_rows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/h200");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let rows = entry.unwrap().path();
        if rows
            .extension()
            .is_none_or(|extension| extension != "jsonl")
        {
            continue;
        }
        let Ok(table) = std::fs::read_to_string(rows.with_extension("md")) else {
            continue;
        };
        let made = tilewright_bench::markdown(&std::fs::read_to_string(&rows).unwrap()).unwrap();
        assert!(
            table.ends_with(&made),
            "{}: make it anew: cargo run -p tilewright-bench --bin tilewright-table -- {}",
            rows.with_extension("md").display(),
            rows.display()
        );
        seen += 1;
    }
    assert!(seen > 0, "no table in {}", folder.display());
}

#[test]
fn a_line_that_is_no_row_is_named() {
    let error = tilewright_bench::markdown("\n{}\n").unwrap_err();
    assert_eq!(error.line, 2);
}

#[test]
fn spreads_stand_beside_their_ratios_where_rows_have_them() {
    let row = concat!(
        r#"{"gpu":"H","family":"gemm","kernel":"g@1","problem":{"m":8,"n":8,"k":4},"layout":"TN","#,
        r#""mode":"cold","ours_us":2.0,"best_us":3.0,"peer":"p","ratio_best":1.5,"#,
        r#""ratio_default":1.25,"aa_ratio":1.001,"ratio_spread":0.0123,"aa_spread":0.004,"#,
        r#""tflops":7.0,"tbps":3.0,"rel_err":0.001,"candidates":40}"#,
    );
    let table = tilewright_bench::markdown(row).unwrap();
    let cells = "| 8x8x4 TN | cold | 2.00 | 7.0 TFLOP/s | 1.500 ±1.2% | 1.250 | 1.001 ±0.4% |";
    assert!(table.contains(cells), "{table}");
}

/// A row of a product, with fields of its own before the rest.
fn product(kernel: &str, m: u32, ratio: f64, more: &str) -> String {
    let rest = concat!(
        r#""best_us":3.0,"peer":"p","ratio_default":1.25,"aa_ratio":1.001,"tflops":7.0,"#,
        r#""tbps":3.0,"rel_err":0.001,"gpu":"H","family":"gemm","layout":"TN","mode":"rested","#,
        r#""ours_us":2.0,"dtype":{"a":"bf16"}"#,
    );
    let problem = format!(r#"{{"m":{m},"n":8,"k":4}}"#);
    format!(r#"{{{more}"kernel":"{kernel}","problem":{problem},"ratio_best":{ratio},{rest}}}"#)
}

#[test]
fn the_best_kernel_of_each_problem_stands_over_the_geometric_mean() {
    let rows = [
        product("g@old", 8, 9.0, ""),
        product("g@old", 8, 0.9, ""),
        product("g@fast", 8, 1.0, r#""outcome":"measured","#),
        product("g@fast", 16, 4.0, ""),
        product("g@wrong", 16, 7.0, r#""outcome":"dropped","#),
    ];
    let text = tilewright_bench::best(&rows.join("\n")).unwrap();
    assert!(text.contains("### bf16 on H, rested"), "{text}");
    assert!(text.contains("| 8x8x4 TN | 2.00 | 7.0 TFLOP/s | 1.000 | 1.250 | 1.001 | g@fast |"));
    assert!(
        text.contains("| geometric mean | | | 2.000 | 1.250 | | |"),
        "{text}"
    );
    assert!(
        !text.contains("g@wrong") && !text.contains("g@old"),
        "{text}"
    );
}

/// Rows that lie farther apart are another problem.
#[test]
fn rows_of_other_strides_are_other_problems() {
    let row = |lda: u32, ratio: f64| {
        let strides = format!(r#"{{"a":[{lda},1],"b":[8,1],"d":[8,1]}}"#);
        format!(
            concat!(
                r#"{{"gpu":"H","family":"gemm","kernel":"gemm_x@1","layout":"TN","mode":"rested","#,
                r#""problem":{{"m":8,"n":8,"k":8,"strides":{}}},"dtype":{{"a":"bf16"}},"#,
                r#""ours_us":2.0,"best_us":3.0,"peer":"p","ratio_best":{},"tflops":1.0,"#,
                r#""tbps":1.0,"rel_err":0.0}}"#,
            ),
            strides, ratio
        )
    };
    let rows = [row(8, 1.0), row(16, 0.5)].join("\n");
    for table in [
        tilewright_bench::best(&rows),
        tilewright_bench::markdown(&rows),
    ] {
        let table = table.unwrap();
        for problem in [
            "| 8x8x8 TN ld a 8 b 8 d 8 |",
            "| 8x8x8 TN ld a 16 b 8 d 8 |",
        ] {
            assert!(table.contains(problem), "{table}");
        }
    }
}
