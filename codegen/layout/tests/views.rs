//! The operations on shapes, tiles, threads and composed layouts, against their definitions.
//!
//! In: worked layouts. Out: agreement with the parent operation, point by point.
#![allow(clippy::unwrap_used, clippy::panic)]

use tilewright_layout::*;

fn l(text: &str) -> Layout {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn t(text: &str) -> IntTuple<i64> {
    text.parse().unwrap()
}

#[test]
fn shapes_relate_weakly() {
    for (a, b, congruent, weak, strong) in [
        ("24", "(4,6)", true, true, true),
        ("(4,6)", "24", false, false, false),
        ("(2,3)", "((2,2),9)", true, true, false),
        ("(2,4)", "((2,2),9)", true, false, false),
        ("(4,9)", "((2,2),9)", true, true, true),
        ("(2,3)", "(2,3,4)", false, false, false),
    ] {
        let (a, b) = (t(a), t(b));
        assert_eq!(
            weakly_congruent(a.profile(), b.profile()),
            congruent,
            "{a} {b}"
        );
        assert_eq!(weakly_compatible(&a, &b).unwrap(), weak, "{a} {b}");
        assert_eq!(compatible(&a, &b).unwrap(), strong, "{a} {b}");
    }
    assert_eq!(
        crd2crd(&t("(1,2)"), &t("(4,6)"), &t("(3,(2,4))")).unwrap(),
        t("(0,(1,1))")
    );
}

#[test]
fn slice_and_dice_share_the_modes() {
    let layout = l("(2,(3,4),5):(60,(20,5),1)");
    let coord: IntTuple<Slot<i64>> = "(1,(_,2),_)".parse().unwrap();
    let (kept, offset) = slice(&coord, &layout).unwrap();
    assert_eq!((kept, offset), (l("(3,5):(20,1)"), 70));
    assert_eq!(dice(&coord, &layout).unwrap(), l("(2,4):(60,5)"));
}

#[test]
fn orders_are_followed() {
    let shape = || t("(2,4,8)");
    assert_eq!(
        Layout::ordered(shape(), &[2, 0, 1]).unwrap(),
        l("(2,4,8):(32,1,4)")
    );
    assert_eq!(
        Layout::ordered(shape(), &[0, 0, 0]).unwrap(),
        Layout::compact(shape()).unwrap()
    );
    assert!(Layout::ordered(shape(), &[0]).is_err());
    assert_eq!(
        l("(8,2,4):(16,0,2)").compact_like().unwrap(),
        l("(8,2,4):(4,0,1)")
    );
    let block = l("(8,8):(8,1)");
    let by = tile_to_shape_by(&block, &t("(16,16)"), &[2, 1]).unwrap();
    assert_eq!(by, l("((8,2),(8,2)):((8,128),(1,64))"));
    assert_eq!(
        tile_to_shape(&block, &t("(16,16)")).unwrap(),
        tile_to_shape_by(&block, &t("(16,16)"), &[0, 1]).unwrap()
    );
}

#[test]
fn inner_and_outer_partition_are_the_two_halves_of_a_divide() {
    let (a, tiler) = (l("(8,6):(1,8)"), "<2,3>".parse().unwrap());
    let at = |text: &str| text.parse::<IntTuple<Slot<i64>>>().unwrap();
    let (rest, offset) = outer_partition(&a, &tiler, &at("(1,2)")).unwrap();
    assert_eq!((rest, offset), (l("(4,2):(2,24)"), 17));
    let (tile, offset) = inner_partition(&a, &tiler, &at("(3,1)")).unwrap();
    assert_eq!((tile, offset), (l("(2,3):(1,8)"), 30));
}

#[test]
fn nullspaces_and_common_layouts_have_their_property() {
    let a = l("(4,2,8,3):(1,0,4,0)");
    let null = nullspace(&a).unwrap();
    assert_eq!(null.size().unwrap(), 6);
    assert!(null.offsets().unwrap().all(|i| a.at(i).unwrap() == 0));
    for (a, b, size) in [
        ("(8,3):(1,8)", "(8,3):(1,16)", 8),
        ("(4,8):(8,1)", "(4,8):(8,1)", 32),
        ("(4,8):(8,1)", "(4,8):(1,4)", 1),
        ("(8,(2,4)):(8,(4,1))", "(8,8):(16,1)", 1),
    ] {
        let (a, b) = (l(a), l(b));
        let common = max_common_layout(&a, &b).unwrap();
        assert_eq!(common.size().unwrap(), size, "{a} {b}: {common}");
        for (i, x) in (0..).zip(common.offsets().unwrap()) {
            assert_eq!(
                (a.at(x).unwrap(), b.at(x).unwrap()),
                (i, i),
                "{a} {b}: {common}"
            );
        }
    }
}

#[test]
fn the_rules_of_others_differ_where_the_notes_say() {
    let verdicts = |a: &str, b: &str| {
        let c = Comparison::of(&l(a), &l(b));
        (
            c.cute_verdict(),
            c.left_divisible_verdict(),
            c.disjoint_verdict(),
        )
    };
    use Verdict::{RefusedValid, Right, Wrong};
    assert_eq!(verdicts("(6,4):(1,100)", "4:4"), (Wrong, Right, Right));
    assert_eq!(
        verdicts("(36,18):(1,72)", "(9,4):(4,9)"),
        (Wrong, Wrong, Right)
    );
    assert_eq!(verdicts("(4,4):(4,1)", "(2,2):(1,5)").0, RefusedValid);
    assert_eq!(verdicts("(12,2):(1,100)", "(3,2):(2,3)").2, RefusedValid);
    assert_eq!(
        cute_rule(&l("(6,4):(1,100)"), &l("4:4")).unwrap(),
        l("(2,2):(4,100)")
    );
}

fn mma() -> TiledMma {
    let atom = MmaAtom {
        mnk: [16, 8, 16],
        thr_id: l("32:1"),
        a_tv: l("((4,8),(2,2,2)):((32,1),(16,8,128))"),
        b_tv: l("((4,8),(2,2)):((16,1),(8,64))"),
        c_tv: l("((4,8),(2,2)):((32,1),(16,8))"),
    };
    let keep = [Tiler::Keep, Tiler::Keep, Tiler::Keep];
    TiledMma::new(atom, &l("(2,2,1):(1,2,0)"), keep).unwrap()
}

/// The holders of a cell by looking at every thread and value.
fn holders_by_search(partition: &Layout, cell: i64) -> Vec<Holder> {
    let threads = partition.mode(0).unwrap().size().unwrap();
    let all = (0..)
        .zip(partition.offsets().unwrap())
        .filter(|(_, c)| *c == cell);
    let mut out: Vec<Holder> = all
        .map(|(i, _)| Holder {
            thread: i % threads,
            value: i / threads,
        })
        .collect();
    out.sort();
    out
}

#[test]
fn holders_are_all_threads_and_values_of_an_element() {
    let mma = mma();
    for (operand, shape, copies) in [
        (Operand::A, "(64,32)", 2),
        (Operand::B, "(32,32)", 2),
        (Operand::C, "(64,32)", 1),
    ] {
        let cells = Layout::compact(t(shape)).unwrap();
        let partition = mma.partition(operand, &cells).unwrap();
        for cell in (0..cells.size().unwrap()).step_by(37) {
            let coord = cells.coord(&cell).unwrap();
            let found = mma.holders(operand, &t(shape), &coord).unwrap();
            assert_eq!(found.len(), copies, "{operand:?} {coord}");
            assert_eq!(
                found,
                holders_by_search(&partition, cell),
                "{operand:?} {coord}"
            );
        }
        assert!(mma.holders(operand, &t(shape), &t("(64,32)")).is_err());
    }
    let copy = make_tiled_copy(
        CopyAtom::vector(8).unwrap(),
        &l("(32,8):(8,1)"),
        &l("(1,8):(0,1)"),
    );
    let (copy, shape) = (copy.unwrap(), t("(128,64)"));
    let found = copy.holders(Side::Source, &shape, &t("(33,9)")).unwrap();
    assert_eq!(
        found,
        [Holder {
            thread: 9,
            value: 9
        }]
    );
}

#[test]
fn a_thread_sees_its_share_of_the_partition() {
    let mma = mma();
    let tensor = l("(64,32):(32,1)");
    for thread in [0, 1, 31, 77, 127] {
        let view = mma.thread(thread).unwrap();
        let (share, offset) = view.partition_a(&tensor).unwrap();
        let whole = mma.partition(Operand::A, &tensor).unwrap();
        let threads = mma.thread_count().unwrap();
        for (value, x) in (0..).zip(share.offsets().unwrap()) {
            assert_eq!(whole.at(thread + threads * value).unwrap(), offset + x);
        }
        let fragment = view.fragment(Operand::A, &tensor).unwrap();
        assert_eq!(fragment.shape(), share.shape());
        assert_eq!(fragment.cosize().unwrap(), share.size().unwrap());
    }
    assert!(mma.thread(128).is_err() && mma.thread(-1).is_err());
}

#[test]
fn composed_layouts_do_what_their_inner_layout_does() {
    let whole: ComposedLayout = "Sw<3,3,3> o 64 o (8,64):(64,1)".parse().unwrap();
    let through = |x: i64| whole.swizzle.apply(whole.offset + x);
    let same = |got: ComposedLayout, inner: Layout| {
        let want: Vec<i64> = inner.offsets().unwrap().map(through).collect();
        assert_eq!(got.offsets().unwrap().collect::<Vec<_>>(), want, "{got}");
    };
    let (tiler, b): (Tiler, Layout) = ("<4,16>".parse().unwrap(), l("2:1"));
    same(whole.coalesce().unwrap(), whole.inner.clone());
    same(whole.flatten(), whole.inner.clone());
    same(
        whole.tiled_divide(&tiler).unwrap(),
        tiled_divide(&whole.inner, &tiler).unwrap(),
    );
    same(
        whole.flat_divide(&tiler).unwrap(),
        flat_divide(&whole.inner, &tiler).unwrap(),
    );
    same(
        whole.logical_product(&b).unwrap(),
        logical_product(&whole.inner, &b).unwrap(),
    );
    let target = t("(16,128)");
    same(
        whole.tile_to_shape(&target).unwrap(),
        tile_to_shape(&whole.inner, &target).unwrap(),
    );
    let tile = whole.local_tile(&tiler, &"(1,2)".parse().unwrap()).unwrap();
    assert_eq!(
        tile.at_coord(&t("(2,3)")).unwrap(),
        whole.at_coord(&t("(6,35)")).unwrap()
    );
    let (right, left) = (
        whole.right_inverse().unwrap(),
        whole.left_inverse().unwrap(),
    );
    for (i, x) in (0..).zip(whole.offsets().unwrap()) {
        assert_eq!((right.at(x).unwrap(), left.at(x).unwrap()), (i, i));
    }
    let plain = ComposedLayout::from(whole.inner.clone());
    let start = ComposedLayout::new(whole.swizzle, whole.inner.clone());
    let common = start.max_common_layout(&plain).unwrap();
    assert_eq!(common.size().unwrap(), 8);
    for (i, x) in (0..).zip(common.offsets().unwrap()) {
        assert_eq!((start.at(x).unwrap(), plain.at(x).unwrap()), (i, i));
    }
}

#[test]
fn symbolic_divides_list_what_they_assume() {
    let facts = Facts::default();
    let tiler: Tiler<Sym> = "<128,64>".parse().unwrap();
    let (tiles, assumed) = facts
        .assuming(|facts| {
            let tensor = facts.layout("(m,k):(lda,1)")?;
            zipped_divide(&upcast(&tensor, &Sym::constant(8))?, &tiler)
        })
        .unwrap();
    let assumed: Vec<String> = assumed.iter().map(Fact::to_string).collect();
    assert_eq!(assumed, ["lda % 8 == 0"], "{tiles}");
    let (tile, none) = facts
        .assuming(|facts| composition_by(&facts.layout("(m,k):(lda,1)")?, &tiler))
        .unwrap();
    assert_eq!(
        (tile.to_string().as_str(), none.len()),
        ("(128,64):(lda,1)", 0)
    );
    let (split, assumed) = facts
        .assuming(|facts| {
            composition(
                &facts.layout("(m,k):(1,ld)")?,
                &facts.layout("(4,8):(m/4,m)")?,
            )
        })
        .unwrap();
    assert!(split.size().unwrap().is(32), "{split} {assumed:?}");
}

#[test]
fn sums_of_coordinates_that_do_not_split_alike_are_decided() {
    // Both entries bend, at 2 and at 3: no layout; alone each would be one.
    let tensor = l("((2,8),(3,8)):((1,10),(100,1000))");
    let both: Layout<i64, Basis<i64>> = "6:1@0+1@1".parse().unwrap();
    let Err(Error::NotALayout(c)) = composition_coords(&tensor, &both) else {
        panic!()
    };
    assert_eq!(
        (c.at, c.want.as_str(), c.sum_of_modes.as_str()),
        (3, "1011", "311")
    );
    // The bends cancel: digits move weight from one entry to the other.
    let tensor = l("((2,8),(2,8)):((1,5),(1,-1))");
    let r = composition_coords(&tensor, &both).unwrap();
    for i in 0..6 {
        let want = tensor.at_coord(&t(&format!("({i},{i})"))).unwrap();
        assert_eq!(r.at(i).unwrap(), want);
    }
}
