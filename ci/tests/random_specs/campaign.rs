//! Random specs, as many as there is time for: what is accepted computes the right thing on the
//! emulator, what is refused is refused by the checks or the plan, and nothing is a bug.
//!
//! `cargo run --release -p tilewright-ci --bin tilewright-random-specs` judges as many as one
//! likes.

use std::time::{Duration, Instant};

use tilewright_ci::random_specs::campaign::{Judged, WorkerPool};
use tilewright_ci::random_specs::draft::Draft;
use tilewright_ci::random_specs::judge::{End, JudgeOptions};
use tilewright_ci::random_specs::tally::Tally;
use tilewright_ci::random_specs::{draw, formulas, written};

/// No spec is begun later than this.
const BUDGET: Duration = Duration::from_secs(6);
/// The same of formulas.
const FORMULAS_BUDGET: Duration = Duration::from_secs(8);
/// The same of specs as users write them, which the assembler judges as well.
const WRITTEN_BUDGET: Duration = Duration::from_secs(10);
/// Specs that are judged at most, the same on every machine that is fast enough.
const MOST: u64 = 3000;
/// One in so many specs may be refused by ptxas although only its tile is written: large tiles of
/// products without tensor cores, and of rows, spill whatever else the plan takes. None should.
const MOST_SPILLED: usize = 100;
/// Faults that are made small for the report.
const SHOWN: usize = 3;

#[test]
fn random_specs_are_refused_or_right() {
    judged(&Sample {
        draw: draw::draw,
        budget: BUDGET,
        least: 8,
        assemble: false,
    });
}

/// Folds of functions of elements, pass after pass, and maps: of every type, tile and architecture.
#[test]
fn random_formulas_are_refused_or_right() {
    judged(&Sample {
        draw: formulas::draw,
        budget: FORMULAS_BUDGET,
        least: 2,
        assemble: false,
    });
}

/// Formulas, types, layouts, tiles and keys as users write them: what is accepted is built, unless
/// keys are written that only the assembler can refuse; its refusal then says what builds.
#[test]
fn specs_as_users_write_them_are_refused_or_built_and_right() {
    judged(&Sample {
        draw: written::write,
        budget: WRITTEN_BUDGET,
        least: 3,
        assemble: true,
    });
}

/// What is drawn and judged.
struct Sample {
    draw: fn(u64) -> Draft,
    /// No spec is begun later.
    budget: Duration,
    /// One in so many at least is right.
    least: usize,
    /// Whether the assembler judges as well. How many it may refuse is a share of more specs than a
    /// sample has: the campaign counts these.
    assemble: bool,
}

fn judged(sample: &Sample) {
    let pool = WorkerPool {
        program: env!("CARGO_BIN_EXE_tilewright-random-specs").into(),
        size: std::thread::available_parallelism().map_or(1, usize::from),
        limit: Duration::from_secs(120),
        how: JudgeOptions {
            problems: 2,
            seed: 2026,
            assemble: sample.assemble,
        },
        draw: sample.draw,
    };
    let begun = Instant::now();
    let go_on = |number| number < MOST && begun.elapsed() < sample.budget;
    let all = pool.run(1, go_on, |_| {});
    let table = Tally::of(&all).table();
    let spilled = |one: &&Judged| one.verdict.end == End::RefusedUnwritten;
    let spills = all.iter().filter(spilled).count();
    assert!(spills * MOST_SPILLED <= all.len() + MOST_SPILLED, "{table}");
    let faults: Vec<_> = all
        .iter()
        .filter(|one| one.verdict.end.is_fault() && !spilled(one))
        .collect();
    let shown: Vec<String> = (faults.iter().take(SHOWN))
        .map(|fault| {
            let small = pool.shrink(fault);
            format!("{}\n# {:?}", small.yaml(), fault.verdict)
        })
        .collect();
    assert!(faults.is_empty(), "{table}\n{}", shown.join("\n"));
    let right = all.iter().filter(|one| one.verdict.end == End::Right);
    assert!(right.count() * sample.least > all.len(), "{table}");
}
