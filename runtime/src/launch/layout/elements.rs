//! Elements between dense order, last axis innermost, and where a layout has them in memory.
//!
//! Dense elements take whole bytes, those of four bits one each, in its low half. In memory two of
//! these stand in a byte, the first in the low half.

use tilewright_bundle::DType;

use super::Extents;

impl Extents {
    /// Bytes from the first to behind the last element, or `None` beyond 64 bits.
    pub fn span_bytes(&self, dtype: DType) -> Option<u64> {
        dtype.row_bytes(u64::try_from(self.span_elems()?).ok()?)
    }

    /// Puts dense elements at their places in an image whose first element is at byte `start`.
    pub fn scatter(&self, dtype: DType, dense: &[u8], (image, start): (&mut [u8], usize)) {
        let size = dtype.bytes() as usize;
        self.for_each_run(|offset, from, count| {
            let [offset, from, count] = [offset, from, count].map(|n| n as usize);
            if dtype.per_byte() > 1 {
                for at in 0..count {
                    put(image, start, offset + at, dense.get(from + at).copied());
                }
                return;
            }
            let at = start + offset * size;
            let bytes = count * size;
            let from = from * size;
            if let (Some(to), Some(from)) =
                (image.get_mut(at..at + bytes), dense.get(from..from + bytes))
            {
                to.copy_from_slice(from);
            }
        });
    }

    /// The elements of an image whose first element is at byte `start`, dense.
    pub fn gather(&self, dtype: DType, image: &[u8], start: usize) -> Vec<u8> {
        let size = dtype.bytes() as usize;
        let elems = usize::try_from(self.elems()).unwrap_or(0);
        let mut dense = vec![0u8; elems.saturating_mul(size)];
        self.for_each_run(|offset, to, count| {
            let [offset, to, count] = [offset, to, count].map(|n| n as usize);
            if dtype.per_byte() > 1 {
                let places = dense.get_mut(to..to + count).into_iter().flatten();
                for (at, place) in places.enumerate() {
                    *place = taken(image, start, offset + at);
                }
                return;
            }
            let at = start + offset * size;
            let bytes = count * size;
            let to = to * size;
            if let (Some(from), Some(to)) =
                (image.get(at..at + bytes), dense.get_mut(to..to + bytes))
            {
                to.copy_from_slice(from);
            }
        });
        dense
    }

    /// The first byte of such an image that has something else than `filler` where no element is.
    pub fn first_outside(
        &self,
        dtype: DType,
        (image, start): (&[u8], usize),
        filler: u8,
    ) -> Option<usize> {
        let mut own = vec![0u8; image.len()];
        let all = vec![0xFF; usize::try_from(self.elems()).unwrap_or(0) * dtype.bytes() as usize];
        self.scatter(dtype, &all, (&mut own, start));
        let is_other = |(byte, own): (&u8, &u8)| (byte ^ filler) & !own != 0;
        image.iter().zip(&own).position(is_other)
    }
}

/// Shift of an element in its byte.
fn half(at: usize) -> u32 {
    (at % 2) as u32 * 4
}

fn put(image: &mut [u8], start: usize, at: usize, code: Option<u8>) {
    if let (Some(byte), Some(code)) = (image.get_mut(start + at / 2), code) {
        *byte = *byte & !(0xF << half(at)) | (code & 0xF) << half(at);
    }
}

fn taken(image: &[u8], start: usize, at: usize) -> u8 {
    image
        .get(start + at / 2)
        .map_or(0, |byte| byte >> half(at) & 0xF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_four_bits_stand_low_half_first() {
        let extents = Extents::new([(2, 6), (4, 1)]);
        assert_eq!(extents.span_bytes(DType::S4), Some(5));
        let mut image = [0xEE; 7];
        let dense = [1, 2, 3, 4, 5, 6, 7, 8];
        extents.scatter(DType::S4, &dense, (&mut image, 1));
        assert_eq!(image, [0xEE, 0x21, 0x43, 0xEE, 0x65, 0x87, 0xEE]);
        assert_eq!(extents.gather(DType::S4, &image, 1), dense);
        assert_eq!(extents.first_outside(DType::S4, (&image, 1), 0xEE), None);
        image[3] = 0xEF;
        assert_eq!(extents.first_outside(DType::S4, (&image, 1), 0xEE), Some(3));
    }

    #[test]
    fn whole_bytes_are_copied_by_runs() {
        let extents = Extents::new([(2, 3), (2, 1)]);
        let mut image = [0xEE; 11];
        let dense = [1, 2, 3, 4, 5, 6, 7, 8];
        extents.scatter(DType::S16, &dense, (&mut image, 1));
        assert_eq!(image, [0xEE, 1, 2, 3, 4, 0xEE, 0xEE, 5, 6, 7, 8]);
        assert_eq!(extents.gather(DType::S16, &image, 1), dense);
    }
}
