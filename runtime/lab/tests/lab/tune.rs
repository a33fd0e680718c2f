//! Tuning end to end on the emulator: records, resuming, tables, selection.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::fixture::*;
use tilewright_lab::bench::{Extent, Leading, Letters, Stamp};
use tilewright_lab::tune::{Journal, Outcome, Progress, Reason, Record, Settings, Tuned, tune};
use tilewright_runtime::RecordsError;
use tilewright_runtime::bundle::*;
use tilewright_runtime::{
    Arg, Device, EmulatorSettings, Error, Problem, Query, Request, Runtime, Source,
};

/// The gemm with one line of its loop replaced.
fn with(from: &str, to: &str) -> String {
    assert!(GEMM.contains(from), "{from}");
    GEMM.replacen(from, to, 1)
}

/// A gemm of right, slower, wrong and broken forms; the wrong one is the fastest.
fn points() -> Bundle {
    let step = "add.s32 %r9, %r9, 1;";
    let mut broken = gemm_kernel("gemm_f32@broken-4");
    broken.launches[0].params.pop();
    bundle_of([
        (
            gemm_kernel("gemm_f32@a_slow-1"),
            with(step, &format!("mov.u32 %r9, %r9;\n{step}")),
        ),
        (gemm_kernel("gemm_f32@fast-2"), GEMM.to_owned()),
        (
            gemm_kernel("gemm_f32@wrong-3"),
            with("add.s64 %rd17, %rd17, %rd19;", ""),
        ),
        (broken, GEMM.to_owned()),
        (hopper_gemm("gemm_f32@hopper-6"), GEMM.to_owned()),
        (picky_gemm("gemm_f32@picky-7"), GEMM.to_owned()),
    ])
}

fn runtime_of(bundle: Bundle) -> Runtime {
    let options = tilewright_runtime::emulator::Options {
        instructions_per_warp: 50_000,
        ..Default::default()
    };
    let settings = EmulatorSettings {
        sm: Some(80),
        options,
        ..EmulatorSettings::default()
    };
    Runtime::new(bundle, Device::emulator_with(settings))
}

fn extent(m: i64, n: i64, k: i64) -> Extent {
    Extent::product(m, n, k)
}

/// The same with rows at multiples of so many elements.
fn padded(extent: Extent, pad: i64) -> Extent {
    let leading = Leading {
        pad: Some(pad),
        ..Leading::default()
    };
    Extent { leading, ..extent }
}

/// Tunes a runtime's kernels and keeps the records beside the earlier ones.
fn tuned(runtime: &Runtime, extents: &[Extent], records: &mut Vec<Record>) -> Tuned {
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let known = records.clone();
    let mut tell = |progress: Progress<'_>| {
        if let Progress::Record(record) = progress {
            records.push(record.clone());
        }
        Ok(())
    };
    let settings = Settings {
        drawn: 1,
        ..Settings::default()
    };
    let stamp = Stamp::default();
    tune(
        runtime, &kernels, extents, &known, &settings, stamp, &mut tell,
    )
    .unwrap()
}

/// The runtime of the same bundle with its tables.
fn with_tables(runtime: &Runtime, tuning: &Tuning) -> Runtime {
    runtime_of(crate::fixture::tuned(runtime.bundle(), tuning))
}

#[test]
fn each_kernel_comes_as_far_as_it_deserves() {
    let endless = (
        gemm_kernel("gemm_f32@endless-5"),
        with("@%p3 bra LOOP;", "bra LOOP;"),
    );
    let points = points();
    let all = points.kernels().iter().map(|kernel| {
        let ptx = points.ptx(kernel).to_owned();
        (kernel.clone(), ptx)
    });
    let runtime = runtime_of(bundle_of(all.chain([endless])));
    let mut records = Vec::new();
    let found = tuned(&runtime, &[extent(6, 7, 16)], &mut records);
    let of = |part: &str| {
        let mut named = records.iter().filter(|r| r.row.kernel.contains(part));
        let one = named.next().unwrap();
        assert!(named.next().is_none());
        (one.outcome, one.reason)
    };
    assert_eq!(of("fast"), (Outcome::Measured, None));
    assert_eq!(of("slow"), (Outcome::Measured, None));
    assert_eq!(of("picky"), (Outcome::Measured, None));
    assert_eq!(of("wrong"), (Outcome::Dropped, Some(Reason::Wrong)));
    assert_eq!(of("broken"), (Outcome::Dropped, Some(Reason::Load)));
    assert_eq!(of("endless"), (Outcome::Dropped, Some(Reason::Fault)));
    assert_eq!(found.unfit["capability"], 1);
    assert_eq!((found.tally.measured, found.tally.dropped.len()), (3, 3));
    let fast = records
        .iter()
        .find(|r| r.row.kernel.contains("fast"))
        .unwrap();
    let slow = records
        .iter()
        .find(|r| r.row.kernel.contains("slow"))
        .unwrap();
    // One instruction more for each of 16 steps of 6 x 7 elements.
    assert_eq!(slow.row.ours_us - fast.row.ours_us, 16.0 * 42.0);
    assert_eq!(
        (fast.row.layout.as_str(), fast.row.gpu.as_str()),
        ("TN", "emulator")
    );
    assert!(fast.row.is_correct() && fast.row.rel_err < 1e-6);
}

#[test]
fn records_are_kept_and_not_made_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    let runtime = runtime_of(points());
    let (mut journal, known) = Journal::open(&path).unwrap();
    assert!(known.is_empty());
    let mut records = Vec::new();
    tuned(&runtime, &[extent(6, 7, 16)], &mut records);
    records.iter().for_each(|r| journal.append(r).unwrap());
    let busy = Journal::open(&path).unwrap_err();
    assert!(matches!(busy, RecordsError::Busy { .. }), "{busy}");
    drop(journal);
    let (_, mut read) = Journal::open(&path).unwrap();
    assert_eq!(read, records);
    let again = tuned(&runtime, &[extent(6, 7, 16), extent(6, 7, 24)], &mut read);
    assert_eq!((again.tally.known, again.tally.measured), (5, 3));
    // The lines are rows as well.
    let text = std::fs::read_to_string(&path).unwrap();
    let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["format"], &line["family"]),
        (&1.into(), &"gemm".into())
    );
    assert_eq!(line["problem"]["k"], 16);
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn damaged_records_are_named_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    let runtime = runtime_of(points());
    let mut records = Vec::new();
    tuned(&runtime, &[extent(6, 7, 16)], &mut records);
    let (mut journal, _) = Journal::open(&path).unwrap();
    records.iter().for_each(|r| journal.append(r).unwrap());
    drop(journal);
    let good = std::fs::read(&path).unwrap();
    let broken = |line: usize, text: &str, part: &str| {
        let mut all = lines(&path);
        all[line] = text.to_owned();
        let bytes = all.join("\n") + "\n";
        std::fs::write(&path, &bytes).unwrap();
        let error = Journal::open(&path).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes.as_bytes());
        std::fs::write(&path, &good).unwrap();
    };
    broken(2, "{\"format\":1,\"outc", "line 3 is no record");
    broken(1, "\u{0}\u{1}", "line 2 is no record");
    broken(0, "{\"format\":1}", "line 1 is no record");
    broken(3, "{\"format\":2,\"new\":{}}", "line 4 has record format 2");
    // What a process left that was killed while it wrote is set aside.
    for cut in [2, 7, 40] {
        std::fs::write(&path, &good[..good.len() - cut]).unwrap();
        let (mut journal, read) = Journal::open(&path).unwrap();
        assert_eq!(read, records[..records.len() - 1]);
        journal.append(records.last().unwrap()).unwrap();
        drop(journal);
        assert_eq!(std::fs::read(&path).unwrap(), good);
        let torn = lines(&folder.path().join("records.jsonl.torn"));
        let kept = torn.last().unwrap();
        assert!(std::str::from_utf8(&good).unwrap().contains(kept.as_str()));
    }
    // A record that lacks the end of its line alone is whole.
    std::fs::write(&path, &good[..good.len() - 1]).unwrap();
    assert_eq!(Journal::open(&path).unwrap().1, records);
    assert_eq!(std::fs::read(&path).unwrap(), good);
    assert!(matches!(
        Journal::open(folder.path()),
        Err(RecordsError::Io { .. })
    ));
}

#[test]
fn a_last_line_is_set_aside_where_it_begins_a_record_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.json");
    let mut records = Vec::new();
    tuned(&runtime_of(points()), &[extent(6, 7, 16)], &mut records);
    let record = serde_json::to_string(&records[0]).unwrap();
    for cut in 1..record.len() {
        std::fs::write(&path, &record[..cut]).unwrap();
        let (_, read) = Journal::open(&path).unwrap();
        assert!(read.is_empty(), "{cut}");
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "{cut}");
    }
    let torn = folder.path().join("data.json.torn");
    assert_eq!(lines(&torn).len(), record.len() - 1);
    let unrecorded = record.replace("\"outcome\":", "\"0utcome\":");
    let foreign = [
        "{\"years\": [1, 2, 3]}",
        "[",
        "plain text",
        &unrecorded,
        &format!("{record},"),
        &record.replace("\"format\":1", "\"format\":2"),
        &record.replacen("\"backend\":", "\"backend\",", 1)[..record.len() - 1],
    ];
    std::fs::remove_file(&torn).unwrap();
    for text in foreign {
        std::fs::write(&path, text).unwrap();
        let told = Journal::open(&path).unwrap_err();
        assert!(
            matches!(told, RecordsError::Foreign { .. }),
            "{text}: {told}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    // Nor is a file beside it added to that holds something else.
    std::fs::write(&path, &record[..50]).unwrap();
    std::fs::write(&torn, "plain text").unwrap();
    let told = Journal::open(&path).unwrap_err().to_string();
    assert!(told.contains("data.json.torn"), "{told}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), record[..50]);
    assert_eq!(std::fs::read_to_string(&torn).unwrap(), "plain text");
}

#[test]
fn selection_says_how_it_came_about() {
    let runtime = runtime_of(points());
    let mut records = Vec::new();
    let extents = [extent(6, 7, 16), extent(48, 56, 64)];
    let found = tuned(&runtime, &extents, &mut records);
    let tables = found.tables(&runtime, &records);
    assert_eq!((tables.tables.len(), tables.points()), (1, 2));
    let tuned = with_tables(&runtime, &tables);
    let query = Query::gemm().with_dtype("a", DType::F32);
    let select = |problem: &Problem| {
        let selection = tuned.select(&query, problem, &[]).unwrap();
        (selection.source, selection.kernel.id.clone())
    };
    let fast = "gemm_f32@fast-2".to_owned();
    assert_eq!(
        select(&packed_gemm(6, 7, 16)),
        (Source::Measured, fast.clone())
    );
    let between = packed_gemm(15, 18, 30);
    assert_eq!(select(&between), (Source::Interpolated, fast.clone()));
    let outside = packed_gemm(6, 700, 16);
    assert_eq!(select(&outside), (Source::Extrapolated, fast.clone()));
    // Another order of `b` was never tuned: the bundle's own order decides, and it has the slow
    // kernel first.
    let turned = packed_gemm(6, 7, 16).col_major("b", 7);
    let slow = "gemm_f32@a_slow-1".to_owned();
    assert_eq!(select(&turned), (Source::Untuned, slow.clone()));
    assert_eq!(
        runtime
            .select(&query, &packed_gemm(6, 7, 16), &[])
            .unwrap()
            .source,
        Source::Untuned
    );
    let none = Query::gemm().with_dtype("a", DType::BF16);
    assert!(tuned.select(&none, &packed_gemm(6, 7, 16), &[]).is_err());
    let selection = tuned.select(&query, &between, &[]).unwrap();
    assert_eq!(selection.nearest, Some([6, 16, 7].as_slice()));
    assert!(
        (2.5..3.5).contains(&selection.distance),
        "{}",
        selection.distance
    );
}

/// The stride of a single row is whatever its owner says, and reaches nothing.
#[test]
fn a_single_row_is_found_where_it_was_measured() {
    let runtime = runtime_of(points());
    let mut records = Vec::new();
    let found = tuned(&runtime, &[extent(1, 7, 16)], &mut records);
    let tuned = with_tables(&runtime, &found.tables(&runtime, &records));
    let kernel = tuned.bundle().kernel("gemm_f32@fast-2").unwrap();
    let request = Request::of_problem(kernel, &packed_gemm(1, 7, 16)).unwrap();
    let told = tuned.explain("gemm", &[(kernel, &request)]);
    assert_eq!(told.chosen.unwrap().source, Source::Measured);
}

#[test]
fn launches_follow_the_tables() {
    let runtime = runtime_of(points());
    let mut records = Vec::new();
    let found = tuned(&runtime, &[extent(6, 7, 16)], &mut records);
    let tuned = with_tables(&runtime, &found.tables(&runtime, &records));
    let device = tuned.device();
    let ones = |count| {
        device
            .alloc_with(&1f32.to_le_bytes().repeat(count))
            .unwrap()
    };
    let (a, b, d) = (ones(96), ones(112), device.alloc(168).unwrap());
    let args = [Arg::new("a", &a), Arg::new("b", &b), Arg::new("d", &d)];
    let query = Query::gemm();
    let (kernel, _) = tuned
        .launch_best(&query, &packed_gemm(6, 7, 16), &args)
        .unwrap();
    assert_eq!(kernel.id, "gemm_f32@fast-2");
    assert_eq!(device.download(&d).unwrap(), 16f32.to_le_bytes().repeat(42));
}

#[test]
fn a_choice_that_does_not_take_the_problem_makes_way() {
    let picky = bundle_of([
        (picky_gemm("gemm_f32@a_picky-1"), GEMM.to_owned()),
        (
            gemm_kernel("gemm_f32@slow-2"),
            with(
                "add.s32 %r9, %r9, 1;",
                "add.s32 %r9, %r9, 1;\nmov.u32 %r9, %r9;",
            ),
        ),
    ]);
    let runtime = runtime_of(picky);
    let mut records = Vec::new();
    let found = tuned(&runtime, &[extent(6, 7, 16)], &mut records);
    let tuned = with_tables(&runtime, &found.tables(&runtime, &records));
    let query = Query::gemm();
    let id = |problem: &Problem, args: &[Arg<'_>]| {
        let selection = tuned.select(&query, problem, args).unwrap();
        (selection.kernel.id.clone(), selection.source)
    };
    let fine = packed_gemm(6, 7, 16);
    assert_eq!(id(&fine, &[]).0, "gemm_f32@a_picky-1");
    let odd = packed_gemm(6, 7, 17);
    assert_eq!(
        id(&odd, &[]),
        ("gemm_f32@slow-2".to_owned(), Source::Interpolated)
    );
    let a = tuned.device().alloc(4096).unwrap();
    let shifted = id(&fine, &[Arg::at("a", &a, 4)]);
    assert_eq!(shifted, ("gemm_f32@slow-2".to_owned(), Source::Measured));
}

#[test]
fn tables_of_another_device_are_not_used_and_not_lost() {
    let runtime = runtime_of(points());
    let mut records = Vec::new();
    let found = tuned(&runtime, &[extent(6, 7, 16)], &mut records);
    let mut tables = found.tables(&runtime, &records);
    tables.tables[0].device.sms += 1;
    let elsewhere = with_tables(&runtime, &tables);
    let query = Query::gemm();
    let selection = elsewhere
        .select(&query, &packed_gemm(6, 7, 16), &[])
        .unwrap();
    assert_eq!(selection.source, Source::Untuned);
    let mut records = Vec::new();
    let found = tuned(&elsewhere, &[extent(6, 7, 24)], &mut records);
    let both = found.tables(&elsewhere, &records);
    assert_eq!((both.tables.len(), both.points()), (2, 2));
    // Problems tuned later join those of the same device.
    let here = with_tables(&elsewhere, &both);
    let mut records = Vec::new();
    let found = tuned(&here, &[extent(6, 7, 24), extent(6, 7, 32)], &mut records);
    let more = found.tables(&here, &records);
    assert_eq!((more.tables.len(), more.points()), (2, 3));
}

#[test]
fn one_order_alone_is_tuned_when_it_is_named() {
    let runtime = runtime_of(points());
    let mut records = Vec::new();
    let turned = Extent {
        letters: Some(Letters::Nt),
        ..extent(6, 7, 16)
    };
    let found = tuned(&runtime, &[turned], &mut records);
    let fast = records
        .iter()
        .find(|r| r.row.kernel.contains("fast"))
        .unwrap();
    assert_eq!(fast.row.layout, "NT");
    assert_eq!(found.unfit["layout"], 1);
    let tables = found.tables(&runtime, &records);
    assert_eq!(tables.tables[0].operands[0].contiguous, Contiguous::First);
}

#[test]
fn tight_rows_and_padded_ones_are_problems_of_their_own() {
    let runtime = runtime_of(points());
    let mut records = Vec::new();
    let tight = extent(6, 7, 13);
    let found = tuned(&runtime, std::slice::from_ref(&tight), &mut records);
    // The kernel that wants rows of whole 16 elements is no candidate, and that is said.
    assert!(!records.iter().any(|r| r.row.kernel.contains("picky")));
    let (kernels, pad) = found.padded["6x7x13"];
    assert_eq!(kernels, 1);
    let a = |record: &Record| record.row.problem.strides["a"].clone();
    assert!(records.iter().all(|record| a(record) == [13, 1]));
    let mut others = Vec::new();
    let apart = padded(tight, pad);
    assert_eq!(apart.to_string(), format!("6x7x13:pad={pad}"));
    let more = tuned(&runtime, &[apart], &mut others);
    assert!(more.padded.is_empty());
    let rows = others.iter().filter(|r| r.outcome == Outcome::Measured);
    assert_eq!(rows.clone().count(), 3);
    let leading = (13 + pad - 1) / pad * pad;
    assert!(rows.clone().all(|record| a(record) == [leading, 1]));
    records.extend(others);
    let tables = found.tables(&runtime, &records);
    let points = &tables.tables[0].points;
    assert_eq!(points.len(), 2);
    assert_eq!(points[0].extents, points[1].extents);
    let here = with_tables(&runtime, &tables);
    let query = Query::gemm();
    let select = |leading: i64| {
        let problem = packed_gemm(6, 7, 13);
        let problem = problem.row_major("a", leading).row_major("b", leading);
        let problem = problem.row_major("d", if leading == 13 { 7 } else { leading });
        let found = here.select(&query, &problem, &[]).unwrap();
        (found.kernel.id.clone(), found.source)
    };
    assert_eq!(select(13).1, Source::Measured);
    // Rows that nobody measured have the kernel of those that are multiples of the same.
    let (_, source) = select(13 + 2 * pad - 13 % pad);
    assert_ne!(source, Source::Measured);
}

#[test]
fn records_without_strides_are_of_the_smallest_that_the_kernel_takes() {
    let runtime = runtime_of(points());
    let mut records = Vec::new();
    let apart = padded(extent(6, 7, 13), 16);
    let found = tuned(&runtime, &[apart], &mut records);
    records.retain(|record| record.row.kernel.contains("picky"));
    let with = found.tables(&runtime, &records);
    for record in &mut records {
        record.row.problem.strides.clear();
    }
    let without = found.tables(&runtime, &records);
    assert_eq!(without.points(), 1);
    let a = |tuning: &Tuning| tuning.tables[0].points[0].strides[0].clone();
    assert!(a(&without)[0] <= a(&with)[0], "{:?}", a(&without));
}

#[test]
fn a_record_that_cannot_be_kept_ends_the_run() {
    let runtime = runtime_of(points());
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let mut tell = |progress: Progress<'_>| match progress {
        Progress::Record(_) => Err(Error::Request("disk full".to_owned())),
        _ => Ok(()),
    };
    let (settings, stamp) = (Settings::default(), Stamp::default());
    let extents = [extent(6, 7, 16)];
    let result = tune(
        &runtime,
        &kernels,
        &extents,
        &[],
        &settings,
        stamp,
        &mut tell,
    );
    assert!(result.unwrap_err().to_string().contains("disk full"));
}
