//! Profiles that lead back to the spec: by the bundle's table, and by the directives of the PTX.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::session::tilewright;

const SPEC: &str = r#"kernel: copy
name: copy_plain
arch: sm_80
operands:
  s: { dtype: f32, layout: "(m,n):(lds,1)" }
  d: { dtype: f32, layout: "(m,n):(ldd,1)" }
cta_tile: "(16,256)"
"#;
/// The problem of every launch here, and the bytes of an operand.
const SIZES: [u64; 2] = [33, 260];
const BYTES: u64 = SIZES[0] * SIZES[1] * 4;

fn spec(folder: &Path) -> String {
    let path = folder.join("copy/plain.yaml");
    fs::create_dir(folder.join("copy")).unwrap();
    fs::write(&path, SPEC).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The sum of a field over objects that come from a line of the spec.
fn sum(rows: &[Value], line: Option<u64>, field: &str) -> u64 {
    let of_line = |row: &&Value| line.is_none_or(|line| row["source"]["line"] == line);
    let rows = rows.iter().filter(of_line);
    rows.map(|row| row[field].as_u64().unwrap()).sum()
}

/// Each operand is read or written once, by what its line of the spec says.
#[track_caller]
fn assert_sums(lines: &[Value], sources: &[Value]) {
    for field in ["executions", "lanes", "bytes"] {
        let all = sum(lines, None, field);
        assert!(all > 0 && all == sum(sources, None, field), "{field}");
        for line in [5, 6, 7] {
            let line = Some(line);
            assert_eq!(sum(lines, line, field), sum(sources, line, field));
        }
    }
    let bytes = [5, 6, 7].map(|line| sum(sources, Some(line), "bytes"));
    assert_eq!(bytes, [BYTES, BYTES, 0]);
    let known = sources.iter().filter(|row| !row["source"].is_null());
    assert!(
        known
            .clone()
            .all(|row| row["source"]["file"] == "plain.yaml")
    );
}

#[test]
fn a_bundles_table_gives_the_line_of_the_spec_and_the_tile_operation() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("copy.bundle");
    let bundle = bundle.to_str().unwrap();
    tilewright(["build", &spec(folder.path()), "-o", bundle]).expect(0);
    let [m, n] = SIZES.map(|size| size.to_string());
    let asked = ["run", bundle, "copy_plain", "--m", &m, "--n", &n];
    let run = |more: &[&str]| tilewright(asked.iter().chain(more));

    let page = run(&["--profile"]).expect(0).stdout;
    let (_, table) = page.split_once("by source").unwrap();
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert!(
        rows[0].starts_with("  source        tile operation  "),
        "{page}"
    );
    let load = rows.iter().find(|row| row.contains("copy g.s -> r."));
    assert!(
        load.unwrap().starts_with("  plain.yaml:5  copy g.s"),
        "{page}"
    );
    assert!(rows.iter().any(|row| row.starts_with("  none  ")), "{page}");

    let report = run(&["--profile", "--json"]).expect(0).json();
    let of = |name: &str| report["profile"][name].as_array().unwrap().clone();
    let (lines, sources) = (of("lines"), of("sources"));
    assert_sums(&lines, &sources);
    assert_eq!(sum(&lines, None, "lanes"), report["thread_instructions"]);
    let ops = sources.iter().filter(|row| row["source"]["op"].is_string());
    assert!(ops.count() >= 4, "{report}");
}

#[test]
fn a_profile_is_made_when_asked_for_and_where_it_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("copy.bundle");
    let bundle = bundle.to_str().unwrap();
    tilewright(["build", &spec(folder.path()), "-o", bundle]).expect(0);
    let asked = ["run", bundle, "copy_plain", "--m", "1", "--n", "1"];
    let run = |more: &[&str]| tilewright(asked.iter().chain(more));
    let plain = run(&["--device", "emulator", "--json"]).expect(0).json();
    assert!(plain.get("profile").is_none(), "{plain}");
    let refused = run(&["--profile", "--device", "cuda"]).expect(2);
    assert!(
        refused.stderr.contains("leave --device cuda out"),
        "{refused:?}"
    );
}

/// A launch file of a copy, in a folder of its own.
fn launch_file(folder: &Path, ptx: &str) -> String {
    let case = folder.join("cases/one");
    fs::create_dir_all(&case).unwrap();
    fs::write(folder.join("k.ptx"), ptx).unwrap();
    fs::write(case.join("s.bin"), vec![1; BYTES as usize]).unwrap();
    let (_, entry) = ptx.split_once(".entry ").unwrap();
    let buffer = |name: &str, role: &str, init: Option<&str>| {
        json!({"kind": "buffer", "name": name, "role": role, "dtype": "f32", "bytes": BYTES,
            "init": init, "expect": "s.bin"})
    };
    let number = |dtype: &str, value: u64| {
        let name = "size";
        json!({"kind": "scalar", "name": name, "dtype": dtype, "value": value})
    };
    let [m, n] = SIZES;
    let manifest = json!({"id": "one", "ptx": "k.ptx", "arch": "sm_80",
        "entry": entry.split('(').next().unwrap().trim(), "grid": [6, 1, 1],
        "block": [256, 1, 1],
        "args": [buffer("s", "in", Some("s.bin")), buffer("d", "out", None),
            number("i32", m), number("i32", n), number("i64", n), number("i64", n)]});
    let path = case.join("manifest.json");
    fs::write(&path, manifest.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn directives_of_the_ptx_give_the_line_of_the_spec() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(folder.path());
    let emulate = |ptx: &[&str], more: &[&str]| {
        let text = tilewright(["ptx", &spec].iter().chain(ptx))
            .expect(0)
            .stdout;
        let file = launch_file(folder.path(), &text);
        let emulate = ["emulate", &file, "--schedules", "1", "--profile"];
        tilewright(emulate.iter().chain(more)).expect(0)
    };
    let page = emulate(&["--line-info"], &[]).stdout;
    let (_, table) = page
        .split_once("by source under round-robin/late\n")
        .unwrap();
    assert!(table.starts_with("  source        executed"), "{page}");
    assert!(table.contains("\n  plain.yaml:5  "), "{page}");

    let events = emulate(&["--line-info"], &["--json"]).json_lines();
    let of = |event: &str| -> Vec<Value> {
        let events = events.iter().filter(|one| one["event"] == event);
        events.cloned().collect()
    };
    assert_sums(&of("line"), &of("source"));

    // Without directives there is nothing to say.
    let page = emulate(&[], &[]).stdout;
    assert!(!page.contains("by source"), "{page}");
    let events = emulate(&[], &["--json"]).json_lines();
    assert!(
        events
            .iter()
            .all(|one| one.get("source").is_none() && one["event"] != "source")
    );
}
