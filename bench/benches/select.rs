//! Time of selecting a kernel from a tuned bundle. Wanted: well under a microsecond.
//!
//! In: a bundle of eight gemms under assumptions, tuned at problems around those of transformers.
//! Out: criterion's medians for a problem that was measured, one among the measured, one outside.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tilewright_bundle::*;
use tilewright_runtime::{Device, Problem, Query, Runtime, Source};

/// How many kernels there are.
const KERNELS: usize = 8;

fn expr(text: &str) -> Expr {
    text.parse().unwrap()
}

fn kernel(at: usize) -> Kernel {
    let i32_of = |text: &str| ParamValue::scalar(ScalarType::I32, expr(text));
    let i64_of = |text: &str| ParamValue::scalar(ScalarType::I64, expr(text));
    let assume = |text: &str| Assumption::Expr {
        expr: text.parse().unwrap(),
        reason: "rows are read 16 bytes at a time".to_owned(),
    };
    Kernel {
        abi: LaunchAbi {
            params: Param::pack([
                ("a", ParamValue::pointer("a")),
                ("b", ParamValue::pointer("b")),
                ("d", ParamValue::pointer("d")),
                ("m", i32_of("m")),
                ("n", i32_of("n")),
                ("k", i32_of("k")),
                ("lda", i64_of("lda")),
                ("ldb", i64_of("ldb")),
                ("ldd", i64_of("ldd")),
            ]),
            grid: [
                expr("min(ceil_div(m, 128) * ceil_div(n, 256), sms)"),
                expr("1"),
                expr("1"),
            ],
            block: [256, 1, 1],
            ..LaunchAbi::default()
        },
        semantics: Semantics {
            operands: vec![
                Operand::new("a", Role::In, DType::BF16, "(m,k):(lda,1)"),
                Operand::new("b", Role::In, DType::BF16, "(n,k):(ldb,1)"),
                Operand::new("d", Role::Out, DType::BF16, "(m,n):(ldd,1)"),
            ],
            accumulator: Some(DType::F32),
            epilogue: Some("d = acc".to_owned()),
        },
        assumptions: ["lda % 8 == 0", "ldb % 8 == 0", "ldd % 8 == 0"]
            .map(assume)
            .to_vec(),
        ..Kernel::new(&format!("gemm_bf16@{at}-x"), Family::Gemm, "gemm")
    }
}

/// A tuned bundle on the emulator: tables say nothing of how a device runs.
fn tuned() -> (Runtime, usize) {
    let ptx = ".version 7.0\n.target sm_80\n.visible .entry gemm() { ret; }\n";
    let mut writer = BundleWriter::new(Provenance::new("bench"));
    for at in 0..KERNELS {
        writer.add(kernel(at), ptx, None).unwrap();
    }
    let open = |writer: &BundleWriter| {
        let files = writer.to_files().unwrap();
        Bundle::from_files(files.iter().map(|(p, b)| (p.as_str(), b.as_slice()))).unwrap()
    };
    let bundle = open(&writer);
    let choice = |at: usize| TunedChoice {
        kernel: bundle.kernels()[at].id.clone(),
        content_hash: bundle.kernels()[at].content_hash.clone(),
        us: 1.0,
        ratio_best: Some(1.0),
    };
    let mut points = Vec::new();
    for m in (4..14).map(|bits| 1i64 << bits) {
        for (n, k) in [(8192, 8192), (28672, 8192), (8192, 28672), (6144, 4096)] {
            points.push(TunedPoint {
                extents: [m, n, k, 1],
                choices: (0..4)
                    .map(|at| choice((points.len() + at) % KERNELS))
                    .collect(),
            });
        }
    }
    points.sort_by_key(|point| point.extents);
    let count = points.len();
    let operand = |name: &str| TunedOperand {
        name: name.to_owned(),
        dtype: DType::BF16,
        contiguous: Contiguous::Second,
    };
    let device = Device::emulator();
    let info = device.info();
    let tuning = Tuning {
        tables: vec![TuningTable {
            device: TunedDevice {
                name: info.name.clone(),
                sm: info.sm,
                sms: info.sms,
            },
            family: Family::Gemm,
            operands: ["a", "b", "d"].map(operand).to_vec(),
            accumulator: Some(DType::F32),
            epilogue: Some("d = acc".to_owned()),
            points,
        }],
        ..Tuning::default()
    };
    writer.tune(&tuning).unwrap();
    (Runtime::new(open(&writer), device), count)
}

fn selecting(c: &mut Criterion) {
    let (runtime, points) = tuned();
    let query = Query::family(Family::Gemm)
        .with_dtype("a", DType::BF16)
        .with_dtype("b", DType::BF16)
        .with_dtype("d", DType::BF16);
    let problem = |m, n, k| {
        Problem::new(m, n, k)
            .row_major("a", k)
            .row_major("b", k)
            .row_major("d", n)
    };
    let cases = [
        (Source::Measured, problem(256, 28672, 8192)),
        (Source::Interpolated, problem(300, 8192, 8192)),
        (Source::Extrapolated, problem(16384, 65536, 512)),
    ];
    for (source, problem) in cases {
        let found = runtime.select(&query, &problem, &[]).unwrap();
        assert_eq!(found.source, source);
        c.bench_function(
            &format!("select/{}/{points}_problems", source.text()),
            |b| {
                b.iter(|| {
                    runtime
                        .select(black_box(&query), black_box(&problem), &[])
                        .is_ok()
                })
            },
        );
    }
}

criterion_group!(benches, selecting);
criterion_main!(benches);
