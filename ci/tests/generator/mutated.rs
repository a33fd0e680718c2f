//! Every shipped kernel is clean in strict mode under four schedules, over ragged edges, rows of
//! tiles and few k-tiles, with exact results; and a sample of broken kernels is noticed by the
//! emulator, or there is a reason why it cannot be.
//!
//! All mutants are run by `tilewright-mutate`. The sample leaves out kernels with tensor maps:
//! not each of their survivors has been reviewed.

use tilewright_bundle::{Kernel, ParamValue};
use tilewright_ci::mutation::campaign::{self, Plan};
use tilewright_ci::mutation::judge::Judge;
use tilewright_ci::mutation::survivors::Rules;
use tilewright_ci::source_tree;
use tilewright_ci::subject::{Subject, Telling};

use crate::shipped;

/// Schedules of every launch.
const SCHEDULES: usize = 4;
/// Mutants of each kernel.
const SAMPLE: usize = 5;

fn has_maps(kernel: &Kernel) -> bool {
    let params = kernel.abi.params.iter();
    let mut maps = params.filter(|param| matches!(param.value, ParamValue::TensorMap(_)));
    maps.next().is_some()
}

/// The kernels with or without tensor maps, on problems that tell.
fn subjects(maps: bool) -> Vec<Subject> {
    let runtime = shipped::runtime();
    let kernels = runtime.kernels().iter();
    let kernels: Vec<&Kernel> = kernels.filter(|kernel| has_maps(kernel) == maps).collect();
    shipped::on_each(&kernels, |kernel| {
        Subject::of_kernel(&runtime, kernel, &Telling::of(kernel)).unwrap()
    })
}

#[test]
fn kernels_with_tensor_maps_are_clean_in_strict_mode() {
    let failures = shipped::on_each(&subjects(true), |subject| {
        let judge = Judge::new(subject, SCHEDULES);
        judge.err().map(|error| error.to_string())
    });
    let failures: Vec<String> = failures.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_others_are_clean_and_a_sample_of_mutants_is_not() {
    let subjects = subjects(false);
    let plan = Plan {
        schedules: SCHEDULES,
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
