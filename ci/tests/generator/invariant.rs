//! The bits of a row do not depend on the rows beside it, in every kernel that says so of its sums;
//! kernels that add alike make the same bits, and stream-k, which does not say so, makes others.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tilewright_bundle::Kernel;
use tilewright_lab::verify::encode;
use tilewright_runtime::{Arg, Problem, Runtime, tightest};

use crate::shipped;

/// Rows of the products, whose first is compared.
const ROWS: [i64; 3] = [1, 70, 300];
/// Columns, and steps of products along k that are no whole ones of any tile.
const COLUMNS: i64 = 72;
const SUMMED: i64 = 1028;
/// Room for clusters of stream-k to share tiles.
const MULTIPROCESSORS: u32 = 16;
/// Tiles of tf32, whose results have all bits of their sums: alone and in clusters, of one, two and
/// four parts along k in a cluster, consumers that take turns, either factor as the MMA's A, and
/// stream-k.
const TILES: [&str; 8] = [
    "128x128x32_ping_ab",
    "128x8x64_coop_ba",
    "64x64x32_coop_ba",
    "192x144x32_c2x1_coop_ba",
    "64x64x64_c4x1_coop_single_ba",
    "64x32x64_c1x1x2_coop_ba",
    "64x40x64_c1x1x4_coop_ba",
    "64x64x32_c1x2_coop_sk_ab",
];

/// The product with so many rows, without gaps.
fn dense(runtime: &Runtime, kernel: &Kernel, rows: i64) -> Problem {
    let sizes = Problem::of([("m", rows), ("n", COLUMNS), ("k", SUMMED)]);
    tightest(kernel, &sizes, runtime.device().info()).unwrap()
}

/// The bits of the first row of a product with so many rows.
fn first_row(runtime: &Runtime, kernel: &Kernel, rows: i64) -> Vec<u8> {
    let device = runtime.device();
    let problem = dense(runtime, kernel, rows);
    let operands = &kernel.semantics.operands;
    let buffers = operands.iter().enumerate().map(|(at, operand)| {
        let elements = match operand.name.as_str() {
            "a" => rows * SUMMED,
            "b" => COLUMNS * SUMMED,
            _ => return device.alloc((rows * COLUMNS * 4) as u64).unwrap(),
        };
        let mut rng = StdRng::seed_from_u64(at as u64);
        let values: Vec<f64> = (0..elements).map(|_| rng.random_range(-1.0..1.0)).collect();
        let image = encode(operand.dtype, &values).unwrap();
        device.alloc_with(&image).unwrap()
    });
    let buffers: Vec<_> = buffers.collect();
    let args = operands.iter().zip(&buffers);
    let args: Vec<Arg<'_>> = args.map(|(one, at)| Arg::new(&one.name, at)).collect();
    runtime.launch(kernel, &problem, &args).unwrap();
    let d = operands.iter().position(|one| one.name == "d").unwrap();
    let mut image = device.download(&buffers[d]).unwrap();
    image.truncate(COLUMNS as usize * 4);
    image
}

#[test]
fn a_row_has_the_same_bits_in_every_batch() {
    let is_wanted = |id: &str| {
        let tile = id.strip_prefix("gemm_sm90_tf32_tn@");
        let tile = tile.and_then(|tile| tile.rsplit_once('-'));
        tile.is_some_and(|(tile, _)| TILES.contains(&tile))
    };
    let mut points = shipped::points();
    points.retain(|point| is_wanted(&point.id));
    assert_eq!(points.len(), TILES.len());
    let runtime = shipped::runtime_on(&points, MULTIPROCESSORS);
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let rows = shipped::on_each(&kernels, |kernel| {
        ROWS.map(|rows| first_row(&runtime, kernel, rows))
    });
    let mut alike: BTreeMap<String, &[u8]> = BTreeMap::new();
    let mut compared = 0;
    for (kernel, rows) in kernels.iter().zip(&rows) {
        let sums = kernel.semantics.sums.as_ref().unwrap();
        let same = rows.iter().all(|row| row == &rows[0]);
        assert_eq!(same, sums.is_batch_invariant(), "{}", kernel.id);
        let asked = dense(&runtime, kernel, ROWS[1]).with_batch_invariance();
        match runtime.device().fit(kernel, &asked) {
            Ok(_) => assert!(same, "{}", kernel.id),
            Err(error) => {
                let told = error.to_string().contains("batch-invariant");
                assert!(!same && told, "{}: {error}", kernel.id);
                continue;
            }
        }
        compared += 1;
        let way = format!("{} {:?} {:?}", sums.k, sums.block, sums.splits);
        let known = *alike.entry(way.clone()).or_insert(&rows[0]);
        assert!(known == rows[0], "{}: {way}", kernel.id);
    }
    // All but stream-k, and several kernels of some of the ways to add.
    assert_eq!(compared, TILES.len() - 1);
    assert!(
        (3..compared - 1).contains(&alike.len()),
        "{:?}",
        alike.keys()
    );
}
