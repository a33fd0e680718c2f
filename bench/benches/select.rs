//! Time of selecting a kernel from a tuned bundle. Wanted: well under a microsecond.
//!
//! In: a bundle of eight gemms under assumptions, tuned at problems around those of transformers.
//! Out: criterion's medians for a problem that was measured, one among the measured, one outside.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tilewright_bundle::*;
use tilewright_fixture::{
    assume, bundle_of, choice, empty_ptx, expr, gemm_params, gemm_semantics, table,
};
use tilewright_runtime::{Device, Problem, Query, Runtime, Source};

/// How many kernels there are.
const KERNELS: usize = 8;

fn kernel(at: usize) -> Kernel {
    Kernel {
        launches: vec![LaunchAbi {
            entry: "gemm".to_owned(),
            params: gemm_params(&["lda", "ldb", "ldd"]),
            grid: [
                expr("min(ceil_div(m, 128) * ceil_div(n, 256), sms)"),
                expr("1"),
                expr("1"),
            ],
            block: [256, 1, 1],
            ..LaunchAbi::default()
        }],
        semantics: gemm_semantics(DType::BF16, ["(lda,1)", "(ldb,1)", "(ldd,1)"]),
        assumptions: ["lda % 8 == 0", "ldb % 8 == 0", "ldd % 8 == 0"]
            .map(assume)
            .to_vec(),
        ..Kernel::new(&format!("gemm_bf16@{at}-x"), "gemm")
    }
}

/// A tuned bundle on the emulator: tables say nothing of how a device runs.
fn tuned() -> (Runtime, usize) {
    let ptx = empty_ptx("gemm");
    let bundle = bundle_of((0..KERNELS).map(|at| (kernel(at), &ptx)));
    let choice = |at: usize| TunedChoice {
        ratio_best: Some(1.0),
        ..choice(&bundle.kernels()[at], 1.0)
    };
    let mut points = Vec::new();
    for m in (4..14).map(|bits| 1i64 << bits) {
        for (n, k) in [(8192, 8192), (28672, 8192), (8192, 28672), (6144, 4096)] {
            points.push(TunedPoint {
                // In the order in which layouts mention them.
                extents: vec![m, k, n],
                strides: Vec::new(),
                choices: (0..4)
                    .map(|at| choice((points.len() + at) % KERNELS))
                    .collect(),
            });
        }
    }
    points.sort_by(|a, b| a.extents.cmp(&b.extents));
    let count = points.len();
    let device = Device::emulator();
    let info = device.info();
    let tuned_on = TunedDevice {
        name: info.name.clone(),
        sm: info.sm,
        sms: info.sms,
    };
    let tuning = table(&bundle.kernels()[0], tuned_on, points);
    let bundle = tilewright_fixture::tuned(&bundle, &tuning);
    (Runtime::new(bundle, device), count)
}

fn selecting(c: &mut Criterion) {
    let (runtime, points) = tuned();
    let query = Query::gemm()
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
