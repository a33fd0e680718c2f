//! A tensor as kernels take it: where it lies, what it holds, and what keeps it alive.

use pyo3::prelude::*;
use tilewright_dlpack::{Hold, Managed};
use tilewright_runtime::bundle::DType;
use tilewright_runtime::{Described, Extents, Placed};

/// Whose memory a tensor lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// The host's.
    Host,
    /// That of the GPU with this ordinal; `None` where the tensor does not say.
    Cuda(Option<i64>),
    /// Pinned or managed memory, which the host and GPUs reach at the same address.
    Both,
}

/// A tensor as it was when it was read.
#[derive(Debug)]
pub(crate) struct Tensor {
    /// Keeps the memory.
    pub object: Py<PyAny>,
    pub address: u64,
    pub dtype: DType,
    pub place: Extents,
    pub home: Home,
    pub hold: Hold,
    /// Whether PyTorch's current stream is the one to use.
    pub is_torch: bool,
    /// What DLPack lent, given back with this.
    pub _lent: Option<Managed>,
}

impl Tensor {
    /// The tensor as an operand.
    pub fn described<'a>(&self, operand: &'a str) -> Described<'a> {
        Described {
            operand,
            dtype: self.dtype,
            place: self.place,
        }
    }

    /// The tensor as an operand where it lies.
    pub fn placed<'a>(&self, operand: &'a str) -> Placed<'a> {
        Placed {
            tensor: self.described(operand),
            address: self.address,
            bytes: None,
        }
    }

    /// Bytes from the first to behind the last element.
    pub fn span_bytes(&self) -> u64 {
        self.described("").span_bytes().unwrap_or(u64::MAX)
    }
}
