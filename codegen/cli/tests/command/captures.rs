//! `verify --capture` and `verify --against` on the emulator.

use std::fs;
use std::path::Path;

use tilewright_fixture::COPY;

use crate::bundles::{COPY_ID, bundle, bundle_of};
use crate::session::{Run, tilewright};

/// Captures three problems of the bundle `path` into `rows`.
fn capture(path: &Path, rows: &Path) -> Run {
    let words = [
        "verify",
        "--device",
        "emulator",
        "--problems",
        "3",
        "--commit",
        "c0ffee",
    ];
    let paths = [path.as_os_str(), "--capture".as_ref(), rows.as_os_str()];
    tilewright(words.map(AsRef::as_ref).into_iter().chain(paths))
}

fn against(path: &Path, rows: &Path, more: &[&str]) -> Run {
    let words = ["verify", "--device", "emulator"].iter().chain(more);
    let paths = [path.as_os_str(), "--against".as_ref(), rows.as_os_str()];
    tilewright(words.map(AsRef::as_ref).chain(paths))
}

#[test]
fn a_capture_is_replayed() {
    let (folder, path) = bundle();
    let rows = folder.path().join("rows.jsonl");
    capture(&path, &rows).expect(0);
    let text = fs::read_to_string(&rows).unwrap();
    assert_eq!(text.lines().count(), 3);
    let row: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    for (key, value) in [
        ("kernel", COPY_ID),
        ("commit", "c0ffee"),
        ("backend", "emulator"),
    ] {
        assert_eq!(row[key], value);
    }
    let run = against(&path, &rows, &[]).expect(0);
    assert_eq!(run.stdout.lines().last(), Some("3 equal, 0 not"));
    assert!(run.stdout.contains("commit c0ffee"), "{}", run.stdout);
    let report = against(&path, &rows, &["--json", "--kernel", "copy"])
        .expect(0)
        .json();
    assert_eq!((&report["equal"], &report["bad"]), (&3.into(), &0.into()));
    assert_eq!(report["rows"][2]["verdict"], "equal");
    against(&path, &rows, &["--kernel", "gemm"]).expect(2);
}

#[test]
fn a_difference_is_a_negative_verdict() {
    let (folder, path) = bundle();
    let rows = folder.path().join("rows.jsonl");
    capture(&path, &rows).expect(0);
    let text = fs::read_to_string(&rows).unwrap();
    let mut row: serde_json::Value =
        serde_json::from_str(&text[..text.find('\n').unwrap()]).unwrap();
    row["outputs"][0]["sha256"] = row["inputs_sha256"].clone();
    fs::write(&rows, format!("{row}\n{text}")).unwrap();
    let run = against(&path, &rows, &[]).expect(1);
    assert_eq!(run.stdout.lines().last(), Some("3 equal, 1 not"));
    assert!(run.stderr.contains("DIFFERS"), "{}", run.stderr);
    assert!(run.stderr.contains(COPY_ID), "{}", run.stderr);
}

#[test]
fn stale_rows_alone_are_no_good_verdict() {
    let (folder, path) = bundle();
    let rows = folder.path().join("rows.jsonl");
    capture(&path, &rows).expect(0);
    let (_folder, other) = bundle_of(&format!("{COPY}\n// the end\n"));
    let run = against(&other, &rows, &[]).expect(1);
    let last = run.stdout.lines().last().unwrap();
    assert!(
        last.contains("3 equal but stale: captured from other PTX"),
        "{last}"
    );
    assert!(last.contains("capture again"), "{last}");
}

#[test]
fn a_problem_larger_than_the_host_could_not_be_run() {
    let (folder, path) = bundle();
    let rows = folder.path().join("rows.jsonl");
    capture(&path, &rows).expect(0);
    let text = fs::read_to_string(&rows).unwrap();
    let mut row: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    row["problem"]["m"] = 60_000.into();
    row["problem"]["n"] = 2_000_000_000.into();
    for operand in row["operands"].as_array_mut().unwrap() {
        operand["strides"] = serde_json::json!([2_000_000_000, 1]);
    }
    fs::write(&rows, format!("{row}\n")).unwrap();
    let run = against(&path, &rows, &[]).expect(2);
    assert!(run.stderr.contains(COPY_ID), "{}", run.stderr);
    assert!(run.stderr.contains("bytes on the host"), "{}", run.stderr);
}

#[test]
fn a_kernel_that_is_gone_is_told_once() {
    let (folder, path) = bundle();
    let rows = folder.path().join("rows.jsonl");
    capture(&path, &rows).expect(0);
    let text = fs::read_to_string(&rows).unwrap();
    fs::write(
        &rows,
        format!("{}{text}", text.replace(COPY_ID, "copy_f32@old-1")),
    )
    .unwrap();
    let run = against(&path, &rows, &[]).expect(0);
    let last = run.stdout.lines().last().unwrap();
    assert_eq!(last, "3 equal, 0 not; 3 of kernels that are gone");
    let told: Vec<&str> = run.stderr.lines().collect();
    assert!(
        told.len() == 1 && told[0].contains("copy_f32@old-1"),
        "{told:?}"
    );
}

#[test]
fn what_cannot_be_captured_or_replayed_is_refused() {
    let (folder, path) = bundle();
    let rows = folder.path().join("rows.jsonl");
    let refused = |more: &[&str]| {
        let bundle = path.to_str().unwrap();
        let words = ["verify", bundle, "--device", "emulator"];
        tilewright(words.iter().chain(more)).expect(2).stderr
    };
    let rows = rows.to_str().unwrap();
    let indices = refused(&["--capture", rows, "--inputs", "indices"]);
    assert!(indices.contains("--inputs"), "{indices}");
    let both = refused(&["--against", rows, "--problems", "3"]);
    assert!(both.contains("--problems"), "{both}");
    assert!(refused(&["--commit", "c0ffee"]).contains("--capture"));
    assert!(refused(&["--against", rows]).contains("rows.jsonl"));
    fs::write(rows, "{\"format\":1}\n").unwrap();
    assert!(refused(&["--against", rows]).contains("line 1"));
}
