//! Left inverses: from an offset back to its index.
//!
//! In: a layout of integers. Out: a layout that takes every offset back, or the first index that
//! none gets back. How: strides that divide one another, each extent before the next stride, are
//! turned round; anything else is searched for within a bound. Offsets below 0 are digits too: the
//! digits of a number round down, so only the last one, which has no limit, is below 0.

use std::collections::BTreeMap;

use super::search::{MOST_VALUES, Point, Search};
use super::{Placed, constant, lift, nested, placed, right_inverse};
use crate::error::{Counterexample, Error, Reason, Result};
use crate::inline::Inline;
use crate::int::Int;
use crate::layout::Layout;
use crate::simplify::{coalesce, coalesce_keeping_end, merged};

/// A layout `r` with `r(a(i)) == i` for every index of `a`: values between its points are free.
///
/// `left_inverse(&"(4,8):(1,5)")` is `(5,8):(1,4)`, and `left_inverse(&"(2,2):(2,3)")` is
/// `(2,3):(1,1)`. Negative strides are taken back like others, through the digits of a negative
/// offset: `left_inverse(&"(4,8):(1,-4)")` is `(4,8):(1,-4)`, which has 4 at -4.
///
/// # Errors
/// [`Error::NotALayout`] with the first index that no layout gets back, for example because two
/// indices share an offset; [`Error::Undecided`] when the search exceeds
/// [`INVERSE_LIMIT`](super::INVERSE_LIMIT);
/// [`Error::Unsupported`] for symbols that do not follow one another.
pub fn left_inverse<I: Int>(a: &Layout<I>) -> Result<Layout<I>> {
    if let Some(chain) = chain_left_inverse(a, false)? {
        return Ok(chain);
    }
    let plain = searchable(a, "left inverse")?;
    let what = format!("left inverse of {a}");
    if let Some((first, second, offset)) = first_shared(&plain)? {
        return Err(refuse(
            &what,
            offset,
            second,
            first,
            Reason::Shared { first, second },
        ));
    }
    let search = Search::new(what);
    if plain.size()? > MOST_VALUES {
        return Err(search.undecided());
    }
    let point = |(index, offset)| Point {
        offset,
        indices: vec![index],
    };
    let points: Vec<Point> = (0..).zip(plain.offsets()?).map(point).collect();
    search_left(&search, &points)
}

/// A layout `r` with `a(r(a(i))) == a(i)` for every index of `a`: an inverse also where several
/// indices share an offset. It is the left inverse where that exists.
///
/// `left_pseudo_inverse(&"(4,2):(1,0)")` is `4:1`.
///
/// # Errors
/// [`Error::NotALayout`] with the first offset that no layout takes to one of its indices;
/// [`Error::Undecided`] and [`Error::Unsupported`] as [`left_inverse`].
pub fn left_pseudo_inverse<I: Int>(a: &Layout<I>) -> Result<Layout<I>> {
    if let Some(chain) = chain_left_inverse(a, true)? {
        return Ok(chain);
    }
    let plain = searchable(a, "left pseudo-inverse")?;
    let search = Search::new(format!("left pseudo-inverse of {a}"));
    if plain.size()? > MOST_VALUES {
        return Err(search.undecided());
    }
    let mut at: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (index, offset) in (0..).zip(plain.offsets()?) {
        at.entry(offset).or_default().push(index);
    }
    let run = (0..).zip(at.keys()).take_while(|(n, v)| n == *v).count() as i64;
    if run == at.len() as i64
        && let Ok(right) = right_inverse(&plain)
        && right.size()? == run
    {
        return lift(&right);
    }
    let point = |(offset, indices)| Point { offset, indices };
    let points: Vec<Point> = at.into_iter().map(point).collect();
    search_left(&search, &points)
}

fn search_left<I: Int>(search: &Search, points: &[Point]) -> Result<Layout<I>> {
    if let Some(found) = search.find(points)? {
        return coalesce_keeping_end(&lift(&found)?);
    }
    let (served, best) = search.longest(points)?;
    let point = &points[served];
    let (want, got) = (point.indices[0], best.at(point.offset)?);
    Err(refuse(
        &search.what,
        point.offset,
        want,
        got,
        Reason::NoStrides,
    ))
}

fn refuse(what: &str, at: i64, want: i64, sum: i64, reason: Reason) -> Error {
    Error::NotALayout(Box::new(Counterexample {
        what: what.to_owned(),
        at,
        want: want.to_string(),
        sum_of_modes: sum.to_string(),
        reason,
    }))
}

/// The layout over `i64`, when all its offsets are known.
fn searchable<I: Int>(a: &Layout<I>, what: &str) -> Result<Layout> {
    constant(a).ok_or_else(|| {
        Error::unsupported(format!(
            "{what} of {a}: its strides must be constants, or follow one another"
        ))
    })
}

/// The first index whose offset an earlier index has: (earlier, later, offset).
fn first_shared(a: &Layout) -> Result<Option<(i64, i64, i64)>> {
    // A mode of stride 0 repeats index 0 at the place where the mode begins.
    let mut unit = 1i64;
    let mut zero = None;
    for (s, d) in a.leaves() {
        if *d == 0 && *s > 1 {
            zero = Some((0, unit, 0));
            break;
        }
        unit = unit.try_mul(s)?;
    }
    if zero.is_none() && nested(a)? {
        return Ok(None);
    }
    let mut seen: BTreeMap<i64, i64> = BTreeMap::new();
    let limit = usize::try_from(MOST_VALUES).unwrap_or(usize::MAX);
    for (index, offset) in (0..).zip(a.offsets()?).take(limit) {
        if let Some(&first) = seen.get(&offset) {
            return Ok(Some((first, index, offset)));
        }
        seen.insert(offset, index);
    }
    Ok(zero)
}

/// The left inverse read off strides that divide one another, each extent before the next stride;
/// `drop_zeros` passes over modes of stride 0. A negative stride has to be the farthest: then the
/// modes below it hold the remainder, and its digit is the last, which may be below 0.
fn chain_left_inverse<I: Int>(a: &Layout<I>, drop_zeros: bool) -> Result<Option<Layout<I>>> {
    let mut down: Option<Placed<I>> = None;
    let mut index = I::constant(1);
    for (s, d) in merged(a, false)?.iter() {
        if d.is(0) && !drop_zeros {
            return Ok(None);
        }
        if !d.is(0) && !I::default().le(d)? {
            let placed = Placed {
                extent: s.clone(),
                stride: I::default().try_sub(d)?,
                index: I::default().try_sub(&index)?,
            };
            if down.replace(placed).is_some() {
                return Ok(None);
            }
        }
        index = index.try_mul(s)?;
    }
    let mut modes = placed(a)?;
    down.into_iter().for_each(|mode| modes.push(mode));
    let mut out: Inline<(I, I), 8> = Inline::new();
    let (mut unit, mut index) = (I::constant(1), I::default());
    let mut covered = I::constant(1);
    for mode in modes.iter() {
        let (gap, rest) = mode.stride.div_rem(&unit)?;
        if !rest.is(0) || !covered.le(&mode.stride)? {
            return Ok(None);
        }
        out.push((gap, index));
        (unit, index) = (mode.stride.clone(), mode.index.clone());
        covered = mode.stride.try_mul(&mode.extent)?;
    }
    if let Some(last) = modes.last() {
        out.push((last.extent.clone(), index));
    }
    coalesce(&Layout::from_leaves(out.iter().cloned())).map(Some)
}
