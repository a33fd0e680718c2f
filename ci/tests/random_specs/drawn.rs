//! Random specs: every key of the schema is drawn, and the same seed draws the same spec.

use std::collections::BTreeSet;

use tilewright_ci::random_specs::draw::draw;
use tilewright_ci::random_specs::keys::keys;
use tilewright_codegen::spec::{self, FAMILIES};

/// Enough specs that every key comes up.
const DRAWN: u64 = 5000;

#[test]
fn every_key_has_values_and_is_drawn() {
    let mut missing = BTreeSet::new();
    for family in FAMILIES {
        for key in keys(family.name) {
            assert!(!key.values.is_empty(), "no values for {}", key.path);
            missing.insert((family.name, key.path.clone()));
        }
    }
    let all = missing.len();
    for seed in 0..DRAWN {
        let draft = draw(seed);
        let family = FAMILIES
            .iter()
            .find(|family| Some(family.name) == draft.get("kernel"))
            .unwrap();
        for (path, _) in &draft.keys {
            missing.remove(&(family.name, path.clone()));
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
