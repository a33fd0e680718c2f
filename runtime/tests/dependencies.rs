//! A service that links the runtime gets no compiler, no YAML, no templates and no layout algebra.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
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

/// What a service that only launches has no use for.
const OF_THE_LABORATORY: [&str; 4] = ["rand", "rand_distr", "nvml-wrapper", "tilewright-lab"];
/// What it has none of without the runtime's features.
const OF_FEATURES: [&str; 5] = [
    "ed25519-dalek",
    "flate2",
    "rayon",
    "tilewright-emulator",
    "zip",
];
/// Crates that a service compiles for launches alone; this number only shrinks.
const MOST_FOR_LAUNCHES: usize = 46;

fn tree(package: &str, more: &[&str]) -> String {
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
        .args(more)
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
    let tree = tree("tilewright-runtime", &[]);
    let names = names(&tree);
    assert!(
        names.contains(&"tilewright-bundle") && names.contains(&"cudarc"),
        "{names:?}"
    );
    for absent in ABSENT.iter().chain(&OF_THE_LABORATORY) {
        assert!(
            !names.contains(absent),
            "{absent} is in the tree of the runtime"
        );
    }
}

#[test]
fn who_only_launches_compiles_little() {
    let tree = tree("tilewright-runtime", &["--no-default-features"]);
    let names: BTreeSet<&str> = names(&tree).into_iter().collect();
    for absent in OF_FEATURES {
        assert!(!names.contains(absent), "{absent} is in the tree");
    }
    let count = names.len();
    assert!(count <= MOST_FOR_LAUNCHES, "{count} crates: {names:?}");
}

#[test]
fn the_bundle_knows_no_runtime() {
    let tree = tree("tilewright-bundle", &[]);
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
