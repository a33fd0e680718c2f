//! The committed header is the one that the source gives, and the library exports what is in it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the source in the order of the header: what a program uses first comes first.
const SOURCES: [&str; 11] = [
    "status", "error", "dtype", "problem", "options", "open", "kernels", "select", "packing",
    "launch", "watch",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn generated() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for name in SOURCES {
        builder = builder.with_src(root().join(format!("src/{name}.rs")));
    }
    let mut bytes = Vec::new();
    builder.generate().unwrap().write(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_header_is_what_the_source_says() {
    let path = root().join("include/tilewright.h");
    let made = generated();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == committed,
        "{} is not what the source gives: run this test with BLESS=1",
        path.display()
    );
}

/// The functions of a header: names before an opening parenthesis, comments aside.
fn declared(header: &str) -> BTreeSet<String> {
    let code = header.lines().map(|line| line.split("//").next().unwrap());
    let mut found = BTreeSet::new();
    for line in code {
        let Some((before, _)) = line.split_once('(') else {
            continue;
        };
        let name = before.rsplit([' ', '*']).next().unwrap();
        found.extend(name.starts_with("tw_").then(|| name.to_owned()));
    }
    found
}

/// What the head of the header says of structs: all begin with their size but those it names.
#[test]
fn structs_begin_with_their_size_but_for_those_that_the_head_names() {
    let text = generated();
    let (head, code) = text.split_once("#ifndef").unwrap();
    let growth = head.split("// Growth.").nth(1).unwrap();
    let growth = growth.split("// What is checked.").next().unwrap();
    let mut fixed = BTreeSet::new();
    for body in code.split("typedef struct ").skip(1) {
        // Handles are structs that nobody sees the inside of.
        let Some((name, fields)) = body.split_once(" {") else {
            continue;
        };
        if name.contains(';') {
            continue;
        }
        let mut lines = fields.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with("//"));
        if first != Some("size_t struct_size;") {
            fixed.insert(name);
        }
    }
    let named = growth.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let named = named.filter(|word| word.starts_with("tw_") && *word != "tw_abi_version");
    assert_eq!(fixed, named.collect());
}

#[test]
fn the_library_exports_the_header_and_nothing_else() {
    let folder = std::env::current_exe().unwrap();
    let library = folder.with_file_name("libtilewright.so");
    let nm = Command::new("nm")
        .args(["-D", "--defined-only", "-P"])
        .arg(&library)
        .output();
    let nm = nm.unwrap();
    assert!(
        nm.status.success(),
        "{}",
        String::from_utf8_lossy(&nm.stderr)
    );
    let text = String::from_utf8(nm.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let exported: BTreeSet<String> = names.map(str::to_owned).collect();
    let declared = declared(&generated());
    assert!(declared.len() > 20, "{declared:?}");
    assert_eq!(exported, declared);
}
