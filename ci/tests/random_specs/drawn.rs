//! Random specs: every key of the schema is drawn, and the same seed draws the same spec.

use std::collections::BTreeSet;

use tilewright_ci::random_specs::draw::draw;
use tilewright_ci::random_specs::keys::keys;
use tilewright_codegen::spec::{self, default_words};

/// Enough specs that every key comes up.
const DRAWN: u64 = 5000;

#[test]
fn every_key_has_values_and_is_drawn() {
    let mut missing = BTreeSet::new();
    for kernel in default_words() {
        for key in keys(kernel) {
            assert!(!key.values.is_empty(), "no values for {}", key.path);
            missing.insert((kernel, key.path.clone()));
        }
    }
    let all = missing.len();
    for seed in 0..DRAWN {
        let draft = draw(seed);
        // Other words are of specs that write their formula.
        let kernel = default_words().find(|word| Some(*word) == draft.get("kernel"));
        for (kernel, (path, _)) in draft
            .keys
            .iter()
            .flat_map(|key| kernel.map(|one| (one, key)))
        {
            missing.remove(&(kernel, path.clone()));
        }
    }
    assert!(
        missing.is_empty(),
        "of {all} keys, never drawn: {missing:?}"
    );
}

#[test]
fn a_seed_is_a_spec() {
    let good = |seed: &u64| spec::parse("-", &draw(*seed).yaml()).is_ok();
    let accepted = (0..300).filter(good).count();
    assert!(
        accepted > 200,
        "only {accepted} of 300 specs pass the checks"
    );
    for seed in 0..50 {
        assert_eq!(draw(seed), draw(seed));
        assert_ne!(draw(seed), draw(seed + 1));
    }
}
