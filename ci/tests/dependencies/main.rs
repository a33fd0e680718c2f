//! Boundaries between the crates, stated as absences and read from `cargo tree`; licences and
//! sources of what is depended on, the notices of what is linked; what is published, and by which
//! forms and workflows.
#![allow(clippy::unwrap_used, clippy::panic)]

mod forge;
mod licences;
mod notices;
mod published;

use std::collections::BTreeSet;
use std::process::Command;

use tilewright_ci::source_tree;

/// What only the generator may bring in: LLVM, templates, YAML, schemas, diagnostics.
const GENERATOR_ONLY: [&str; 8] = [
    "tilewright-codegen",
    "tilewright-layout",
    "inkwell",
    "llvm-sys",
    "tera",
    "serde-saphyr",
    "schemars",
    "annotate-snippets",
];

/// The names of every crate that `package` is built from, itself left out; `edges` as `cargo tree`
/// counts them.
fn tree(package: &str, edges: &str, more: &[&str]) -> BTreeSet<String> {
    let more = [&["--package", package], more].concat();
    tree_in(".", package, edges, &more)
}

/// The same of the package of a folder of the repository.
fn tree_in(folder: &str, package: &str, edges: &str, more: &[&str]) -> BTreeSet<String> {
    let text = lines_in(folder, edges, more);
    let names = text
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != package)
        .map(str::to_owned)
        .collect()
}

/// What `cargo tree` prints in a folder of the repository, a package a line.
fn lines_in(folder: &str, edges: &str, more: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let fixed = [
        "tree",
        "--offline",
        "--locked",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let output = Command::new(cargo)
        .current_dir(source_tree::root().join(folder))
        .args(fixed)
        .args(["--edges", edges])
        .args(more)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn assert_absent(package: &str, crates: &BTreeSet<String>, absent: &[&str]) {
    let found: Vec<_> = absent
        .iter()
        .filter(|name| crates.contains(**name))
        .collect();
    assert!(found.is_empty(), "{package} is built from {found:?}");
}

#[test]
fn the_runtime_has_nothing_of_the_generator() {
    let crates = tree("tilewright-runtime", "normal,build", &[]);
    assert!(crates.contains("tilewright-bundle") && crates.contains("tilewright-emulator"));
    assert_absent("tilewright-runtime", &crates, &GENERATOR_ONLY);
    assert_absent("tilewright-runtime", &crates, &["clap", "indicatif"]);
}

#[test]
fn the_runtime_builds_no_foreign_code_and_needs_no_cuda() {
    let crates = tree("tilewright-runtime", "normal,build", &[]);
    assert_absent(
        "tilewright-runtime",
        &crates,
        &["cc", "cmake", "bindgen", "pkg-config"],
    );
}

/// Features of a crate come together in a program, and cudarc compiles with one CUDA version.
#[test]
fn pages_tell_the_cuda_version_that_a_program_has() {
    let read = |path: &str| std::fs::read_to_string(source_tree::root().join(path)).unwrap();
    let workspace = read("Cargo.toml");
    let line = workspace
        .lines()
        .find(|line| line.starts_with("cudarc"))
        .unwrap();
    let quoted: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
    let cuda = quoted
        .iter()
        .find(|word| word.starts_with("cuda-"))
        .unwrap();
    for page in ["runtime/docs/operating.md", "runtime/README.md"] {
        assert!(read(page).contains(&format!("`{cuda}`")), "{page}: {cuda}");
    }
    let version = format!("`version = \"{}\"`", quoted[0]);
    assert!(
        read("runtime/docs/operating.md").contains(&version),
        "{version}"
    );
}

#[test]
fn the_python_module_is_the_runtime_alone() {
    let crates = tree("tilewright-python", "normal,build", &[]);
    assert!(crates.contains("tilewright-runtime") && crates.contains("pyo3"));
    assert_absent("tilewright-python", &crates, &GENERATOR_ONLY);
    assert_absent("tilewright-python", &crates, &["clap", "indicatif", "cc"]);
}

#[test]
fn the_c_library_is_the_runtime_alone() {
    let crates = tree("tilewright-capi", "normal,build", &[]);
    assert!(crates.contains("tilewright-runtime"));
    assert_absent("tilewright-capi", &crates, &GENERATOR_ONLY);
    let others = ["clap", "indicatif", "cc", "cbindgen", "pyo3"];
    assert_absent("tilewright-capi", &crates, &others);
}

#[test]
fn the_build_step_can_be_had_without_llvm() {
    let crates = tree("tilewright-build", "normal,build", &[]);
    assert!(crates.contains("tilewright-bundle"));
    assert_absent("tilewright-build", &crates, &GENERATOR_ONLY);
    let others = [
        "tilewright-runtime",
        "tilewright-emulator",
        "cudarc",
        "clap",
    ];
    assert_absent("tilewright-build", &crates, &others);
    let with = tree("tilewright-build", "normal,build", &["--features", "llvm"]);
    assert!(with.contains("llvm-sys"));
}

#[test]
fn a_service_is_built_of_the_runtime_alone() {
    let crates = tree_in("runtime/examples/service", "service", "normal,build", &[]);
    assert!(crates.contains("tilewright-runtime") && crates.contains("axum"));
    assert_absent("service", &crates, &GENERATOR_ONLY);
    let others = ["serde_yaml", "inkwell_internals", "cc", "cmake", "bindgen"];
    assert_absent("service", &crates, &others);
}

#[test]
fn the_layout_algebra_depends_on_nothing() {
    assert_eq!(
        tree("tilewright-layout", "normal,build", &[]),
        BTreeSet::new()
    );
}

#[test]
fn the_emulator_sees_only_ptx_and_launch_data() {
    let crates = tree("tilewright-emulator", "normal,build", &[]);
    assert_absent("tilewright-emulator", &crates, &GENERATOR_ONLY);
    let others = [
        "tilewright-bundle",
        "tilewright-runtime",
        "serde",
        "serde_json",
        "cudarc",
    ];
    assert_absent("tilewright-emulator", &crates, &others);
}

#[test]
fn the_bundle_knows_neither_side() {
    let crates = tree("tilewright-bundle", "normal,build", &[]);
    assert_absent("tilewright-bundle", &crates, &GENERATOR_ONLY);
    let others = ["tilewright-runtime", "tilewright-emulator", "cudarc"];
    assert_absent("tilewright-bundle", &crates, &others);
}

#[test]
fn the_generator_does_not_see_the_runtime() {
    let crates = tree("tilewright-codegen", "normal,build", &[]);
    assert!(crates.contains("llvm-sys"));
    let others = ["tilewright-runtime", "tilewright-emulator", "cudarc"];
    assert_absent("tilewright-codegen", &crates, &others);
}

/// docs.rs has no LLVM 22: what it documents the generator with links none, so that none is looked
/// for.
#[test]
fn the_generator_is_documented_without_llvm() {
    let manifest = source_tree::root().join("codegen/Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let manifest: toml::Table = toml::from_str(&manifest).unwrap();
    let docs = &manifest["package"]["metadata"]["docs"]["rs"]["features"];
    let features: Vec<&str> = docs
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f.as_str().unwrap())
        .collect();
    let mut more = vec!["--package", "tilewright-codegen", "--invert", "llvm-sys"];
    let found = lines_in(".", "normal,features", &more);
    let links_none = "inkwell feature \"llvm22-1-no-llvm-linking\"";
    assert!(!found.contains(links_none), "{found}");
    let features = features.join(",");
    more.extend(["--features", &features]);
    let found = lines_in(".", "normal,features", &more);
    assert!(found.contains(links_none), "{found}");
}

#[test]
fn the_command_can_be_had_without_llvm() {
    let crates = tree("tilewright", "normal,build", &["--no-default-features"]);
    assert!(crates.contains("tilewright-runtime"));
    // It evaluates layouts, and marks the part of an expression that is at fault.
    let its_own = ["tilewright-layout", "annotate-snippets"];
    let absent: Vec<&str> = GENERATOR_ONLY
        .into_iter()
        .filter(|name| !its_own.contains(name))
        .collect();
    assert_absent("tilewright", &crates, &absent);
}
