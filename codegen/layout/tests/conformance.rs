//! The rows of `ci/data/layout_vectors.jsonl`, judged as `tilewright layout vectors` judges them.
//!
//! In: one JSON object a line: an operation, its inputs, a verdict. Out: a failure for each row
//! that is not met, all at once. The judge is a file of the command, included here by its path, so
//! that there is one.
#![allow(clippy::unwrap_used)]

#[path = "../cli/src/vectors/mod.rs"]
mod vectors;

const ROWS: &str = include_str!("../../../ci/data/layout_vectors.jsonl");

#[test]
fn every_row_passes() {
    let failures: Vec<String> = ROWS
        .lines()
        .filter_map(|line| Some(format!("{}\n    {line}", vectors::judge_line(line).err()?)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(ROWS.lines().count(), 473);
}

#[test]
fn every_operation_has_rows() {
    let rows: Vec<serde_json::Value> = ROWS
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for op in vectors::OPERATIONS {
        assert!(rows.iter().any(|row| row["op"] == op), "no row for {op}");
    }
}

#[test]
fn a_row_that_is_not_met_fails() {
    let row = |inputs: &str, rest: &str| format!("{{\"inputs\":{inputs},{rest}}}");
    let pair = "{\"A\":\"(4,8):(13,1)\",\"B\":\"8:2\"}";
    let size = "{\"L\":\"(4,8):(13,1)\"}";
    for (line, why) in [
        (
            row(
                pair,
                "\"op\":\"composition\",\"verdict\":\"exact\",\"expected\":\"8:2\"",
            ),
            "differ",
        ),
        (
            row(pair, "\"op\":\"composition\",\"verdict\":\"reject\""),
            "accepted",
        ),
        (
            row(
                size,
                "\"op\":\"size\",\"verdict\":\"exact\",\"expected\":31",
            ),
            "32, expected 31",
        ),
        (
            row(
                size,
                "\"op\":\"sieze\",\"verdict\":\"exact\",\"expected\":32",
            ),
            "no operation",
        ),
        (
            row(
                "{}",
                "\"op\":\"size\",\"verdict\":\"exact\",\"expected\":32",
            ),
            "no text `L`",
        ),
        ("{".to_owned(), "no JSON"),
    ] {
        let told = vectors::judge_line(&line).unwrap_err();
        assert!(told.contains(why), "{line}: {told}");
    }
}
