//! Records of tuning, checked to the last value: what no tuner wrote is told by line and key.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use crate::fixture::*;
use serde_json::{Value, json};
use tilewright_lab::bench::{Extent, Stamp};
use tilewright_lab::tune::{Journal, Progress, Record, Settings, Tuned, tune};
use tilewright_runtime::RecordsError;
use tilewright_runtime::bundle::{BundleWriter, Kernel};
use tilewright_runtime::{Device, Runtime};

/// What is done to a good record of the gemm, and what an error says of it: a key, its value, and a
/// part of the text.
const WRONG: &str = r#"
/problem/m         0            `problem.m` is 0: 1 to 2147483647 is allowed
/problem/k         3000000000   `problem.k` is 3000000000: 1 to
/problem/n         "x"          `problem.n` is "x": invalid type
/problem/zz        4            `problem.zz` is 4: extents of gemm_f32@fast-2 are m, k, n
/problem/strides/zz  [1,1]      `problem.strides.zz` is [1,1]: operands of gemm_f32@fast-2 have
/problem/strides/a   [16]       `problem.strides.a` is [16]: operands of
/problem/strides/a   [-1,1]     `problem.strides.a` is -1: 0 to
/problem/scalars   {"zz":"1"}   `problem.scalars.zz` is "1": scalars of gemm_f32@fast-2 are none
/problem/scalars   {"zz":"many"}  `problem.scalars.zz` is "many": a number as text
/ours_us           1e308        `ours_us` is 1
/ours_us           -5           `ours_us` is -5: more than 0
/ours_us           0            `ours_us` is 0: more than 0
/ours_us           null         `ours_us` is null: invalid type
/ratio_spread      -3           `ratio_spread` is -3: 0e0 to 1e9 is allowed
/ratio_spread      1e308        `ratio_spread` is 1
/power_w           -1.0         `power_w` is -1
/rounds            -1           `rounds` is -1: invalid value
/sms               0            `sms` is 0: 1e0 to 1e5
/reason            "wrong"      `reason` is "wrong": what was not dropped has none
/reason            "bored"      `reason` is "bored": unknown variant
/detail            "why"        `detail` is "why": what was not dropped has none
/outcome           "dropped"    `reason` is missing: what was dropped has one
/outcome           "won"        `outcome` is "won": unknown variant
/unit              "zz"         `unit` is "zz": thread instructions is allowed
/backend           "tpu"        `backend` is "tpu": cuda and emulator are allowed
/backend           "cuda"       `unit` is "thread instructions": times of a GPU have none
/kernel            "zz"         `kernel` is "zz": the kernel of this content hash has "gemm_f32@f
/family            "zz"         `family` is "zz": the kernel of this content hash has "gemm"
/layout            "zz"         `layout` is "zz": TN, NN, NT, TT and row
/mode              "zz"         `mode` is "zz": unknown variant
/gpu               ""           `gpu` is "": one line of 1 to 1000 bytes
/commit            "a\nb"       `commit` is "a\nb": one line
/dtype/a           "f33"        `dtype.a` is "f33": an element type
/dtype/zz          "f32"        `dtype.zz` is "f32": a record has no such key
/zz                [1]          `zz` is [1]: a record has no such key
/content_hash      "ab"         `content_hash` is "ab": 64
"#;

/// The rows of that table.
fn wrong() -> impl Iterator<Item = (&'static str, Value, &'static str)> {
    WRONG.trim().lines().map(|line| {
        let (pointer, rest) = line.split_once(' ').unwrap();
        let (value, part) = rest.trim_start().split_once(' ').unwrap();
        (
            pointer,
            serde_json::from_str(value).unwrap(),
            part.trim_start(),
        )
    })
}

/// A runtime of one gemm, its record, and what tuned it.
fn tuned() -> (Runtime, Vec<Record>, Tuned) {
    let bundle = bundle_of([(gemm_kernel("gemm_f32@fast-2"), GEMM)]);
    let runtime = Runtime::new(bundle, Device::emulator());
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let extent = Extent::product(6, 7, 16);
    let mut records = Vec::new();
    let mut tell = |progress: Progress<'_>| {
        if let Progress::Record(record) = progress {
            records.push(record.clone());
        }
        Ok(())
    };
    let (settings, stamp) = (Settings::default(), Stamp::default());
    let tuned = tune(
        &runtime,
        &kernels,
        &[extent],
        &[],
        &settings,
        stamp,
        &mut tell,
    );
    let tuned = tuned.unwrap();
    assert_eq!(records.len(), 1);
    (runtime, records, tuned)
}

/// A file of records that is to be refused, by a runtime whose kernel they are of.
struct Refusing {
    folder: tempfile::TempDir,
    runtime: Runtime,
    good: Value,
}

impl Refusing {
    fn new() -> Refusing {
        let (runtime, records, _) = tuned();
        Refusing {
            folder: tempfile::tempdir().unwrap(),
            runtime,
            good: serde_json::to_value(&records[0]).unwrap(),
        }
    }

    /// What is told of a file, which stays as it is.
    #[track_caller]
    fn told(&self, text: &str) -> RecordsError {
        let path = self.folder.path().join("records.jsonl");
        fs::write(&path, text).unwrap();
        let told = Journal::open_for(&path, self.runtime.kernels()).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert!(told.to_string().contains("records.jsonl"), "{told}");
        told
    }

    /// The good record with another value.
    fn with(&self, pointer: &str, value: Value) -> Value {
        let mut record = self.good.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        record.pointer_mut(parent).unwrap()[key] = value;
        record
    }
}

#[test]
fn each_key_is_told_with_its_value_and_what_is_allowed() {
    let file = Refusing::new();
    let good = &file.good;
    let mut lines = vec![good.to_string()];
    for (pointer, value, part) in wrong() {
        let wrong = file.with(pointer, value);
        let told = file.told(&format!("{good}\n{wrong}\n"));
        assert!(matches!(told, RecordsError::Lines { .. }), "{told}");
        let told = told.to_string();
        let line = "records.jsonl line 2 is no record: ";
        assert!(told.contains(line) && told.contains(part), "{part}: {told}");
        // A last line that lacks its end alone is judged as well.
        file.told(&format!("{good}\n{wrong}"));
        lines.push(wrong.to_string());
    }
    // All lines at once.
    let all = file.told(&(lines.join("\n") + "\n")).to_string();
    for ((_, _, part), line) in wrong().zip(2..) {
        let line = format!("line {line} is no record: ");
        assert!(all.contains(&line) && all.contains(part), "{part}: {all}");
    }
    let end = "Nothing was changed; mend or remove the lines";
    assert!(all.ends_with(end), "{all}");
}

#[test]
fn all_that_is_wrong_with_a_line_is_told_at_once() {
    let file = Refusing::new();
    let mut wrong = file.with("/problem/m", json!(0));
    (wrong["ours_us"], wrong["sms"], wrong["zz"]) = (json!(0), json!("many"), json!(1));
    wrong["problem"]["n"] = json!("x");
    wrong.as_object_mut().unwrap().remove("gpu");
    let told = file.told(&format!("{wrong}\n")).to_string();
    for part in [
        "`ours_us` is 0: more than 0",
        "`sms` is \"many\": invalid type",
        "`zz` is 1: a record has no such key",
        "`problem.m` is 0: 1 to",
        "`problem.n` is \"x\": invalid type",
        "`gpu` is missing",
    ] {
        assert_eq!(told.matches(part).count(), 1, "{part}: {told}");
    }
    assert_eq!(told.matches("`").count(), 12, "{told}");
    // What an outcome that is none would ask for, nobody knows.
    let told = file.with("/outcome", json!("won"));
    let told = file.told(&format!("{told}\n")).to_string();
    assert!(!told.contains("reason"), "{told}");
}

#[test]
fn what_is_missing_is_told_by_its_key() {
    let file = Refusing::new();
    let mut missed = 0;
    for key in file.good.as_object().unwrap().keys() {
        let mut without = file.good.clone();
        without.as_object_mut().unwrap().remove(key);
        let path = file.folder.path().join("records.jsonl");
        fs::write(&path, format!("{without}\n")).unwrap();
        // Older versions did not write all of them.
        if let Err(error) = Journal::open_for(&path, file.runtime.kernels()) {
            let text = error.to_string();
            assert!(text.contains(&format!("`{key}` is missing")), "{text}");
            missed += 1;
        }
    }
    assert!(missed > 15, "{missed}");
}

#[test]
fn what_tuners_wrote_on_a_gpu_is_read() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results/h200");
    let files = [
        "2026-11-21-hopper-records.jsonl",
        "2026-11-22-8bit-candidates.jsonl",
    ];
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        // It is opened to be added to.
        let path = folder.path().join(file);
        fs::copy(results.join(file), &path).unwrap();
        let (_, records) = Journal::open(&path).unwrap();
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert_eq!(records.len(), lines, "{file}");
    }
}

#[test]
fn nobody_is_asked_for_the_fastest_kernel_of_nothing() {
    let (runtime, records, found) = tuned();
    let tables = found.tables(&runtime, &records);
    let spoilt = |change: fn(&mut Record)| {
        let mut all = records.clone();
        all.extend(records.iter().cloned().map(|mut record| {
            change(&mut record);
            record
        }));
        let tuning = found.tables(&runtime, &all);
        let writer = BundleWriter::from_bundle(runtime.bundle());
        writer.unwrap().tune(&tuning).unwrap();
        tuning
    };
    assert_eq!(spoilt(|record| record.row.problem.m = 0), tables);
    let far = |record: &mut Record| {
        for strides in record.row.problem.strides.values_mut() {
            strides[0] = 1 << 50;
        }
    };
    assert_eq!(spoilt(far), tables);
    spoilt(|record| record.row.ratio_best = f64::INFINITY);
}
