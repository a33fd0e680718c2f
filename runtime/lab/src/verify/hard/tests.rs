//! What problems are made for is what they have.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use rand::SeedableRng as _;
use tilewright_bundle::{Name, Traits};

use super::{Aim, Hard, StdRng};

/// The names of a product's extents.
fn names() -> Vec<(Name, String)> {
    let kernel = tilewright_fixture::resolved(tilewright_fixture::gemm_kernel("gemm_f32@plain-2"));
    let names = kernel.free_extents();
    names.map(|(name, text)| (name, text.to_owned())).collect()
}

fn map(pairs: &[(&str, i64)]) -> BTreeMap<String, i64> {
    pairs
        .iter()
        .map(|(mode, n)| ((*mode).to_owned(), *n))
        .collect()
}

/// Extents by mode, for many seeds.
fn drawn(traits: &Traits, aim: Aim, small: bool, most: i64) -> Vec<BTreeMap<String, i64>> {
    let names = names();
    let hard = Hard {
        traits,
        aim,
        small,
        sms: 4,
        takes: |_, extent| extent <= most,
    };
    let one = |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        let extents = hard.extents(&names, &mut rng);
        let texts = names.iter().map(|(_, text)| text.clone());
        texts.zip(extents).collect()
    };
    (0..200).map(one).collect()
}

#[test]
fn products_have_two_tiles_a_part_of_one_and_more_steps_than_stages() {
    let traits = Traits {
        tile: map(&[("m", 128), ("n", 64)]),
        step: map(&[("k", 64)]),
        stages: 8,
        persistent: true,
        ..Traits::default()
    };
    for small in [true, false] {
        for extents in drawn(&traits, Aim::Steps, small, i64::MAX) {
            let (m, n, k) = (extents["m"], extents["n"], extents["k"]);
            assert!(
                m > 128 && m % 128 != 0 && n > 64 && n % 64 != 0,
                "{extents:?}"
            );
            assert!(k > 9 * 64 && k % 64 != 0, "{extents:?}");
        }
        for extents in drawn(&traits, Aim::Turns, small, i64::MAX) {
            let tiles = |mode: &str, tile: i64| (extents[mode] + tile - 1) / tile;
            assert!(tiles("m", 128) * tiles("n", 64) > 4, "{extents:?}");
        }
        let of_tiles = if small { 1 } else { 2 };
        for extents in drawn(&traits, Aim::Whole, small, i64::MAX) {
            assert_eq!(extents["m"], of_tiles * 128);
            assert_eq!((extents["n"], extents["k"]), (of_tiles * 64, 9 * 64));
        }
    }
}

/// Each CTA that shares out the steps of a tile has more of them than stages.
#[test]
fn shares_of_steps_fill_the_ring_more_than_once() {
    let traits = Traits {
        tile: map(&[("m", 64), ("n", 64)]),
        step: map(&[("k", 64)]),
        stages: 8,
        split: Some(6),
        ..Traits::default()
    };
    for extents in drawn(&traits, Aim::Steps, true, i64::MAX) {
        let k = extents["k"];
        assert!(k > 9 * 6 * 64 && k % 64 != 0, "{extents:?}");
    }
}

/// A fold whose rows are no longer than a tile has them of every length, and often nearly as long.
#[test]
fn tiles_that_are_all_that_a_kernel_takes_are_nearly_full() {
    let traits = Traits {
        tile: map(&[("m", 1), ("n", 32768)]),
        outer: vec!["k".to_owned()],
        stages: 1,
        ..Traits::default()
    };
    let mut quarters = [0; 4];
    for extents in drawn(&traits, Aim::Steps, true, 32768) {
        let n = extents["n"];
        assert!(extents["m"] >= 2 && extents["k"] > 1, "{extents:?}");
        assert!((1..32768).contains(&n), "{extents:?}");
        quarters[(n * 4 / 32768) as usize] += 1;
    }
    // Every part of a tile, and half of them nearly full.
    assert!(
        quarters[3] > 80 && quarters.iter().all(|count| *count > 10),
        "{quarters:?}"
    );
    // Or full.
    for extents in drawn(&traits, Aim::Whole, true, 32768) {
        assert_eq!(extents["n"], 32768);
    }
}

/// A fold chunk after chunk has several of them.
#[test]
fn folds_have_several_passes_along_a_mode() {
    let traits = Traits {
        tile: map(&[("m", 4)]),
        step: map(&[("n", 512)]),
        outer: vec!["k".to_owned()],
        stages: 1,
        ..Traits::default()
    };
    for extents in drawn(&traits, Aim::Steps, true, i64::MAX) {
        assert!(
            extents["n"] > 1024 && extents["n"] % 512 != 0,
            "{extents:?}"
        );
    }
}

#[test]
fn bands_are_left_behind_beside_another_tile() {
    let traits = Traits {
        tile: map(&[("m", 64), ("n", 64)]),
        step: map(&[("k", 64)]),
        stages: 8,
        ..Traits::default()
    };
    for small in [true, false] {
        let all = drawn(&traits, Aim::Bands, small, i64::MAX);
        for extents in &all {
            let (m, n, k) = (extents["m"], extents["n"], extents["k"]);
            assert!(
                m.max(n) > 8 * 64 && m.min(n) > 64 && k <= 3 * 64,
                "{extents:?}"
            );
        }
        let wide = |mode: &str| all.iter().filter(|one| one[mode] > 8 * 64).count();
        assert!(wide("m") > 50 && wide("n") > 50);
        assert!(all.iter().any(|one| one["m"] > 16 * 64));
    }
    // As far as the kernel takes it.
    for extents in drawn(&traits, Aim::Bands, true, 256) {
        assert!(extents["m"] <= 256 && extents["n"] <= 256, "{extents:?}");
    }
}
