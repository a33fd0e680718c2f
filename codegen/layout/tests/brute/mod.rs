//! Brute force: every operation against its definition, point by point.
//!
//! In: lists of small layouts as (extent, stride) modes. Out: how many cases, and how many of them
//! have an answer; a wrong answer, a valid case that is refused, or a counterexample that is not
//! the smallest panics. Nothing here uses the operation it checks.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

mod inverses;
mod tilings;

use std::fmt;

pub use inverses::*;
use tilewright_layout::*;
pub use tilings::*;

/// How many cases were checked, and how many have an answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    pub cases: u64,
    pub answered: u64,
}

impl Count {
    pub fn add(&mut self, answered: bool) {
        self.cases += 1;
        self.answered += u64::from(answered);
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, answered } = self;
        let refused = cases - answered;
        write!(
            f,
            "{cases} cases, {answered} answered, {refused} refused, 0 wrong, 0 refused though valid"
        )
    }
}

/// All pairs of left and right layouts.
pub fn compositions(left: &[Modes], right: &[Modes]) -> Count {
    let mut count = Count::default();
    for a in left {
        for b in right {
            count.add(check_pair(a, b));
        }
    }
    count
}

/// Modes of a flat layout.
pub type Modes = Vec<(i64, i64)>;

pub fn values(modes: &[(i64, i64)]) -> Vec<i64> {
    let size: i64 = modes.iter().map(|m| m.0).product();
    (0..size).map(|x| value(modes, x)).collect()
}

pub fn cosize(modes: &[(i64, i64)]) -> i64 {
    1 + modes.iter().map(|m| (m.0 - 1) * m.1.abs()).sum::<i64>()
}

/// The values of a layout past its end and below 0 too, written from the definition.
pub fn value(a: &[(i64, i64)], mut x: i64) -> i64 {
    let mut sum = 0;
    for (i, (n, d)) in a.iter().enumerate() {
        let digit = if i + 1 == a.len() {
            x
        } else {
            x.rem_euclid(*n)
        };
        sum += digit * d;
        x = x.div_euclid(*n);
    }
    sum
}

/// The splits of a size into factors of at least 2, in order.
pub fn splits(size: i64) -> Vec<Vec<i64>> {
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
pub fn refinement_exists(b: &[(i64, i64)], want: &[i64], upto: usize) -> bool {
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

pub fn build(modes: &[(i64, i64)]) -> Layout {
    let (s, d): (Vec<i64>, Vec<i64>) = modes.iter().copied().unzip();
    Layout::flat(&s, &d).unwrap()
}

/// Composes the pair and compares with the definition; whether it has an answer.
pub fn check_pair(a: &[(i64, i64)], b: &[(i64, i64)]) -> bool {
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
pub fn layouts(rank: usize, extents: &[i64], strides: &[i64]) -> Vec<Vec<(i64, i64)>> {
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
