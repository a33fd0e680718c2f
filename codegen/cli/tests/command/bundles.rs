//! `bundle show` and `bundle verify` on a bundle of one hand-written kernel, whole and tampered
//! with.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tilewright_bundle::*;
use tilewright_fixture::{COPY, copy_kernel, expr, i64_of, writer_of};

use crate::session::{assert_golden, tilewright};

/// The id of the kernel in [`bundle`].
pub const COPY_ID: &str = "copy_f32@plain-000000";

/// A folder with the bundle `copy` in it; the folder lives as long as the first value.
pub fn bundle() -> (TempDir, PathBuf) {
    bundle_of(COPY)
}

/// The same with another text for its kernel.
pub fn bundle_of(ptx: &str) -> (TempDir, PathBuf) {
    written(copy_kernel(COPY_ID), ptx)
}

fn written(kernel: Kernel, ptx: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy");
    writer_of([(kernel, ptx)]).write(&path).unwrap();
    (folder, path)
}

fn bundle_command(verb: &str, path: &Path) -> crate::session::Run {
    tilewright(["bundle", verb, path.to_str().unwrap()])
}

#[test]
fn a_whole_bundle_is_good_and_its_kernels_are_listed() {
    let (_folder, path) = bundle();
    let verified = bundle_command("verify", &path).expect(0);
    assert!(
        verified.stdout.starts_with("good: 1 kernel, "),
        "{}",
        verified.stdout
    );
    let shown = bundle_command("show", &path).expect(0).stdout;
    let row = shown
        .lines()
        .find(|line| line.starts_with(COPY_ID))
        .unwrap();
    assert!(
        row.contains("s f32, d f32") && row.contains("sm_80+"),
        "{row}"
    );
}

#[test]
fn the_json_of_show_is_the_manifest() {
    let (_folder, path) = bundle();
    let shown = tilewright(["bundle", "show", "--json", path.to_str().unwrap()])
        .expect(0)
        .json();
    assert_eq!(shown["kernels"][0]["id"], COPY_ID);
    let verified = tilewright(["bundle", "verify", "--json", path.to_str().unwrap()]).expect(0);
    assert_eq!(verified.json()["kernels"], 1);
    assert_eq!(verified.json()["sha256"], shown["bundle_sha256"]);
}

#[test]
fn a_kernel_is_shown_in_full() {
    let map = TensorMapAbi {
        swizzle: TensorSwizzle::Bytes128,
        l2_promotion: L2Promotion::Bytes256,
        ..TensorMapAbi::new(
            "s",
            DType::F32,
            [expr("n"), expr("m")],
            [expr("lds")],
            [32, 8],
        )
    };
    let mut kernel = copy_kernel(COPY_ID);
    kernel.launches[0].params = Param::pack([
        ("d", ParamValue::pointer("d")),
        ("s_map", ParamValue::TensorMap(map)),
        ("ldd", i64_of("ldd")),
    ]);
    kernel.launches[0].cluster = Some([2, 1, 1]);
    kernel.launches[0].grid[0] = expr("min(ceil_div(n, 256), max_clusters) * 2");
    kernel.assumptions.push(Assumption::Align {
        operand: "s".to_owned(),
        bytes: 16,
        reason: "the tensor map".to_owned(),
    });
    let (_folder, path) = written(kernel, COPY);
    let shown = |options: &[&str]| {
        let bundle = path.to_str().unwrap();
        tilewright(["bundle", "show", bundle].iter().chain(options)).expect(0)
    };
    assert_golden(
        "bundle_show_kernel.txt",
        &shown(&["--kernel", "copy_f32@pl"]).stdout,
    );
    let json = shown(&["--kernel", "copy_f32", "--json"]).json();
    assert_eq!(json[0]["id"], COPY_ID);
    assert_eq!(
        json[0]["launches"][0]["params"][1]["value"]["tensor_map"]["operand"],
        "s"
    );
    let gemm = ["--kernel", "gemm"];
    let unknown = ["bundle", "show", path.to_str().unwrap()]
        .into_iter()
        .chain(gemm);
    let unknown = tilewright(unknown).expect(2);
    assert!(unknown.stderr.contains(COPY_ID), "{}", unknown.stderr);
}

#[test]
fn the_name_of_a_spec_means_its_kernels_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("both");
    let kernels = ["copy2@plain-0a", "copy@plain-0b"];
    writer_of(kernels.map(|id| (copy_kernel(id), COPY)))
        .write(&path)
        .unwrap();
    let path = path.to_str().unwrap();
    let size = ["--size", "m=2,n=3", "--device", "emulator"];
    let run = tilewright(["run", path, "copy"].into_iter().chain(size)).expect(0);
    assert!(run.stdout.starts_with("copy@plain-0b"), "{}", run.stdout);
    let ids = |name: &str| {
        let shown = tilewright(["bundle", "show", path, "--json", "--kernel", name]);
        let shown = shown.expect(0).json();
        let all = shown.as_array().unwrap().iter();
        all.map(|kernel| kernel["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids("copy"), kernels[1..]);
    assert_eq!(ids("copy2"), kernels[..1]);
    assert_eq!(ids("cop"), kernels);
    let more = [
        "--device",
        "emulator",
        "--problems",
        "1",
        "--kernel",
        "copy",
    ];
    let run = tilewright(["verify", path].into_iter().chain(more)).expect(0);
    assert_eq!(run.stdout.lines().last(), Some("2 passed, 0 failed"));
}

#[test]
fn a_changed_file_is_refused_by_name() {
    let (_folder, path) = bundle();
    let changed = ptx_file(&path);
    let text = fs::read_to_string(&changed)
        .unwrap()
        .replace("ld.global", "ld.weak.global");
    fs::write(&changed, text).unwrap();
    for verb in ["verify", "show"] {
        let run = bundle_command(verb, &path).expect(1);
        assert_eq!(run.stdout, "");
        let name = changed.file_name().unwrap().to_str().unwrap();
        assert!(run.stderr.contains(name), "{}", run.stderr);
    }
}

#[test]
fn a_missing_file_is_refused() {
    let (_folder, path) = bundle();
    fs::remove_file(ptx_file(&path)).unwrap();
    let run = bundle_command("verify", &path);
    assert!([1, 2].contains(&run.code), "{run:?}");
    assert!(!run.stderr.is_empty());
}

/// The only PTX file of the bundle.
fn ptx_file(bundle: &Path) -> PathBuf {
    let mut folders = vec![bundle.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "ptx") {
                return path;
            }
        }
    }
    panic!("{} holds no PTX", bundle.display());
}
