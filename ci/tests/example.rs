//! The example crate under `runtime/examples` is what a user would write: it builds from a clean
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
    run.current_dir(source_tree::root().join("runtime/examples/rust"))
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

/// Wants the lines that its README.md shows, whatever stands in the place of a `…`.
#[track_caller]
fn assert_shown(stdout: &str) {
    let page = source_tree::root().join("runtime/examples/rust/README.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, shown) = page.split_once("$ cargo run --quiet\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    assert!(shown.lines().count() > 1);
    for line in shown.lines() {
        let (before, after) = line.split_once('…').unwrap();
        // Where it runs is this machine's own.
        let (after, end) = after.split_once(" on emulator").unwrap_or(("", after));
        let is_it =
            |told: &str| told.starts_with(before) && told.contains(after) && told.ends_with(end);
        assert!(stdout.lines().any(is_it), "{line}: {stdout}");
    }
}

#[track_caller]
fn assert_right(output: &Output) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("normalized 37 x 1000 on "), "{stdout}");
    assert!(stdout.contains(", 0 wrong"), "{stdout}");
}

/// By a command that was built before, which the crate is built without LLVM for. What is of
/// another type or missing does not compile.
#[test]
fn the_embedded_bundle_launches_from_the_service() {
    let command = target().join("debug/tilewright");
    assert!(command.is_file(), "{} is not built", command.display());
    let run = ["run", "--no-default-features", "--bin", "kernels-inside"];
    let output = cargo(&run, Some(&command));
    assert_right(&output);
    assert_shown(&String::from_utf8_lossy(&output.stdout));
    let refused = [
        (
            "wrong_dtype",
            ["E0308", "expected `In<'_, f32, 2>`, found `In<'_, f64, _>`"],
        ),
        ("missing_operand", ["E0063", "missing field `x`"]),
    ];
    for (name, parts) in refused {
        let build = [
            "build",
            "--no-default-features",
            "--features",
            "refused",
            "--bin",
            name,
        ];
        let output = cargo(&build, Some(&command));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name} compiles");
        for part in parts {
            assert!(stderr.contains(part), "{name}: {part}: {stderr}");
        }
    }
    let missing = cargo(&run, Some(Path::new("/no/such/tilewright")));
    let stderr = String::from_utf8_lossy(&missing.stderr);
    assert!(!missing.status.success());
    assert!(
        stderr.contains("TILEWRIGHT names a command that does"),
        "{stderr}"
    );
}
