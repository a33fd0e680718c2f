//! The example crate under `ci/examples` is what a user would write: it builds from a clean
//! checkout of its own, and runs where there is no GPU.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use tilewright_ci::source_tree;

/// Builds and runs the crate as its manifest says: not optimized, which compiles fastest. It shares
/// the tests' target folder, where its macros are compiled already.
#[test]
fn the_embedded_bundle_launches_from_the_service() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(cargo)
        .current_dir(source_tree::root().join("ci/examples/embed"))
        .args(["run", "--offline", "--locked", "--quiet"])
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("copied 37 x 100 on "), "{stdout}");
    assert!(stdout.contains(", 0 wrong"), "{stdout}");
}
