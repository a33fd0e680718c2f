//! A sample of broken kernels: the emulator notices each, or there is a reason why it cannot.
//!
//! Every shipped kernel is first run unbroken in strict mode under four schedules, over ragged
//! edges, rows of tiles and few k-tiles, with exact results. All mutants are run by
//! `tilewright-mutate`.

use tilewright_ci::mutation::campaign::{self, Plan};
use tilewright_ci::mutation::survivors::Rules;
use tilewright_ci::source_tree;
use tilewright_ci::subject::{Subject, Telling};

use crate::shipped;

/// Mutants of each kernel.
const SAMPLE: usize = 5;

#[test]
fn kernels_are_strict_clean_and_a_sample_of_mutants_is_not() {
    let runtime = shipped::runtime();
    let subjects = shipped::on_each(runtime.kernels(), |kernel| {
        Subject::of_kernel(&runtime, kernel, &Telling::of(kernel)).unwrap()
    });
    let plan = Plan {
        schedules: 4,
        sample: Some((SAMPLE, 2026)),
        record: None,
    };
    let result = campaign::run(&subjects, &plan, |_| {}).unwrap();
    let rules = source_tree::root().join("ci/data/mutants/survivors.txt");
    let rules = Rules::parse(&std::fs::read_to_string(rules).unwrap()).unwrap();
    let score = result.score(&rules);
    let all = SAMPLE * subjects.len();
    assert_eq!(score.total() + score.refused, all);
    assert!(score.unexplained.is_empty(), "{:#?}", score.unexplained);
    // A sample that nothing of is killed tests nothing.
    assert!(2 * score.killed > all, "{}", score.closing_line());
}
