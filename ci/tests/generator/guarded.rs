//! A test that is weaker by one, dropped, or has another limit is refused by the certificate: a
//! sample over all shipped kernels. All mutants are judged by `ci/mutate_guards.sh`.

use tilewright_ci::mutation::refused::{Judged, judge};
use tilewright_ci::mutation::survivors::Rules;
use tilewright_ci::source_tree;
use tilewright_codegen::ir::tile::build;
use tilewright_codegen::{certify, plan};

use crate::{sample, shipped};

/// Kernels whose mutants are judged.
const KERNELS: usize = 36;
/// Mutants of each kernel.
const SAMPLE: usize = 3;

#[test]
fn a_test_that_lets_one_more_through_is_refused() {
    let path = source_tree::root().join("ci/data/mutants/guards.txt");
    let rules = Rules::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut points = sample::shuffled(shipped::points(), |point| point.id.clone());
    points.truncate(KERNELS);
    let points: Vec<_> = points.into_iter().enumerate().collect();
    let judged: Vec<Judged> = shipped::on_each(&points, |(at, point)| {
        // Each kernel begins elsewhere, so that the sample has mutants of every kind.
        let mutants = judge(point, &rules, (0, usize::MAX)).unwrap().mutants;
        let step = (mutants / SAMPLE).max(1);
        judge(point, &rules, (at % step, step)).unwrap()
    });
    let open: Vec<&String> = judged.iter().flat_map(|judged| &judged.open).collect();
    assert!(open.is_empty(), "{open:#?}");
    // A sample that nothing of is refused tests nothing; some of it only chooses between ways.
    for judged in &judged {
        assert!(judged.refused >= SAMPLE / 2, "{judged:?}");
    }
}

/// Kernels are run on a problem of cut tiles, and on others that are smaller than a tile.
#[test]
fn every_shipped_kernel_stores_what_its_formula_gives() {
    let points: Vec<_> = shipped::made()
        .into_iter()
        .chain(shipped::ladder())
        .collect();
    let wrong: Vec<String> = shipped::on_each(&points, |point| {
        let plan = plan::plan(point).unwrap();
        let computed = certify::computed_of(&plan, &build::build(&plan).unwrap());
        match computed {
            Ok(problems) if problems.len() >= 2 => None,
            Ok(problems) => Some(format!("{}: {problems:?}", point.id)),
            Err(error) => Some(error.to_string()),
        }
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What the prover cannot show refuses the kernel, of all of them where they are compiled.
#[test]
fn accesses_of_a_sample_are_shown_to_stay_inside() {
    let mut points = sample::shuffled(shipped::points(), |point| point.id.clone());
    points.truncate(KERNELS);
    shipped::on_each(&points, |point| {
        let plan = plan::plan(point).unwrap();
        let guards = certify::guards_of(&plan, &shipped::program(point)).unwrap();
        assert!(guards.all() > 0, "{}", point.id);
    });
}
