//! Sequences of calls with hostile arguments, as a seed chooses them: `SEED=7` draws others. What
//! is chosen and what must hold is the [`driver`]'s, which the fuzz target shares.
#![allow(clippy::unwrap_used)]

mod driver;

use driver::{Choices, Driver};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tilewright::{
    TW_ERROR_ARGUMENT, TW_ERROR_BUNDLE, TW_ERROR_HANDLE, TW_ERROR_NULL, TW_ERROR_REFUSED,
    TW_ERROR_STRUCT, TW_ERROR_UNKNOWN, TW_OK,
};

/// Calls of a run.
const CALLS: usize = 6000;

struct Drawn(StdRng);

impl Choices for Drawn {
    fn below(&mut self, many: u64) -> u64 {
        self.0.random_range(0..many)
    }

    fn word(&mut self) -> u64 {
        self.0.random()
    }
}

#[test]
fn no_sequence_of_calls_breaks_the_library() {
    let seed = std::env::var("SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut driver = Driver::new(Drawn(StdRng::seed_from_u64(seed)));
    for _ in 0..CALLS {
        driver.step();
    }
    let answered = driver.answered().clone();
    for status in [
        TW_OK,
        TW_ERROR_NULL,
        TW_ERROR_HANDLE,
        TW_ERROR_STRUCT,
        TW_ERROR_ARGUMENT,
        TW_ERROR_BUNDLE,
        TW_ERROR_UNKNOWN,
        TW_ERROR_REFUSED,
    ] {
        let times = answered.get(&status).copied().unwrap_or(0);
        assert!(times > 20, "{answered:?}");
    }
    let wrote = driver.wrote();
    assert!(
        wrote.len() == 5,
        "launches of kernels {wrote:?} alone wrote something"
    );
    assert!(wrote.values().all(|times| *times > 5), "{wrote:?}");
}
