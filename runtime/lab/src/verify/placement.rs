//! Operands as memory images: elements laid out with strides, offsets and red zones.

use tilewright_bundle::Operand;

use tilewright_runtime::Device;
use tilewright_runtime::Error;
use tilewright_runtime::Extents;
use tilewright_runtime::operand_bytes;
use tilewright_runtime::parts::put;
use tilewright_runtime::{Backend, POISON};

/// Bytes around an operand that no kernel may touch, on a device that would not notice.
const RED_ZONE: u64 = 4096;

/// An operand in a buffer: where its elements are and what surrounds them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placement<'a> {
    operand: &'a Operand,
    pub extents: Extents,
    /// Bytes from the start of the buffer to the first element.
    pub offset_bytes: u64,
    /// Size of the buffer.
    pub bytes: u64,
    /// Bytes before and behind that belong to the device's way of watching, not to the operand.
    zone: u64,
}

impl<'a> Placement<'a> {
    /// Places an operand `offset_bytes` behind an aligned address. The emulator watches the ends of
    /// a buffer itself; elsewhere red zones are added.
    pub fn new(
        device: &Device,
        operand: &'a Operand,
        extents: Extents,
        offset_bytes: u64,
    ) -> Result<Placement<'a>, Error> {
        let span = operand_bytes(operand, &extents).ok_or_else(|| {
            Error::Request(format!("`{}` does not fit 64-bit addresses", operand.name))
        })?;
        let zone = match device.info().backend {
            Backend::Emulator => 0,
            Backend::Cuda => RED_ZONE,
        };
        let offset_bytes = zone + offset_bytes;
        let bytes = offset_bytes + span + zone;
        Ok(Placement {
            operand,
            extents,
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

    /// An input's image: elements of `dense` (last axis innermost), other bytes all ones, which is
    /// NaN in every float type.
    pub fn image(&self, dense: &[u8]) -> Vec<u8> {
        self.image_in(dense, 0xFF)
    }

    /// The image of an output that holds something before: other bytes are poison.
    pub fn image_before(&self, dense: &[u8]) -> Vec<u8> {
        self.image_in(dense, POISON)
    }

    fn image_in(&self, dense: &[u8], gap: u8) -> Vec<u8> {
        let mut image = vec![gap; self.bytes as usize];
        let place = (image.as_mut_slice(), self.offset_bytes as usize);
        put(self.operand, &self.extents, dense, place);
        image
    }

    /// The elements of a buffer's image, last axis innermost.
    pub fn gather(&self, image: &[u8]) -> Vec<u8> {
        let start = self.offset_bytes as usize;
        self.extents.gather(self.operand.dtype, image, start)
    }

    /// Position of the first byte outside the elements that is not poison any more.
    pub fn first_touched(&self, image: &[u8]) -> Option<usize> {
        let place = (image, self.offset_bytes as usize);
        self.extents
            .first_outside(self.operand.dtype, place, POISON)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tilewright_bundle::{DType, Role};

    use super::*;

    /// An image of two rows of three bytes, padded to five, behind `zone` bytes and an offset.
    fn image(operand: &Operand, zone: u64) -> (Placement<'_>, Vec<u8>) {
        let place = Placement {
            operand,
            extents: Extents::new([(2, 5), (3, 1)]),
            offset_bytes: zone + 4,
            bytes: 2 * zone + 4 + 8,
            zone,
        };
        (place, place.image(&[1, 2, 3, 4, 5, 6]))
    }

    #[test]
    fn windows_leave_out_red_zones_and_nothing_else() {
        let layout = "(m,n):(lds,1)".parse().unwrap();
        let operand = Operand::new("s", Role::In, DType::U8, layout);
        let (bare, without) = image(&operand, 0);
        let (zoned, with) = image(&operand, RED_ZONE);
        let gap = 0xFF;
        let wanted = [gap, gap, gap, gap, 1, 2, 3, gap, gap, 4, 5, 6];
        assert_eq!(bare.window(&without), wanted);
        assert_eq!(zoned.window(&with), wanted);
        assert_eq!(zoned.gather(&with), bare.gather(&without));
    }
}
