//! The 128 bytes of a tensor map.

use super::{Im2col, MapImage, TensorFill, TensorMap, TensorMapError, TensorSwizzle, TensorType};

const MAGIC: [u8; 8] = *b"TWTMAP01";
const CHECKSUM_AT: usize = 124;

/// FNV-1a over everything before the checksum.
fn checksum(bytes: &[u8; 128]) -> u32 {
    let mix = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().take(CHECKSUM_AT).fold(0x811c_9dc5, mix)
}

struct Writer {
    bytes: [u8; 128],
    at: usize,
}

impl Writer {
    fn put(&mut self, bytes: &[u8]) {
        for (place, byte) in self.bytes.iter_mut().skip(self.at).zip(bytes) {
            *place = *byte;
        }
        self.at += bytes.len();
    }
}

struct Reader<'b> {
    bytes: &'b [u8; 128],
    at: usize,
}

impl Reader<'_> {
    fn get<const N: usize>(&mut self) -> Option<[u8; N]> {
        let part = self.bytes.get(self.at..self.at + N)?;
        self.at += N;
        part.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.get().map(|[byte]| byte)
    }

    fn short(&mut self) -> Option<u16> {
        self.get().map(u16::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.get().map(u64::from_le_bytes)
    }
}

impl TensorMap {
    /// The bytes of the map, after its rules were checked.
    ///
    /// # Errors
    /// [`TensorMapError`] with every rule of the driver that the map breaks.
    pub fn encode(&self) -> Result<[u8; 128], TensorMapError> {
        self.check()?;
        Ok(self.bytes_with(0))
    }

    /// The map of its bytes; `None` when they are none, or some of its fields were never set.
    pub fn decode(bytes: &[u8; 128]) -> Option<TensorMap> {
        let image = MapImage::decode(bytes)?;
        image.missing().is_empty().then_some(image.map)
    }

    /// The bytes of the map, whatever it holds, with a word of the fields that were never set.
    fn bytes_with(&self, unset: u32) -> [u8; 128] {
        let mut out = Writer {
            bytes: [0; 128],
            at: 0,
        };
        out.put(&MAGIC);
        out.put(&[self.ty as u8, self.rank, self.interleave]);
        out.put(&[
            self.swizzle as u8,
            self.fill as u8,
            u8::from(self.im2col.is_some()),
        ]);
        out.put(&self.base.to_le_bytes());
        for extent in self.dims {
            // 2^32 is stored as the largest value.
            out.put(&(extent.saturating_sub(1) as u32).to_le_bytes());
        }
        for stride in self.strides {
            out.put(&stride.to_le_bytes());
        }
        for extent in self.box_dims {
            out.put(&extent.to_le_bytes());
        }
        out.put(&self.element_strides);
        let none = Im2col {
            lower: [0; 3],
            upper: [0; 3],
            channels: 0,
            pixels: 0,
        };
        let im2col = self.im2col.unwrap_or(none);
        for corner in im2col.lower.iter().chain(&im2col.upper) {
            out.put(&corner.to_le_bytes());
        }
        out.put(&im2col.channels.to_le_bytes());
        out.put(&im2col.pixels.to_le_bytes());
        out.put(&unset.to_le_bytes());
        let sum = checksum(&out.bytes);
        out.at = CHECKSUM_AT;
        out.put(&sum.to_le_bytes());
        out.bytes
    }

    /// The map of its bytes, which have the mark and the checksum, and the word of the fields
    /// that were never set.
    fn decode_with(bytes: &[u8; 128]) -> Option<(TensorMap, u32)> {
        let mut from = Reader { bytes, at: 0 };
        if from.get::<8>()? != MAGIC {
            return None;
        }
        let sum = bytes.get(CHECKSUM_AT..)?.try_into().ok()?;
        if u32::from_le_bytes(sum) != checksum(bytes) {
            return None;
        }
        let ty = *TensorType::ALL.get(usize::from(from.byte()?))?;
        let (rank, interleave) = (from.byte()?, from.byte()?);
        let swizzle = *TensorSwizzle::ALL.get(usize::from(from.byte()?))?;
        let fill = match from.byte()? {
            0 => TensorFill::Zero,
            _ => TensorFill::Nan,
        };
        let has_im2col = from.byte()? != 0;
        let mut map = TensorMap {
            ty,
            rank,
            base: from.long()?,
            dims: [0; 5],
            strides: [0; 4],
            box_dims: [0; 5],
            element_strides: [0; 5],
            interleave,
            swizzle,
            fill,
            im2col: None,
        };
        for extent in &mut map.dims {
            *extent = u64::from(u32::from_le_bytes(from.get()?)) + 1;
        }
        for stride in &mut map.strides {
            *stride = from.long()?;
        }
        for extent in &mut map.box_dims {
            *extent = from.short()?;
        }
        map.element_strides = from.get()?;
        let mut im2col = Im2col {
            lower: [0; 3],
            upper: [0; 3],
            channels: 0,
            pixels: 0,
        };
        for corner in im2col.lower.iter_mut().chain(&mut im2col.upper) {
            *corner = from.short()? as i16;
        }
        (im2col.channels, im2col.pixels) = (from.short()?, from.short()?);
        map.im2col = has_im2col.then_some(im2col);
        Some((map, u32::from_le_bytes(from.get()?)))
    }
}

impl MapImage {
    /// What 128 bytes hold: zeros are a map of which nothing was set yet, `None` is anything else
    /// that is no map.
    pub(crate) fn decode(bytes: &[u8; 128]) -> Option<MapImage> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Some(MapImage::blank());
        }
        let (map, unset) = TensorMap::decode_with(bytes)?;
        Some(MapImage { map, unset })
    }

    pub(crate) fn to_bytes(&self) -> [u8; 128] {
        self.map.bytes_with(self.unset)
    }
}
