//! Time of the operations of the layout algebra.
//!
//! In: layouts of four nested modes, as tiled kernels compose and divide them. Out: criterion's
//! medians. Wanted: a composition within 1 µs, a logical divide within 3 µs.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tilewright_layout::*;

/// Two nested layouts of rank 4, the right one as four tiles of the left.
const A: &str = "((4,8),(2,16),(8,2),4):((1,64),(4,512),(8,8192),16384)";
const B: &str = "((4,4),(2,4),(2,2),2):((1,32),(4,128),(8,16),512)";
const TILE: &str = "((4,2),(2,2),2,2):((1,4),(8,16),32,64)";

fn layouts() -> Result<[Layout; 3]> {
    Ok([A.parse()?, B.parse()?, TILE.parse()?])
}

fn operations(c: &mut Criterion) {
    let [a, b, tile] = layouts().expect("the texts above are layouts");
    // Refusals are not what is measured.
    composition(&a, &b).expect("the pair composes");
    logical_divide(&a, &tile).expect("the tile divides");
    c.bench_function("layout/composition/rank4_nested", |bench| {
        bench.iter(|| composition(black_box(&a), black_box(&b)))
    });
    c.bench_function("layout/logical_divide/rank4_nested", |bench| {
        bench.iter(|| logical_divide(black_box(&a), black_box(&tile)))
    });
    let tensor: Layout = "(4096,4096):(4096,1)".parse().expect("a layout");
    let tiler: Tiler = "<128:1,64:1>".parse().expect("a tiler");
    c.bench_function("layout/zipped_divide/128x64", |bench| {
        bench.iter(|| zipped_divide(black_box(&tensor), black_box(&tiler)))
    });
    c.bench_function("layout/complement/rank4_nested", |bench| {
        bench.iter(|| complement(black_box(&tile), &65536))
    });
    c.bench_function("layout/right_inverse/rank4_nested", |bench| {
        bench.iter(|| right_inverse(black_box(&a)))
    });
}

criterion_group!(benches, operations);
criterion_main!(benches);
