//! `emulate --svg`: what led to the first finding, as a drawing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::drawn::assert_clear;
use crate::session::{Run, assert_golden, command, finish};

/// The head of a text for the emulator.
const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n";
/// Warp 1 reads what warp 0 stores; what stands between is to be put in.
const HANDED_ON: &str = "\
.shared .align 4 .b8 word[4];
.reg .b32 %r<4>; .reg .pred %p;
mov.u32 %r0, %tid.x;
setp.ne.u32 %p, %r0, 0;
@%p bra B;
st.shared.u32 [word], 7;
B:
BETWEEN
setp.ne.u32 %p, %r0, 40;
@%p bra E;
ld.shared.u32 %r1, [word];
E:
ret;
}
";

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/data/ptx")
}

/// A drawing of the first finding, with what is said, in a folder of its own.
fn drawn(from: &Path, case: &str, more: &[&str]) -> (Run, Option<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("finding.svg");
    let mut command = command();
    command.current_dir(from).args(["emulate", case, "--svg"]);
    let run = finish(command.arg(&path).args(more).output().unwrap());
    (run, fs::read_to_string(&path).ok())
}

/// Two warps that hand on a word, with that between.
fn handing_on(between: &str) -> (Run, Option<String>) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("cases/handed_on")).unwrap();
    let text = format!("{HEAD}{}", HANDED_ON.replace("BETWEEN", between));
    fs::write(at("k.ptx"), text).unwrap();
    let manifest = serde_json::json!({"id": "handed_on", "ptx": "k.ptx", "arch": "sm_80",
        "entry": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": []});
    fs::write(at("cases/handed_on/manifest.json"), manifest.to_string()).unwrap();
    drawn(folder.path(), ".", &["--schedules", "round-robin/late"])
}

fn clear(drawing: &str) {
    assert_clear(drawing, |class| match class {
        "title" => 13,
        "head" | "sign" => 10,
        _ => 11,
    });
}

#[test]
fn a_race_is_drawn_with_both_sides() {
    let (run, drawing) = handing_on("");
    let drawing = drawing.unwrap();
    assert!(run.stderr.contains("race_shared"), "{}", run.stderr);
    for word in [
        "warp 0 of CTA (0,0,0)",
        "warp 1 of CTA (0,0,0)",
        "the earlier side",
        "where it was",
        "10: st.shared.u32 [word], 7;",
        "15: ld.shared.u32 %r1, [word];",
        "nothing that orders accesses",
        "The address is shared word+0",
    ] {
        assert!(drawing.contains(word), "{word}: {drawing}");
    }
    clear(&drawing);
    assert_golden("emulate_race.svg", &drawing);
}

#[test]
fn barriers_in_between_are_told_and_where_they_do_nothing_is_found() {
    let (run, drawing) = handing_on("bar.sync 0;");
    assert_eq!(drawing, None);
    assert!(run.stderr.contains("nothing was found"), "{}", run.stderr);
    // A barrier of the threads of a warp is none of the CTA.
    let (_, drawing) = handing_on("bar.warp.sync 0xffffffff;");
    let drawing = drawing.unwrap();
    assert!(drawing.contains("barrier (line 12)"), "{drawing}");
    clear(&drawing);
}

#[test]
fn a_missing_fence_and_its_copy_are_as_reviewed() {
    let case = "cases/bug23_missing_proxy_fence/manifest.json";
    let (run, drawing) = drawn(&data(), case, &[]);
    let drawing = drawing.unwrap();
    run.expect(0);
    clear(&drawing);
    assert_golden("emulate_fence.svg", &drawing);
}

/// The schedule that made a finding first is the one that is drawn, operations in their own lanes.
#[test]
fn findings_of_every_kind_are_drawn() {
    for (case, wanted) in [
        ("bug01_async_not_waited", "asynchronous: line 99 of warp 2"),
        ("bug11_mbarrier_deadlock", "waits for ever"),
        ("bug44_missing_wgmma_fence", "wgmma"),
        ("bug46_dsmem_cta_exited", "where it was"),
        ("bug61_missing_tensormap_fence", "missing_tensormap_fence"),
        ("neg01_oob_global", "oob_global"),
        ("neg07_barrier_deadlock", "barrier"),
        ("neg14_async_not_committed", "asynchronous"),
    ] {
        let path = format!("cases/{case}/manifest.json");
        for schedules in ["round-robin/late", "random:3/random:5"] {
            let (run, drawing) = drawn(&data(), &path, &["--schedules", schedules]);
            let Some(drawing) = drawing else {
                assert!(run.stderr.contains("nothing was found"), "{case}: {run:?}");
                continue;
            };
            assert!(run.stderr.contains(schedules), "{case}: {}", run.stderr);
            clear(&drawing);
            if schedules == "round-robin/late" {
                assert!(drawing.contains(wanted), "{case}: {wanted}: {drawing}");
            }
        }
    }
}

#[test]
fn without_a_finding_no_file_is_written() {
    let (run, drawing) = drawn(&data(), "cases/neg17_clean/manifest.json", &["--json"]);
    assert_eq!(drawing, None);
    let run = run.expect(0);
    assert!(run.stderr.contains("is not written"), "{}", run.stderr);
    assert!(!run.stdout.contains("is not written"));
}

#[test]
fn what_others_wrote_is_not_drawn_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("thesis.svg");
    fs::write(&path, "years of work").unwrap();
    let mut command = command();
    command
        .current_dir(data())
        .args(["emulate", "cases/neg17_clean/manifest.json"]);
    let run = finish(command.arg("--svg").arg(&path).output().unwrap()).expect(2);
    assert!(run.stderr.contains("left as it is"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), "years of work");
}
