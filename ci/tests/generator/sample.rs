//! Which part of the catalogue is looked at where all of it would take too long: as much as a
//! budget allows, of every kind of kernel one before a second of any. Budgets count work, not
//! seconds, so that a sample is the same on every machine, and costs no more when the catalogue
//! grows.
//!
//! `SEED=7 cargo nextest run --package tilewright-ci --test generator` draws another sample; the
//! scripts that the tests name take all.

use std::collections::BTreeSet;

use tilewright_bundle::{Kernel, Sha256Hex};

/// What samples are drawn by.
pub fn seed() -> u64 {
    let given = std::env::var("SEED").ok();
    given.map_or(2026, |seed| seed.parse().expect("SEED is a number"))
}

/// What a kernel is of: its formula and types, and the ways on which its data move.
pub fn kind(kernel: &Kernel) -> String {
    let operands = kernel.semantics.operands.iter();
    let types: Vec<String> = operands.map(|one| format!("{:?}", one.dtype)).collect();
    let clusters = kernel.launches.iter().any(|one| one.cluster.is_some());
    format!(
        "{} of {}, sums {:?}, scratch {:?}, maps {}, clusters {clusters}",
        kernel.semantics.compute,
        types.join(" "),
        kernel.semantics.accumulation,
        kernel.workspace.zero_bytes,
        kernel.has_tensor_maps()
    )
}

/// The items in an order that depends on the seed and on each one's name alone.
pub fn shuffled<T>(mut items: Vec<T>, name: impl Fn(&T) -> String) -> Vec<T> {
    let seed = seed();
    let lot = |item: &T| Sha256Hex::of(format!("{seed} {}", name(item)).as_bytes()).to_string();
    items.sort_by_cached_key(lot);
    items
}

/// The items in that order, the first of each kind before all others, as many as bring the sum of
/// what they cost to the budget.
pub fn within<T>(
    items: Vec<T>,
    name: impl Fn(&T) -> String,
    kind: impl Fn(&T) -> String,
    (cost, budget): (impl Fn(&T) -> u64, u64),
) -> Vec<T> {
    let mut seen = BTreeSet::new();
    let (first, others): (Vec<T>, Vec<T>) = shuffled(items, name)
        .into_iter()
        .partition(|item| seen.insert(kind(item)));
    let mut left = budget;
    let mut is_taken = |item: &T| {
        let rest = left.checked_sub(cost(item));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let all = first.into_iter().chain(others);
    all.filter(|item| is_taken(item)).collect()
}

#[test]
fn samples_have_every_kind_and_keep_to_their_budget() {
    let items: Vec<u64> = (0..1000).collect();
    let draw = |budget| {
        let name = |item: &u64| item.to_string();
        let kind = |item: &u64| (item % 7).to_string();
        within(items.clone(), name, kind, (|_: &u64| 10, budget))
    };
    for (budget, count) in [(0, 0), (39, 3), (70, 7), (500, 50), (1_000_000, 1000)] {
        let drawn = draw(budget);
        assert_eq!(drawn.len(), count);
        let distinct: BTreeSet<&u64> = drawn.iter().collect();
        assert_eq!(distinct.len(), count);
        let kinds: BTreeSet<u64> = drawn.iter().map(|item| item % 7).collect();
        assert_eq!(kinds.len(), count.min(7));
    }
    // Not simply the first ones.
    assert!(draw(500).iter().any(|item| *item > 500));
}
