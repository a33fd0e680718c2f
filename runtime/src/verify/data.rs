//! Operands as memory images: random values laid out with strides, offsets and red zones.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use tilewright_bundle::{DType, Operand};

use super::numbers::{encode, is_integer};
use crate::device::Device;
use crate::error::Error;
use crate::info::{Backend, POISON};
use crate::layout::Extents;

/// What kind of values the inputs hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Data {
    /// Small integers: every order of summation is exact.
    Integers,
    /// Standard normal values, rounded to the operand's type.
    Normals,
}

impl Data {
    /// The spelling in reports.
    pub const fn text(self) -> &'static str {
        match self {
            Data::Integers => "integers",
            Data::Normals => "normals",
        }
    }
}

/// Bytes around an operand that no kernel may touch, on a device that would not notice.
const RED_ZONE: u64 = 4096;

/// An operand in a buffer: where its elements are and what surrounds them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placement {
    pub extents: Extents,
    pub dtype: DType,
    /// Bytes from the start of the buffer to the first element.
    pub offset_bytes: u64,
    /// Size of the buffer.
    pub bytes: u64,
    /// Bytes before and behind that belong to the device's way of watching, not to the operand.
    zone: u64,
}

impl Placement {
    /// Places an operand `offset_bytes` behind an aligned address. The emulator watches the ends of
    /// a buffer itself; elsewhere red zones are added.
    pub fn new(
        device: &Device,
        operand: &Operand,
        extents: Extents,
        offset_bytes: u64,
    ) -> Result<Placement, Error> {
        let elem = u64::from(operand.dtype.bytes());
        let span = extents.span_elems().and_then(|s| u64::try_from(s).ok());
        let span = span.and_then(|s| s.checked_mul(elem)).ok_or_else(|| {
            Error::Request(format!("`{}` does not fit 64-bit addresses", operand.name))
        })?;
        let zone = match device.info().backend {
            Backend::Emulator => 0,
            Backend::Cuda => RED_ZONE,
        };
        let offset_bytes = zone + offset_bytes;
        let bytes = offset_bytes + span + zone;
        Ok(Placement {
            extents,
            dtype: operand.dtype,
            offset_bytes,
            bytes,
            zone,
        })
    }

    /// The part of a buffer's image that is the same on every device: from the aligned address
    /// that the operand's offset counts from, to the end of its last element.
    pub fn window<'b>(&self, image: &'b [u8]) -> &'b [u8] {
        let zone = self.zone as usize;
        image
            .get(zone..image.len().saturating_sub(zone))
            .unwrap_or_default()
    }

    /// Byte position of an element in the buffer.
    pub fn at(&self, row: i64, col: i64) -> usize {
        let offset = self.extents.offset(row, col) * i64::from(self.dtype.bytes());
        (self.offset_bytes as i64 + offset) as usize
    }

    /// The buffer's image: elements of `dense` (row by row), other bytes all ones, which is NaN in
    /// every float type.
    pub fn image(&self, dense: &[u8]) -> Vec<u8> {
        let mut image = vec![0xFFu8; self.bytes as usize];
        self.for_each_run(|at, from, bytes| {
            image[at..at + bytes].copy_from_slice(&dense[from..from + bytes]);
        });
        image
    }

    /// The elements of a buffer's image, row by row.
    pub fn gather(&self, image: &[u8]) -> Vec<u8> {
        let size = self.dtype.bytes() as usize;
        let mut dense = vec![0u8; self.extents.elems() as usize * size];
        self.for_each_run(|at, to, bytes| {
            dense[to..to + bytes].copy_from_slice(&image[at..at + bytes]);
        });
        dense
    }

    /// Position of the first byte outside the elements that is not poison any more.
    pub fn first_touched(&self, mut image: Vec<u8>) -> Option<usize> {
        self.for_each_run(|at, _, bytes| image[at..at + bytes].fill(POISON));
        image.iter().position(|b| *b != POISON)
    }

    /// Calls with (position in the image, position in dense rows, bytes) for contiguous runs.
    fn for_each_run(&self, mut run: impl FnMut(usize, usize, usize)) {
        let (size, cols) = (self.dtype.bytes() as usize, self.extents.cols);
        let whole_rows = self.extents.col_stride == 1 || cols == 1;
        for row in 0..self.extents.rows {
            let start = row as usize * cols as usize * size;
            if whole_rows {
                run(self.at(row, 0), start, cols as usize * size);
                continue;
            }
            for col in 0..cols {
                run(self.at(row, col), start + col as usize * size, size);
            }
        }
    }
}

/// `count` random values for elements of `dtype`, the same for the same seed.
pub fn random_values(dtype: DType, data: Data, count: usize, seed: u64) -> Vec<f64> {
    const BLOCK: usize = 1 << 14;
    let mut values = vec![0f64; count];
    values
        .par_chunks_mut(BLOCK)
        .enumerate()
        .for_each(|(at, block)| {
            let mut rng =
                StdRng::seed_from_u64(seed.wrapping_mul(0x9E37_79B9).wrapping_add(at as u64));
            for value in block {
                *value = match data {
                    Data::Integers => f64::from(rng.random_range(small(dtype))),
                    Data::Normals if is_integer(dtype) => f64::from(rng.random_range(small(dtype))),
                    Data::Normals => {
                        let normal: f64 = StandardNormal.sample(&mut rng);
                        super::numbers::round(dtype, normal)
                    }
                };
            }
        });
    values
}

/// Integers whose products add up exactly in f32 for every k up to a million.
fn small(dtype: DType) -> std::ops::RangeInclusive<i32> {
    match dtype {
        DType::U8 | DType::U16 | DType::U32 => 0..=3,
        _ => -3..=3,
    }
}

/// Random elements of any type, as bytes row by row, with their values.
pub fn random_elements(
    dtype: DType,
    data: Data,
    count: usize,
    seed: u64,
) -> Result<(Vec<u8>, Vec<f64>), Error> {
    let values = random_values(dtype, data, count, seed);
    Ok((encode(dtype, &values)?, values))
}

/// Random bytes, the same for the same seed.
pub fn random_bytes(count: usize, seed: u64) -> Vec<u8> {
    const BLOCK: usize = 1 << 16;
    let mut bytes = vec![0u8; count];
    bytes
        .par_chunks_mut(BLOCK)
        .enumerate()
        .for_each(|(at, block)| {
            let mut rng =
                StdRng::seed_from_u64(seed.wrapping_mul(0x9E37_79B9).wrapping_add(at as u64));
            rng.fill(block);
        });
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of two rows of three bytes, padded to five, behind `zone` bytes and an offset.
    fn image(zone: u64) -> (Placement, Vec<u8>) {
        let place = Placement {
            extents: Extents {
                rows: 2,
                cols: 3,
                row_stride: 5,
                col_stride: 1,
            },
            dtype: DType::U8,
            offset_bytes: zone + 4,
            bytes: 2 * zone + 4 + 8,
            zone,
        };
        (place, place.image(&[1, 2, 3, 4, 5, 6]))
    }

    #[test]
    fn windows_leave_out_red_zones_and_nothing_else() {
        let (bare, without) = image(0);
        let (zoned, with) = image(RED_ZONE);
        let gap = 0xFF;
        let wanted = [gap, gap, gap, gap, 1, 2, 3, gap, gap, 4, 5, 6];
        assert_eq!(bare.window(&without), wanted);
        assert_eq!(zoned.window(&with), wanted);
        assert_eq!(zoned.gather(&with), bare.gather(&without));
    }
}
