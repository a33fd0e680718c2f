//! Which element of the tensor goes where in the packed tile.

use super::{Im2col, TensorMap};

/// Consecutive bytes of the packed tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Offset in the packed tile.
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    /// Where the bytes are in global memory; `None` outside the tensor.
    pub(crate) address: Option<u64>,
}

impl TensorMap {
    /// Calls `visit` for every run of a copy at `coords`; `offsets` are those of im2col.
    pub(crate) fn walk(&self, coords: &[i64; 5], offsets: &[i64; 3], mut visit: impl FnMut(Run)) {
        match &self.im2col {
            Some(im2col) => self.walk_columns(im2col, coords, offsets, &mut visit),
            None => self.walk_tile(coords, &mut visit),
        }
    }

    /// Bytes behind a run that a store writes too.
    ///
    /// NOTE: an H200 cuts boxes of stores at 16 bytes, not at the element where the tensor ends,
    /// so elements of the box behind the end reach the padding of a row (seen with 16-bit elements
    /// and extents that are no multiple of 8).
    pub(crate) fn spill_bytes(&self, run: &Run) -> u64 {
        let Some(address) = run.address.filter(|_| self.element_strides[0] <= 1) else {
            return 0;
        };
        let row = match &self.im2col {
            Some(im2col) => u64::from(im2col.channels),
            None => self.tile()[0],
        };
        let row_bytes = (row * self.ty.bytes()).max(1);
        let behind = (row_bytes - (run.at + run.bytes) % row_bytes) % row_bytes;
        let end = address.wrapping_add(run.bytes);
        (end.wrapping_neg() % 16).min(behind)
    }

    fn walk_tile(&self, coords: &[i64; 5], visit: &mut impl FnMut(Run)) {
        let tile = self.tile();
        let rows: u64 = tile[1..].iter().product();
        let row_bytes = tile[0] * self.ty.bytes();
        for row in 0..rows {
            let mut rest = row;
            let mut place = *coords;
            for d in 1..5 {
                let index = rest % tile[d];
                rest /= tile[d];
                place[d] += index as i64 * i64::from(self.element_strides[d].max(1));
            }
            let row_address = self.row(&place);
            let step = u64::from(self.element_strides[0].max(1));
            self.walk_row(
                coords[0],
                step,
                (row * row_bytes, tile[0]),
                row_address,
                visit,
            );
        }
    }

    /// The address of element 0 of the row through `place`; `None` outside the tensor.
    fn row(&self, place: &[i64; 5]) -> Option<u64> {
        let mut address = self.base;
        let outer = place.iter().zip(&self.dims).skip(1).zip(&self.strides);
        for ((place, extent), stride) in outer.take(usize::from(self.rank).saturating_sub(1)) {
            let index = u64::try_from(*place).ok()?;
            if index >= *extent {
                return None;
            }
            address = address.wrapping_add(index.wrapping_mul(*stride));
        }
        Some(address)
    }

    /// One row of `count` elements from `first` on.
    fn walk_row(
        &self,
        first: i64,
        step: u64,
        (at, count): (u64, u64),
        row: Option<u64>,
        visit: &mut impl FnMut(Run),
    ) {
        let size = self.ty.bytes();
        let Some(row) = row else {
            let (bytes, address) = (count * size, None);
            return visit(Run { at, bytes, address });
        };
        if step != 1 {
            for index in 0..count {
                let element = first + (index * step) as i64;
                let inside = (0..self.dims[0] as i64).contains(&element);
                let address = inside.then(|| row.wrapping_add(element as u64 * size));
                let at = at + index * size;
                visit(Run {
                    at,
                    bytes: size,
                    address,
                });
            }
            return;
        }
        // Before the tensor, inside, behind it.
        let before = first.min(0).unsigned_abs().min(count);
        let left = (self.dims[0] as i64 - first.max(0)).max(0) as u64;
        let inside = left.min(count - before);
        let behind = count - before - inside;
        let start = row.wrapping_add(first.max(0) as u64 * size);
        let parts = [(before, None), (inside, Some(start)), (behind, None)];
        let mut at = at;
        for (elements, address) in parts {
            let bytes = elements * size;
            if bytes > 0 {
                visit(Run { at, bytes, address });
            }
            at += bytes;
        }
    }

    /// Positions advance along W, then H, then D, then N.
    fn walk_columns(
        &self,
        im2col: &Im2col,
        coords: &[i64; 5],
        offsets: &[i64; 3],
        visit: &mut impl FnMut(Run),
    ) {
        let spatial = usize::from(self.rank).saturating_sub(2).min(3);
        let channels = u64::from(im2col.channels);
        let mut position = *coords;
        for pixel in 0..u64::from(im2col.pixels) {
            let mut place = position;
            for d in 0..spatial {
                place[d + 1] += offsets[d];
            }
            let at = pixel * channels * self.ty.bytes();
            self.walk_row(coords[0], 1, (at, channels), self.row(&place), visit);
            for d in 0..=spatial {
                position[d + 1] += i64::from(self.element_strides[d + 1].max(1));
                if d == spatial {
                    break;
                }
                let last = self.dims[d + 1] as i64 - 1 + i64::from(im2col.upper[d]);
                if position[d + 1] <= last {
                    break;
                }
                position[d + 1] = i64::from(im2col.lower[d]);
            }
        }
    }
}
