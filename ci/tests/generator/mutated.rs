//! Shipped kernels are clean in strict mode under four schedules, over ragged edges, rows of tiles
//! and few k-tiles, with results that are exact or what the formula allows; and a sample of broken
//! kernels is noticed by the emulator, or there is a reason why it cannot be. A sample of products
//! and copies is looked at, of as many kinds as it has kernels, and of all further kernels one of
//! some words.
//!
//! All mutants of all kernels are run by `ci/mutate.sh`.

use tilewright_bundle::Kernel;
use tilewright_ci::mutation::campaign::{self, Plan, Source};
use tilewright_ci::mutation::record::Record;
use tilewright_ci::mutation::score::{Score, marked};
use tilewright_ci::mutation::survivors::Rules;
use tilewright_ci::subject::tile_volume;
use tilewright_ci::{golden, source_tree};
use tilewright_runtime::Runtime;

use crate::{sample, shipped};

/// Schedules of every launch.
const SCHEDULES: usize = 4;
/// Multiprocessors: several clusters of four fit, that hand each other sums.
const MULTIPROCESSORS: u32 = 16;
/// Kernels that are looked at.
const KERNELS: u64 = 8;
/// Mutants of each.
const SAMPLE: usize = 5;
/// Further kernels, of one word each, and the most elements of their tiles: larger ones take long,
/// and have more boundaries than a sample of problems meets.
const OTHERS: u64 = 4;
const MOST_OF_A_TILE: i64 = 1 << 11;
/// Mutants that must be noticed or explained, in percent: of kernels whose problems meet every
/// boundary, and of the further ones, whose problems are a sample as well.
const LEAST: f64 = 99.0;
const LEAST_OF_OTHERS: f64 = 60.0;

#[test]
fn kernels_are_clean_and_a_sample_of_their_mutants_is_not() {
    let runtime = shipped::runtime_on(&shipped::made(), MULTIPROCESSORS);
    let (exact, others): (Vec<&Kernel>, Vec<&Kernel>) =
        (runtime.kernels().iter()).partition(|kernel| shipped::is_exact(kernel));
    let name = |kernel: &&Kernel| kernel.id.clone();
    let kind = |kernel: &&Kernel| sample::kind(kernel);
    let kernels = sample::within(exact, name, kind, (|_: &&Kernel| 1, KERNELS));
    judge(&runtime, &kernels, LEAST);
    let small = |kernel: &&Kernel| tile_volume(kernel) <= MOST_OF_A_TILE;
    let others = others.into_iter().filter(small).collect();
    let word = |kernel: &&Kernel| kernel.kernel.clone();
    let words = sample::within(others, name, word, (|_: &&Kernel| 1, OTHERS));
    judge(&runtime, &words, LEAST_OF_OTHERS);
}

/// Wants so many of a sample of the mutants of these kernels noticed or explained, in percent.
fn judge(runtime: &Runtime, kernels: &[&Kernel], least: f64) {
    let sources = kernels.iter();
    let sources = sources.map(|kernel| Source::of_kernel(runtime, kernel));
    let sources: Vec<Source<'_>> = sources.collect();
    let plan = Plan {
        schedules: SCHEDULES,
        sample: Some((SAMPLE, sample::seed())),
        only: None,
    };
    let judged = campaign::run(&sources, &plan, &Record::default(), |_| {}).unwrap();
    let rules = source_tree::root().join("ci/data/mutants/survivors.txt");
    let rules = Rules::parse(&std::fs::read_to_string(rules).unwrap()).unwrap();
    let score = Score::of(judged.iter().flat_map(|one| &one.lines), &rules);
    let all = SAMPLE * sources.len();
    assert_eq!(score.total() + score.refused, all);
    let closing = format!("{} kernels: {}", sources.len(), score.closing_line());
    eprintln!("{closing}");
    let unexplained = &score.unexplained;
    assert!(score.percent() >= least, "{closing}: {unexplained:#?}");
    // A sample that nothing of is killed tests nothing.
    assert!(2 * score.killed > all, "{closing}");
}

#[test]
fn the_table_says_which_kernels_are_as_they_were_judged() {
    let read = |path: &str| std::fs::read_to_string(source_tree::root().join(path)).unwrap();
    let lock = read("ptx.lock");
    let pairs = lock.lines().filter_map(|line| line.split_once(' '));
    let shipped = pairs.filter(|(name, _)| name.contains('@'));
    let shipped = shipped.map(|(name, hash)| (name.to_owned(), hash.to_owned()));
    let path = "ci/data/mutants/scores.txt";
    let difference = golden::difference(path, &marked(&read(path), &shipped.collect())).unwrap();
    golden::assert_none(&difference.into_iter().collect::<Vec<_>>(), "generator");
}
