//! Slices at nested coordinates, against their definition.
//!
//! In: layouts of any nesting and coordinates that reach into them as far as they like. Out: for
//! every index of the kept modes, the value of the whole layout with that index put in their place;
//! the kept modes themselves, as they were, side by side.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tilewright_layout::*;

/// A layout of up to three levels and a coordinate of it.
fn nested() -> impl Strategy<Value = (Layout, IntTuple<Slot<i64>>)> {
    let leaf = (1i64..5, -20i64..40).prop_map(|(s, d)| Layout::single(s, d).unwrap());
    let tree = leaf.prop_recursive(3, 10, 3, |inner| {
        proptest::collection::vec(inner, 1..4).prop_map(|modes| Layout::from_modes(modes).unwrap())
    });
    (tree, any::<u64>()).prop_map(|(layout, mut seed)| {
        let coord = coordinate(&layout, &mut seed);
        (layout, coord)
    })
}

/// The next of a sequence of numbers below `most`.
fn next(seed: &mut u64, most: u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % most
}

/// A coordinate that fixes some subtrees, keeps others, and goes deeper elsewhere.
fn coordinate(layout: &Layout, seed: &mut u64) -> IntTuple<Slot<i64>> {
    let choice = next(seed, 4);
    if choice >= 2 && !layout.profile().is_leaf() {
        let modes: Vec<_> = layout.modes().map(|mode| coordinate(&mode, seed)).collect();
        return IntTuple::tuple(modes);
    }
    let size = layout.size().unwrap() as u64;
    IntTuple::leaf(match choice % 2 {
        0 => Slot::Keep,
        _ => Slot::At(next(seed, size) as i64),
    })
}

/// The subtrees that a coordinate marks, in order.
fn marked(layout: &Layout, coord: &IntTuple<Slot<i64>>, fixed: bool) -> Vec<Layout> {
    match coord.as_leaf() {
        Some(slot) if (*slot == Slot::Keep) != fixed => vec![layout.clone()],
        Some(_) => Vec::new(),
        None => {
            let pairs = layout.modes().zip(coord.modes());
            pairs
                .flat_map(|(mode, coord)| marked(&mode, &coord, fixed))
                .collect()
        }
    }
}

/// The coordinate with the numbers of `kept` in place of its marks.
fn filled(coord: &IntTuple<Slot<i64>>, kept: &[i64]) -> IntTuple<i64> {
    let mut kept = kept.iter();
    coord.map(|slot| match slot {
        Slot::Keep => *kept.next().unwrap(),
        Slot::At(at) => *at,
    })
}

proptest! {
    #[test]
    fn a_slice_is_the_layout_with_the_kept_indices_free((layout, coord) in nested()) {
        let (kept, offset) = slice(&coord, &layout).unwrap();
        let modes = marked(&layout, &coord, false);
        let sizes: Vec<i64> = modes.iter().map(|mode| mode.size().unwrap()).collect();
        for index in 0..sizes.iter().product() {
            let mut left = index;
            let digits: Vec<i64> = sizes
                .iter()
                .map(|size| {
                    let digit = left % size;
                    left /= size;
                    digit
                })
                .collect();
            let whole = layout.at_coord(&filled(&coord, &digits)).unwrap();
            prop_assert_eq!(kept.at(index).unwrap() + offset, whole);
        }
        prop_assert_eq!(kept.size().unwrap(), sizes.iter().product::<i64>());
    }

    #[test]
    fn kept_modes_stand_side_by_side_as_they_were((layout, coord) in nested()) {
        let whole = coord.as_leaf();
        let (kept, _) = slice(&coord, &layout).unwrap();
        let diced = dice(&coord, &layout).unwrap();
        match whole {
            Some(Slot::Keep) => prop_assert_eq!(&kept, &layout),
            Some(Slot::At(_)) => prop_assert_eq!(&diced, &layout),
            None => {
                prop_assert_eq!(kept.modes().collect::<Vec<_>>(), marked(&layout, &coord, false));
                prop_assert_eq!(diced.modes().collect::<Vec<_>>(), marked(&layout, &coord, true));
            }
        }
        prop_assert_eq!(
            kept.size().unwrap() * diced.size().unwrap(),
            layout.size().unwrap()
        );
    }
}

#[test]
fn slices_are_those_of_cute() {
    for (layout, coord, kept, offset) in [
        (
            "((3,2),((2,3),2)):((4,1),((2,15),100))",
            "((_,1),((0,_),1))",
            "(3,3):(4,15)",
            101,
        ),
        (
            "(8,(8,2,1)):(96,(12,2,2))",
            "(_,(_,_,0))",
            "(8,8,2):(96,12,2)",
            0,
        ),
        ("((3,2),4):((1,3),6)", "((_,_),2)", "(3,2):(1,3)", 12),
        ("((3,2),4):((1,3),6)", "(_,2)", "((3,2)):((1,3))", 12),
        ("((3,2),4):((1,3),6)", "((2,1),3)", "():()", 23),
        ("((3,2),4):((1,3),6)", "_", "((3,2),4):((1,3),6)", 0),
    ] {
        let layout: Layout = layout.parse().unwrap();
        let found = slice(&coord.parse().unwrap(), &layout).unwrap();
        assert_eq!(
            (found.0.to_string(), found.1),
            (kept.to_owned(), offset),
            "{coord}"
        );
    }
    let layout: Layout = "((3,2),4):((1,3),6)".parse().unwrap();
    for coord in ["((_,0,0),1)", "(_)", "(_,(0,1))"] {
        assert!(slice(&coord.parse().unwrap(), &layout).is_err(), "{coord}");
    }
}

#[test]
fn tiles_and_partitions_are_flat_as_well() {
    let a: Layout = "(256,128):(128,1)".parse().unwrap();
    let tiler: Tiler = "<128,64>".parse().unwrap();
    let at = |text: &str| text.parse::<IntTuple<Slot<i64>>>().unwrap();
    let (tiles, offset) = local_tile(&a, &tiler, &at("(1,_)")).unwrap();
    assert_eq!(
        (tiles.to_string(), offset),
        ("(128,64,2):(128,1,64)".into(), 16384)
    );
    let (tile, offset) = local_tile(&a, &tiler, &at("(1,1)")).unwrap();
    assert_eq!(
        (tile.to_string(), offset),
        ("(128,64):(128,1)".into(), 16448)
    );
    let (rows, offset) = outer_partition(&a, &tiler, &at("(3,_)")).unwrap();
    assert_eq!(
        (rows.to_string(), offset),
        ("(64,2,2):(1,16384,64)".into(), 384)
    );
    let whole: ComposedLayout = "Sw<3,3,3> o 0 o (256,128):(128,1)".parse().unwrap();
    let tiles = whole.local_tile(&tiler, &at("(1,_)")).unwrap();
    assert_eq!(
        tiles.to_string(),
        "Sw<3,3,3> o 16384 o (128,64,2):(128,1,64)"
    );
}
