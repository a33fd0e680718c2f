//! Complements, divides and products against brute force.
//!
//! In: small layouts. Out: counts. A tiling is found, or refuted, offset by offset: the first
//! offset that is not covered has to be the next translation.

use std::collections::BTreeSet;

use super::{Count, Modes, build, refinement_exists, value, values};
use tilewright_layout::*;

/// Whether translations of a set with minimum 0 cover some interval `[0, n)` exactly, `n` beyond
/// its maximum; at most `rounds` translations.
fn tiles(set: &BTreeSet<i64>, rounds: usize) -> bool {
    let (far, mut covered) = (*set.last().unwrap(), BTreeSet::new());
    let mut next = 0;
    for _ in 0..rounds {
        for x in set {
            if !covered.insert(x + next) {
                return false;
            }
        }
        while covered.contains(&next) {
            next += 1;
        }
        if next == *covered.last().unwrap() + 1 && next > far {
            return true;
        }
    }
    false
}

pub fn complements(all: &[Modes], sizes: &[i64]) -> Count {
    let mut count = Count::default();
    for modes in all {
        let used: Modes = modes
            .iter()
            .copied()
            .filter(|m| m.0 > 1 && m.1 != 0)
            .collect();
        let list = values(&used);
        let set: BTreeSet<i64> = list.iter().copied().collect();
        let exact = set.len() == list.len() && tiles(&set, 1000);
        for &size in sizes {
            let a = build(modes);
            let Ok(r) = complement(&a, &size) else {
                assert!(!exact, "complement of {a} in {size} is refused");
                count.add(false);
                continue;
            };
            let r: Vec<i64> = r.offsets().unwrap().collect();
            assert!(
                r.windows(2).all(|w| w[0] < w[1]),
                "complement of {a} in {size}"
            );
            let sums: BTreeSet<i64> = set
                .iter()
                .flat_map(|x| r.iter().map(move |y| x + y))
                .collect();
            assert_eq!(
                sums.len(),
                set.len() * r.len(),
                "complement of {a} in {size} overlaps"
            );
            if exact {
                let covers = sums.len() as i64;
                assert!(
                    sums.iter().copied().eq(0..covers),
                    "complement of {a} in {size}"
                );
                let extent = used.iter().map(|m| m.0 * m.1).max().unwrap_or(1);
                assert_eq!(
                    covers,
                    (size + extent - 1) / extent * extent,
                    "{a} in {size}"
                );
            }
            count.add(true);
        }
    }
    count
}

/// Checks an answer, or the refusal of a composition, against the wanted values.
fn judge(what: &str, shape: &Modes, want: &[i64], got: Result<Layout>) -> bool {
    match got {
        Ok(r) => {
            let list: Vec<i64> = r.offsets().unwrap().collect();
            assert_eq!(list, want, "{what} = {r}");
            true
        }
        Err(Error::NotALayout(_)) => {
            assert!(
                !refinement_exists(shape, want, want.len()),
                "{what} is refused though valid"
            );
            false
        }
        Err(e) => panic!("{what}: {e}"),
    }
}

fn modes_of(layout: &Layout) -> Modes {
    layout.leaves().map(|(s, d)| (*s, *d)).collect()
}

/// `a` divided by `b`: `a` at the sums of `b` and its complement.
pub fn divides(left: &[Modes], tiles: &[Modes]) -> Count {
    let mut count = Count::default();
    for b in tiles {
        for a in left {
            let (la, lb) = (build(a), build(b));
            let got = logical_divide(&la, &lb);
            let Ok(rest) = complement(&lb, &la.size().unwrap()) else {
                assert!(got.is_err(), "{la} / {lb}");
                count.add(false);
                continue;
            };
            let both: Modes = b.iter().copied().chain(modes_of(&rest)).collect();
            let size: i64 = both.iter().map(|m| m.0).product();
            let want: Vec<i64> = (0..size)
                .map(|mut x| {
                    let mut index = 0;
                    for (n, d) in &both {
                        index += x % n * d;
                        x /= n;
                    }
                    value(a, index)
                })
                .collect();
            count.add(judge(&format!("{la} / {lb}"), &both, &want, got));
        }
    }
    count
}

/// `a` repeated as `b` says: the complement of `a` at the values of `b`.
pub fn products(blocks: &[Modes], tiles: &[Modes]) -> Count {
    let mut count = Count::default();
    for a in blocks {
        for b in tiles {
            let (la, lb) = (build(a), build(b));
            let got = logical_product(&la, &lb);
            // So large that no value of `b` lies past its end.
            let room = 64 * la.size().unwrap() * lb.cosize().unwrap();
            let Ok(rest) = complement(&la, &room) else {
                assert!(got.is_err(), "{la} x {lb}");
                count.add(false);
                continue;
            };
            let rest = modes_of(&rest);
            let copies: Vec<i64> = values(b).iter().map(|&x| value(&rest, x)).collect();
            let what = format!("{la} x {lb}");
            let got = got.map(|r| {
                let block: Vec<i64> = r.mode(0).unwrap().offsets().unwrap().collect();
                assert_eq!(block, values(a), "{what} = {r}");
                r.mode(1).unwrap()
            });
            count.add(judge(&what, b, &copies, got));
            // Translations meet only where the tiler repeats.
            let used: Modes = a.iter().copied().filter(|m| m.1 != 0).collect();
            let distinct: BTreeSet<i64> = copies.iter().copied().collect();
            let block = if used.is_empty() {
                vec![0]
            } else {
                values(&used)
            };
            let sums: BTreeSet<i64> = block
                .iter()
                .flat_map(|x| distinct.iter().map(move |y| x + y))
                .collect();
            assert_eq!(sums.len(), block.len() * distinct.len(), "{what} overlaps");
        }
    }
    count
}
