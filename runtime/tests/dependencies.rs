//! A service that links the runtime gets no compiler, no YAML, no templates and no layout algebra.
#![allow(clippy::unwrap_used)]

use std::process::Command;

/// What must not be in the tree, dev-dependencies aside.
const ABSENT: [&str; 8] = [
    "inkwell",
    "llvm-sys",
    "tera",
    "serde-saphyr",
    "serde_yaml",
    "schemars",
    "tilewright-codegen",
    "tilewright-layout",
];

fn tree(package: &str) -> String {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
        ])
        .args([
            "--package",
            package,
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn names(tree: &str) -> Vec<&str> {
    tree.lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}

#[test]
fn the_runtime_knows_no_compiler() {
    let tree = tree("tilewright-runtime");
    let names = names(&tree);
    assert!(
        names.contains(&"tilewright-bundle") && names.contains(&"cudarc"),
        "{names:?}"
    );
    for absent in ABSENT {
        assert!(
            !names.contains(&absent),
            "{absent} is in the tree of the runtime"
        );
    }
}

#[test]
fn the_bundle_knows_no_runtime() {
    let tree = tree("tilewright-bundle");
    let names = names(&tree);
    for absent in ABSENT
        .iter()
        .chain(&["cudarc", "tilewright-runtime", "tilewright-emulator"])
    {
        assert!(
            !names.contains(absent),
            "{absent} is in the tree of the bundle"
        );
    }
}
