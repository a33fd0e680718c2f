//! Composition against brute force, exhaustively over small layouts, and the silent errors of other
//! implementations.
//!
//! In: every layout up to a stated size. Out: agreement with the definition: success exactly when a
//! refining layout exists, and the counterexample is the smallest.
#![allow(clippy::unwrap_used, clippy::panic)]

use tilewright_layout::*;

fn l(text: &str) -> Layout {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The values of a layout past its end too, written from the definition.
fn value(a: &[(i64, i64)], mut x: i64) -> i64 {
    let mut sum = 0;
    for (i, (n, d)) in a.iter().enumerate() {
        let digit = if i + 1 == a.len() { x } else { x % n };
        sum += digit * d;
        x /= n;
    }
    sum
}

/// The splits of a size into factors of at least 2, in order.
fn splits(size: i64) -> Vec<Vec<i64>> {
    if size == 1 {
        return vec![vec![]];
    }
    let heads = (2..=size).filter(|f| size % f == 0);
    heads
        .flat_map(|f| {
            splits(size / f).into_iter().map(move |mut rest| {
                rest.insert(0, f);
                rest
            })
        })
        .collect()
}

/// Whether some layout whose modes split the shape of `b` has the wanted values at the first
/// `upto` indices.
fn refinement_exists(b: &[(i64, i64)], want: &[i64], upto: usize) -> bool {
    let mut all: Vec<Vec<i64>> = vec![vec![]];
    for (n, _) in b {
        let parts = splits(*n);
        all = all
            .into_iter()
            .flat_map(|head| {
                parts
                    .iter()
                    .map(move |p| [head.clone(), p.clone()].concat())
            })
            .collect();
    }
    all.iter().any(|shape| {
        let mut unit = 1;
        let modes: Vec<(i64, i64)> = shape
            .iter()
            .map(|&n| {
                // A mode that begins beyond `upto` plays no part.
                let stride = if unit < upto as i64 {
                    want[unit as usize]
                } else {
                    0
                };
                unit *= n;
                (n, stride)
            })
            .collect();
        let exact = |x: usize| {
            if modes.is_empty() {
                0
            } else {
                value(&modes, x as i64)
            }
        };
        want[..upto].iter().enumerate().all(|(x, &v)| exact(x) == v)
    })
}

fn build(modes: &[(i64, i64)]) -> Layout {
    let (s, d): (Vec<i64>, Vec<i64>) = modes.iter().copied().unzip();
    Layout::flat(&s, &d).unwrap()
}

fn check_pair(a: &[(i64, i64)], b: &[(i64, i64)]) -> bool {
    let size: i64 = b.iter().map(|m| m.0).product();
    let want: Vec<i64> = (0..size)
        .map(|mut x| {
            let mut index = 0;
            for (n, d) in b {
                index += x % n * d;
                x /= n;
            }
            value(a, index)
        })
        .collect();
    let (la, lb) = (build(a), build(b));
    match composition(&la, &lb) {
        Ok(r) => {
            assert_eq!(
                r.offsets().unwrap().collect::<Vec<_>>(),
                want,
                "{la} o {lb} = {r}"
            );
            assert!(
                compatible(&lb.shape(), &r.shape()).unwrap(),
                "{la} o {lb} = {r}"
            );
            true
        }
        Err(Error::NotALayout(c)) => {
            let at = usize::try_from(c.at).unwrap();
            assert!(
                !refinement_exists(b, &want, at + 1),
                "{la} o {lb} refused though valid: {c:?}"
            );
            assert!(
                refinement_exists(b, &want, at),
                "{la} o {lb}: not the smallest: {c:?}"
            );
            assert_eq!(c.want, want[at].to_string(), "{la} o {lb}: {c:?}");
            assert_ne!(c.want, c.sum_of_modes, "{la} o {lb}: {c:?}");
            false
        }
        Err(e) => panic!("{la} o {lb}: {e}"),
    }
}

/// Flat layouts of `rank` modes with extents and strides from the given ranges.
fn layouts(rank: usize, extents: &[i64], strides: &[i64]) -> Vec<Vec<(i64, i64)>> {
    let mut out: Vec<Vec<(i64, i64)>> = vec![vec![]];
    for _ in 0..rank {
        out = out
            .into_iter()
            .flat_map(|head| {
                extents.iter().flat_map(move |&n| {
                    let head = head.clone();
                    strides
                        .iter()
                        .map(move |&d| [head.clone(), vec![(n, d)]].concat())
                })
            })
            .collect();
    }
    out
}

#[test]
fn composition_agrees_with_brute_force_on_all_small_pairs() {
    // Strides of the left side include accidental ones, such as 3 = 1 + 2, and zeros.
    let mut left = layouts(1, &[1, 2, 3, 4, 6], &[0, 1, 2, 5]);
    left.extend(layouts(2, &[2, 3, 4, 6], &[0, 1, 2, 3, 7]));
    left.extend(layouts(3, &[1, 2, 3], &[0, 1, 3, 10]));
    let mut right = layouts(1, &[1, 2, 3, 4, 6, 8, 9], &[0, 1, 2, 3, 4, 6]);
    right.extend(layouts(2, &[2, 3, 4], &[0, 1, 2, 3, 4, 6]));
    let (mut pairs, mut composed) = (0u32, 0u32);
    for a in &left {
        for b in &right {
            pairs += 1;
            composed += u32::from(check_pair(a, b));
        }
    }
    assert!(
        pairs > 700_000 && composed > pairs / 10,
        "{composed} of {pairs}"
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
