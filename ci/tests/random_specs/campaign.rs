//! Random specs, as many as there is time for: what is accepted computes the right thing on the
//! emulator, what is refused is refused by the checks or the plan, and nothing is a bug.
//!
//! `cargo run --release -p tilewright-ci --bin tilewright-random-specs` judges as many as one
//! likes.

use std::time::{Duration, Instant};

use tilewright_ci::random_specs::campaign::{WorkerPool, table};
use tilewright_ci::random_specs::draft::Draft;
use tilewright_ci::random_specs::judge::{End, JudgeOptions};
use tilewright_ci::random_specs::{draw, formulas};

/// No spec is begun later than this.
const BUDGET: Duration = Duration::from_secs(15);
/// The same of formulas.
const FORMULAS_BUDGET: Duration = Duration::from_secs(20);
/// Specs that are judged at most, the same on every machine that is fast enough.
const MOST: u64 = 3000;
/// Faults that are made small for the report.
const SHOWN: usize = 3;

#[test]
fn random_specs_are_refused_or_right() {
    judged(draw::draw, BUDGET, 8);
}

/// Folds of functions of elements, pass after pass, and maps: of every type, tile and architecture.
#[test]
fn random_formulas_are_refused_or_right() {
    judged(formulas::draw, FORMULAS_BUDGET, 2);
}

/// Draws specs for that long, of which one in so many at least is accepted.
fn judged(draw: fn(u64) -> Draft, budget: Duration, least: usize) {
    let pool = WorkerPool {
        program: env!("CARGO_BIN_EXE_tilewright-random-specs").into(),
        size: std::thread::available_parallelism().map_or(1, usize::from),
        limit: Duration::from_secs(120),
        how: JudgeOptions {
            problems: 2,
            seed: 2026,
            assemble: false,
        },
        draw,
    };
    let begun = Instant::now();
    let all = pool.run(1, |number| number < MOST && begun.elapsed() < budget);
    let faults: Vec<_> = all
        .iter()
        .filter(|one| one.verdict.end.is_fault())
        .collect();
    let shown: Vec<String> = (faults.iter().take(SHOWN))
        .map(|fault| {
            let small = pool.shrink(fault);
            format!("{}\n# {:?}", small.yaml(), fault.verdict)
        })
        .collect();
    assert!(faults.is_empty(), "{}\n{}", table(&all), shown.join("\n"));
    let right = all.iter().filter(|one| one.verdict.end == End::Right);
    assert!(right.count() * least > all.len(), "{}", table(&all));
}
