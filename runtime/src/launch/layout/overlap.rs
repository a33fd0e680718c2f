//! Whether two operands have a byte in common.
//!
//! Comes in: where two strided boxes of elements lie. Goes out: whether an address is of both,
//! however their rows stand in one another. That is a sum of coordinates times strides which must
//! come to the distance of the two, each coordinate within its extent. The answer is exact unless
//! the search for such coordinates takes more than [`MOST_STEPS`] steps, which it then says.

use tilewright_bundle::DType;

use super::Extents;

/// Coordinates that are tried at most, some microseconds' work; operands whose rows lie between one
/// another take a few.
const MOST_STEPS: u32 = 1 << 14;

/// An operand in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed<'e> {
    /// Address of its first element.
    pub address: u64,
    /// Where the others are from there.
    pub extents: &'e Extents,
    /// Their type.
    pub dtype: DType,
}

/// Bytes between two elements of an operand at most.
const MOST_BYTES: i128 = 1 << 62;

/// Whether two operands have a byte in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// They have none.
    Apart,
    /// They have.
    Shared,
    /// Their strides leave too many coordinates to try.
    Unknown,
}

/// A coordinate from 0 to `most` and what it is multiplied by, which is positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    step: i128,
    most: i128,
}

/// The bytes of an operand: runs of `run` bytes, the first at `start`, others by its terms.
struct Bytes {
    start: i128,
    run: i128,
    terms: Vec<Term>,
}

impl Bytes {
    /// Those of an operand; nothing where elements begin within a byte, or lie too far apart to
    /// reckon with.
    fn of(placed: &Placed<'_>) -> Option<Bytes> {
        let (size, per_byte) = (placed.dtype.bytes(), placed.dtype.per_byte());
        let (size, per_byte) = (i128::from(size), i128::from(per_byte));
        let mut bytes = Bytes {
            start: i128::from(placed.address),
            run: size,
            terms: Vec::new(),
        };
        for (extent, stride) in placed.extents.axes().filter(|(extent, _)| *extent > 1) {
            let (mut extent, mut stride) = (i128::from(extent), i128::from(stride));
            if per_byte > 1 && stride == 1 {
                extent = (extent + per_byte - 1) / per_byte;
            } else if stride % per_byte != 0 {
                return None;
            } else {
                stride /= per_byte;
            }
            let term = Term {
                step: (stride * size).abs(),
                most: extent - 1,
            };
            if term.step.checked_mul(term.most)? > MOST_BYTES {
                return None;
            }
            bytes.start += (stride * size * term.most).min(0);
            bytes.terms.push(term);
        }
        Some(bytes)
    }
}

/// Whether two operands have a byte in common.
pub(crate) fn sharing(one: &Placed<'_>, other: &Placed<'_>) -> Sharing {
    let is_empty = |placed: &Placed<'_>| placed.extents.elems() < 1;
    if is_empty(one) || is_empty(other) {
        return Sharing::Apart;
    }
    let (Some(one), Some(other)) = (Bytes::of(one), Bytes::of(other)) else {
        return Sharing::Unknown;
    };
    // What all places and sizes are multiples of is moved together.
    let apart = other.start - one.start;
    let steps = one.terms.iter().chain(&other.terms).map(|term| term.step);
    let unit = steps.chain([one.run, other.run, apart]).fold(0, gcd).max(1);
    // The other's coordinates are counted from their ends, so that every step is positive.
    let ends = other.terms.iter().map(|term| term.step * term.most);
    let distance = (apart + ends.sum::<i128>() + other.run) / unit - 1;
    let within = [one.run, other.run].map(|run| Term {
        step: 1,
        most: run / unit - 1,
    });
    let steps = one.terms.iter().chain(&other.terms).map(|term| Term {
        step: term.step / unit,
        most: term.most,
    });
    let terms = joined(steps.chain(within));
    let mut left = MOST_STEPS;
    match reaches(&terms, distance, &mut left) {
        true => Sharing::Shared,
        false if left == 0 => Sharing::Unknown,
        false => Sharing::Apart,
    }
}

/// Fewer terms that come to the same sums, the longest step first: those of one step are one, and
/// so are steps that go on where shorter ones end.
fn joined(terms: impl Iterator<Item = Term>) -> Vec<Term> {
    let mut sorted: Vec<Term> = terms.filter(|one| one.most > 0 && one.step > 0).collect();
    sorted.sort_unstable();
    let mut all: Vec<Term> = Vec::new();
    for mut term in sorted {
        loop {
            let goes_on = |shorter: &Term| {
                let fits = term.step % shorter.step == 0;
                fits && term.step / shorter.step <= shorter.most + 1
            };
            let Some(at) = all.iter().position(goes_on) else {
                break;
            };
            let shorter = all.swap_remove(at);
            term = Term {
                step: shorter.step,
                most: shorter.most + term.step / shorter.step * term.most,
            };
        }
        all.push(term);
    }
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}

/// Whether coordinates give that sum. No more is tried than steps are left.
fn reaches(terms: &[Term], sum: i128, left: &mut u32) -> bool {
    let Some((first, rest)) = terms.split_first() else {
        return sum == 0;
    };
    let most: i128 = rest.iter().map(|term| term.step * term.most).sum();
    let low = ceil_div(sum - most, first.step).max(0);
    let high = sum.div_euclid(first.step).min(first.most);
    // The other terms come to multiples of this alone, and to 0 where there are none.
    let common = rest.iter().map(|term| term.step).fold(0, gcd);
    if common == 0 {
        return low <= high && sum % first.step == 0;
    }
    let shared = gcd(first.step, common);
    if sum % shared != 0 {
        return false;
    }
    let every = common / shared;
    let start = (sum / shared % every) * inverse(first.step / shared, every);
    let mut at = low + (start - low).rem_euclid(every);
    while at <= high {
        // Of one other term the rest is a multiple, and within its extent.
        if rest.len() == 1 {
            return true;
        }
        if *left == 0 {
            return false;
        }
        *left -= 1;
        if reaches(rest, sum - at * first.step, left) {
            return true;
        }
        at += every;
    }
    false
}

/// What times `value` is 1 but for multiples of `modulus`, of numbers without a common divisor.
fn inverse(value: i128, modulus: i128) -> i128 {
    let (mut rest, mut next) = (value.rem_euclid(modulus), modulus);
    let (mut found, mut after) = (1, 0);
    while next != 0 {
        let times = rest / next;
        (rest, next) = (next, rest - times * next);
        (found, after) = (after, found - times * after);
    }
    found.rem_euclid(modulus)
}

fn ceil_div(value: i128, by: i128) -> i128 {
    -(-value).div_euclid(by)
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn placed(address: u64, extents: &Extents, dtype: DType) -> Placed<'_> {
        Placed {
            address,
            extents,
            dtype,
        }
    }

    /// Every byte of an operand, by its elements.
    fn bytes(placed: &Placed<'_>) -> BTreeSet<i64> {
        let per_byte = i64::from(placed.dtype.per_byte());
        let size = i64::from(placed.dtype.bytes());
        let mut all = BTreeSet::new();
        placed.extents.for_each_run(|offset, _, count| {
            for element in offset..offset + count {
                let first = placed.address as i64 + element.div_euclid(per_byte) * size;
                all.extend(first..first + size);
            }
        });
        all
    }

    fn assert_as_their_bytes(one: &Placed<'_>, other: &Placed<'_>) {
        let shared = !bytes(one).is_disjoint(&bytes(other));
        let expected = if shared {
            Sharing::Shared
        } else {
            Sharing::Apart
        };
        assert_eq!(sharing(one, other), expected, "{one:?} {other:?}");
        assert_eq!(sharing(other, one), expected, "{other:?} {one:?}");
    }

    #[test]
    fn it_is_what_their_bytes_say() {
        let mut rng = StdRng::seed_from_u64(28);
        let dtypes = [DType::S8, DType::BF16, DType::F32, DType::F64];
        for _ in 0..4000 {
            let [one, other] = [(); 2].map(|()| {
                let rank = rng.random_range(0..4);
                let mut axis = || (rng.random_range(1..5), rng.random_range(0..40));
                Extents::new((0..rank).map(|_| axis()).collect::<Vec<_>>())
            });
            let mut any = || (rng.random_range(0..160), dtypes[rng.random_range(0..4)]);
            let [(from, first), (to, second)] = [any(), any()];
            assert_as_their_bytes(&placed(from, &one, first), &placed(to, &other, second));
        }
    }

    #[test]
    fn elements_that_share_bytes_take_whole_ones() {
        let mut rng = StdRng::seed_from_u64(4);
        for _ in 0..1000 {
            let [one, other] = [(); 2].map(|()| {
                let row = (rng.random_range(1..5), 2 * rng.random_range(1..20));
                Extents::new([row, (rng.random_range(1..9), 1)])
            });
            let [from, to] = [(); 2].map(|()| rng.random_range(0..40));
            let (one, other) = (placed(from, &one, DType::S4), placed(to, &other, DType::U4));
            assert_as_their_bytes(&one, &other);
        }
    }

    #[test]
    fn large_views_of_one_allocation_are_told_apart() {
        // Halves of rows, heads of a packed projection, even and odd columns; all of 2^20 rows.
        let rows = 1 << 20;
        let half = Extents::new([(rows, 8192), (4096, 1)]);
        let apart = |from: u64, to: u64, extents: &Extents| {
            sharing(
                &placed(from, extents, DType::BF16),
                &placed(to, extents, DType::BF16),
            )
        };
        assert_eq!(apart(0, 8192, &half), Sharing::Apart);
        assert_eq!(apart(0, 8190, &half), Sharing::Shared);
        let heads = Extents::new([(rows, 3 * 4096), (32, 128), (128, 1)]);
        assert_eq!(apart(0, 8192, &heads), Sharing::Apart);
        assert_eq!(apart(8192, 16_384, &heads), Sharing::Apart);
        assert_eq!(apart(0, 8192 - 256, &heads), Sharing::Shared);
        let every_other = Extents::new([(rows, 8192), (4096, 2)]);
        assert_eq!(apart(0, 2, &every_other), Sharing::Apart);
        assert_eq!(apart(0, 4, &every_other), Sharing::Shared);
        let halves_of_heads = Extents::new([(rows, 4096), (32, 128), (64, 1)]);
        assert_eq!(apart(0, 128, &halves_of_heads), Sharing::Apart);
        assert_eq!(apart(0, 126, &halves_of_heads), Sharing::Shared);
    }

    /// Many long strides without a common divisor have too many sums to try, which is said.
    #[test]
    fn the_work_is_bounded() {
        let strides = [1_000_003, 1_100_009, 1_210_001, 1_331_009, 1_464_103];
        let many = Extents::new(strides.map(|stride| (40, stride)));
        let alone = Extents::new([(1, 1)]);
        let found = (0..20).map(|at| {
            let far = placed(100_000_007 + 1_000_001 * at, &alone, DType::S8);
            sharing(&placed(0, &many, DType::S8), &far)
        });
        assert!(found.into_iter().any(|one| one == Sharing::Unknown));
        let huge = Extents::new([(3, i64::MAX / 4), (2, 1)]);
        let huge = placed(u64::MAX / 2, &huge, DType::F64);
        let below = placed(0, &many, DType::S8);
        assert_eq!(sharing(&huge, &below), Sharing::Unknown);
    }
}
