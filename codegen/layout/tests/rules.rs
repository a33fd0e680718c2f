//! Laws of the comparison rules and of inverses where the inverse does not exist.
//!
//! In: random layouts. Out: the rules that are called sound are, and each inverse has its property.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tilewright_layout::*;

fn layout(strides: impl Strategy<Value = i64>) -> impl Strategy<Value = Layout> {
    proptest::collection::vec((1i64..9, strides), 1..4).prop_map(|modes| {
        let (shape, stride): (Vec<i64>, Vec<i64>) = modes.into_iter().unzip();
        Layout::flat(&shape, &stride).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2048)
    })]

    #[test]
    fn disjoint_intervals_accept_only_right_pairs(
        a in layout(0i64..200),
        b in layout(prop_oneof![0i64..13, Just(16), Just(18), Just(24), Just(36)]),
    ) {
        let c = Comparison::of(&a, &b);
        prop_assert_ne!(c.disjoint_verdict(), Verdict::Wrong, "{}", c);
        if c.cute_verdict() == Verdict::Right && let (Ok(r), Ok(cute)) = (&c.exact, &c.cute) {
            prop_assert!(r.offsets().unwrap().eq(cute.offsets().unwrap()), "{}", c);
        }
    }

    #[test]
    fn pseudo_inverses_give_an_index_of_the_same_offset(a in layout(0i64..9)) {
        let (left, pseudo) = (left_inverse(&a), left_pseudo_inverse(&a));
        if left.is_ok() {
            prop_assert!(pseudo.is_ok(), "{a}");
        }
        if let Ok(r) = pseudo {
            for x in a.offsets().unwrap() {
                prop_assert_eq!(a.at(r.at(x).unwrap()).unwrap(), x, "{} of {}", r, a);
            }
        }
    }

    #[test]
    fn common_layouts_are_right_inverses_of_both(a in layout(0i64..9), b in layout(0i64..9)) {
        let r = match max_common_layout(&a, &b) {
            Err(Error::Undecided { .. }) => return Ok(()),
            r => r.unwrap(),
        };
        for (i, x) in (0..).zip(r.offsets().unwrap()) {
            prop_assert_eq!((a.at(x).unwrap(), b.at(x).unwrap()), (i, i), "{} of {} {}", r, a, b);
        }
    }
}
