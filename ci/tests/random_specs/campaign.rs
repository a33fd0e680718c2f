//! Random specs, as many as there is time for: what is accepted computes the right thing on the
//! emulator, what is refused is refused by the checks or the plan, and nothing is a bug.
//!
//! `cargo run --release -p tilewright-ci --bin tilewright-random-specs` judges as many as one
//! likes.

use std::time::{Duration, Instant};

use tilewright_ci::random_specs::campaign::{WorkerPool, table};
use tilewright_ci::random_specs::draw::draw;
use tilewright_ci::random_specs::judge::{End, JudgeOptions};

/// No spec is begun later than this.
const BUDGET: Duration = Duration::from_secs(15);
/// Specs that are judged at most, the same on every machine that is fast enough.
const MOST: u64 = 3000;
/// Faults that are made small for the report.
const SHOWN: usize = 3;

#[test]
fn random_specs_are_refused_or_right() {
    let pool = WorkerPool {
        program: env!("CARGO_BIN_EXE_tilewright-random-specs").into(),
        size: std::thread::available_parallelism().map_or(1, usize::from),
        limit: Duration::from_secs(120),
        how: JudgeOptions {
            problems: 2,
            seed: 2026,
            assemble: false,
        },
    };
    let begun = Instant::now();
    let all = pool.run(1, |number| number < MOST && begun.elapsed() < BUDGET);
    let faults: Vec<_> = all
        .iter()
        .filter(|one| one.verdict.end.is_fault())
        .collect();
    let shown: Vec<String> = (faults.iter().take(SHOWN))
        .map(|fault| {
            let small = pool.shrink(draw(fault.seed), &fault.verdict);
            format!("{}\n# {:?}", small.yaml(), fault.verdict)
        })
        .collect();
    assert!(faults.is_empty(), "{}\n{}", table(&all), shown.join("\n"));
    let right = all.iter().filter(|one| one.verdict.end == End::Right);
    assert!(right.count() * 8 > all.len(), "{}", table(&all));
}
