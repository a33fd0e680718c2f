//! Launches under a profiler that takes NVTX ranges: a library that this test compiles.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tilewright_fixture::COPY;

use crate::bundles::{COPY_ID, bundle, bundle_of};
use crate::session::{Run, command, finish};

/// Compiles the tool into a folder.
fn tool(folder: &Path) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/nvtx_tool.rs");
    let library = folder.join("nvtx_tool.so");
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .args([library.as_os_str(), source.as_ref()])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    library
}

/// One launch of a bundle's kernel under the tool of this file.
fn run(bundle: &Path, tool: &Path, log: &Path) -> Run {
    let args = ["--device", "emulator", "--m", "5", "--n", "130"];
    let mut run = command();
    run.arg("run").arg(bundle).arg("copy_f32").args(args);
    run.env("NVTX_INJECTION64_PATH", tool)
        .env("NVTX_TOOL_LOG", log);
    finish(run.output().unwrap())
}

#[test]
fn launches_are_ranges_that_have_their_kernels_name() {
    let folder = tempfile::tempdir().unwrap();
    let tool = tool(folder.path());
    let range = format!("create tilewright\npush {COPY_ID}\npop\n");

    let (_right, path) = bundle();
    let log = folder.path().join("right");
    run(&path, &tool, &log).expect(0);
    assert_eq!(fs::read_to_string(log).unwrap(), range);

    // A launch that does not come to its end, whose range does.
    let (_wrong, path) = bundle_of(&COPY.replace("[%from]", "[%from+1073741824]"));
    let log = folder.path().join("wrong");
    let stopped = run(&path, &tool, &log).expect(1);
    assert!(stopped.stdout.contains("oob_global"), "{stopped:?}");
    assert_eq!(fs::read_to_string(log).unwrap(), range);
}

#[test]
fn a_tool_that_is_none_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (_bundle, path) = bundle();
    let text = folder.path().join("text.so");
    fs::write(&text, "no library").unwrap();
    let absent = folder.path().join("absent.so");
    let log = folder.path().join("log");
    let plain = run(&path, Path::new(""), &log).expect(0);
    for tool in [text, absent] {
        let same = run(&path, &tool, &log).expect(0);
        assert_eq!(same.stderr, plain.stderr, "{}", tool.display());
    }
    assert!(!log.exists());
}
