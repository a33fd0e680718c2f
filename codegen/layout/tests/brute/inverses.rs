//! Inverses against brute force.
//!
//! In: small layouts. Out: counts. The right inverse is compared with every layout there is; a
//! refused left inverse with every choice of extents and of strides up to a bound.

use std::collections::{BTreeMap, BTreeSet};

use super::{Count, Modes, build, splits, value, values};
use tilewright_layout::*;

/// The size of the largest layout `r` with `a(r(i)) == i` and indices inside `a`.
fn largest_right(a: &[i64]) -> usize {
    let set: BTreeSet<i64> = a.iter().copied().collect();
    let run = (0..).find(|n| !set.contains(n)).unwrap();
    for n in (1..=run).rev() {
        for shape in splits(n) {
            let (mut unit, mut choices) = (1, vec![]);
            for s in &shape {
                let at = (0..a.len() as i64).filter(|&i| a[i as usize] == unit);
                choices.push(at.collect::<Vec<i64>>());
                unit *= s;
            }
            if any_choice(&choices, &mut vec![], &mut |strides| {
                let modes: Modes = shape.iter().copied().zip(strides.iter().copied()).collect();
                let r = |i| {
                    if modes.is_empty() {
                        0
                    } else {
                        value(&modes, i)
                    }
                };
                (0..n).all(|i| a.get(r(i) as usize) == Some(&i))
            }) {
                return n as usize;
            }
        }
    }
    unreachable!()
}

/// The longest layout of indices at which both layouts have the values 0, 1, 2, …; answered are
/// the pairs that share more than the first.
pub fn common_layouts(left: &[Modes], right: &[Modes]) -> Count {
    let mut count = Count::default();
    for one in left {
        for other in right {
            let (a, b) = (build(one), build(other));
            let (x, y) = (values(one), values(other));
            let both = x.iter().zip(&y);
            // No index is asked for a value below 0.
            let agreed: Vec<i64> = both.map(|(x, y)| if x == y { *x } else { -1 }).collect();
            let r = max_common_layout(&a, &b).unwrap_or_else(|e| panic!("{a} and {b}: {e}"));
            for (i, index) in (0..).zip(r.offsets().unwrap()) {
                assert_eq!(agreed.get(index as usize), Some(&i), "{r} of {a} and {b}");
            }
            let size = r.size().unwrap();
            let best = largest_right(&agreed);
            assert_eq!(size, best as i64, "common layout {r} of {a} and {b}");
            assert_eq!(max_common_vector(&a, &b).unwrap(), size);
            count.add(size > 1);
        }
    }
    count
}

fn any_choice(
    choices: &[Vec<i64>],
    chosen: &mut Vec<i64>,
    holds: &mut dyn FnMut(&[i64]) -> bool,
) -> bool {
    let Some(next) = choices.get(chosen.len()) else {
        return holds(chosen);
    };
    next.iter().any(|&x| {
        chosen.push(x);
        let found = any_choice(choices, chosen, holds);
        chosen.pop();
        found
    })
}

pub fn right_inverses(all: &[Modes]) -> Count {
    let mut count = Count::default();
    for modes in all {
        let (a, list) = (build(modes), values(modes));
        let r = right_inverse(&a).unwrap_or_else(|e| panic!("{a}: {e}"));
        for (i, x) in (0..).zip(r.offsets().unwrap()) {
            assert_eq!(list.get(x as usize), Some(&i), "right inverse {r} of {a}");
        }
        let best = largest_right(&list);
        assert_eq!(r.size().unwrap(), best as i64, "right inverse {r} of {a}");
        count.add(true);
    }
    count
}

/// Whether some layout, its last mode unlimited, takes each offset to one of its indices; strides
/// up to `most` are tried.
fn left_exists(points: &BTreeMap<i64, Vec<i64>>, most: i64) -> bool {
    fn heads(limit: i64) -> Vec<Vec<i64>> {
        let mut out = vec![vec![]];
        for n in 2..=limit {
            for mut rest in heads(limit / n) {
                rest.insert(0, n);
                out.push(rest);
            }
        }
        out
    }
    fn strides(
        points: &BTreeMap<i64, Vec<i64>>,
        head: &[i64],
        modes: &mut Modes,
        unit: i64,
        most: i64,
    ) -> bool {
        // Offsets below `unit` are settled by the modes chosen so far.
        let settled = points.range(0..unit);
        let right = |(v, i): (&i64, &Vec<i64>)| {
            i.contains(&if modes.is_empty() {
                0
            } else {
                value(modes, *v)
            })
        };
        let last = modes.len() == head.len() + 1;
        if !(if last { points.range(..) } else { settled }).all(right) {
            return false;
        }
        if last {
            return true;
        }
        let n = head.get(modes.len()).copied().unwrap_or(1);
        (-most..=most).any(|d| {
            modes.push((n, d));
            let found = strides(points, head, modes, unit.saturating_mul(n), most);
            modes.pop();
            found
        })
    }
    // Twice as far as any offset lies from 0, so that no choice of extents is left out.
    let far = points.keys().map(|v| v.abs()).max().unwrap();
    let room = if points.keys().any(|v| *v < 0) {
        2 * far + 2
    } else {
        far
    };
    heads(room)
        .iter()
        .any(|head| strides(points, head, &mut vec![], 1, most))
}

fn points(list: &[i64]) -> BTreeMap<i64, Vec<i64>> {
    let mut at: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (i, v) in (0..).zip(list) {
        at.entry(*v).or_default().push(i);
    }
    at
}

pub fn left_inverses(all: &[Modes]) -> Count {
    let mut count = Count::default();
    for modes in all {
        let (a, list) = (build(modes), values(modes));
        let at = points(&list);
        match left_inverse(&a) {
            Ok(r) => {
                for (i, x) in (0..).zip(&list) {
                    assert_eq!(r.at(*x).unwrap(), i, "left inverse {r} of {a}");
                }
                count.add(true);
            }
            Err(Error::NotALayout(c)) => {
                if at.len() == list.len() {
                    let index: i64 = c.want.parse().unwrap();
                    let upto = |n: i64| points(&list[..n as usize]);
                    assert!(!left_exists(&upto(index + 1), 2 * index), "{a}: {c:?}");
                    assert!(left_exists(&upto(index), 2 * index), "{a}: {c:?}");
                    assert_eq!(list[index as usize], c.at, "{a}: {c:?}");
                } else {
                    let Reason::Shared { first, second } = c.reason else {
                        panic!("{a}: {c:?}")
                    };
                    assert_eq!(list[first as usize], list[second as usize], "{a}: {c:?}");
                    let head: BTreeSet<i64> = list[..second as usize].iter().copied().collect();
                    assert_eq!(head.len() as i64, second, "{a}: {c:?} is not the smallest");
                }
                count.add(false);
            }
            Err(e) => panic!("{a}: {e}"),
        }
    }
    count
}

pub fn left_pseudo_inverses(all: &[Modes]) -> Count {
    let mut count = Count::default();
    for modes in all {
        let (a, list) = (build(modes), values(modes));
        let at = points(&list);
        match left_pseudo_inverse(&a) {
            Ok(r) => {
                for x in &list {
                    let back = r.at(*x).unwrap();
                    assert_eq!(list.get(back as usize), Some(x), "{r} of {a}");
                }
                count.add(true);
            }
            Err(Error::NotALayout(c)) => {
                let most = 2 * list.len() as i64;
                let upto: BTreeMap<_, _> =
                    at.range(..=c.at).map(|(v, i)| (*v, i.clone())).collect();
                let before: BTreeMap<_, _> =
                    at.range(..c.at).map(|(v, i)| (*v, i.clone())).collect();
                assert!(!left_exists(&upto, most), "{a}: {c:?}");
                assert!(left_exists(&before, most), "{a}: {c:?}");
                count.add(false);
            }
            Err(e) => panic!("{a}: {e}"),
        }
    }
    count
}
