//! Inverses of layouts whose modes overlap, or whose strides do not divide one another.
//!
//! In: the values of a layout, few enough to list. Out: the inverse, or that there is none, or that
//! it stays open. How: extents are enumerated with those cut off that no strides can serve; the
//! strides of given extents are the integer solutions of linear equations. Invariant: at most
//! [`INVERSE_LIMIT`] steps are taken in one inverse.

use std::cell::Cell;
use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::lattice::{Solutions, TooLarge};
use crate::layout::Layout;

/// Most steps of arithmetic that are taken when an inverse has to be searched for.
pub const INVERSE_LIMIT: u64 = 1 << 20;
/// Most values of a layout whose inverse is searched for.
pub(super) const MOST_VALUES: i64 = 1 << 12;

/// An offset, and the indices that are right answers for it.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub offset: i64,
    pub indices: Vec<i64>,
}

/// The steps taken so far, and what to call the search.
pub(super) struct Search {
    pub what: String,
    looked: Cell<u64>,
}

impl Search {
    pub fn new(what: String) -> Self {
        let looked = Cell::new(0);
        Self { what, looked }
    }

    fn look(&self, steps: usize) -> Result<()> {
        self.looked.set(self.looked.get() + steps as u64);
        if self.looked.get() > INVERSE_LIMIT {
            return Err(self.undecided());
        }
        Ok(())
    }

    pub fn undecided(&self) -> Error {
        Error::Undecided {
            what: self.what.clone(),
            searched: self.looked.get(),
        }
    }

    fn require(&self, set: &mut Solutions, row: &[i64], value: i64) -> Result<bool> {
        self.look(1 + row.len() * row.len())?;
        set.require(row, value).map_err(|TooLarge| self.undecided())
    }

    /// A layout that takes every offset to one of its indices; the last mode has no limit.
    pub fn find(&self, points: &[Point]) -> Result<Option<Layout>> {
        let reach = Reach {
            low: points.iter().map(|p| p.offset).min().unwrap_or(0).min(0),
            high: points.iter().map(|p| p.offset).max().unwrap_or(0).max(0),
        };
        self.descend(points, reach, &mut Vec::new(), 1)
    }

    fn descend(
        &self,
        points: &[Point],
        reach: Reach,
        head: &mut Vec<i64>,
        unit: i64,
    ) -> Result<Option<Layout>> {
        let all = Solutions::all(head.len() + 1);
        if let Some(set) = self.finish(points, head, all)? {
            let strides = set.one().map_err(|TooLarge| self.undecided())?;
            let extents = head.iter().copied().chain([reach.last_extent(unit)]);
            return Ok(Some(Layout::from_leaves(extents.zip(strides))));
        }
        for n in 2..=reach.most(unit) {
            self.look(1)?;
            let next = unit.checked_mul(n).ok_or_else(|| self.undecided())?;
            head.push(n);
            if self.plausible(points, head, next)?
                && let Some(found) = self.descend(points, reach, head, next)?
            {
                return Ok(Some(found));
            }
            head.pop();
        }
        Ok(None)
    }

    /// The strides that serve all points under the extents `head` and an unlimited last one.
    fn finish(
        &self,
        points: &[Point],
        head: &[i64],
        mut set: Solutions,
    ) -> Result<Option<Solutions>> {
        for (i, point) in points.iter().enumerate() {
            let row = digits(point.offset, head);
            if let [index] = point.indices[..] {
                if !self.require(&mut set, &row, index)? {
                    return Ok(None);
                }
                continue;
            }
            for &index in &point.indices {
                let mut branch = set.clone();
                if self.require(&mut branch, &row, index)?
                    && let Some(done) = self.finish(&points[i + 1..], head, branch)?
                {
                    return Ok(Some(done));
                }
            }
            return Ok(None);
        }
        Ok(Some(set))
    }

    /// Whether some strides of the extents `head`, of product `unit`, agree with all differences of
    /// points that lie in one block of `unit` offsets.
    fn plausible(&self, points: &[Point], head: &[i64], unit: i64) -> Result<bool> {
        let mut set = Solutions::all(head.len());
        let mut first: HashMap<i64, (Vec<i64>, i64)> = HashMap::new();
        for point in points {
            let [index] = point.indices[..] else { continue };
            let mut row = digits(point.offset, head);
            row.pop();
            let block = point.offset.div_euclid(unit);
            let Some((start, at)) = first.get(&block) else {
                first.insert(block, (row, index));
                continue;
            };
            let row: Vec<i64> = row.iter().zip(start).map(|(x, y)| x - y).collect();
            if !self.require(&mut set, &row, index - at)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many leading points some layout serves, and that layout; they are not all served.
    pub fn longest(&self, points: &[Point]) -> Result<(usize, Layout)> {
        let (mut low, mut high) = (0, points.len());
        let mut best = Layout::from_leaves([]);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.find(&points[..middle])? {
                Some(found) => (low, best) = (middle, found),
                None => high = middle,
            }
        }
        Ok((low, best))
    }
}

/// How far the offsets of an inverse lie from 0 on both sides, 0 included.
#[derive(Debug, Clone, Copy)]
struct Reach {
    low: i64,
    high: i64,
}

impl Reach {
    /// The largest extent that has to be tried where the extents before it have the product `unit`.
    ///
    /// Without offsets below 0 the last mode has to get something to do. With them, an extent that
    /// holds all offsets of both sides adds a flag that says which side an offset is on; all such
    /// extents serve the same offsets, so the smallest of them is enough.
    fn most(self, unit: i64) -> i64 {
        let far = self.high.max(-(self.low + 1)) / unit;
        far + i64::from(self.low < 0 && far > 0)
    }

    /// How many values the last digit has on the wider side, 0 included.
    fn last_extent(self, unit: i64) -> i64 {
        (self.high / unit)
            .max(-self.low.div_euclid(unit))
            .saturating_add(1)
    }
}

/// The digits of an offset, rounded down, the last one without limit.
fn digits(offset: i64, head: &[i64]) -> Vec<i64> {
    let mut left = offset;
    let mut out: Vec<i64> = Vec::with_capacity(head.len() + 1);
    for n in head {
        out.push(left.rem_euclid(*n));
        left = left.div_euclid(*n);
    }
    out.push(left);
    out
}

/// The largest layout `r` with `a(r(i)) == i`, from the values of `a` by index and a first answer.
pub(super) struct Largest<'a> {
    pub search: &'a Search,
    pub values: HashMap<i64, i64>,
    pub best: Layout,
}

/// A right inverse in the making: its indices in order, and its modes.
struct Partial {
    indices: Vec<i64>,
    modes: Vec<(i64, i64)>,
}

impl Largest<'_> {
    /// The largest right inverse.
    pub fn run(mut self) -> Result<Layout> {
        let mut at: HashMap<i64, Vec<i64>> = HashMap::new();
        for (&index, &value) in &self.values {
            at.entry(value).or_default().push(index);
        }
        at.values_mut().for_each(|indices| indices.sort_unstable());
        let run = (0..).find(|n| !at.contains_key(n)).unwrap_or(0);
        let start = Partial {
            indices: vec![0],
            modes: Vec::new(),
        };
        self.extend(&at, run, &start)?;
        Ok(self.best)
    }

    /// Looks for more modes; true when no larger inverse is possible.
    fn extend(&mut self, at: &HashMap<i64, Vec<i64>>, run: i64, part: &Partial) -> Result<bool> {
        let n = part.indices.len() as i64;
        if n > self.best.size()? {
            self.best = Layout::from_leaves(part.modes.iter().copied());
        }
        if self.best.size()? >= run {
            return Ok(true);
        }
        for &step in at.get(&n).into_iter().flatten() {
            let mut indices = part.indices.clone();
            let mut count = 1;
            while let Some(block) = self.block(part, step, count)? {
                indices.extend(block);
                count += 1;
            }
            for count in (2..=count).rev() {
                indices.truncate((count * n) as usize);
                self.search.look(indices.len())?;
                let mut modes = part.modes.clone();
                modes.push((count, step));
                let next = Partial {
                    indices: indices.clone(),
                    modes,
                };
                if self.extend(at, run, &next)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The indices of `part` moved by `count` steps, when they hold the next values.
    fn block(&self, part: &Partial, step: i64, count: i64) -> Result<Option<Vec<i64>>> {
        let first = count * part.indices.len() as i64;
        let mut out = Vec::with_capacity(part.indices.len());
        for (i, index) in (0..).zip(&part.indices) {
            self.search.look(1)?;
            let moved = count * step + index;
            if self.values.get(&moved) != Some(&(first + i)) {
                return Ok(None);
            }
            out.push(moved);
        }
        Ok(Some(out))
    }
}
