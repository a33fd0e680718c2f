//! What a matrix descriptor of a warpgroup MMA says of a tile in shared memory.

/// Which mode of an operand is contiguous in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// k is.
    K,
    /// m or n is.
    Mn,
}

/// What a descriptor says apart from its start address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Which mode is contiguous.
    pub major: Major,
    /// Leading byte offset.
    pub leading_bytes: i64,
    /// Stride byte offset.
    pub stride_bytes: i64,
    /// Bytes of the swizzle pattern's rows: 128, 64 or 32, or 16 without a swizzle.
    pub swizzle_bytes: i64,
    /// What each step of the MMA along k adds to the start address of the first.
    pub k_steps_bytes: Vec<i64>,
    /// What the next MMA along m or n adds to the start address.
    pub row_step_bytes: i64,
}

/// Bits of a byte offset that a descriptor field holds, in units of 16 bytes.
pub(in crate::plan) const FIELD_BITS: u32 = 14;
/// Bytes of that unit, and of a row of a core matrix.
pub const UNIT_BYTES: i64 = 16;
/// Rows of a core matrix and of a swizzle pattern.
pub(in crate::plan) const CORE_ROWS: i64 = 8;

impl Descriptor {
    /// The high word: stride byte offset in bits 32 to 45, layout type in bits 62 and 63.
    pub fn high_word(&self) -> i64 {
        let kind: u32 = match self.swizzle_bytes {
            128 => 1,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        let field = (self.stride_bytes / UNIT_BYTES) as u32 & ((1 << FIELD_BITS) - 1);
        i64::from((field | kind << 30).cast_signed())
    }

    /// The low word's part that is no address: leading byte offset in bits 16 to 29.
    pub fn low_word(&self) -> i64 {
        (self.leading_bytes / UNIT_BYTES) << 16
    }

    /// Offset of an element of the operand's tile from the start, before the swizzle.
    pub(in crate::plan) fn offset(&self, row: i64, k: i64, bytes: i64) -> i64 {
        let width = self.swizzle_bytes;
        // Along the contiguous mode: whole rows of the pattern, and bytes in one.
        let (along, across) = match self.major {
            Major::K => (k * bytes, row),
            Major::Mn => (row * bytes, k),
        };
        let [next_row, next_group] = match (self.major, width > UNIT_BYTES) {
            // The next row's place is the next box's affair.
            (Major::K, true) => [0, self.stride_bytes],
            (Major::K, false) => [self.leading_bytes, self.stride_bytes],
            (Major::Mn, true) => [self.leading_bytes, self.stride_bytes],
            (Major::Mn, false) => [self.stride_bytes, self.leading_bytes],
        };
        along / width * next_row
            + along % width
            + across / CORE_ROWS * next_group
            + across % CORE_ROWS * width
    }
}
