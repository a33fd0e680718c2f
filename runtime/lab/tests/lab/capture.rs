//! Captures: written on one device, replayed on another, here on the emulator both times.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::fixture::*;
use tilewright_lab::bench::Stamp;
use tilewright_lab::capture::{Options, Replay, Row, Verdict, capture, read, replay};
use tilewright_lab::verify::{Data, Inputs};
use tilewright_runtime::RecordsError;
use tilewright_runtime::bundle::{DType, Kernel, Sha256Hex};
use tilewright_runtime::{Device, Runtime};

const PROBLEMS: usize = 3;

fn runtime_of(kernels: [(Kernel, &str); 2]) -> Runtime {
    Runtime::new(bundle_of(kernels), Device::emulator())
}

/// The kernels of these tests, the gemm with this PTX.
fn with_gemm(ptx: &str) -> Runtime {
    runtime_of([
        (copy_kernel("copy_f32@plain-1"), COPY),
        (gemm_kernel("gemm_f32@plain-2"), ptx),
    ])
}

/// [`PROBLEMS`] of each kernel, each the first of a seed: the second would be a large one.
fn captured(runtime: &Runtime) -> Vec<Row> {
    let mut rows = Vec::new();
    for seed in 0..PROBLEMS as u64 {
        rows.extend(captured_by(runtime, seed, 1));
    }
    rows.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    rows
}

fn captured_by(runtime: &Runtime, seed: u64, problems: usize) -> Vec<Row> {
    captured_of(runtime, seed, problems, Inputs::Random(Data::Integers))
}

fn captured_of(runtime: &Runtime, seed: u64, problems: usize, inputs: Inputs) -> Vec<Row> {
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let options = Options {
        problems,
        seed,
        inputs,
        stamp: Stamp::default(),
    };
    let mut told = 0;
    let captured = capture(runtime, &kernels, &options, |_| told += 1).unwrap();
    assert_eq!(told, captured.summary.outcomes.len());
    captured.rows
}

fn replayed(runtime: &Runtime, rows: &[Row]) -> Replay {
    let mut told = 0;
    let replay = replay(runtime, rows, |_| told += 1).unwrap();
    assert_eq!((told, replay.rows.len()), (rows.len(), rows.len()));
    replay
}

/// The PTX as other text that does the same.
fn other_text(ptx: &str) -> String {
    format!("{ptx}\n// the end\n")
}

#[test]
fn what_was_captured_is_equal_again() {
    let runtime = with_gemm(GEMM);
    let rows = captured_by(&runtime, 7, 2);
    let [copy, gemm] = [&rows[1], &rows[3]].map(|row| row.problem().matrix_extents());
    assert_ne!(copy[..2], gemm[..2], "each kernel has problems of its own");
    assert!(gemm[..3].iter().all(|extent| *extent > 128));
    let replay = replayed(&runtime, &rows);
    assert_eq!((replay.equal(), replay.bad()), (4, 0));
    assert!(replay.is_good());
}

/// Every kind of inputs, each of its own problem.
#[test]
fn a_row_says_what_its_inputs_hold() {
    let runtime = with_gemm(GEMM);
    let mut rows = Vec::new();
    for (seed, data) in Data::ALL.into_iter().enumerate() {
        let captured = captured_of(&runtime, seed as u64, 1, Inputs::Random(data));
        assert!(captured.iter().all(|row| row.inputs == data.text()));
        rows.extend(captured);
    }
    assert_eq!(rows.len(), 2 * Data::ALL.len());
    let replay = replayed(&runtime, &rows);
    assert_eq!(
        (replay.equal(), replay.bad()),
        (rows.len(), 0),
        "{replay:?}"
    );
    let unheard = Row {
        inputs: "unheard".to_owned(),
        ..rows[1].clone()
    };
    let replay = replayed(&runtime, &[unheard]);
    assert!(matches!(replay.rows[0].verdict, Verdict::OtherInputs(_)));
}

#[test]
fn rows_survive_their_file() {
    let runtime = with_gemm(GEMM);
    let rows = captured(&runtime);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    let lines: Vec<String> = rows.iter().map(|row| row.to_json().unwrap()).collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    assert_eq!(read(&path).unwrap(), rows);
    let second = lines[1].replace("\"format\":1", "\"format\":2");
    std::fs::write(&path, format!("{}\n{second}", lines[0])).unwrap();
    let refused = read(&path).unwrap_err();
    let expected = matches!(
        refused,
        RecordsError::Format {
            line: 2,
            found: 2,
            ..
        }
    );
    assert!(expected, "{refused}");
}

/// One bit of the output's hash, of its size or of its name is enough.
#[test]
fn one_bit_makes_a_difference() {
    let runtime = with_gemm(GEMM);
    let rows = captured(&runtime);
    let changes: [fn(&mut Row); 4] = [
        |row| {
            let text = row.outputs[0].sha256.to_string();
            let first = u8::from_str_radix(&text[..1], 16).unwrap() ^ 1;
            let text = format!("\"{first:x}{}\"", &text[1..]);
            row.outputs[0].sha256 = serde_json::from_str(&text).unwrap();
        },
        |row| row.outputs[0].bytes += 1,
        |row| row.outputs[0].name.push('x'),
        |row| row.outputs.clear(),
    ];
    for change in changes {
        let mut rows = rows.clone();
        change(&mut rows[4]);
        let replay = replayed(&runtime, &rows);
        assert_eq!((replay.equal(), replay.bad()), (rows.len() - 1, 1));
        let verdict = &replay.rows[4].verdict;
        assert!(matches!(verdict, Verdict::Differs(_)), "{verdict:?}");
        assert!(!replay.is_good());
    }
}

#[test]
fn other_ptx_is_compared_and_told_apart() {
    let rows = captured(&with_gemm(GEMM));
    let replay = replayed(&with_gemm(&other_text(GEMM)), &rows);
    assert_eq!((replay.equal(), replay.stale()), (PROBLEMS, PROBLEMS));
    assert!(replay.is_good());
    let gemms: Vec<Row> = rows.into_iter().skip(PROBLEMS).collect();
    let replay = replayed(&with_gemm(&other_text(GEMM)), &gemms);
    assert_eq!((replay.stale(), replay.bad()), (PROBLEMS, 0));
    assert!(
        !replay.is_good(),
        "nothing of the captured PTX was compared"
    );
}

#[test]
fn a_kernel_that_is_wrong_here_differs() {
    let rows = captured(&with_gemm(GEMM));
    let wrong = GEMM.replace(
        "fma.rn.f32 %f1, %f2, %f3, %f1;",
        "mul.rn.f32 %f1, %f2, %f3;",
    );
    assert_ne!(wrong, GEMM);
    let runtime = with_gemm(&wrong);
    let replay = replayed(&runtime, &rows);
    assert_eq!((replay.equal(), replay.stale()), (PROBLEMS, 0));
    for (row, gemm) in rows.iter().zip(&replay.rows).skip(PROBLEMS) {
        let Verdict::Differs(reason) = &gemm.verdict else {
            panic!("{gemm:?}")
        };
        assert!(gemm.stale);
        // Of one product the bits tell what its number does not: -0 in place of 0.
        let wrong = reason.contains("elements are wrong");
        assert_eq!(wrong, row.problem.k > 1, "{reason}");
    }
    // What is wrong is not captured either.
    let short = rows.iter().skip(PROBLEMS).filter(|row| row.problem.k == 1);
    assert_eq!(captured(&runtime).len(), PROBLEMS + short.count());
}

#[test]
fn a_kernel_that_is_refused_here_failed() {
    let rows = captured(&with_gemm(GEMM));
    let runtime = with_gemm(&GEMM.replace("fma.rn.f32", "fma.unheard.f32"));
    let replay = replayed(&runtime, &rows);
    assert_eq!(replay.bad(), PROBLEMS);
    assert!(matches!(&replay.rows[PROBLEMS].verdict, Verdict::Failed(_)));
}

#[test]
fn rows_of_no_kernel_are_gone() {
    let rows = captured(&with_gemm(GEMM));
    let mut other = gemm_kernel("gemm_f32@plain-2");
    other.semantics.operands[2].layout = layout("(m,n):(ldd,1)");
    for (at, value) in [(10, "ldd"), (11, "1")] {
        other.launches[0].params[at].value = i64_of(value);
    }
    let changed = runtime_of([(copy_kernel("copy_f32@plain-2"), COPY), (other, GEMM)]);
    let replay = replayed(&changed, &rows);
    assert_eq!((replay.gone(), replay.bad()), (2 * PROBLEMS, 0));
    assert!(!replay.is_good());
    let Verdict::Gone(reason) = &replay.rows[PROBLEMS].verdict else {
        panic!("{:?}", replay.rows[PROBLEMS])
    };
    assert!(reason.contains("`d`"), "{reason}");
}

#[test]
fn inputs_are_those_that_were_captured() {
    let runtime = with_gemm(GEMM);
    let rows = captured(&runtime);
    let changes: [fn(&mut Row); 4] = [
        |row| row.seed += 1,
        |row| row.index += 1,
        |row| row.inputs_sha256 = Sha256Hex::of(b"others"),
        |row| row.inputs = "normals".to_owned(),
    ];
    for change in changes {
        let mut rows = rows.clone();
        change(&mut rows[5]);
        let replay = replayed(&runtime, &rows);
        let verdict = &replay.rows[5].verdict;
        assert!(matches!(verdict, Verdict::OtherInputs(_)), "{verdict:?}");
        assert_eq!((replay.bad(), replay.is_good()), (1, false));
    }
    assert_eq!(rows[0].operands[0].dtype, DType::F32);
}
