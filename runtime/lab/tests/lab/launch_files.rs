//! Every launch file of `ci/data/ptx` under every schedule, and those of `ci/data/mufu`, which hold
//! what an H200 computed with approximate instructions.
//!
//! The cases that are not supported yet are listed: one that is not listed must pass, and one
//! that is listed must fail, so the list is always the truth.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tilewright_emulator::{Options, Sanitize};
use tilewright_lab::launch_file::{self, LaunchFile, Schedule};

/// Cases that need the race detector.
const NOT_YET: &[&str] = &[];

/// A change of a tensor map's entry.
type Edit = fn(&mut Value);

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../ci/data")
        .join(folder)
}

/// The name of a case, whether it passes, and what does not.
fn outcome(manifest: &Path) -> (String, bool, String) {
    let folder = manifest.parent().unwrap();
    let file = LaunchFile::read(manifest).unwrap();
    let schedules = Schedule::first(6).into_iter();
    let schedules: Vec<Options> = schedules.map(|s| s.options(Sanitize::Default)).collect();
    match file.run(folder, &schedules) {
        Ok(outcome) => (file.id, outcome.passed, outcome.reasons.join("\n  ")),
        Err(error) => (file.id, false, error.to_string()),
    }
}

#[test]
fn launch_files_behave_as_they_say() {
    let manifests = launch_file::find_manifests(&data("ptx")).unwrap();
    assert_eq!(manifests.len(), 36);
    let mut wrong = Vec::new();
    for manifest in manifests {
        let (id, passed, reasons) = outcome(&manifest);
        match (passed, NOT_YET.contains(&id.as_str())) {
            (true, false) | (false, true) => {}
            (false, false) => wrong.push(format!("{id} fails:\n  {reasons}")),
            (true, true) => wrong.push(format!("{id} passes now: take it off the list")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn approximate_instructions_give_what_an_h200_gave() {
    let manifests = launch_file::find_manifests(&data("mufu")).unwrap();
    assert_eq!(manifests.len(), 23);
    for manifest in manifests {
        let (id, passed, reasons) = outcome(&manifest);
        assert!(passed, "{id} fails:\n  {reasons}");
    }
}

/// What a case of `ci/data/ptx` says when its text and its manifest are changed.
fn changed(case: &str, ptx: impl Fn(&str) -> String, manifest: impl Fn(&mut Value)) -> String {
    match run_changed(case, ptx, manifest) {
        Ok(outcome) if outcome.passed => "passed".to_owned(),
        Ok(outcome) => outcome.reasons.join("\n"),
        Err(error) => error.to_string(),
    }
}

fn run_changed(
    case: &str,
    ptx: impl Fn(&str) -> String,
    manifest: impl Fn(&mut Value),
) -> Result<launch_file::Outcome, launch_file::LaunchFileError> {
    let (from, to) = (data("ptx"), tempfile::tempdir().unwrap());
    let (cases, texts) = (to.path().join("cases").join(case), to.path().join("ptx"));
    std::fs::create_dir_all(&cases).unwrap();
    std::fs::create_dir(texts).unwrap();
    for entry in std::fs::read_dir(from.join("cases").join(case)).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, cases.join(path.file_name().unwrap())).unwrap();
    }
    let path = cases.join("manifest.json");
    let mut value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let name = value["ptx"].as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(from.join(&name)).unwrap();
    std::fs::write(to.path().join(name), ptx(&text)).unwrap();
    manifest(&mut value);
    std::fs::write(&path, value.to_string()).unwrap();
    LaunchFile::read(&path).and_then(|file| file.run(&cases, &[Options::default()]))
}

#[test]
fn a_launch_that_cannot_start_says_why_and_nothing_of_elements() {
    for (key, extents, why) in [
        ("cluster", [2, 1, 1], "is no multiple of cluster"),
        ("grid", [3, 65536, 1], "exceeds (2147483647, 65535, 65535)"),
    ] {
        let outcome = run_changed("nv_saxpy", str::to_owned, |manifest| {
            manifest["arch"] = "sm_90".into();
            manifest[key] = json!(extents);
        });
        let outcome = outcome.unwrap();
        assert!(outcome.reasons[0].contains(why), "{:?}", outcome.reasons);
        let elements = outcome.reasons.iter().any(|one| one.contains("elements"));
        assert!(!elements && !outcome.passed && outcome.buffers.is_empty());
        assert!(!outcome.schedules[0].wrong_bytes);
    }
}

#[test]
fn a_line_that_makes_a_finding_twice_names_a_schedule_once() {
    let twice = |text: &str| {
        let store = text
            .lines()
            .find(|line| line.contains("st.global"))
            .unwrap();
        text.replace(store, &format!("{store} {}", store.trim()))
    };
    let unexpected = |manifest: &mut Value| manifest["expect_error"] = Value::Null;
    let outcome = run_changed("neg01_oob_global", twice, unexpected).unwrap();
    // The load, and both stores.
    assert_eq!(outcome.schedules[0].findings.len(), 3);
    let schedules: Vec<usize> = outcome
        .findings()
        .iter()
        .map(|finding| finding.schedules.len())
        .collect();
    assert_eq!(schedules, [1, 1]);
}

#[test]
fn texts_that_no_driver_takes_are_refused() {
    let with = |from: &'static str, to: &'static str, arch: &'static str| {
        let ptx = move |text: &str| text.replacen(from, to, 1);
        changed("neg17_clean", ptx, move |manifest| {
            manifest["arch"] = arch.into()
        })
    };
    for arch in ["sm_90", "sm_90a", "sm_100", "sm_120f"] {
        assert_eq!(with("", "", arch), "passed", "{arch}");
    }
    let wrong = [
        (".target sm_90", "", "sm_90", "the text has no .target"),
        (".version 9.0", "", "sm_90", "the text has no .version"),
        (
            ".version 9.0",
            ".version 9.0\n.version 9.0",
            "sm_90",
            "a second .version",
        ),
        (
            ".version 9.0",
            ".version 7.7",
            "sm_90",
            "PTX of .version 7.7 has no sm_90: it takes 7.8",
        ),
        (
            ".version 9.0\n.target sm_90",
            ".version 7.0\n.target sm_90a",
            "sm_90a",
            "PTX of .version 7.0 has no sm_90a: it takes 8.0",
        ),
        (
            "",
            "",
            "sm_80",
            "the text is for sm_90, of which no machine code for sm_80 is made",
        ),
        (
            ".target sm_90",
            ".target sm_90a",
            "sm_90",
            "for sm_90a, of which no machine code",
        ),
        (
            ".target sm_90",
            ".target sm_90a",
            "sm_100",
            "for sm_90a, of which no machine code",
        ),
    ];
    for (from, to, arch, told) in wrong {
        let text = with(from, to, arch);
        assert!(text.contains(told), "{told}: {text}");
    }
    for arch in ["sm_999", "sm_0", "sm_80zzz", "sm_80a", "sm_", "", "volta"] {
        let text = with("", "", arch);
        assert!(text.contains(&format!("arch: {arch:?} is none")), "{text}");
    }
}

#[test]
fn what_would_pass_without_being_compared_is_refused() {
    let with = |args: Value| {
        let merge = move |manifest: &mut Value| {
            for (index, keys) in args.as_array().unwrap().iter().enumerate() {
                for (key, value) in keys.as_object().unwrap() {
                    manifest["args"][index][key] = value.clone();
                }
            }
        };
        changed("neg17_clean", str::to_owned, merge)
    };
    let right = [
        json!([{}, {"rtol": 1e-3, "atol": 1e-6}]),
        json!([{}, {"rtol": null, "atol": null}]),
        json!([{}, {"rtol": 1}]),
        json!([{"rtol": 0, "atol": 0.0}, {"dtype": "u32"}]),
    ];
    for args in right {
        assert_eq!(with(args.clone()), "passed", "{args}");
    }
    let wrong = [
        (json!([{}, {"rtol": 1e308}]), "rtol is 1000000"),
        (
            json!([{}, {"rtol": 1.01}]),
            "rtol is 1.01; a number from 0 to 1 is needed",
        ),
        (
            json!([{}, {"rtol": -0.1}]),
            "rtol is -0.1; a number from 0 to 1 is needed",
        ),
        (json!([{}, {"atol": 1e300}]), "a number from 0 to 34028"),
        (
            json!([{}, {"atol": 1e37}]),
            "all that is expected may be anything: at most",
        ),
        (
            json!([{}, {"dtype": "u32", "rtol": 0.5}]),
            "rtol is 0.5, and elements of u32 are compared to the bit",
        ),
        (
            json!([{}, {"dtype": "b8", "atol": 1.0}]),
            "atol is 1, and elements of b8 are compared to the bit",
        ),
        (
            json!([{"init": null}]),
            "argument x: what a kernel reads has a file",
        ),
        (
            json!([{}, {"role": "inout"}]),
            "argument o: what a kernel reads has a file",
        ),
        (json!([{"name": ""}]), "an argument has an empty name"),
        (
            json!([{}, {}, {"name": ""}]),
            "an argument has an empty name",
        ),
        (
            json!([{}, {}, {"dtype": "f32", "value": 1e300}]),
            "argument s: 1e+300 is no value of dtype f32",
        ),
        (
            json!([{}, {}, {"dtype": "f16", "value": -7e4}]),
            "is no value of dtype f16",
        ),
    ];
    for (args, told) in wrong {
        let text = with(args.clone());
        assert!(text.contains(told), "{args}: {text}");
    }
}

#[test]
fn keys_of_tensor_maps_mean_something_at_every_level() {
    let with = |change: fn(&mut Value)| {
        let change = |manifest: &mut Value| change(&mut manifest["args"][0]);
        changed("nv_tma2d_at_m5", str::to_owned, change)
    };
    let right: [fn(&mut Value); 3] = [
        |map| map["l2_promotion"] = "L2_256B".into(),
        |map| map["l2_promotion"] = Value::Null,
        |map| map["im2col"] = Value::Null,
    ];
    for change in right {
        assert_eq!(with(change), "passed");
    }
    let wrong: [(Edit, &str); 5] = [
        (
            |map| map["l2_promotion"] = "zz".into(),
            "l2_promotion zz is none of NONE, L2_64B, L2_128B, L2_256B",
        ),
        (
            |map| map["l2_promotion"] = 5.into(),
            "invalid type: integer `5`",
        ),
        (
            |map| {
                map["im2col"] =
                    json!({"lower": [], "upper": [], "channels": 8, "pixels": 8, "x": 1})
            },
            "im2col of argument m has no key `x`",
        ),
        (
            |map| {
                map["im2col"] = json!({"lower": [], "pixel_box_upper_corner": [], "channel": 8,
                    "pixels_per_column": 8});
            },
            "im2col of argument m has no key `channel`",
        ),
        (|map| map["im2col"] = 5.into(), "invalid type"),
    ];
    for (change, told) in wrong {
        let text = with(change);
        assert!(text.contains(told), "{told}: {text}");
    }
}
