//! Tiles, partitions, edits and casts against their definitions.
//!
//! In: small tensors. Out: every part holds the offsets its definition names.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use proptest::prelude::*;
use tilewright_layout::*;

fn l(text: &str) -> Layout {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn coord(text: &str) -> IntTuple<Slot<i64>> {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn a_local_tile_is_the_tile_at_its_coordinate() {
    let a = l("(12,20):(20,1)");
    let tiler: Tiler = "<4,5>".parse().unwrap();
    for i in 0..3 {
        for j in 0..4 {
            let at = coord(&format!("({i},{j})"));
            let (tile, offset) = local_tile(&a, &tiler, &at).unwrap();
            assert_eq!(tile.to_string(), "(4,5):(20,1)");
            assert_eq!(offset, 4 * i * 20 + 5 * j);
        }
    }
    let (tiles, offset) = local_tile(&a, &tiler, &coord("(2,_)")).unwrap();
    assert_eq!(
        (tiles.to_string().as_str(), offset),
        ("(4,5,4):(20,1,5)", 160)
    );
}

#[test]
fn a_local_tile_of_a_symbolic_tensor() {
    let a: Layout<Sym> = "(m,k):(lda,1)".parse().unwrap();
    let tiler: Tiler<Sym> = "<128,64>".parse().unwrap();
    let (tile, offset) = local_tile(&a, &tiler, &"(x,_)".parse().unwrap()).unwrap();
    assert_eq!(tile.to_string(), "(128,64,ceil_div(k,64)):(lda,1,64)");
    assert_eq!(offset.to_string(), "128*lda*x");
    let identity: Layout<Sym, Basis<Sym>> = Layout::identity(a.shape()).unwrap();
    let (tile, offset) = local_tile(&identity, &tiler, &"(x,y)".parse().unwrap()).unwrap();
    assert_eq!(tile.to_string(), "(128,64):(1@0,1@1)");
    assert_eq!(offset.to_string(), "128*x@0+64*y@1");
}

#[test]
fn local_partitions_cover_once() {
    let a = l("(16,24):(24,1)");
    for threads in ["(8,4):(4,1)", "(4,8):(1,4)", "(2,4):(4,1)", "16:1"] {
        let threads = l(threads);
        let mut seen = BTreeSet::new();
        for thread in 0..threads.size().unwrap() {
            let (part, offset) = local_partition(&a, &threads, &thread).unwrap();
            // The first value lies where the thread layout puts the thread.
            let at = threads
                .offsets()
                .unwrap()
                .position(|t| t == thread)
                .unwrap() as i64;
            let place = threads.coord(&at).unwrap();
            let first = place
                .leaves()
                .iter()
                .zip([24, 1])
                .map(|(x, d)| x * d)
                .sum::<i64>();
            assert_eq!(offset, first);
            for x in part.offsets().unwrap() {
                assert!(seen.insert(offset + x), "{threads} {thread}");
            }
        }
        assert_eq!(seen.len(), 16 * 24);
    }
    assert!(local_partition(&a, &l("(8,4):(8,1)"), &0).is_err());
}

#[test]
fn a_block_tiles_a_shape() {
    let smem = tile_to_shape(&l("(8,64):(64,1)"), &"(128,128)".parse().unwrap()).unwrap();
    assert_eq!(smem.to_string(), "(128,(64,2)):(64,(1,8192))");
    let deep = tile_to_shape(&l("(8,64):(64,1)"), &"(16,64,3)".parse().unwrap()).unwrap();
    assert_eq!(deep.to_string(), "(16,64,3):(64,1,1024)");
    let refused = tile_to_shape(&l("(8,64):(64,1)"), &"(12,64)".parse().unwrap()).unwrap_err();
    assert!(matches!(refused, Error::Indivisible { .. }), "{refused}");
}

#[test]
fn edits_of_modes() {
    let a = l("(2,(3,4),5):(1,(2,6),24)");
    assert_eq!(flatten(&a), l("(2,3,4,5):(1,2,6,24)"));
    assert_eq!(group(&flatten(&a), 1, 3).unwrap(), a);
    assert_eq!(select(&a, &[2, 0]).unwrap(), l("(5,2):(24,1)"));
    assert_eq!(take(&a, 1, 3).unwrap(), l("((3,4),5):((2,6),24)"));
    assert_eq!(replace(&a, 1, &l("7:9")).unwrap(), l("(2,7,5):(1,9,24)"));
    assert_eq!(append(&l("2:1"), &l("3:2")).unwrap(), l("(2,3):(1,2)"));
    assert_eq!(
        prepend(&l("(2,3):(1,2)"), &l("4:6")).unwrap(),
        l("(4,2,3):(6,1,2)")
    );
    assert_eq!(concatenate(&[l("2:1"), a.clone()]).unwrap().rank(), 2);
    assert_eq!(
        zip(&l("(2,3):(1,2)"), &l("(4,5):(6,7)")).unwrap(),
        l("((2,4),(3,5)):((1,6),(2,7))")
    );
    assert_eq!(
        zip_modes(&l("((2,3),(4,5)):((1,2),(6,7))")).unwrap(),
        l("((2,4),(3,5)):((1,6),(2,7))")
    );
    for refused in [
        group(&a, 2, 4),
        select(&a, &[3]),
        take(&a, 2, 5),
        zip(&a, &l("2:1")),
    ] {
        assert!(
            matches!(refused, Err(Error::Mismatch { .. })),
            "{refused:?}"
        );
    }
    assert!(congruent(
        a.profile(),
        l("(9,(9,9),9):(0,(0,0),0)").profile()
    ));
}

#[test]
fn compact_layouts_and_casts() {
    assert_eq!(
        Layout::compact("(4,(2,3))".parse().unwrap()).unwrap(),
        l("(4,(2,3)):(1,(4,8))")
    );
    assert_eq!(
        Layout::compact_right("(4,(2,3))".parse().unwrap()).unwrap(),
        l("(4,(2,3)):(6,(3,1))")
    );
    let halves = l("(8,64):(64,1)");
    assert_eq!(recast(&halves, 16, 128).unwrap(), l("(8,8):(8,1)"));
    assert_eq!(recast(&halves, 16, 8).unwrap(), l("(8,128):(128,1)"));
    assert!(recast(&halves, 16, 24).is_err() && upcast(&l("4:6"), &4).is_err());
    let bytes: ComposedLayout = "Sw<3,4,3> o 0 o (8,128):(128,1)".parse().unwrap();
    let halves = bytes.upcast(2).unwrap();
    assert_eq!(halves.to_string(), "Sw<3,3,3> o 0 o (8,64):(64,1)");
    assert_eq!(halves.downcast(2).unwrap(), bytes);
}

#[test]
fn slices_of_composed_layouts_stay_inside_the_swizzle() {
    let all: ComposedLayout = "Sw<3,3,3> o 0 o (8,64):(64,1)".parse().unwrap();
    let row = all.slice(&coord("(5,_)")).unwrap();
    for j in 0..64 {
        let at = IntTuple::flat([5, j]);
        assert_eq!(row.at(j).unwrap(), all.at_coord(&at).unwrap());
    }
    let tiles = all.zipped_divide(&"<8,8>".parse().unwrap()).unwrap();
    let set: BTreeSet<i64> = tiles.offsets().unwrap().collect();
    assert!(set.into_iter().eq(0..512));
    let everything = all.slice(&coord("(5,3)")).unwrap();
    assert_eq!(
        (everything.size().unwrap(), everything.inner.to_string()),
        (1, "():()".into())
    );
}

#[test]
fn identities_of_nested_shapes() {
    let a: Layout<i64, Basis<i64>> = Layout::identity("((2,1),3)".parse().unwrap()).unwrap();
    assert_eq!(a.to_string(), "((2,1),3):((1@0@0,1@1@0),1@1)");
    assert_eq!(a.at(3).unwrap().to_string(), "1@0@0+1@1");
    let flat: Layout<i64, Basis<i64>> = Layout::identity("(3,2)".parse().unwrap()).unwrap();
    let coords: Vec<String> = flat
        .coords(2)
        .unwrap()
        .map(|c| c.unwrap().to_string())
        .collect();
    assert_eq!(
        coords,
        ["(0,0)", "(1,0)", "(2,0)", "(0,1)", "(1,1)", "(2,1)"]
    );
    assert_eq!(
        compatible(
            &"(4,6)".parse().unwrap(),
            &"((2,2),(3,2))".parse::<IntTuple<i64>>().unwrap()
        ),
        Ok(true)
    );
    assert_eq!(
        compatible(
            &"(4,6)".parse().unwrap(),
            &"24".parse::<IntTuple<i64>>().unwrap()
        ),
        Ok(false)
    );
}

#[test]
fn symbolic_compositions_need_what_they_use() {
    let mut facts = Facts::default();
    facts.divides("m", 32).unwrap();
    let a = facts.layout("(m,k):(lda,1)").unwrap();
    let b = facts.layout("(8,4):(4,m)").unwrap();
    assert_eq!(composition(&a, &b).unwrap().to_string(), "(8,4):(4*lda,1)");
    let unknown: Layout<Sym> = "(m,k):(lda,1)".parse().unwrap();
    let refused = composition(&unknown, &b).unwrap_err();
    assert!(matches!(refused, Error::Unproven { .. }), "{refused}");
    let mma = |facts: &Facts| {
        facts.layout("(m,k):(lda,1)").and_then(|a| {
            let (q, r) = a.shape().leaves()[1].div_rem(&Sym::constant(16))?;
            Ok((q.to_string(), r.to_string()))
        })
    };
    let (split, assumed) = facts.assuming(mma).unwrap();
    assert_eq!(split, ("k/16".to_owned(), "0".to_owned()));
    assert_eq!(
        assumed.iter().map(Fact::to_string).collect::<Vec<_>>(),
        ["k % 16 == 0"]
    );
}

#[test]
fn tilers_print_and_read() {
    for text in ["_", "4:1", "<4:1,_,(2,2):(1,8)>", "<<2:1,3:2>,_>", "<>"] {
        let tiler: Tiler = text.parse().unwrap();
        assert_eq!(tiler.to_string(), text);
    }
    let shape: Tiler = "(128,64)".parse().unwrap();
    assert_eq!(shape, Tiler::tile(&[128, 64]).unwrap());
}

/// Integers at and near the limits.
fn extreme() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(i64::MAX),
        Just(i64::MIN),
        Just(i64::MIN + 1),
        Just(-1i64),
        Just(0),
        Just(1),
        Just(2),
        any::<i64>(),
        (0u32..63).prop_map(|b| 1i64 << b),
        0i64..100,
    ]
}

fn extreme_layout() -> impl Strategy<Value = Layout> {
    proptest::collection::vec((extreme(), extreme()), 0..5).prop_filter_map("extents", |modes| {
        let (s, d): (Vec<i64>, Vec<i64>) = modes.into_iter().unzip();
        Layout::flat(
            &s.iter()
                .map(|s| s.saturating_abs().max(1))
                .collect::<Vec<_>>(),
            &d,
        )
        .ok()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2000)
    })]

    #[test]
    fn nothing_panics_at_the_limits(a in extreme_layout(), b in extreme_layout(), x in extreme()) {
        let _ = (a.size(), a.cosize(), a.at(x), a.coord(&x), a.offsets().map(|mut o| o.next()));
        let _ = (coalesce(&a), filter(&a), complement(&a, &x), right_inverse(&a), left_inverse(&a));
        let _ = (logical_product(&a, &b), blocked_product(&a, &b), max_common_vector(&a, &b));
        let _ = (upcast(&a, &x), downcast(&a, &x), local_partition(&a, &b, &x));
        let _ = (Swizzle::new(x, x, x), tile_to_shape(&a, &b.shape()), from_offsets(&[0, x, x, x]));
        let _ = compatible(&a.shape(), &b.shape());
        let swizzle = Swizzle::new(3, 3, 3).unwrap();
        let all = ComposedLayout { swizzle, offset: x, inner: a.clone() };
        let _ = (all.at(x), all.offsets().map(|mut o| o.next()), all.upcast(x), all.downcast(x));
        if let Ok(r) = composition(&a, &b) {
            // Where both sides have a value, it is the same.
            for i in [0, 1, 2, x.saturating_abs()] {
                let inside = b.size().is_ok_and(|n| i < n);
                if let (true, Ok(y)) = (inside, b.at(i))
                    && let (Ok(want), Ok(got)) = (a.at(y), r.at(i))
                {
                    prop_assert_eq!(got, want);
                }
            }
        }
        let _ = logical_divide(&a, &b);
    }
}
