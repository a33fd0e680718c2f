//! Speed of the emulator on one core: thread instructions of real kernels per second, and bytes
//! of PTX parsed per second.
//!
//! The kernels are launch files of `ci/data/ptx` (nvrtc's saxpy and mma.sync GEMM, Triton's sm_80
//! GEMM) on larger problems than their cases. All checks and counters are on, as users run it.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tilewright_emulator::{Arg, Content, Launch, Memory, Module, Options, Params, Sanitize, run};

fn ptx(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/data/ptx/ptx");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// A kernel with its launch on fresh memory.
struct Case {
    name: &'static str,
    module: Module,
    launch: Launch,
    memory: Memory,
}

fn launch(entry: &str, grid: [u32; 3], block: u32, shared: u32, args: Vec<Arg>) -> Launch {
    Launch {
        entry: entry.to_owned(),
        grid,
        block: [block, 1, 1],
        cluster: [1; 3],
        dynamic_shared_bytes: shared,
        params: Params::Args(args),
    }
}

fn saxpy() -> Case {
    let n = 1 << 18;
    let mut memory = Memory::new();
    let data = vec![0x3c; 4 * n];
    let x = memory
        .alloc("x", data.len() as u64, Content::Bytes(&data))
        .unwrap();
    let y = memory
        .alloc("y", data.len() as u64, Content::Bytes(&data))
        .unwrap();
    let args = vec![
        Arg::S32(n as i32),
        Arg::F32(2.5),
        Arg::Buffer(x),
        Arg::Buffer(y),
    ];
    let module = Module::parse(&ptx("nv_saxpy.ptx")).unwrap();
    Case {
        name: "saxpy",
        module,
        launch: launch("saxpy", [256, 1, 1], 256, 0, args),
        memory,
    }
}

/// Buffers of an m x k by k x n product of bf16 ones.
fn operands(memory: &mut Memory, m: usize, n: usize, k: usize) -> [Arg; 3] {
    let ones = |count: usize| [0x80, 0x3f].repeat(count);
    let mut alloc = |name, bytes: &[u8]| {
        Arg::Buffer(
            memory
                .alloc(name, bytes.len() as u64, Content::Bytes(bytes))
                .unwrap(),
        )
    };
    let (a, b) = (alloc("a", &ones(m * k)), alloc("b", &ones(k * n)));
    let c = Arg::Buffer(
        memory
            .alloc("c", 4 * (m * n) as u64, Content::Undefined)
            .unwrap(),
    );
    [a, b, c]
}

fn nvrtc_gemm() -> Case {
    let (m, n, k) = (256, 256, 256);
    let mut memory = Memory::new();
    let mut args = operands(&mut memory, m, n, k).to_vec();
    args.extend([m, n, k].map(|extent| Arg::S32(extent as i32)));
    let module = Module::parse(&ptx("nv_gemm_mma_bf16.ptx")).unwrap();
    let grid = [(n / 64) as u32, (m / 64) as u32, 1];
    Case {
        name: "nv_gemm_mma_bf16",
        module,
        launch: launch("gemm_mma_bf16", grid, 128, 0, args),
        memory,
    }
}

fn triton_gemm() -> Case {
    let (m, n, k) = (256, 256, 256);
    let mut memory = Memory::new();
    let mut args = operands(&mut memory, m, n, k).to_vec();
    args.extend([m, n, k, k, n, n].map(|extent| Arg::S32(extent as i32)));
    args.extend([Arg::Null, Arg::Null]);
    let module = Module::parse(&ptx("tr_matmul_bf16_sm80.ptx")).unwrap();
    let grid = [(m / 64) as u32, (n / 64) as u32, 1];
    Case {
        name: "tr_matmul_bf16_sm80",
        module,
        launch: launch("matmul", grid, 128, 16384, args),
        memory,
    }
}

fn execute(c: &mut Criterion) {
    let mut group = c.benchmark_group("emulate");
    group.sample_size(20);
    for mut case in [saxpy(), nvrtc_gemm(), triton_gemm()] {
        for (mode, sanitize) in [("checked", Sanitize::Default), ("unchecked", Sanitize::Off)] {
            let counters = sanitize != Sanitize::Off;
            let options = Options {
                parallel: false,
                sanitize,
                counters,
                ..Options::default()
            };
            let report = run(&case.module, &case.launch, &mut case.memory, &options).unwrap();
            assert!(report.is_clean(), "{:?}", report.findings);
            group.throughput(Throughput::Elements(report.thread_instructions));
            group.bench_function(format!("{}/{mode}", case.name), |b| {
                b.iter(|| run(&case.module, &case.launch, &mut case.memory, &options).unwrap());
            });
        }
    }
    group.finish();
}

fn parse(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
    for name in ["nv_gemm_mma_bf16.ptx", "tr_matmul_bf16_sm80.ptx"] {
        let text = ptx(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| Module::parse(black_box(&text)).unwrap())
        });
    }
    group.finish();
}

criterion_group!(benches, execute, parse);
criterion_main!(benches);
