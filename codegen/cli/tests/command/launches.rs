//! `verify`, `run`, `bench` and `emulate` on the emulator, with kernels that are right and wrong.

use std::fs;

use tilewright_fixture::COPY;

use crate::bundles::{COPY_ID, bundle, bundle_of};
use crate::session::{Run, finish, tilewright};

/// The copy that reads every element from its right neighbour's place.
fn wrong_ptx() -> String {
    let wrong = COPY.replace("[%from]", "[%from+4]");
    assert_ne!(wrong, COPY);
    wrong
}

#[test]
fn the_name_of_another_command_for_problems_is_refused_with_the_own_one() {
    let (_folder, path) = bundle();
    let path = path.to_str().unwrap();
    let run = ["run", path, "copy", "--problem", "4x4"];
    let select = ["select", path, "--kernel", "copy", "--problem", "4x4"];
    for args in [&run[..], &select] {
        let refused = tilewright(args).expect(2).stderr;
        assert!(refused.contains("--size m=4096,n=512,k=64"), "{refused}");
    }
    let tune = ["tune", path, "--size", "m=4", "--records", "r", "-o", "t"];
    for args in [&["bench", path, "--size", "m=4"][..], &tune] {
        let refused = tilewright(args).expect(2).stderr;
        assert!(refused.contains("--problem 4096x512x64"), "{refused}");
    }
}

#[test]
fn a_right_kernel_is_verified() {
    let (_folder, path) = bundle();
    let path = path.to_str().unwrap();
    let args = ["verify", path, "--device", "emulator", "--problems", "3"];
    let run = tilewright(args).expect(0);
    assert_eq!(run.stdout.lines().last(), Some("6 passed, 0 failed"));
    let report = tilewright(args.into_iter().chain(["--json"]))
        .expect(0)
        .json();
    assert_eq!(report["passed"], 6);
    // As many are added as were drawn: no row of the grid is that behind the last one, which the
    // kernel compares with.
    let outcomes = report["outcomes"].as_array().unwrap();
    let added: Vec<bool> = outcomes.iter().map(|one| one["added"] == true).collect();
    assert_eq!(added, [false, false, false, true, true, true]);
    assert_eq!(report["outcomes"][0]["kernel"], COPY_ID);
}

#[test]
fn a_wrong_kernel_is_a_negative_verdict_with_its_reason() {
    let (_folder, path) = bundle_of(&wrong_ptx());
    let path = path.to_str().unwrap();
    let run = tilewright(["verify", path, "--device", "emulator", "--problems", "2"]).expect(1);
    assert_eq!(run.stdout.lines().last(), Some("0 passed, 2 failed"));
    assert!(run.stderr.contains(COPY_ID), "{}", run.stderr);
}

/// Thread 0 waits for a phase of an mbarrier that is two phases old.
const LATE_WAIT: &str = "{ .reg .pred p, q; .reg .b32 t; .shared .align 8 .b64 bar;
    mov.u32 t, %tid.x; setp.ne.u32 p, t, 0; @p bra X; mbarrier.init.shared::cta.b64 [bar], 1;
    mbarrier.arrive.shared::cta.b64 _, [bar]; mbarrier.arrive.shared::cta.b64 _, [bar];
    mbarrier.arrive.shared::cta.b64 _, [bar];
    mbarrier.test_wait.parity.shared::cta.b64 q, [bar], 0; X: }";

/// `verify` of a copy that does something more at its end.
fn judged(more: &str, mode: &[&str]) -> Run {
    let (head, tail) = COPY.rsplit_once("ret;").unwrap();
    let (_folder, path) = bundle_of(&format!("{head}{more}\nret;{tail}"));
    let path = path.to_str().unwrap();
    let verify = ["verify", path, "--device", "emulator", "--problems", "1"];
    tilewright(verify.iter().chain(mode))
}

#[test]
fn bundles_are_judged_strictly_unless_told_otherwise() {
    let verify = |mode: &[&str]| judged(LATE_WAIT, mode);
    for strict in [&[][..], &["--sanitize", "strict"]] {
        let run = verify(strict).expect(1);
        assert!(
            run.stderr.contains("mbarrier_phase_skipped"),
            "{}",
            run.stderr
        );
    }
    for lenient in ["default", "off"] {
        verify(&["--sanitize", lenient]).expect(0);
    }
}

/// Reads a register that nothing wrote, and does nothing with it.
const UNSET: &str = "{ .reg .b32 t; add.u32 t, t, 1; }";

#[test]
fn warnings_fail_where_kernels_are_judged_strictly() {
    let verify = |mode: &[&str]| judged(UNSET, mode);
    let run = verify(&[]).expect(1);
    let told = "the emulator found warning: uninit_register";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    verify(&["--sanitize", "default"]).expect(0);
}

#[test]
fn one_launch_is_checked_and_timed() {
    let (_folder, path) = bundle();
    let path = path.to_str().unwrap();
    let problem = [
        "--device", "emulator", "--m", "5", "--n", "130", "--lds", "140",
    ];
    let run = tilewright(["run", path, "copy_f32"].into_iter().chain(problem)).expect(0);
    assert!(run.stdout.starts_with(COPY_ID), "{}", run.stdout);
    assert!(run.stdout.contains("(140,1)"), "{}", run.stdout);
    let named = ["--device", "emulator", "--size", "m=5,n=130,lds=140"];
    let same = tilewright(["run", path, "copy_f32"].into_iter().chain(named)).expect(0);
    let problem_of = |text: &str| text.lines().nth(1).map(str::to_owned);
    assert_eq!(problem_of(&same.stdout), problem_of(&run.stdout));
    assert!(run.stdout.contains("right"), "{}", run.stdout);
    let args = ["run", path, "copy_f32", "--json"]
        .into_iter()
        .chain(problem);
    let report = tilewright(args).expect(0).json();
    assert_eq!(report["device"], "emulator");
    assert_eq!(report["failure"], serde_json::Value::Null);
    assert!(report["thread_instructions"].as_u64().unwrap() > 5 * 130);
}

#[test]
fn what_cannot_be_run_is_refused_with_the_way_out() {
    let (_folder, path) = bundle();
    let path = path.to_str().unwrap();
    let unknown = tilewright(["run", path, "gemm", "--m", "1", "--n", "1"]).expect(2);
    assert!(unknown.stderr.contains(COPY_ID), "{}", unknown.stderr);
    let without_n = tilewright(["run", path, "copy_f32", "--m", "1"]).expect(2);
    assert!(without_n.stderr.contains("--n"), "{}", without_n.stderr);
    let args = [
        "run", path, "copy_f32", "--m", "3", "--n", "8", "--lds", "4",
    ];
    let overlapping = tilewright(args.into_iter().chain(["--device", "emulator"]));
    assert_ne!(overlapping.code, 3, "{overlapping:?}");
    let bad_size = tilewright(["bench", path, "--sizes", "1GB"]).expect(2);
    assert!(
        bad_size.stderr.contains("KiB, MiB, GiB"),
        "{}",
        bad_size.stderr
    );
}

/// What was found until then is told, and that it is a part; a budget of 0 s leaves nothing.
#[test]
fn a_budget_that_is_spent_ends_a_verification_with_what_it_found() {
    let (_folder, path) = bundle();
    let args = ["verify", path.to_str().unwrap(), "--device", "emulator"];
    let more = ["--problems", "3", "--budget", "0"];
    let run = tilewright(args.into_iter().chain(more)).expect(2);
    assert!(
        run.stdout.contains("partial: 0 passed, 0 failed, "),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("give more --budget"), "{}", run.stderr);
}

#[test]
fn a_problem_larger_than_the_host_is_refused_before_memory_is_taken() {
    let (_folder, path) = bundle();
    let path = path.to_str().unwrap();
    let args = ["run", path, "copy_f32", "--device", "emulator"];
    let size = ["--m", "60000", "--n", "2147483647"];
    let run = tilewright(args.into_iter().chain(size)).expect(2);
    let told = "on m=60000 n=2147483647";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert!(run.stderr.contains("bytes on the host"), "{}", run.stderr);
    assert_eq!(run.stdout, "");
    // Few elements, far apart.
    for stride in ["4294967295", "4294967296"] {
        let sparse = ["--m", "60000", "--n", "1", "--ldd", stride];
        let run = tilewright(args.into_iter().chain(sparse)).expect(2);
        assert!(run.stderr.contains("bytes on the host"), "{}", run.stderr);
        assert!(!run.stderr.contains("wrong"), "{}", run.stderr);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_limit_of_the_process_counts() {
    let (_folder, path) = bundle();
    let command = env!("CARGO_BIN_EXE_tilewright");
    // 2 GiB an operand, several times over, below 6 GiB.
    let script = "ulimit -v 6000000; exec \"$0\" run \"$1\" copy_f32 --device emulator \
                  --m 16384 --n 32768";
    let output = std::process::Command::new("sh")
        .args(["-c", script, command, path.to_str().unwrap()])
        .output();
    let run = finish(output.unwrap()).expect(2);
    assert!(run.stderr.contains("bytes on the host"), "{}", run.stderr);
}

#[test]
fn sizes_that_a_kernel_has_nothing_for_are_refused_by_name() {
    let (_folder, path) = bundle();
    let path = path.to_str().unwrap();
    let args = ["run", path, "copy_f32", "--device", "emulator", "--m", "3"];
    let run = |more: &[&str]| tilewright(args.iter().chain(more));
    let refused = run(&["--n", "8", "--lda", "9", "--k", "7"]).expect(2);
    let told = "a copy has no --k, --lda: leave it out";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    let refused = run(&["--size", "n=8,h=4", "--size", "ldq=9"]).expect(2);
    let told = "a copy has no --size h, --size ldq: leave it out";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    let twice = run(&["--size", "n=8,m=4"]).expect(2).stderr;
    let told = "`m` is given by --m and by --size m: leave one out";
    assert!(twice.contains(told), "{twice}");
    let nothing = tilewright(["run", path, "copy_f32", "--size", "lds=8"]).expect(2);
    assert!(
        nothing.stderr.contains("a copy needs --m, --n"),
        "{}",
        nothing.stderr
    );
    let negative = run(&["--n", "-1"]).expect(2).stderr;
    assert!(negative.contains("-1 is not in 0.."), "{negative}");
    assert!(!negative.contains("'-- -1'"), "{negative}");
}

#[test]
fn a_mistyped_kernel_is_told_the_nearest() {
    let (_folder, path) = bundle();
    let path = path.to_str().unwrap();
    for name in ["cpy_f32", "copy_f23", "COPY_f32", "copy_f32@plian-1"] {
        let run = tilewright(["run", path, name, "--m", "1", "--n", "1"]).expect(2);
        let told = format!("the nearest is {COPY_ID}");
        assert!(run.stderr.contains(&told), "{name}: {}", run.stderr);
    }
}

#[test]
fn code_that_contradicts_the_manifest_has_no_result_to_be_wrong() {
    let (_folder, path) = bundle_of(&COPY.replace(".param .u32 n", ".param .u64 n"));
    let path = path.to_str().unwrap();
    let problem = ["--device", "emulator", "--m", "3", "--n", "8"];
    let run = tilewright(["run", path, "copy_f32"].into_iter().chain(problem)).expect(1);
    assert!(run.stdout.contains("problem   m=3 n=8"), "{}", run.stdout);
    assert!(run.stdout.contains("result    none: "), "{}", run.stdout);
    for absent in ["wrong", "rel err", "driver"] {
        assert!(!run.stdout.contains(absent), "{}", run.stdout);
    }
    let args = ["verify", path, "--device", "emulator"];
    let run = tilewright(args).expect(1);
    let told = format!("FAIL {COPY_ID}: {COPY_ID} cannot run");
    assert!(run.stderr.starts_with(&told), "{}", run.stderr);
}

#[test]
fn nothing_checked_is_nothing_verified() {
    let (_folder, path) = bundle();
    let path = path.to_str().unwrap();
    let run = tilewright(["verify", path, "--problems", "0"]).expect(2);
    assert!(run.stderr.contains("0 is not in 1.."), "{}", run.stderr);
}

/// A folder with one launch file of the copy: 2 x 3 elements, `expect` as given.
fn launch_files(expect: [f32; 6]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let raw = |values: &[f32]| -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    };
    fs::create_dir_all(at("cases/copy")).unwrap();
    fs::create_dir_all(at("ptx")).unwrap();
    fs::write(at("ptx/copy.ptx"), COPY).unwrap();
    fs::write(
        at("cases/copy/s.in.bin"),
        raw(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    )
    .unwrap();
    fs::write(at("cases/copy/d.expect.bin"), raw(&expect)).unwrap();
    let buffer = |name: &str, role: &str| {
        serde_json::json!({"kind": "buffer", "name": name, "role": role, "dtype": "f32",
            "shape": [2, 3], "bytes": 24, "init": null, "expect": null, "rtol": 0.0, "atol": 0.0})
    };
    let scalar = |name: &str, dtype: &str, value: i64| {
        let kind = "scalar";
        serde_json::json!({"kind": kind, "name": name, "dtype": dtype, "value": value})
    };
    let (mut s, mut d) = (buffer("s", "in"), buffer("d", "out"));
    s["init"] = "s.in.bin".into();
    d["expect"] = "d.expect.bin".into();
    let manifest = serde_json::json!({
        "id": "copy", "ptx": "ptx/copy.ptx", "arch": "sm_80", "entry": "copy_f32",
        "grid": [1, 2, 1], "block": [128, 1, 1], "cluster": [1, 1, 1], "dynamic_shared": 0,
        "args": [s, d, scalar("m", "i32", 2), scalar("n", "i32", 3),
                 scalar("lds", "i64", 3), scalar("ldd", "i64", 3)],
        "expect_error": null, "note": "for readers",
    });
    fs::write(at("cases/copy/manifest.json"), manifest.to_string()).unwrap();
    folder
}

#[test]
fn launch_files_pass_and_fail_by_what_they_expect() {
    let right = launch_files([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let run = tilewright(["emulate", right.path().to_str().unwrap()]).expect(0);
    assert_eq!(run.stdout, "pass copy\n1 passed, 0 failed\n");
    let manifest = right.path().join("cases/copy/manifest.json");
    let run = tilewright(["emulate", manifest.to_str().unwrap()]).expect(0);
    assert_eq!(run.stdout.lines().last(), Some("1 passed, 0 failed"));

    let wrong = launch_files([1.0, 2.0, 3.0, 4.0, 5.0, 7.0]);
    let run = tilewright(["emulate", wrong.path().to_str().unwrap()]).expect(1);
    assert_eq!(run.stdout.lines().last(), Some("0 passed, 1 failed"));
    let run = tilewright(["emulate", "--json", wrong.path().to_str().unwrap()]).expect(1);
    let lines = run.json_lines();
    let last = lines.last().unwrap();
    assert_eq!((&last["passed"], &last["failed"]), (&0.into(), &1.into()));
    let case = lines.iter().find(|line| line["event"] == "case").unwrap();
    assert_eq!(case["passed"], false);
    assert_eq!(run.stderr.lines().last(), Some("0 passed, 1 failed"));
}

#[test]
fn buffers_larger_than_the_host_are_refused_before_memory_is_taken() {
    let folder = launch_files([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let manifest = folder.path().join("cases/copy/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let huge = text.replacen("\"bytes\":24", "\"bytes\":1152921504606846976", 1);
    let huge = huge.replacen("[2,3]", "[2,144115188075855872]", 1);
    assert_ne!(text, huge);
    fs::write(&manifest, huge).unwrap();
    let run = tilewright(["emulate", manifest.to_str().unwrap()]).expect(2);
    assert!(run.stdout.contains("bytes on the host"), "{}", run.stdout);
}

#[test]
fn a_folder_without_launch_files_could_not_be_run() {
    let empty = tempfile::tempdir().unwrap();
    let run = tilewright(["emulate", empty.path().to_str().unwrap()]).expect(2);
    assert!(!run.stderr.is_empty());
}
