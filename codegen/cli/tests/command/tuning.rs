//! `tune` on the emulator: records, resuming, tables, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tilewright_bundle::*;
use tilewright_fixture::{COPY, copy_kernel, writer_of};

use crate::session::{Run, tilewright};

/// The line of the copy that its slower and wrong forms change.
const LOAD: &str = "ld.global.b32 %value, [%from];";

/// A folder with a bundle of a copy in fast, slow and wrong form, and the paths a run needs.
struct Fixture {
    folder: TempDir,
    bundle: PathBuf,
}

impl Fixture {
    fn new() -> Fixture {
        let forms = [
            ("copy_f32@a_slow-1", format!("mov.u32 %n, %n;\n{LOAD}")),
            ("copy_f32@fast-2", LOAD.to_owned()),
            ("copy_f32@wrong-3", "mov.u32 %value, 7;".to_owned()),
        ];
        let writer =
            writer_of(forms.map(|(id, line)| (copy_kernel(id), COPY.replace(LOAD, &line))));
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("points");
        writer.write(&bundle).unwrap();
        Fixture { folder, bundle }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `tune` with these arguments more.
    fn tune(&self, more: &[&str]) -> Run {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut args = vec!["tune".to_owned(), text(&self.bundle)];
        for (flag, name) in [("--records", "records.jsonl"), ("-o", "tuned")] {
            args.extend([flag.to_owned(), text(&self.at(name))]);
        }
        args.extend(["--device", "emulator"].map(str::to_owned));
        tilewright(args.iter().map(String::as_str).chain(more.iter().copied()))
    }

    fn records(&self) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.at("records.jsonl")).unwrap();
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }
}

#[test]
fn a_problem_of_one_row_is_told_though_its_stride_is_anyones() {
    let fixture = Fixture::new();
    let run = fixture
        .tune(&["--problem", "1x130x1", "--problem", "3x130x1"])
        .expect(0);
    let told = |problem: &str| run.stdout.lines().any(|line| line.starts_with(problem));
    assert!(told("1x130x1 row") && told("3x130x1 row"), "{}", run.stdout);
    // The records are known again.
    let again = fixture.tune(&["--problem", "1x130x1"]).expect(0);
    assert!(again.stdout.contains("1x130x1 row"), "{}", again.stdout);
}

#[test]
fn the_fastest_right_kernel_of_each_problem_comes_into_the_table() {
    let fixture = Fixture::new();
    let problems = ["--problem", "3x130x1", "--problem", "6x300x1"];
    let run = fixture.tune(&problems).expect(0);
    let row = run
        .stdout
        .lines()
        .find(|l| l.starts_with("3x130x1 row"))
        .unwrap();
    assert!(row.contains("copy_f32@fast-2"), "{}", run.stdout);
    let counts = "4 measured, 0 screened out, 0 known before, 0 not reached, 2 dropped (wrong 2)";
    assert!(run.stdout.contains(counts), "{}", run.stdout);
    assert!(
        run.stderr
            .contains("dropped copy_f32@wrong-3 at 3x130x1 (wrong)"),
        "{}",
        run.stderr
    );
    let outcomes: Vec<String> = fixture
        .records()
        .iter()
        .map(|r| r["outcome"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(outcomes.iter().filter(|o| *o == "measured").count(), 4);
    assert_eq!(outcomes.iter().filter(|o| *o == "dropped").count(), 2);

    let tuned = Bundle::open(&fixture.at("tuned")).unwrap();
    assert_eq!(tuned.kernels().len(), 3);
    let point = &tuned.tuning().unwrap().tables[0].points[0];
    assert_eq!(point.extents, [3, 130]);
    assert_eq!(point.choices[0].kernel, "copy_f32@fast-2");
    let shown = tilewright(["bundle", "show", fixture.at("tuned").to_str().unwrap()]).expect(0);
    assert!(
        shown.stdout.contains("tuned for 2 problems on emulator"),
        "{}",
        shown.stdout
    );
}

#[test]
fn a_second_run_goes_on_where_the_first_ended() {
    let fixture = Fixture::new();
    fixture.tune(&["--problem", "3x130x1"]).expect(0);
    let first = fs::read(fixture.at("records.jsonl")).unwrap();
    let file = fixture.at("problems.txt");
    fs::write(&file, "# twice\n3x130x1\n\n3x130x1 # again\n 4x64x1\n").unwrap();
    let run = fixture
        .tune(&["--json", "--problems-file", file.to_str().unwrap()])
        .expect(0);
    let report = run.json();
    assert_eq!(
        (&report["tally"]["known"], &report["tally"]["measured"]),
        (&3.into(), &2.into())
    );
    assert_eq!(report["winners"].as_array().unwrap().len(), 2);
    assert_eq!(report["problems"], 2);
    let all = fs::read(fixture.at("records.jsonl")).unwrap();
    assert!(all.starts_with(&first));
    assert_eq!(fixture.records().len(), 6);
}

#[test]
fn a_tuner_that_is_killed_loses_no_record() {
    let fixture = Fixture::new();
    fixture.tune(&["--problem", "3x130x1"]).expect(0);
    let path = fixture.at("records.jsonl");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let run = fixture.tune(&["--problem", "3x130x1", "--json"]).expect(0);
    assert_eq!(run.json()["tally"]["known"], 2);
    assert_eq!(fixture.records().len(), 3);
    assert!(fixture.at("records.jsonl.torn").exists());
}

#[test]
fn a_file_of_others_named_as_records_stays_as_it_is() {
    let fixture = Fixture::new();
    let path = fixture.at("records.jsonl");
    let years: Vec<String> = (1900..2026).map(|year| year.to_string()).collect();
    let text = format!("{{\"years\": [{}]}}", years.join(", "));
    fs::write(&path, &text).unwrap();
    let run = fixture.tune(&["--problem", "3x130x1"]).expect(2);
    assert!(run.stderr.contains("holds no records"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn damaged_records_are_refused_by_line() {
    let fixture = Fixture::new();
    fs::write(fixture.at("records.jsonl"), "{\"format\":1}\n").unwrap();
    let run = fixture.tune(&["--problem", "3x130x1"]).expect(1);
    assert!(run.stderr.contains("line 1 is no record"), "{}", run.stderr);
    assert_eq!(
        fs::read(fixture.at("records.jsonl")).unwrap(),
        b"{\"format\":1}\n"
    );
    assert!(!fixture.at("tuned").exists());
}

#[test]
fn records_of_what_cannot_be_are_refused_and_blame_nobody() {
    let fixture = Fixture::new();
    fixture.tune(&["--problem", "3x130x1"]).expect(0);
    let good = fixture.records();
    let mut wrong = good.clone();
    wrong[0]["problem"]["m"] = 0.into();
    wrong[1]["ours_us"] = 1e308.into();
    wrong[1]["kernel"] = "zz".into();
    let lines: Vec<String> = wrong.iter().map(|record| format!("{record}\n")).collect();
    let path = fixture.at("records.jsonl");
    fs::write(&path, lines.concat()).unwrap();
    fs::remove_dir_all(fixture.at("tuned")).unwrap();
    let run = fixture.tune(&["--problem", "3x130x1"]).expect(1);
    for part in [
        "records.jsonl line 1 is no record: `problem.m` is 0: 1 to 2147483647 is allowed",
        "records.jsonl line 2 is no record: `ours_us` is 1",
        "`kernel` is \"zz\": the kernel of this content hash has \"copy_f32@",
        "Nothing was changed",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("dropped"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), lines.concat());
    assert!(!fixture.at("tuned").exists());
    // Rows are no records, and records no rows.
    let mut row = good[0].clone();
    for key in [
        "format",
        "outcome",
        "content_hash",
        "backend",
        "sm",
        "sms",
        "unit",
    ] {
        row.as_object_mut().unwrap().remove(key);
    }
    fs::write(&path, format!("{row}\n")).unwrap();
    let run = fixture.tune(&["--problem", "3x130x1"]).expect(1);
    assert!(run.stderr.contains("`format` is missing"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{row}\n"));
}

#[test]
fn a_budget_that_is_used_up_is_told() {
    let fixture = Fixture::new();
    let run = fixture
        .tune(&["--problem", "3x130x1", "--budget", "0"])
        .expect(1);
    assert!(run.stdout.contains("3 not reached"), "{}", run.stdout);
    assert!(
        run.stdout.contains("3x130x1: no kernel was measured"),
        "{}",
        run.stdout
    );
    assert_eq!(
        Bundle::open(&fixture.at("tuned")).unwrap().kernels().len(),
        3
    );
    fixture
        .tune(&["--problem", "3x130x1", "--budget=-1"])
        .expect(2);
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let fixture = Fixture::new();
    fixture.tune(&[]).expect(2);
    let run = fixture.tune(&["--problem", "3"]).expect(2);
    assert!(run.stderr.contains("4096x4096x4096:TN"), "{}", run.stderr);
    let run = fixture
        .tune(&["--problem", "3x130x1", "--kernel", "gemm"])
        .expect(2);
    assert!(run.stderr.contains("copy_f32@fast-2"), "{}", run.stderr);
    let file = fixture.at("problems.txt");
    fs::write(&file, "3x130x1\nnone\n").unwrap();
    let run = fixture
        .tune(&["--problems-file", file.to_str().unwrap()])
        .expect(2);
    assert!(run.stderr.contains("line 2"), "{}", run.stderr);
}

#[test]
fn a_want_of_memory_is_no_kernels_fault() {
    let fixture = Fixture::new();
    let run = fixture
        .tune(&["--problem", "60000x2147483647x1", "--problem", "4x64x1"])
        .expect(1);
    let told = "left out 60000x2147483647x1: ";
    assert_eq!(run.stderr.matches(told).count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("bytes on the host"), "{}", run.stderr);
    assert!(
        run.stdout.contains("3 for want of memory, 1 dropped"),
        "{}",
        run.stdout
    );
    let others = |r: &serde_json::Value| r["problem"]["m"] != 4;
    assert!(!fixture.records().iter().any(others));
}

#[test]
fn what_was_dropped_for_want_of_memory_is_tried_again() {
    let fixture = Fixture::new();
    fixture.tune(&["--problem", "3x130x1"]).expect(0);
    let mut records = fixture.records();
    let deaths = [
        (
            "crashed",
            "screen: the process ended with signal: 6 (SIGABRT)",
        ),
        (
            "killed",
            "screen: the process ended with signal: 9 (SIGKILL)",
        ),
        (
            "crashed",
            "screen: the process ended with signal: 11 (SIGSEGV)",
        ),
    ];
    for (record, (reason, detail)) in records.iter_mut().zip(deaths) {
        record["outcome"] = "dropped".into();
        record["reason"] = reason.into();
        record["detail"] = detail.into();
    }
    let lines: Vec<String> = records.iter().map(|r| format!("{r}\n")).collect();
    fs::write(fixture.at("records.jsonl"), lines.concat()).unwrap();
    let again = fixture.tune(&["--problem", "3x130x1", "--json"]);
    assert_eq!(again.json()["tally"]["known"], 1);
    assert_eq!(fixture.records().len(), 5);
}

#[test]
fn a_good_table_outlives_a_run_that_measured_nothing() {
    let fixture = Fixture::new();
    fixture.tune(&["--problem", "3x130x1"]).expect(0);
    let table = fs::read(fixture.at("tuned/tuning.json")).unwrap();
    let more = ["--problem", "5x64x1", "--budget", "0", "--kernel", "copy"];
    fs::remove_file(fixture.at("records.jsonl")).unwrap();
    let run = fixture.tune(&more).expect(1);
    assert!(
        run.stdout.contains("is left as it was, with 1 problem in"),
        "{}",
        run.stdout
    );
    assert_eq!(fs::read(fixture.at("tuned/tuning.json")).unwrap(), table);
    assert_eq!(
        Bundle::open(&fixture.at("tuned"))
            .unwrap()
            .tuning()
            .unwrap()
            .points(),
        1
    );
}

#[test]
fn errors_of_the_child_are_told_once() {
    let fixture = Fixture::new();
    let run = fixture
        .tune(&["--problem", "3x130x1", "--kernel", "gemm"])
        .expect(2);
    assert_eq!(run.stderr.matches("error:").count(), 1, "{}", run.stderr);
    let run = fixture
        .tune(&["--problems-file", "/dev/zero", "--problem", "4x4x1"])
        .expect(2);
    assert!(run.stderr.contains("a problem a line"), "{}", run.stderr);
    let file = fixture.at("problems.txt");
    fs::write(&file, "3x130x1\nnone\n4x4x0\n").unwrap();
    let run = fixture
        .tune(&["--problems-file", file.to_str().unwrap()])
        .expect(2);
    for line in ["line 2: ", "line 3: "] {
        assert!(run.stderr.contains(line), "{}", run.stderr);
    }
}

#[test]
fn records_that_are_no_file_are_refused() {
    let fixture = Fixture::new();
    let bundle = fixture.bundle.to_str().unwrap().to_owned();
    let output = fixture.at("tuned");
    let args = [
        "tune",
        &bundle,
        "--records",
        "/dev/zero",
        "--device",
        "emulator",
    ];
    let more = ["--problem", "4x64x1", "-o", output.to_str().unwrap()];
    let run = tilewright(args.iter().chain(&more)).expect(2);
    assert!(
        run.stderr.contains("/dev/zero: is no plain file"),
        "{}",
        run.stderr
    );
}
