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

/// Wavefronts of loads from shared memory and of stores there, over all lines of a profile.
fn wavefronts(profile: &Value) -> [u64; 2] {
    let lines = profile["lines"].as_array().unwrap();
    ["shared_load", "shared_store"].map(|kind| {
        let of = |line: &Value| line["counters"][kind]["wavefronts"].as_u64();
        lines.iter().filter_map(of).sum()
    })
}

/// What a certificate says of a tile is counted on the emulator, in conflict or not.
#[test]
fn wavefronts_of_what_is_turned_are_those_of_the_certificate() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("turn")).unwrap();
    let cases = [
        ("f32", "(64,32)", "auto", true),
        ("f32", "(48,96)", "auto", true),
        ("f16", "(32,128)", "none", false),
        ("e4m3", "(128,64)", "auto", true),
        ("f64", "(32,64)", "\"Sw<1,1,4>\"", false),
    ];
    for (number, (dtype, tile, swizzle, is_free)) in cases.into_iter().enumerate() {
        let spec = format!(
            "kernel: turn\nname: turn_{number}\narch: sm_90\noperands:\n  s: {{ dtype: {dtype}, \
             layout: \"(m,n):(lds,1)\" }}\n  d: {{ dtype: {dtype}, layout: \"(n,m):(ldd,1)\" }}\n\
             compute: d[n,m] = s[m,n]\ncta_tile: \"{tile}\"\nthreads: 128\nswizzle: {{ s: \
             {swizzle} }}\n"
        );
        let path = folder.path().join(format!("turn/{number}.yaml"));
        fs::write(&path, spec).unwrap();
        let bundle = folder.path().join(format!("{number}.bundle"));
        let bundle = bundle.to_str().unwrap();
        tilewright(["build", path.to_str().unwrap(), "-o", bundle]).expect(0);
        let manifest = fs::read_to_string(format!("{bundle}/manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let steps = &manifest["kernels"][0]["certificate"]["steps"];
        let of = |hop: &str, field: &str| {
            let mut steps = steps.as_array().unwrap().iter();
            let step = steps.find(|step| step["step"] == hop).unwrap();
            step["shared_memory"][field].as_u64().unwrap()
        };
        let ran = [
            "run",
            bundle,
            "turn",
            "--m",
            "384",
            "--n",
            "384",
            "--profile",
            "--json",
        ];
        let ran: Value = serde_json::from_str(&tilewright(ran).expect(0).stdout).unwrap();
        // All tiles are whole.
        let extents = tile.trim_matches(['(', ')']).split(',');
        let extents = extents.map(|extent| extent.parse::<u64>().unwrap());
        let tiles = extents.map(|extent| 384 / extent).product::<u64>();
        let predicted = ["s.s2r", "s.r2s"].map(|hop| tiles * of(hop, "taken"));
        assert_eq!(
            wavefronts(&ran["profile"]),
            predicted,
            "{dtype} {tile} {swizzle}"
        );
        let free = ["s.s2r", "s.r2s"]
            .iter()
            .all(|hop| of(hop, "taken") == of(hop, "least"));
        assert_eq!(free, is_free, "{dtype} {tile} {swizzle}");
    }
}
