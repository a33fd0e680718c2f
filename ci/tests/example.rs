//! The example crate under `ci/examples` is what a user would write: it builds from a clean
//! checkout of its own, and runs where there is no GPU; so does the crate that README.md tells how
//! to make.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tilewright_ci::source_tree;

/// The folder that tests build into, where the crate's macros are compiled already.
fn target() -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap().to_owned()
}

/// Runs cargo on the crate as its manifest says: not optimized, which compiles fastest.
fn cargo(args: &[&str], command: Option<&Path>) -> Output {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut run = Command::new(cargo);
    run.current_dir(source_tree::root().join("ci/examples/embed"))
        .args(args)
        .args(["--offline", "--locked", "--quiet"])
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

/// What README.md tells to do in a crate of one's own: commands, and files with their text.
fn of_the_readme() -> (String, Vec<(String, String)>) {
    let readme = fs::read_to_string(source_tree::root().join("README.md")).unwrap();
    let (_, section) = readme.split_once("\n## In your own crate\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let (mut commands, mut files) = (String::from("set -e\n"), Vec::new());
    for block in section.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        match (language, text.split_once('\n')) {
            ("sh", _) => commands += text,
            ("rust", Some((head, _))) => {
                let name = head.trim_start_matches("// ").to_owned();
                files.push((name, text.to_owned()));
            }
            _ => panic!("{block}: neither commands nor a file"),
        }
    }
    (commands, files)
}

/// Runs a command in a folder outside of the workspace, with `tilewright` on its path.
fn outside(mut command: Command, folder: &Path) -> String {
    let built = target().join("debug");
    assert!(built.join("tilewright").is_file(), "{}", built.display());
    let path = std::env::var("PATH").unwrap();
    command
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", built.display()))
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("TILEWRIGHT");
    if std::env::var_os("CARGO_PROFILE_DEV_DEBUG").is_none() {
        // As the examples have it, with which what is compiled is shared.
        command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    }
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout
}

#[test]
fn the_crate_of_the_readme_is_made_as_it_says() {
    let (commands, files) = of_the_readme();
    let root = source_tree::root();
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    let commands = commands.replace("../tilewright", root.to_str().unwrap());
    shell.args(["-c", &commands]);
    outside(shell, folder.path());
    let hello = folder.path().join("hello");
    for (name, text) in &files {
        fs::write(hello.join(name), text).unwrap();
    }
    // The example's versions of everything.
    let lock = root.join("ci/examples/embed/Cargo.lock");
    fs::copy(lock, hello.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--quiet"]);
    let told = outside(cargo, &hello);
    let value = told.trim_start_matches("silu(2) is ").trim().parse::<f64>();
    let wanted = 2.0 / (1.0 + (-2.0f64).exp());
    assert!(
        value.is_ok_and(|value| (value - wanted).abs() < 1e-6),
        "{told}"
    );
}
