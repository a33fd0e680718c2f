//! Composition against brute force, exhaustively over small layouts, and the silent errors of other
//! implementations.
//!
//! In: every layout up to a stated size. Out: agreement with the definition: success exactly when a
//! refining layout exists, and the counterexample is the smallest.
#![allow(clippy::unwrap_used, clippy::panic)]

mod brute;

use brute::*;
use tilewright_layout::*;

fn l(text: &str) -> Layout {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn composition_agrees_with_brute_force_on_all_small_pairs() {
    // Strides of the left side include accidental ones, such as 3 = 1 + 2, and zeros.
    let mut left = layouts(1, &[1, 2, 3, 4, 6], &[0, 1, 2, 5]);
    left.extend(layouts(2, &[2, 3, 4, 6], &[0, 1, 2, 3, 7]));
    left.extend(layouts(3, &[1, 2, 3], &[0, 1, 3, 10]));
    let mut right = layouts(1, &[1, 2, 3, 4, 6, 8, 9], &[0, 1, 2, 3, 4, 6]);
    right.extend(layouts(2, &[2, 3, 4], &[0, 1, 2, 3, 4, 6]));
    let count = compositions(&left, &right);
    assert!(
        count.cases > 700_000 && count.answered > count.cases / 10,
        "{count}"
    );
}

#[test]
fn inverses_agree_with_brute_force_on_all_small_layouts() {
    let mut all = layouts(1, &[1, 2, 3, 5], &[-1, 0, 1, 2, 3]);
    all.extend(layouts(2, &[1, 2, 3, 4], &[-2, 0, 1, 2, 3, 4, 5]));
    all.extend(layouts(3, &[2, 3], &[0, 1, 2, 3, 4]));
    let right = right_inverses(&all);
    assert!(
        right.cases > 1700 && right.answered == right.cases,
        "{right}"
    );
    let mut all: Vec<_> = all.into_iter().filter(|l| cosize(l) <= 14).collect();
    all.retain(|l| l.iter().all(|m| m.1 >= 0) || cosize(l) <= 10);
    let left = left_inverses(&all);
    assert!(left.cases > 900 && left.answered > 300, "{left}");
    let pseudo = left_pseudo_inverses(&all);
    assert!(pseudo.cases > 900 && pseudo.answered > 700, "{pseudo}");
}

#[test]
fn common_layouts_agree_with_brute_force_on_all_small_pairs() {
    // Modes that overlap, repeat and count down on both sides.
    let mut all = layouts(1, &[2, 3, 5], &[-1, 0, 1, 2]);
    all.extend(layouts(2, &[1, 2, 3, 4], &[-2, 0, 1, 2, 3, 4]));
    all.extend(layouts(3, &[2], &[0, 1, 2, 3, 4]));
    let count = common_layouts(&all, &all);
    assert!(count.cases > 500_000 && count.answered > 20_000, "{count}");
}

#[test]
fn inverses_of_layouts_that_count_down() {
    for (a, r) in [
        ("4:-1", "4:-1"),
        ("(4,8):(1,-4)", "(4,8):(1,-4)"),
        // A row reversed inside its padding: a flag tells which side of a row's start it is on.
        ("(4,8):(-1,8)", "(4,2,8):(-1,8,4)"),
        ("(64,32):(-1,128)", "(64,2,32):(-1,128,64)"),
        ("(2,2):(-1,-3)", "(2,2,2):(-1,-1,-3)"),
        // Read off the strides, however large it is.
        ("(1024,1048576):(1,-4096)", "(4096,1048576):(1,-1024)"),
    ] {
        assert_eq!(left_inverse(&l(a)).unwrap(), l(r), "{a}");
    }
    // Without padding there is none: 4:-1 begins where the row before it ends.
    let Err(Error::NotALayout(c)) = left_inverse(&l("(4,8):(-1,4)")) else {
        panic!()
    };
    assert_eq!((c.at, c.want.as_str()), (2, "6"));
    let undecided = left_inverse(&l("(256,256):(-1,512)"));
    assert!(
        matches!(undecided, Err(Error::Undecided { searched: 0, .. })),
        "{undecided:?}"
    );
    // Steps below 0 that nothing leads back from play no part in a right inverse.
    assert_eq!(
        right_inverse(&l("(1024,1048576):(1,-1024)")).unwrap(),
        l("1024:1")
    );
}

#[test]
fn common_layouts_are_the_largest() {
    for (a, b, r) in [
        // The modes of b need not fit those of a: three elements lie in both, the fourth does not.
        ("(3,3):(1,10)", "8:1", "3:1"),
        // No index beyond the end of the smaller one.
        ("4:1", "8:1", "4:1"),
        ("(128,64):(64,1)", "(128,64):(64,1)", "(64,128):(128,1)"),
        ("(4,4096):(1,0)", "(4,4096):(1,4)", "4:1"),
    ] {
        for (a, b) in [(a, b), (b, a)] {
            assert_eq!(max_common_layout(&l(a), &l(b)).unwrap(), l(r), "{a} {b}");
        }
    }
}

#[test]
fn complements_divides_and_products_agree_with_brute_force() {
    let mut tiles = layouts(1, &[1, 2, 3, 4], &[0, 1, 2, 3, 4]);
    tiles.extend(layouts(2, &[2, 3, 4], &[0, 1, 2, 3, 4, 6, 8]));
    let complement = complements(&tiles, &[1, 6, 12, 24, 30]);
    assert!(
        complement.cases > 2000 && complement.answered > 500,
        "{complement}"
    );
    let mut left = layouts(1, &[4, 6, 12], &[1, 2]);
    left.extend(layouts(2, &[2, 3, 4, 6], &[1, 3, 12]));
    let divide = divides(&left, &tiles);
    assert!(divide.cases > 50_000 && divide.answered > 5000, "{divide}");
    let product = products(&tiles, &tiles);
    assert!(
        product.cases > 100_000 && product.answered > 10_000,
        "{product}"
    );
}

#[test]
fn gaps_that_no_whole_tiles_fill_stay() {
    let (tile, rest) = (
        l("(6,3):(1,8)"),
        complement(&l("(6,3):(1,8)"), &24).unwrap(),
    );
    assert_eq!(rest, l("1:0"));
    let divided = logical_divide(&l("24:1"), &tile).unwrap();
    let held: Vec<i64> = divided.offsets().unwrap().collect();
    let left: Vec<i64> = (0..24).filter(|offset| !held.contains(offset)).collect();
    assert_eq!(left, [6, 7, 14, 15, 22, 23]);
}

#[test]
fn a_span_past_the_largest_integer_has_a_complement() {
    for (a, size, r) in [
        ("2:9223372036854775807", i64::MAX, "9223372036854775807:1"),
        (
            "(2,4):(4,4611686018427387904)",
            9,
            "(4,576460752303423488):(1,8)",
        ),
    ] {
        assert_eq!(complement(&l(a), &size).unwrap(), l(r), "{a}");
    }
    // A product goes on past the end, which is not there.
    let product = logical_product(&l("2:9223372036854775807"), &l("2:1"));
    assert!(
        matches!(product, Err(Error::Overflow { .. })),
        "{product:?}"
    );
}

#[test]
fn counterexamples_are_the_smallest() {
    for (a, b, at, want, sum) in [
        ("(6,4):(1,100)", "4:4", 3, "200", "106"),
        ("(36,18):(1,72)", "(9,4):(4,9)", 16, "73", "37"),
        ("(6,4):(1,100)", "9:1", 6, "100", "6"),
        ("(4,4):(1,100)", "(3,3):(1,3)", 4, "100", "4"),
    ] {
        let Err(Error::NotALayout(c)) = composition(&l(a), &l(b)) else {
            panic!("{a} o {b}")
        };
        assert_eq!(
            (c.at, c.want.as_str(), c.sum_of_modes.as_str()),
            (at, want, sum),
            "{a} o {b}"
        );
    }
}

#[test]
fn valid_compositions_that_cute_refuses() {
    for (a, b, r) in [
        ("(4,4):(4,1)", "(2,2):(1,5)", "(2,2):(4,5)"),
        ("(12,2):(1,100)", "(3,2):(2,3)", "(3,2):(2,3)"),
        ("12:1", "5:1", "5:1"),
    ] {
        assert_eq!(composition(&l(a), &l(b)).unwrap(), l(r));
    }
}

#[test]
fn accidental_strides_are_decided_by_a_bounded_search() {
    // With a stride of n + 1 the first two digits carry together, and their carries cancel.
    let pair = |n: i64| {
        (
            l(&format!("({n},{n},4):(1,1,{})", 2 * n - 1)),
            l(&format!("{}:{}", 2 * n - 2, n + 1)),
        )
    };
    let (a, b) = pair(1 << 10);
    assert_eq!(composition(&a, &b).unwrap(), l("2046:2"));
    check_pair(&modes(&a), &modes(&b));
    let (a, b) = pair(1 << 22);
    let undecided = composition(&a, &b);
    assert!(
        matches!(undecided, Err(Error::Undecided { .. })),
        "{undecided:?}"
    );
}

fn modes(layout: &Layout) -> Vec<(i64, i64)> {
    layout.leaves().map(|(s, d)| (*s, *d)).collect()
}

#[test]
fn products_never_share_an_address() {
    let product = logical_product(&l("4:4"), &l("(3,2):(1,3)"));
    assert!(matches!(product, Err(Error::NotALayout(_))), "{product:?}");
}

#[test]
fn silent_errors_of_the_python_model() {
    assert_eq!(left_inverse(&l("(4,8):(1,5)")).unwrap(), l("(5,8):(1,4)"));
    // The stride-0 mode does not end the chain.
    let inverse = right_inverse(&l("(2,3,4):(1,0,2)")).unwrap();
    assert_eq!(inverse.size().unwrap(), 8);
    for i in 0..8 {
        assert_eq!(l("(2,3,4):(1,0,2)").at(inverse.at(i).unwrap()).unwrap(), i);
    }
    // A complement has no modes of extent 0, and refuses modes that run into one another.
    assert!(complement(&l("(4,4):(1,3)"), &64).is_err());
    assert!(complement(&l("(3,2):(1,2)"), &1).is_err());
    assert!(Swizzle::new(2, 1, 0).is_err());
}

#[test]
fn overflow_is_an_error() {
    let big = i64::MAX / 2;
    let a = l(&format!("(4,4):({big},1)"));
    for got in [
        a.at(3).map(|_| ()),
        a.cosize().map(|_| ()),
        composition(&a, &l("2:3")).map(|_| ()),
        l(&format!("({big},{big}):(1,1)")).size().map(|_| ()),
        logical_product(&l(&format!("{big}:1")), &l("8:1")).map(|_| ()),
        Layout::<i64>::compact("(4294967296,4294967296,2)".parse().unwrap()).map(|_| ()),
    ] {
        assert!(matches!(got, Err(Error::Overflow { .. })), "{got:?}");
    }
}
