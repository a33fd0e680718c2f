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
