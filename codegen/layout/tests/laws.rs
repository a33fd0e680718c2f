//! The laws of the algebra over random layouts.
//!
//! In: random layouts, nested, with zero, gapped and negative strides. Out: each operation has its
//! defining property whenever it answers.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;
use tilewright_layout::*;

fn profile() -> impl Strategy<Value = Profile> {
    Just(Profile::leaf()).prop_recursive(2, 6, 3, |inner| {
        proptest::collection::vec(inner, 1..4).prop_map(Profile::tuple)
    })
}

/// A random layout with extents up to 8 and the given strides.
fn layout_of(
    stride: impl Strategy<Value = i64> + Clone + 'static,
) -> impl Strategy<Value = Layout> {
    profile().prop_flat_map(move |profile| {
        let n = profile.leaves();
        let extent = prop_oneof![4 => 1i64..5, 1 => Just(8i64)];
        let shape = proptest::collection::vec(extent, n);
        (
            Just(profile),
            shape,
            proptest::collection::vec(stride.clone(), n),
        )
            .prop_map(|(profile, shape, stride)| {
                let shape = IntTuple::with_profile(profile.clone(), shape).unwrap();
                Layout::new(shape, IntTuple::with_profile(profile, stride).unwrap()).unwrap()
            })
    })
}

fn any_layout() -> impl Strategy<Value = Layout> {
    layout_of(prop_oneof![0i64..13, Just(16), Just(24), Just(64)])
}

/// A compact layout with its modes in random order.
fn compact_layout() -> impl Strategy<Value = Layout> {
    (proptest::collection::vec(1i64..7, 1..4), any::<u64>()).prop_map(|(shape, seed)| {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        order.sort_by_key(|&i| (seed >> (8 * i)) & 255);
        let mut stride = vec![0; shape.len()];
        let mut unit = 1;
        for i in order {
            stride[i] = unit;
            unit *= shape[i];
        }
        Layout::flat(&shape, &stride).unwrap()
    })
}

fn values(l: &Layout) -> Vec<i64> {
    l.offsets().unwrap().collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(512)
    })]

    #[test]
    fn composition_is_application(a in any_layout(), b in any_layout()) {
        if let Ok(r) = composition(&a, &b) {
            prop_assert!(compatible(&b.shape(), &r.shape()).unwrap());
            for (i, x) in values(&b).into_iter().enumerate() {
                prop_assert_eq!(r.at(i as i64).unwrap(), a.at(x).unwrap(), "{} at {}", r, i);
            }
        }
    }

    #[test]
    fn composition_over_basis_strides_is_the_same_map(a in any_layout(), b in any_layout()) {
        let identity = Layout::identity(a.shape()).unwrap();
        if let Ok(r) = composition(&identity, &b) {
            for (i, x) in values(&b).into_iter().enumerate() {
                prop_assert_eq!(r.at(i as i64).unwrap(), identity.at(x).unwrap());
            }
        }
    }

    #[test]
    fn composition_through_coordinates_is_application(
        a in proptest::collection::vec((1i64..9, 0i64..20), 2),
        b in proptest::collection::vec((1i64..5, 0i64..4, 0i64..4), 1..4),
    ) {
        let (s, d): (Vec<i64>, Vec<i64>) = a.into_iter().unzip();
        let a = Layout::flat(&s, &d).unwrap();
        let shape: Vec<i64> = b.iter().map(|m| m.0).collect();
        let unit = |i| Path::new(&[i]).unwrap();
        let stride: Vec<Basis<i64>> = b
            .iter()
            .map(|m| {
                let (x, y) = (Basis::scaled_unit(m.1, unit(0)), Basis::scaled_unit(m.2, unit(1)));
                x.plus(&y).unwrap()
            })
            .collect();
        let b = Layout::flat(&shape, &stride).unwrap();
        let r = composition_coords(&a, &b).unwrap();
        for (i, c) in b.coords(2).unwrap().enumerate() {
            // Single modes have no upper limit, so each entry of the coordinate stays in its mode.
            let c = c.unwrap();
            prop_assert_eq!(r.at(i as i64).unwrap(), a.at_coord(&c).unwrap());
        }
    }

    #[test]
    fn coalesce_keeps_values_with_fewest_modes(a in any_layout()) {
        let c = coalesce(&a).unwrap();
        prop_assert_eq!(values(&c), values(&a));
        prop_assert_eq!(coalesce(&c).unwrap(), c.clone());
        prop_assert!(c.depth() <= 1);
        let end = coalesce_keeping_end(&a).unwrap();
        let size = a.size().unwrap();
        for x in [size, size + 1, 2 * size + 3] {
            prop_assert_eq!(end.at(x).unwrap(), a.at(x).unwrap());
        }
        let by = coalesce_by(&a, &Profile::flat(a.rank().min(if a.depth() == 0 { 0 } else { 9 })));
        if let Ok(by) = by {
            prop_assert_eq!(values(&by), values(&a));
            prop_assert_eq!(by.rank(), a.rank());
        }
    }

    #[test]
    fn filter_keeps_the_set_of_values(a in any_layout()) {
        let set = |l: &Layout| values(l).into_iter().collect::<BTreeSet<_>>();
        prop_assert_eq!(set(&filter(&a).unwrap()), set(&a));
    }

    #[test]
    fn complement_is_disjoint_and_covers(a in any_layout(), size in 1i64..300) {
        if let Ok(r) = complement(&a, &size) {
            let a = values(&filter(&a).unwrap());
            let r = values(&r);
            prop_assert!(r.windows(2).all(|w| w[0] < w[1]));
            let sums: BTreeSet<i64> =
                a.iter().flat_map(|x| r.iter().map(move |y| x + y)).collect();
            prop_assert_eq!(sums.len(), a.len() * r.len());
        }
    }

    #[test]
    fn complement_of_a_compact_layout_tiles(a in compact_layout(), gap in 1i64..5, n in 1i64..9) {
        let spread = a.map_stride(|d| Ok(d * gap)).unwrap();
        let whole = gap * a.size().unwrap() * n;
        let r = complement(&spread, &whole).unwrap();
        let sums: BTreeSet<i64> = values(&spread)
            .iter()
            .flat_map(|x| values(&r).into_iter().map(move |y| x + y))
            .collect();
        prop_assert!(sums.into_iter().eq(0..whole));
    }

    #[test]
    fn divide_and_product_are_their_definitions(a in any_layout(), b in any_layout()) {
        if let Ok(r) = logical_divide(&a, &b) {
            let rest = complement(&b, &a.size().unwrap()).unwrap();
            let (tile, rest) = (values(&b), values(&rest));
            for (i, v) in values(&r).into_iter().enumerate() {
                let x = tile[i % tile.len()] + rest[i / tile.len()];
                prop_assert_eq!(v, a.at(x).unwrap());
            }
        }
        if let Ok(r) = logical_product(&a, &b) {
            prop_assert_eq!(values(&r.mode(0).unwrap()), values(&a));
            prop_assert_eq!(r.size().unwrap(), a.size().unwrap() * b.size().unwrap());
        }
    }

    #[test]
    fn products_of_compact_layouts_are_injective(a in compact_layout(), b in compact_layout()) {
        for r in [blocked_product(&a, &b).unwrap(), raked_product(&a, &b).unwrap()] {
            let set: BTreeSet<i64> = values(&r).into_iter().collect();
            prop_assert!(set.into_iter().eq(0..a.size().unwrap() * b.size().unwrap()));
        }
    }

    #[test]
    fn inverses_invert(a in any_layout(), c in compact_layout()) {
        // Accidental strides may leave a bounded search undecided; any other refusal is wrong.
        let right = match right_inverse(&a) {
            Err(Error::Undecided { .. }) => return Ok(()),
            right => right.unwrap(),
        };
        for (i, x) in values(&right).into_iter().enumerate() {
            prop_assert_eq!(a.at(x).unwrap(), i as i64);
        }
        if let Ok(left) = left_inverse(&a) {
            for (i, x) in values(&a).into_iter().enumerate() {
                prop_assert_eq!(left.at(x).unwrap(), i as i64);
            }
        }
        prop_assert_eq!(right_inverse(&c).unwrap().size().unwrap(), c.size().unwrap());
        prop_assert!(left_inverse(&c).is_ok());
    }

    #[test]
    fn common_vectors_hold_the_same_coordinates(a in any_layout(), b in any_layout()) {
        let common = match max_common_layout(&a, &b) {
            Err(Error::Undecided { .. }) => return Ok(()),
            common => common.unwrap(),
        };
        let n = max_common_vector(&a, &b).unwrap();
        prop_assert_eq!(common.size().unwrap(), n);
        for i in 0..n {
            let x = common.at(i).unwrap();
            prop_assert_eq!((a.at(x).unwrap(), b.at(x).unwrap()), (i, i));
        }
    }

    #[test]
    fn coordinates_go_both_ways(a in any_layout(), seed in any::<u32>()) {
        let x = i64::from(seed) % a.size().unwrap();
        let coord = a.coord(&x).unwrap();
        prop_assert_eq!(a.at_coord(&coord).unwrap(), a.at(x).unwrap());
        let compact = Layout::compact(a.shape()).unwrap();
        prop_assert_eq!(compact.at_coord(&coord).unwrap(), x);
    }

    #[test]
    fn slices_keep_values(a in any_layout(), seed in any::<u32>()) {
        let modes: Vec<Layout> = a.modes().collect();
        let fix: Vec<Slot<i64>> = modes
            .iter()
            .enumerate()
            .map(|(i, m)| match (seed >> i) & 1 {
                0 => Slot::Keep,
                _ => Slot::At(i64::from(seed) % m.size().unwrap()),
            })
            .collect();
        let coord = if a.profile().is_leaf() {
            IntTuple::leaf(fix[0].clone())
        } else {
            IntTuple::flat(fix.clone())
        };
        let (kept, offset) = slice(&coord, &a).unwrap();
        let mut want = vec![offset];
        for (m, s) in modes.iter().zip(&fix) {
            if *s == Slot::Keep {
                let old = std::mem::take(&mut want);
                want = values(m).iter().flat_map(|y| old.iter().map(move |x| x + y)).collect();
            }
        }
        prop_assert_eq!(values(&kept).iter().map(|x| x + offset).collect::<Vec<_>>(), want);
    }

    #[test]
    fn swizzles_are_involutions(
        b in 0i64..5, m in 0i64..6, s in 0i64..7, up: bool, x in 0i64..1 << 40,
    ) {
        let shift = if up { b + s } else { -b - s };
        let sw = Swizzle::new(b, m, shift).unwrap();
        prop_assert_eq!(sw.apply(sw.apply(x)), x);
        prop_assert_eq!(sw.to_string().parse::<Swizzle>().unwrap(), sw);
        // On elements n times larger, whole elements move as before.
        let wide = sw.upcast(m as u32);
        prop_assert_eq!(wide.apply(x) << m, sw.apply(x << m));
        prop_assert_eq!(wide.downcast(m as u32).unwrap().apply(x), sw.apply(x));
    }

    #[test]
    fn printing_and_reading_are_inverse(a in layout_of(-9i64..10), offset in -5i64..100) {
        prop_assert_eq!(a.to_string().parse::<Layout>().unwrap(), a.clone());
        let identity = Layout::identity(a.shape()).unwrap();
        prop_assert_eq!(identity.to_string().parse::<Layout<i64, Basis<i64>>>().unwrap(), identity);
        let all = ComposedLayout { swizzle: Swizzle::new(3, 3, 3).unwrap(), offset, inner: a };
        prop_assert_eq!(all.to_string().parse::<ComposedLayout>().unwrap(), all);
    }

    #[test]
    fn symbolic_printing_and_reading_are_inverse(
        a in layout_of(0i64..10),
        picks in proptest::collection::vec((0usize..6, 0usize..6, 0usize..3, -3i64..4), 1..8),
    ) {
        let names = ["m", "k+1", "2*lda*m", "n/8", "ceil_div(m-1,4)*k", "m-n"];
        let name = |i: usize| names[i].parse::<Sym>().unwrap();
        let mut at = 0;
        let mut next = || {
            at += 1;
            picks[at % picks.len()]
        };
        let lifted = a.map(|&x| Ok(Sym::constant(x))).unwrap();
        let strides = lifted.map_stride(|_| {
            let (i, j, path, c) = next();
            let below = Path::new(&[0, 2][..path]).unwrap();
            let top = Path::new(&[1]).unwrap();
            Basis::scaled_unit(name(i), below)
                .plus(&Basis::scaled_unit(name(j).try_mul(&Sym::constant(c))?, top))
        });
        let b = strides.unwrap();
        prop_assert_eq!(b.to_string().parse::<Layout<Sym, Basis<Sym>>>().unwrap(), b);
    }

    #[test]
    fn reading_never_panics(text in "[-(),:<>_@o+*/ 0-9a-mSw]{0,40}") {
        let _ = text.parse::<Layout>();
        let _ = text.parse::<Layout<Sym, Basis<Sym>>>();
        let _ = text.parse::<ComposedLayout<Sym>>();
        let _ = text.parse::<Tiler>();
        let _ = text.parse::<IntTuple<Slot<Sym>>>();
    }

    #[test]
    fn symbolic_division_agrees_with_numbers(m in 1i64..9, k in 1i64..9, pad in 0i64..9) {
        let mut facts = Facts::default();
        facts.divides("m", 4).unwrap();
        let tensor = facts.layout("(m,k):(lda,1)").unwrap();
        let tiles = zipped_divide(&tensor, &"<4,2>".parse().unwrap()).unwrap();
        prop_assert_eq!(tiles.to_string(), "((4,2),(m/4,ceil_div(k,2))):((lda,1),(4*lda,2))");
        let of = |name: &str| match name {
            "m" => Some(4 * m),
            "k" => Some(k),
            _ => Some(k + pad),
        };
        let number = tensor.map(|x| x.value(&of)).unwrap();
        let want = zipped_divide(&number, &"<4,2>".parse().unwrap()).unwrap();
        let got = tiles.map(|x| x.value(&of)).unwrap();
        prop_assert_eq!((got.shape(), values(&got)), (want.shape(), values(&want)));
    }
}

#[test]
fn hostile_text_is_refused_at_a_place() {
    let deep = "(".repeat(60_000);
    let wide = format!("({}1):1", "1,".repeat(30_000));
    let long = "1".repeat(70_000);
    for (text, at) in [
        (deep.as_str(), 17),
        (wide.as_str(), 8194),
        (long.as_str(), MAX_TEXT_BYTES),
        ("(4,8):(1,99999999999999999999)", 9),
        ("(4,0):(1,4)", 0),
        ("(4,8):(1,(2,3))", 0),
        ("(4,8)", 5),
        ("(4,8):(1,4", 10),
        ("4:1 x", 4),
        ("(4,ü):(1,4)", 3),
        ("", 0),
        ("9223372036854775807+1:1", 20),
    ] {
        match text.parse::<Layout>() {
            Err(Error::Parse { at: got, message }) => {
                assert_eq!(got, at, "{}: {message}", &text[..text.len().min(40)]);
            }
            other => assert!(other.is_err(), "{other:?}"),
        }
    }
    for text in [
        "Sw<3,3,1> o 0 o 8:1",
        "Sw<3,3> o 0 o 8:1",
        "Sw<99,3,3> o 0 o 8:1",
    ] {
        assert!(
            matches!(text.parse::<ComposedLayout>(), Err(Error::Parse { .. })),
            "{text}"
        );
    }
    let powers = format!("{}n:1", "n*".repeat(100));
    assert!(matches!(
        powers.parse::<Layout<Sym>>(),
        Err(Error::Parse { .. })
    ));
    let nested = format!("{}n{}:1", "ceil_div(".repeat(200), ",2)".repeat(200));
    assert!(matches!(
        nested.parse::<Layout<Sym>>(),
        Err(Error::Parse { .. })
    ));
}
