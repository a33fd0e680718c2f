//! Elements of a tile or an operand, row after row; what nothing was written to is poison.

use std::ops::Range;

/// What nothing was written to. Arithmetic hands it on.
pub(super) const POISON: f64 = f64::from_bits(0x7ff8_0000_dead_beef);

/// Whether nothing was written there; numbers that are none have other bits.
pub(super) fn is_poison(value: f64) -> bool {
    value.to_bits() == POISON.to_bits()
}

/// Elements of two axes, the second fastest.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    /// Extents.
    pub extents: [usize; 2],
    /// Elements.
    pub data: Vec<f64>,
}

/// Elements next to one another along the second axis of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Coordinates of the first.
    pub at: [i64; 2],
    /// How many.
    pub len: usize,
}

impl Grid {
    /// Elements that nothing was written to.
    pub fn poison(extents: [usize; 2]) -> Grid {
        Grid {
            extents,
            data: vec![POISON; extents[0] * extents[1]],
        }
    }

    /// So many elements from that one on.
    pub fn line(&self, at: [i64; 2], len: usize) -> Option<&[f64]> {
        self.data.get(self.range(at, len)?)
    }

    /// The same, to be written.
    pub fn line_mut(&mut self, at: [i64; 2], len: usize) -> Option<&mut [f64]> {
        let range = self.range(at, len)?;
        self.data.get_mut(range)
    }

    /// The element there.
    pub fn element(&self, at: [i64; 2]) -> Option<f64> {
        self.line(at, 1)?.first().copied()
    }

    /// The same, to be written.
    pub fn element_mut(&mut self, at: [i64; 2]) -> Option<&mut f64> {
        self.line_mut(at, 1)?.first_mut()
    }

    fn range(&self, [row, column]: [i64; 2], len: usize) -> Option<Range<usize>> {
        let row = usize::try_from(row).ok()?;
        let column = usize::try_from(column).ok()?;
        let [rows, columns] = self.extents;
        let inside = row < rows && column + len <= columns;
        let first = row * columns + column;
        inside.then_some(first..first + len)
    }

    /// `self += a · bᵀ` at those rows and columns, the first of which is that row of b; `=` where
    /// it starts anew.
    pub fn multiply<'g>(
        &mut self,
        [a, b]: [&'g Grid; 2],
        (rows, down): (&[usize], usize),
        (columns, first): (Range<usize>, usize),
        anew: bool,
    ) -> Option<()> {
        let depth = a.extents[1];
        let factors = |grid: &'g Grid, line: usize| grid.line([line as i64, 0], depth);
        // Zeros past an edge add nothing to sums, unless poison is multiplied by them.
        let is_zero = |factors: &[f64]| factors.iter().all(|factor| *factor == 0.0);
        let is_poison = |factors: &[f64]| factors.iter().any(|factor| factor.is_nan());
        let mut taken = Vec::new();
        for row in rows {
            taken.push((*row, factors(a, down + *row)?));
        }
        let mut lines = Vec::new();
        for column in 0..columns.len() {
            lines.push(factors(b, first + column)?);
        }
        let whole = taken.iter().any(|(_, line)| is_poison(line));
        let used = lines.iter().rposition(|line| whole || !is_zero(line));
        let width = used.map_or(0, |last| last + 1);
        lines.truncate(width);
        let all = lines.iter().any(|line| is_poison(line));
        let mut transposed = Vec::with_capacity(depth * width);
        for step in 0..depth {
            transposed.extend(lines.iter().filter_map(|line| line.get(step)));
        }
        for (row, factors) in taken {
            let sums = self.line_mut([row as i64, columns.start as i64], columns.len())?;
            if anew {
                sums.fill(0.0);
            }
            if all || !is_zero(factors) {
                add_products(sums.get_mut(..width)?, factors, &transposed);
            }
        }
        Some(())
    }
}

/// `sums += factors · lines`, four lines at a time.
fn add_products(sums: &mut [f64], factors: &[f64], lines: &[f64]) {
    let mut lines = lines.chunks_exact(sums.len().max(1));
    let mut factors = factors.chunks_exact(4);
    for four in &mut factors {
        let Some([a, b, c, d]) = four.first_chunk::<4>() else {
            return;
        };
        let mut next = || lines.next().unwrap_or_default();
        let (la, lb, lc, ld) = (next(), next(), next(), next());
        let lines = la.iter().zip(lb).zip(lc.iter().zip(ld));
        for (sum, ((xa, xb), (xc, xd))) in sums.iter_mut().zip(lines) {
            *sum += a * xa + b * xb + c * xc + d * xd;
        }
    }
    for (factor, line) in factors.remainder().iter().zip(lines) {
        for (sum, value) in sums.iter_mut().zip(line) {
            *sum += factor * value;
        }
    }
}
