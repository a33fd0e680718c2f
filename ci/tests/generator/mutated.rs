//! Every shipped kernel is clean in strict mode under four schedules, over ragged edges, rows of
//! tiles and few k-tiles, with exact results; and a sample of broken kernels is noticed by the
//! emulator, or there is a reason why it cannot be.
//!
//! All mutants are run by `ci/mutate.sh`.

use tilewright_ci::mutation::campaign::{self, Plan, Source};
use tilewright_ci::mutation::record::Record;
use tilewright_ci::mutation::score::{Score, marked};
use tilewright_ci::mutation::survivors::Rules;
use tilewright_ci::{golden, source_tree};

use crate::shipped;

/// Schedules of every launch.
const SCHEDULES: usize = 4;
/// Mutants of each kernel.
const SAMPLE: usize = 4;
/// Mutants that must be noticed or explained, in percent.
const LEAST: f64 = 99.0;

#[test]
fn every_kernel_is_clean_and_a_sample_of_its_mutants_is_not() {
    let runtime = shipped::runtime();
    let kernels = runtime.kernels().iter();
    let sources = kernels.map(|kernel| Source::of_kernel(&runtime, kernel));
    let sources: Vec<Source<'_>> = sources.collect();
    let plan = Plan {
        schedules: SCHEDULES,
        sample: Some((SAMPLE, 2026)),
        only: None,
    };
    let judged = campaign::run(&sources, &plan, &Record::default(), |_| {}).unwrap();
    let rules = source_tree::root().join("ci/data/mutants/survivors.txt");
    let rules = Rules::parse(&std::fs::read_to_string(rules).unwrap()).unwrap();
    let score = Score::of(judged.iter().flat_map(|one| &one.lines), &rules);
    let all = SAMPLE * sources.len();
    assert_eq!(score.total() + score.refused, all);
    let closing = score.closing_line();
    assert!(
        score.percent() >= LEAST,
        "{closing}: {:#?}",
        score.unexplained
    );
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
