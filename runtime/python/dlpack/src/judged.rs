//! What was lent, as numbers, and whether a kernel may use it.

use std::fmt;

use tilewright_runtime::bundle::{DType, MAX_AXES};
use tilewright_runtime::dense_strides;

use crate::header::{IS_COPIED, READ_ONLY, SUBBYTE_PADDED};

/// Codes of element types with their bits.
const TYPES: &[(u8, u8, DType)] = &[
    (0, 4, DType::S4),
    (0, 8, DType::S8),
    (0, 16, DType::S16),
    (0, 32, DType::S32),
    (0, 64, DType::S64),
    (1, 4, DType::U4),
    (1, 8, DType::U8),
    (1, 16, DType::U16),
    (1, 32, DType::U32),
    (1, 64, DType::U64),
    (2, 16, DType::F16),
    (2, 32, DType::F32),
    (2, 64, DType::F64),
    (4, 16, DType::BF16),
    (6, 8, DType::U8),
    (10, 8, DType::E4M3),
    (12, 8, DType::E5M2),
    (14, 8, DType::UE8M0),
    (17, 4, DType::E2M1),
];

/// What the header calls the codes.
const NAMES: &[&str] = &[
    "int",
    "uint",
    "float",
    "opaque handle",
    "bfloat",
    "complex",
    "bool",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
];

/// A code of an element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// Kind of the type.
    pub code: u8,
    /// Bits of a lane.
    pub bits: u8,
    /// Lanes of an element.
    pub lanes: u16,
}

/// What a producer says, as numbers of unknown worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flat {
    /// Where the memory begins.
    pub data: u64,
    /// Bytes from there to the first element.
    pub byte_offset: u64,
    /// Kind and number of the device.
    pub device: (i32, i32),
    /// Type of the elements.
    pub code: Code,
    /// Extents, first axis first.
    pub shape: Vec<i64>,
    /// Strides in elements; `None` without gaps.
    pub strides: Option<Vec<i64>>,
    /// Masks of the header.
    pub flags: u64,
}

/// Whose memory a tensor lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// The host's.
    Host,
    /// That of the GPU with this ordinal.
    Cuda(i32),
    /// The host's, pinned: GPUs reach it at the same address.
    Pinned,
    /// Managed: the host and all GPUs reach it.
    Managed,
}

/// What may be done with a tensor's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Read and written.
    Shared,
    /// Read alone.
    ReadOnly,
    /// What is written there, its owner does not see.
    Copied,
}

/// A tensor that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Address of the first element, aligned to its type; 0 where there are no elements.
    pub address: u64,
    /// Type of the elements.
    pub dtype: DType,
    /// Extents, none negative.
    pub shape: Vec<i64>,
    /// Strides in elements; all elements lie within 64 bits of addresses.
    pub stride: Vec<i64>,
    /// Whose memory it is.
    pub home: Home,
    /// What may be done with it.
    pub hold: Hold,
}

/// What keeps a tensor of DLPack from being used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Made by another header.
    #[error(
        "it is of DLPack {major}.{minor}; read are 0.x by `dltensor` and 1.x: update tilewright"
    )]
    Version {
        /// Its version.
        major: u32,
        /// The minor part.
        minor: u32,
    },
    /// Memory that kernels do not reach.
    #[error(
        "its device is of type {0}; kernels take 1 (CPU), 2 (CUDA), 3 (CUDA host) and 13 (CUDA \
         managed): move the tensor there"
    )]
    Device(i32),
    /// A number that no GPU has.
    #[error("its device has the number {0}; GPUs count from 0")]
    Ordinal(i32),
    /// An element type without a name here.
    #[error(
        "its elements are of type code {code}{name} with {bits} bits, which no kernel takes: \
         view them as a type of DLPack 1.1 that kernels have, or say what they are by \
         tilewright.as_dtype"
    )]
    DType {
        /// The code.
        code: u8,
        /// What the header calls it.
        name: String,
        /// The bits.
        bits: u8,
    },
    /// Vectors as elements.
    #[error("its elements have {0} lanes; kernels take 1: view it with one axis more")]
    Lanes(u16),
    /// A byte to each element of four bits.
    #[error("its elements of {0} have a byte each; kernels take two to a byte")]
    Padded(DType),
    /// Too many axes, or fewer than none.
    #[error("it has {0} axes; 0 to {MAX_AXES} are taken")]
    Rank(i32),
    /// Extents that are nowhere.
    #[error("its {array} of {axes} axes is at address {address:#x}; that is no array of int64")]
    Array {
        /// `shape` or `strides`.
        array: &'static str,
        /// Entries that it should have.
        axes: i32,
        /// Where it should be.
        address: u64,
    },
    /// Fewer elements than none.
    #[error("its axis {axis} has {extent} elements; at least 0 are taken")]
    Extent {
        /// The axis.
        axis: usize,
        /// Its extent.
        extent: i64,
    },
    /// Strides of other axes.
    #[error("it has {axes} axes and {strides} strides")]
    Strides {
        /// Axes.
        axes: usize,
        /// Strides.
        strides: usize,
    },
    /// Elements without memory.
    #[error("its data is null, and it has elements")]
    Null,
    /// An address that no access takes.
    #[error("its first element is at {address:#x}, no multiple of the {bytes} bytes of {dtype}")]
    Misaligned {
        /// The address.
        address: u64,
        /// The type.
        dtype: DType,
        /// Its size.
        bytes: u32,
    },
    /// Elements beyond the last address.
    #[error(
        "its elements, {shape:?} by strides {strides:?} from {data:#x}+{byte_offset}, pass 64 bits"
    )]
    Overflow {
        /// Extents.
        shape: Vec<i64>,
        /// Strides.
        strides: Vec<i64>,
        /// Where the memory begins.
        data: u64,
        /// Bytes to the first element.
        byte_offset: u64,
    },
}

/// Everything that keeps a tensor of DLPack from being used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        write!(f, "the DLPack tensor cannot be used: {}", all.join("; "))
    }
}

impl std::error::Error for Problems {}

impl Flat {
    /// The tensor, if it may be used.
    ///
    /// # Errors
    /// Every problem with it.
    pub fn judged(&self) -> Result<Tensor, Problems> {
        let mut problems = Vec::new();
        let home = self.home(&mut problems);
        let dtype = self.dtype(&mut problems);
        if self.shape.len() > MAX_AXES {
            problems.push(Problem::Rank(
                i32::try_from(self.shape.len()).unwrap_or(i32::MAX),
            ));
        }
        for (axis, extent) in self.shape.iter().enumerate().filter(|(_, e)| **e < 0) {
            let extent = *extent;
            problems.push(Problem::Extent { axis, extent });
        }
        let stride = self.stride(&mut problems);
        let address = dtype.and_then(|dtype| self.address(dtype, &stride, &mut problems));
        match (home, dtype, address) {
            (Some(home), Some(dtype), Some(address)) if problems.is_empty() => Ok(Tensor {
                address,
                dtype,
                shape: self.shape.clone(),
                stride,
                home,
                hold: self.hold(),
            }),
            _ => Err(Problems(problems)),
        }
    }

    fn home(&self, problems: &mut Vec<Problem>) -> Option<Home> {
        let (kind, ordinal) = self.device;
        match kind {
            1 => Some(Home::Host),
            2 if ordinal < 0 => {
                problems.push(Problem::Ordinal(ordinal));
                None
            }
            2 => Some(Home::Cuda(ordinal)),
            3 => Some(Home::Pinned),
            13 => Some(Home::Managed),
            _ => {
                problems.push(Problem::Device(kind));
                None
            }
        }
    }

    fn dtype(&self, problems: &mut Vec<Problem>) -> Option<DType> {
        let Code { code, bits, lanes } = self.code;
        if lanes != 1 {
            problems.push(Problem::Lanes(lanes));
        }
        let mut known = TYPES.iter();
        let found = known.find(|(c, b, _)| (*c, *b) == (code, bits));
        let Some((_, _, dtype)) = found else {
            let name = NAMES.get(usize::from(code));
            let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
            problems.push(Problem::DType { code, name, bits });
            return None;
        };
        if dtype.per_byte() > 1 && self.flags & SUBBYTE_PADDED != 0 {
            problems.push(Problem::Padded(*dtype));
        }
        Some(*dtype)
    }

    /// The strides given, else those without gaps.
    fn stride(&self, problems: &mut Vec<Problem>) -> Vec<i64> {
        let axes = self.shape.len();
        match &self.strides {
            Some(strides) if strides.len() == axes => strides.clone(),
            Some(strides) => {
                let strides = strides.len();
                problems.push(Problem::Strides { axes, strides });
                vec![0; axes]
            }
            None => dense_strides(&self.shape),
        }
    }

    /// Address of the first element, when it and all others have one.
    fn address(&self, dtype: DType, stride: &[i64], problems: &mut Vec<Problem>) -> Option<u64> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        if self.data == 0 {
            problems.push(Problem::Null);
            return None;
        }
        let Some(address) = self.end_to_end(dtype, stride) else {
            problems.push(Problem::Overflow {
                shape: self.shape.clone(),
                strides: stride.to_vec(),
                data: self.data,
                byte_offset: self.byte_offset,
            });
            return None;
        };
        let bytes = dtype.bytes();
        if address % u64::from(bytes) != 0 {
            let dtype_address = Problem::Misaligned {
                address,
                dtype,
                bytes,
            };
            problems.push(dtype_address);
            return None;
        }
        Some(address)
    }

    /// The same, `None` where the first or last byte of any element has no address.
    fn end_to_end(&self, dtype: DType, stride: &[i64]) -> Option<u64> {
        let address = self.data.checked_add(self.byte_offset)?;
        let (mut before, mut behind) = (0i64, 0i64);
        for (extent, stride) in self.shape.iter().zip(stride) {
            let last = extent.checked_sub(1)?.checked_mul(*stride)?;
            match last < 0 {
                true => before = before.checked_add(last)?,
                false => behind = behind.checked_add(last)?,
            }
        }
        let bytes = |elems: u64| dtype.row_bytes(elems);
        address.checked_sub(bytes(before.unsigned_abs())?)?;
        address.checked_add(bytes(behind.unsigned_abs().checked_add(1)?)?)?;
        Some(address)
    }

    fn hold(&self) -> Hold {
        match self.flags {
            flags if flags & READ_ONLY != 0 => Hold::ReadOnly,
            flags if flags & IS_COPIED != 0 => Hold::Copied,
            _ => Hold::Shared,
        }
    }
}

#[cfg(test)]
mod tests;
