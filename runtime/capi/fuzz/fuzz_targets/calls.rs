//! Hostile sequences of calls of the C interface.
//!
//! In: any bytes, which decide what is called with what. Out: no panic, no access outside of what
//! the caller lent, nothing lost; what the test's driver wants of each call.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // What the test counts.
#[path = "../../tests/calls/driver/mod.rs"]
mod driver;

use driver::{Choices, Driver};

/// Choices by the engine's bytes, until there are none.
struct Bytes<'a>(&'a [u8]);

impl Choices for Bytes<'_> {
    fn below(&mut self, many: u64) -> u64 {
        let mut word = 0;
        for _ in 0..if many > 256 { 2 } else { 1 } {
            let Some((first, rest)) = self.0.split_first() else {
                return many - 1;
            };
            (word, self.0) = (word << 8 | u64::from(*first), rest);
        }
        word % many
    }

    fn word(&mut self) -> u64 {
        let (word, rest) = self.0.split_at(self.0.len().min(8));
        self.0 = rest;
        let byte = |at: usize| word.get(at).copied().unwrap_or(0);
        u64::from_le_bytes(std::array::from_fn(byte))
    }
}

fuzz_target!(|data: &[u8]| {
    let mut driver = Driver::new(Bytes(data));
    while !driver.choices.0.is_empty() {
        driver.step();
    }
});
