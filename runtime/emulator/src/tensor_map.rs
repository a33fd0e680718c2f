//! Tensor maps: what a tensor copy needs to know, in the emulator's own 128-byte encoding.
//!
//! Comes in: the description a host gives to the driver. Goes out: the bytes of a kernel
//! parameter, after the driver's rules were checked. The bits NVIDIA's driver writes are opaque
//! and never read here: decoding anything else than this encoding fails.

mod image;
mod encoding;
mod walk;

pub(crate) use image::MapImage;

/// Bytes that a swizzle moves as one.
pub(crate) const PIECE_BYTES: u64 = 16;

/// Types of the elements, numbered as the driver's `CUtensorMapDataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u8)]
pub enum TensorType {
    Uint8,
    Uint16,
    Uint32,
    Int32,
    Uint64,
    Int64,
    Float16,
    Float32,
    Float64,
    Bfloat16,
    Float32Ftz,
    Tfloat32,
    Tfloat32Ftz,
}

impl TensorType {
    /// All types in the order of their numbers.
    pub const ALL: [TensorType; 13] = [
        TensorType::Uint8,
        TensorType::Uint16,
        TensorType::Uint32,
        TensorType::Int32,
        TensorType::Uint64,
        TensorType::Int64,
        TensorType::Float16,
        TensorType::Float32,
        TensorType::Float64,
        TensorType::Bfloat16,
        TensorType::Float32Ftz,
        TensorType::Tfloat32,
        TensorType::Tfloat32Ftz,
    ];

    /// Bytes of one element.
    pub fn bytes(self) -> u64 {
        match self {
            TensorType::Uint8 => 1,
            TensorType::Uint16 | TensorType::Float16 | TensorType::Bfloat16 => 2,
            TensorType::Uint64 | TensorType::Int64 | TensorType::Float64 => 8,
            _ => 4,
        }
    }

    /// Whether the type is a floating-point one.
    pub fn is_float(self) -> bool {
        self as u8 >= TensorType::Float16 as u8
    }
}

/// How 16-byte pieces of a tile are permuted in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u8)]
pub enum TensorSwizzle {
    None,
    Bytes32,
    Bytes64,
    Bytes128,
}

impl TensorSwizzle {
    /// All modes in the order of their numbers.
    pub const ALL: [TensorSwizzle; 4] = [
        TensorSwizzle::None,
        TensorSwizzle::Bytes32,
        TensorSwizzle::Bytes64,
        TensorSwizzle::Bytes128,
    ];

    /// Where the byte at an address of the packed tile lies.
    pub(crate) fn apply(self, address: u64) -> u64 {
        address ^ ((address >> 7) & ((1 << self as u64) - 1)) << 4
    }

    /// Bytes of the innermost box at most, which are those of a row in shared memory; `None` is no
    /// limit.
    fn span_bytes(self) -> Option<u64> {
        (self != TensorSwizzle::None).then_some(16 << self as u64)
    }
}

/// What an element outside the tensor reads as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TensorFill {
    /// Zero.
    Zero,
    /// A NaN, for floating-point types.
    Nan,
}

/// The part of an im2col map that a tiled one does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Im2col {
    /// First position along W, H, D.
    pub lower: [i16; 3],
    /// Last position along W, H, D, counted from the tensor's last one.
    pub upper: [i16; 3],
    /// Channels of a column.
    pub channels: u16,
    /// Positions of a copy.
    pub pixels: u16,
}

/// A tensor map. Dimension 0 is the innermost one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Type of the elements.
    pub ty: TensorType,
    /// Dimensions, 1 to 5.
    pub rank: u8,
    /// Address of the tensor.
    pub base: u64,
    /// Extents in elements.
    pub dims: [u64; 5],
    /// Distance between neighbours along dimensions 1 to 4, in bytes.
    pub strides: [u64; 4],
    /// Extents of the box in elements of the tensor.
    pub box_dims: [u16; 5],
    /// Every how manieth element is taken.
    pub element_strides: [u8; 5],
    /// 0 for none, 1 for 16 bytes, 2 for 32 bytes.
    pub interleave: u8,
    /// The permutation in shared memory.
    pub swizzle: TensorSwizzle,
    /// Elements outside.
    pub fill: TensorFill,
    /// Set for im2col maps.
    pub im2col: Option<Im2col>,
}

/// Every rule of the driver that a map breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tensor map: {}", .problems.join("; "))]
pub struct TensorMapError {
    /// One sentence each, with both numbers.
    pub problems: Vec<String>,
}

impl TensorMap {
    /// A map of boxes of neighbours, in the order of memory, with zeros outside: rank and extents
    /// by `dims`, bytes from one to the next along all dimensions but the innermost by `strides`.
    ///
    /// ```
    /// use tilewright_emulator::{TensorMap, TensorType};
    /// // 40 rows of 96 elements, 256 bytes apart, in boxes of 8 rows of 64.
    /// let map = TensorMap::tiled(TensorType::Bfloat16, 0x1000, &[96, 40], &[256], &[64, 8]);
    /// assert!(map.check().is_ok());
    /// ```
    pub fn tiled(
        ty: TensorType,
        base: u64,
        dims: &[u64],
        strides: &[u64],
        box_dims: &[u16],
    ) -> TensorMap {
        fn padded<T: Copy, const N: usize>(values: &[T], rest: T) -> [T; N] {
            std::array::from_fn(|at| values.get(at).copied().unwrap_or(rest))
        }
        TensorMap {
            ty,
            rank: u8::try_from(dims.len()).unwrap_or(u8::MAX),
            base,
            dims: padded(dims, 1),
            strides: padded(strides, 0),
            box_dims: padded(box_dims, 1),
            element_strides: [1; 5],
            interleave: 0,
            swizzle: TensorSwizzle::None,
            fill: TensorFill::Zero,
            im2col: None,
        }
    }

    /// The rules of `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col`.
    ///
    /// # Errors
    /// Every rule that is broken.
    pub fn check(&self) -> Result<(), TensorMapError> {
        let mut problems = Vec::new();
        let least = if self.im2col.is_some() || self.interleave != 0 {
            3
        } else {
            1
        };
        if !(least..=5).contains(&self.rank) {
            let rank = self.rank;
            problems.push(format!("rank {rank}; {least} to 5"));
            return Err(TensorMapError { problems });
        }
        let unit = if self.interleave == 2 { 32 } else { 16 };
        if !self.base.is_multiple_of(unit) {
            let base = self.base;
            problems.push(format!("address {base:#x} is no multiple of {unit}"));
        }
        self.check_extents(unit, &mut problems);
        self.check_box(&mut problems);
        if self.fill == TensorFill::Nan && !self.ty.is_float() {
            problems.push(format!("NaN fill goes with float types, not {:?}", self.ty));
        }
        if self.interleave > 2 {
            let interleave = self.interleave;
            problems.push(format!("interleave {interleave}; 0 to 2"));
        }
        if self.interleave == 2 && self.swizzle != TensorSwizzle::Bytes32 {
            let swizzle = self.swizzle;
            problems.push(format!(
                "interleave of 32 bytes goes with swizzle Bytes32, not {swizzle:?}"
            ));
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(TensorMapError { problems })
        }
    }

    fn check_extents(&self, unit: u64, problems: &mut Vec<String>) {
        let rank = usize::from(self.rank);
        for (index, extent) in self.dims.iter().enumerate().take(rank) {
            if *extent == 0 || *extent > 1 << 32 {
                problems.push(format!("dimension {index} is {extent}; 1 to 2^32"));
            }
        }
        for (index, stride) in self.strides.iter().enumerate().take(rank - 1) {
            if !stride.is_multiple_of(unit) || *stride >= 1 << 40 {
                problems.push(format!(
                    "stride of dimension {} is {stride} bytes; a multiple of {unit} below 2^40",
                    index + 1
                ));
            }
        }
    }

    fn check_box(&self, problems: &mut Vec<String>) {
        let rank = usize::from(self.rank);
        for (index, step) in self.element_strides.iter().enumerate().take(rank) {
            if !(1..=8).contains(step) {
                problems.push(format!("element stride {index} is {step}; 1 to 8"));
            }
        }
        let inner = match &self.im2col {
            Some(im2col) => {
                self.check_columns(im2col, problems);
                u64::from(im2col.channels) * self.ty.bytes()
            }
            None => {
                for (index, extent) in self.box_dims.iter().enumerate().take(rank) {
                    if !(1..=256).contains(extent) {
                        problems.push(format!("box extent {index} is {extent}; 1 to 256"));
                    }
                }
                u64::from(self.box_dims[0]) * self.ty.bytes()
            }
        };
        if self.interleave == 0 && !inner.is_multiple_of(16) {
            problems.push(format!(
                "the innermost box has {inner} bytes; a multiple of 16"
            ));
        }
        if let Some(span) = self.swizzle.span_bytes()
            && self.interleave == 0
            && inner > span
        {
            problems.push(format!(
                "the innermost box has {inner} bytes; swizzle {:?} allows {span}",
                self.swizzle
            ));
        }
    }

    /// The rules of `cuTensorMapEncodeIm2col` about the box of positions.
    fn check_columns(&self, im2col: &Im2col, problems: &mut Vec<String>) {
        let (channels, pixels) = (im2col.channels, im2col.pixels);
        if !(1..=256).contains(&channels) || !(1..=1024).contains(&pixels) {
            problems.push(format!(
                "{channels} channels and {pixels} pixels; at most 256 and 1024"
            ));
        }
        let spatial = usize::from(self.rank) - 2;
        let least = -1 - self.largest_offset() / 2;
        let corners = im2col.lower.iter().zip(&im2col.upper).zip(&self.dims[1..]);
        for (axis, ((lower, upper), extent)) in corners.enumerate().take(spatial) {
            for (name, corner) in [("lower", lower), ("upper", upper)] {
                let corner = i64::from(*corner);
                if !(least..-least).contains(&corner) {
                    problems.push(format!(
                        "{name} corner {axis} is {corner}; {least} to {} with rank {}",
                        -least - 1,
                        self.rank
                    ));
                }
            }
            let last = *extent as i64 - 1 + i64::from(*upper);
            if i64::from(*lower) > last {
                problems.push(format!(
                    "positions {lower} to {last} along dimension {}; the first must not be behind \
                     the last",
                    axis + 1
                ));
            }
        }
    }

    /// The largest offset of an im2col copy: 16 bits are shared by the spatial dimensions.
    pub(crate) fn largest_offset(&self) -> i64 {
        match self.rank {
            ..=3 => 0xffff,
            4 => 0xff,
            _ => 0x1f,
        }
    }

    /// The extents of the tile that a copy moves, innermost first.
    pub(crate) fn tile(&self) -> [u64; 5] {
        std::array::from_fn(|d| {
            if d >= usize::from(self.rank) {
                return 1;
            }
            let step = u64::from(self.element_strides[d].max(1));
            u64::from(self.box_dims[d]).div_ceil(step)
        })
    }

    /// The bytes that a copy moves.
    pub(crate) fn tile_bytes(&self) -> u64 {
        let rows = match &self.im2col {
            Some(im2col) => u64::from(im2col.pixels),
            None => self.tile().iter().skip(1).product(),
        };
        rows * self.row_bytes()
    }

    /// The bytes of one row of the tile.
    pub(crate) fn row_bytes(&self) -> u64 {
        let elements = match &self.im2col {
            Some(im2col) => u64::from(im2col.channels),
            None => self.tile()[0],
        };
        elements * self.ty.bytes()
    }

    /// Bytes from row to row in shared memory.
    ///
    /// NOTE: rows narrower than the span of their swizzle lie a span apart: where shared memory
    /// held the packed tile only, an H200 ended the kernel with an error.
    pub(crate) fn pitch_bytes(&self) -> u64 {
        let span = self.swizzle.span_bytes().unwrap_or(0);
        self.row_bytes().max(span)
    }

    /// Whether rows do not lie side by side in shared memory.
    pub(crate) fn is_spread(&self) -> bool {
        self.pitch_bytes() != self.row_bytes()
    }

    /// The bytes of shared memory that a tile takes.
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.tile_bytes() / self.row_bytes().max(1) * self.pitch_bytes()
    }

    /// The shared address of the byte at offset `at` of the packed tile, which starts at `base`.
    pub(crate) fn shared_address(&self, base: u64, at: u64) -> u64 {
        let row_bytes = self.row_bytes().max(1);
        let spread = at / row_bytes * self.pitch_bytes() + at % row_bytes;
        self.swizzle.apply(base + spread)
    }
}

#[cfg(test)]
mod tests;
