//! What shipped kernels wrote on a GPU, which `ci/data/captures/*.jsonl` has, is what they write on
//! the emulator: the same bits, gaps between rows included.
//!
//! Rows are made by `tilewright verify BUNDLE --device cuda --inputs all --capture FILE` on the GPU
//! that they name. Results of integers do not depend on the PTX, those of other inputs on its
//! instructions and their order alone: rows whose kernel has other PTX by now are owed the same
//! bits and are compared all the same. They are only told apart. The test fails when no row is left
//! that shows what this PTX did on a GPU, and when most kernels have no row: then it is time to
//! capture again. Of the rows that are small it replays the smallest of each kernel, each kind of
//! inputs for all types, and a sample of the rest; `ci/verify.sh` replays all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use tilewright_ci::source_tree;
use tilewright_codegen::spec::Point;
use tilewright_lab::capture::{self, Replay, Row, Verdict};
use tilewright_lab::verify::Data;
use tilewright_runtime::Runtime;

use crate::{locks, sample, shipped};

const FOLDER: &str = "ci/data/captures";
/// Products of a row that is replayed, by bytes of its outputs, at most: larger ones take minutes.
const LARGEST: u64 = 8_000_000;
/// Products of all rows until which more are replayed.
const PRODUCTS: u64 = 80_000_000;
/// Rows that are turned over.
const TURNED: usize = 48;
/// Products that the emulator makes in the time of an element of a kernel that has none, which a
/// thread moves and computes by itself.
const PRODUCTS_AN_ELEMENT: u64 = 64;

/// The rows of every file, by kernel, but for those of shipped kernels that are not made.
fn rows() -> BTreeMap<String, Vec<Row>> {
    let ids = |points: Vec<Point>| -> BTreeSet<String> {
        let ids = points.into_iter().map(|point| point.id);
        ids.collect()
    };
    let (shipped, made) = (ids(shipped::points()), ids(shipped::made()));
    let is_left_out = |kernel: &String| shipped.contains(kernel) && !made.contains(kernel);
    let entries = fs::read_dir(source_tree::root().join(FOLDER)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for path in paths {
        for row in capture::read(&path).unwrap_or_else(|error| panic!("{error}")) {
            assert_eq!(row.backend, "cuda", "{} is of no GPU", path.display());
            if is_left_out(&row.kernel) {
                continue;
            }
            rows.entry(row.kernel.clone()).or_default().push(row);
        }
    }
    rows
}

/// What a row costs: products, as often as its largest output has bytes.
fn volume(row: &Row) -> u64 {
    let each = match row.problem.k {
        1 => PRODUCTS_AN_ELEMENT,
        products => products.max(1).unsigned_abs(),
    };
    let outputs = row.outputs.iter().map(|output| output.bytes);
    outputs.max().unwrap_or(0).saturating_mul(each)
}

/// The rows that are replayed, by kernel.
fn drawn(rows: BTreeMap<String, Vec<Row>>) -> Vec<Vec<Row>> {
    let mut taken: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut others = Vec::new();
    for (kernel, mut rows) in rows {
        rows.retain(|row| volume(row) <= LARGEST);
        rows.sort_by_key(volume);
        others.extend(rows.drain(1.min(rows.len())..));
        taken.insert(kernel, rows);
    }
    let spent: u64 = taken.values().flatten().map(volume).sum();
    let name = |row: &Row| format!("{} {} {}", row.kernel, row.inputs, row.index);
    let kind = |row: &Row| {
        let types = row.operands.iter().map(|one| format!("{:?}", one.dtype));
        format!("{} {}", row.inputs, types.collect::<Vec<_>>().join(" "))
    };
    let budget = PRODUCTS.saturating_sub(spent);
    for row in sample::within(others, name, kind, (volume, budget)) {
        taken.entry(row.kernel.clone()).or_default().push(row);
    }
    taken.into_values().collect()
}

fn replayed(runtime: &Runtime, rows: &[Vec<Row>]) -> Replay {
    let replays = shipped::on_each(rows, |rows| capture::replay(runtime, rows, |_| {}).unwrap());
    let rows = replays.into_iter().flat_map(|replay| replay.rows);
    Replay {
        rows: rows.collect(),
    }
}

#[test]
fn what_a_gpu_wrote_is_equal_bit_for_bit() {
    let runtime = shipped::runtime();
    let replay = replayed(&runtime, &drawn(rows()));
    let bad = |verdict: &Verdict| !matches!(verdict, Verdict::Equal | Verdict::Gone(_));
    let bad = replay.rows.iter().filter(|row| bad(&row.verdict));
    let bad: Vec<String> = bad.map(|row| format!("{row:?}")).collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    let equal = replay.rows.iter();
    let equal = equal.filter(|row| row.verdict == Verdict::Equal);
    let covered: BTreeSet<&str> = equal.map(|row| row.kernel.as_str()).collect();
    let counts = format!(
        "{} rows equal, {} equal but captured from other PTX, {} of kernels that are gone; {} of \
         {} shipped kernels have rows",
        replay.equal(),
        replay.stale(),
        replay.gone(),
        covered.len(),
        runtime.kernels().len()
    );
    eprintln!("{counts}");
    let most = 2 * covered.len() >= runtime.kernels().len();
    // Another LLVM makes other PTX of every kernel.
    let fresh = replay.equal() > 0 || !locks::is_recorded_llvm();
    assert!(most && fresh, "{counts}: capture again, on a GPU");
}

/// Integers would not tell how sums are cut and rounded, nor what becomes of NaN and infinities. Of
/// kernels whose sums are cut by the grid nothing else is comparable.
#[test]
fn captures_are_of_every_kind_of_inputs() {
    let mut rows = rows();
    let runtime = shipped::runtime();
    rows.retain(|kernel, _| {
        let sums = runtime
            .bundle()
            .kernel(kernel)
            .and_then(|one| one.semantics.sums.as_ref());
        sums.is_none_or(|sums| sums.splits.is_none())
    });
    let mut kernels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in rows.values().flatten() {
        let of_kind = kernels.entry(row.inputs.as_str()).or_default();
        of_kind.insert(row.kernel.as_str());
    }
    for data in [Data::Integers, Data::Normals, Data::Wide, Data::Special] {
        let covered = kernels.get(data.text()).map_or(0, BTreeSet::len);
        let (kind, all) = (data.text(), rows.len());
        assert!(
            2 * covered >= all,
            "{covered} of {all} kernels have rows of {kind}: capture again, with --inputs all"
        );
    }
}

/// The smallest problem of some kernels, where that is small, with one bit of what the GPU wrote
/// turned over.
#[test]
fn one_bit_is_noticed() {
    let turned = |rows: Vec<Row>| {
        let mut row = rows.into_iter().min_by_key(volume)?;
        if volume(&row) > LARGEST {
            return None;
        }
        let output = row.outputs.last_mut().unwrap();
        let digits = output.sha256.to_string();
        let (rest, last) = digits.split_at(digits.len() - 1);
        let last = u8::from_str_radix(last, 16).unwrap() ^ 1;
        output.sha256 = serde_json::from_value(format!("{rest}{last:x}").into()).unwrap();
        Some(vec![row])
    };
    let rows = rows().into_values().filter_map(turned).collect();
    let mut rows: Vec<Vec<Row>> = sample::shuffled(rows, |rows| rows[0].kernel.clone());
    rows.truncate(TURNED);
    let replay = replayed(&shipped::runtime(), &rows);
    assert!(!replay.rows.is_empty());
    for row in &replay.rows {
        let noticed = matches!(row.verdict, Verdict::Differs(_) | Verdict::Gone(_));
        assert!(noticed, "{row:?}");
    }
    assert_eq!(replay.equal() + replay.stale(), 0);
}
