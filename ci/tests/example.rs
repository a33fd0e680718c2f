//! The example crate under `ci/examples` is what a user would write: it builds from a clean
//! checkout of its own, and runs where there is no GPU.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tilewright_ci::{outside, source_tree};

/// The folder that tests build into, where most of what the crate links is compiled already.
fn target() -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap().to_owned()
}

/// Runs cargo on the crate.
fn cargo(args: &[&str], command: Option<&Path>) -> Output {
    let profile = outside::profile(&target()).unwrap();
    let mut run = Command::new(outside::cargo());
    run.current_dir(source_tree::root().join("ci/examples/embed"))
        .args(args)
        .args(["--offline", "--locked", "--quiet", "--config"])
        .arg(profile)
        .env("CARGO_TARGET_DIR", target())
        .env_remove("TILEWRIGHT");
    if let Some(command) = command {
        run.env("TILEWRIGHT", command);
    }
    run.output().unwrap()
}

#[track_caller]
fn assert_copies(output: &Output) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("copied 37 x 100 on "), "{stdout}");
    assert!(stdout.contains(", 0 wrong"), "{stdout}");
}

/// By each route: the generator as a library, and a command that was built before, which the crate
/// is built without LLVM for. What is of another type or missing does not compile.
#[test]
fn the_embedded_bundle_launches_from_the_service() {
    assert_copies(&cargo(&["run"], None));
    let refused = [
        (
            "wrong_dtype",
            ["E0308", "expected `In<'_, f32, 2>`, found `In<'_, f64, _>`"],
        ),
        ("missing_operand", ["E0063", "missing field `s`"]),
    ];
    for (name, parts) in refused {
        let output = cargo(&["build", "--features", "refused", "--bin", name], None);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name} compiles");
        for part in parts {
            assert!(stderr.contains(part), "{name}: {part}: {stderr}");
        }
    }
    let command = target().join("debug/tilewright");
    assert!(command.is_file(), "{} is not built", command.display());
    let run = ["run", "--no-default-features", "--bin", "embed"];
    assert_copies(&cargo(&run, Some(&command)));
    let missing = cargo(&run, Some(Path::new("/no/such/tilewright")));
    let stderr = String::from_utf8_lossy(&missing.stderr);
    assert!(!missing.status.success());
    assert!(
        stderr.contains("TILEWRIGHT names a command that does"),
        "{stderr}"
    );
}
