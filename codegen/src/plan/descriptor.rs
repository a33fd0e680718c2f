//! Matrix descriptors of asynchronous warpgroup MMAs, computed from shared-memory layouts.
//!
//! The tensor cores read an operand through the canonical layouts of the PTX ISA ("Asynchronous
//! warpgroup level matrix shared memory layout"). With a swizzle of `w` bytes and 2-byte elements,
//! element (r, k) of a K-major operand lies at `r/8·SBO + r%8·w + 2k`; an MN-major one at
//! `r/(w/2)·LBO + r%(w/2)·2 + k/8·SBO + k%8·w`. The swizzle itself acts on address bits, so a start
//! address moves freely inside its pattern. A descriptor is derived from a few offsets of the
//! layout and then compared with it element by element.

use tilewright_layout::ComposedLayout;

use crate::error::Result;

/// Which mode of an operand is contiguous in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// k is.
    K,
    /// m or n is.
    Mn,
}

/// What a descriptor says apart from its start address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Which mode is contiguous.
    pub major: Major,
    /// Leading byte offset.
    pub leading_bytes: i64,
    /// Stride byte offset.
    pub stride_bytes: i64,
    /// Bytes of the swizzle pattern: 128, 64 or 32.
    pub swizzle_bytes: u32,
    /// What the next step of the MMA along k adds to the start address.
    pub k_step_bytes: i64,
    /// What the next MMA along m or n adds to the start address.
    pub row_step_bytes: i64,
}

/// Bits of a byte offset that a descriptor field holds, in units of 16 bytes.
const FIELD_BITS: u32 = 14;
const UNIT_BYTES: i64 = 16;

impl Descriptor {
    /// The high word: stride byte offset in bits 32 to 45, layout type in bits 62 and 63.
    pub fn high_word(&self) -> i64 {
        let kind: u32 = match self.swizzle_bytes {
            128 => 1,
            64 => 2,
            _ => 3,
        };
        let field = (self.stride_bytes / UNIT_BYTES) as u32 & ((1 << FIELD_BITS) - 1);
        i64::from((field | kind << 30).cast_signed())
    }

    /// The low word's part that is no address: leading byte offset in bits 16 to 29.
    pub fn low_word(&self) -> i64 {
        (self.leading_bytes / UNIT_BYTES) << 16
    }

    /// Offset of an element of the operand's tile from the start, before the swizzle.
    fn offset(&self, row: i64, k: i64, bytes: i64) -> i64 {
        let width = i64::from(self.swizzle_bytes);
        match self.major {
            Major::K => row / 8 * self.stride_bytes + row % 8 * width + k * bytes,
            Major::Mn => {
                let span = width / bytes;
                row / span * self.leading_bytes
                    + row % span * bytes
                    + k / 8 * self.stride_bytes
                    + k % 8 * width
            }
        }
    }
}

/// The descriptor of the MMA's operand (`rows` by `k` elements) in a tile of that layout.
///
/// # Errors
/// A message that names the first element which no canonical layout puts where the tile has it.
pub fn derive(
    layout: &ComposedLayout,
    major: Major,
    tile: [i64; 2],
    [rows, k]: [i64; 2],
    bytes: i64,
) -> Result<std::result::Result<Descriptor, String>> {
    let at = |row: i64, column: i64| -> Result<i64> {
        Ok(layout.inner.at(row + tile[0] * column)? * bytes)
    };
    let bits = layout.swizzle.bits();
    let swizzle_bytes = UNIT_BYTES << bits;
    let unit = i64::from(layout.swizzle.base()) + i64::from(bytes.ilog2());
    if !(1..=3).contains(&bits) || unit != 4 || layout.swizzle.shift() != 3 {
        return Ok(Err(format!(
            "{} is none of the swizzles of 128, 64 or 32 bytes",
            layout.swizzle
        )));
    }
    let span = swizzle_bytes / bytes;
    let inside = |row: i64, column: i64| row < tile[0] && column < tile[1];
    let far = |row: i64, column: i64| {
        if inside(row, column) {
            at(row, column)
        } else {
            Ok(0)
        }
    };
    let (leading, stride) = match major {
        Major::K => (UNIT_BYTES, far(8, 0)?),
        Major::Mn if rows > span => (far(span, 0)?, far(0, 8)?),
        Major::Mn => (UNIT_BYTES, far(0, 8)?),
    };
    let descriptor = Descriptor {
        major,
        leading_bytes: leading,
        stride_bytes: stride,
        swizzle_bytes: swizzle_bytes as u32,
        k_step_bytes: far(0, k)?,
        row_step_bytes: far(rows, 0)?,
    };
    let most = UNIT_BYTES << FIELD_BITS;
    if [leading, stride]
        .iter()
        .any(|field| *field % UNIT_BYTES != 0 || !(0..most).contains(field))
    {
        return Ok(Err(format!("{descriptor:?} does not fit its fields")));
    }
    for column in 0..tile[1] {
        for row in 0..tile[0] {
            let (r, c) = (row % rows, column % k);
            let start = at(row - r, column - c)?;
            let steps = column / k * descriptor.k_step_bytes;
            let in_pattern = start - at(row - r, 0)? == steps || column / k == 0;
            if at(row, column)? != start + descriptor.offset(r, c, bytes) || !in_pattern {
                return Ok(Err(format!(
                    "element ({row},{column}) of {} is at byte {}, the descriptor reads byte {}",
                    layout.inner,
                    at(row, column)?,
                    start + descriptor.offset(r, c, bytes)
                )));
            }
        }
    }
    Ok(Ok(descriptor))
}
