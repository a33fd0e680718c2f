//! Speed of the emulator on one core: thread instructions of real kernels per second, and bytes
//! of PTX parsed per second.
//!
//! The kernels are launch files of `ci/data/ptx` (nvrtc's saxpy, mma.sync GEMM and warp-specialized
//! wgmma GEMM, Triton's sm_80 GEMM) on problems of other sizes than their cases. Checked runs have
//! all checks and counters on, as users run it. `ex2` is hand-written: half of its loop's
//! arithmetic is `ex2.approx.ftz`, as in a softmax.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tilewright_emulator::{
    Arg, Content, Launch, Memory, Module, Options, Params, Sanitize, TensorMap, TensorSwizzle,
    TensorType, run,
};

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
        programmatic: false,
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

const EX2: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry ex2(.param .u64 p)
{
.reg .pred %q; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %a<3>;
ld.param.u64 %a1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %a2, %r1, 4; add.u64 %a1, %a1, %a2;
ld.global.f32 %f1, [%a1]; mov.f32 %f3, 0f00000000; mov.u32 %r2, 0;
LOOP:
ex2.approx.ftz.f32 %f2, %f1; add.ftz.f32 %f3, %f3, %f2;
ex2.approx.ftz.f32 %f2, %f3; fma.rn.ftz.f32 %f1, %f2, 0fBF800000, %f1;
add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 64; @%q bra LOOP;
st.global.f32 [%a1], %f3; ret;
}
";

fn powers() -> Case {
    let threads = 256;
    let mut memory = Memory::new();
    let data: Vec<u8> = (0..threads)
        .flat_map(|i| (i as f32 / -16.0).to_le_bytes())
        .collect();
    let content = Content::Bytes(&data);
    let buffer = memory.alloc("x", data.len() as u64, content).unwrap();
    Case {
        name: "ex2",
        module: Module::parse(EX2).unwrap(),
        launch: launch("ex2", [1; 3], threads, 0, vec![Arg::Buffer(buffer)]),
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

/// A map of a bf16 matrix in boxes of 64 columns, 128B swizzle.
fn tensor_map(base: u64, rows: usize, columns: usize, box_rows: u16) -> Arg {
    let map = TensorMap {
        swizzle: TensorSwizzle::Bytes128,
        ..TensorMap::tiled(
            TensorType::Bfloat16,
            base,
            &[columns as u64, rows as u64],
            &[2 * columns as u64],
            &[64, box_rows],
        )
    };
    Arg::Bytes(map.encode().unwrap().to_vec())
}

/// TMA, three stages, two warpgroups of wgmma m64n64k16: tiles of 128 x 64.
fn hopper_gemm(name: &'static str, [m, n, k]: [usize; 3]) -> Case {
    let mut memory = Memory::new();
    let buffers = operands(&mut memory, m, n, k);
    let address = |arg: &Arg| match arg {
        Arg::Buffer(id) => memory.address(*id),
        _ => 0,
    };
    let maps = [
        tensor_map(address(&buffers[0]), m, k, 128),
        tensor_map(address(&buffers[1]), n, k, 64),
    ];
    let mut args = maps.to_vec();
    args.push(buffers[2].clone());
    args.extend([m, n, k].map(|extent| Arg::S32(extent as i32)));
    let module = Module::parse(&ptx("nv_gemm_ws.ptx")).unwrap();
    let grid = [(m / 128) as u32, (n / 64) as u32, 1];
    Case {
        name,
        module,
        launch: launch("gemm_ws_tma_wgmma", grid, 384, 73_776, args),
        memory,
    }
}

fn execute(c: &mut Criterion) {
    let mut group = c.benchmark_group("emulate");
    group.sample_size(20);
    let cases = [
        saxpy(),
        powers(),
        nvrtc_gemm(),
        triton_gemm(),
        hopper_gemm("nv_gemm_ws_128x128x64", [128, 128, 64]),
        hopper_gemm("nv_gemm_ws_512x512x512", [512, 512, 512]),
    ];
    for mut case in cases {
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
    for name in [
        "nv_gemm_mma_bf16.ptx",
        "tr_matmul_bf16_sm80.ptx",
        "nv_gemm_ws.ptx",
    ] {
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
