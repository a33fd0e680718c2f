//! The structs of `dlpack.h`, version 1.1, as C lays them out.

use std::ffi::c_void;

/// `DLPackVersion`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct DLPackVersion {
    /// Another one is another layout of what stands behind the deleter.
    pub major: u32,
    /// Another one has other codes.
    pub minor: u32,
}

/// `DLDevice`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct DLDevice {
    /// Kind of the device.
    pub device_type: i32,
    /// Its number among those of its kind.
    pub device_id: i32,
}

/// `DLDataType`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct DLDataType {
    /// Kind of the type.
    pub code: u8,
    /// Bits of a lane.
    pub bits: u8,
    /// Lanes of an element.
    pub lanes: u16,
}

/// `DLTensor`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct DLTensor {
    /// Where its memory begins.
    pub data: *mut c_void,
    /// Whose memory it is.
    pub device: DLDevice,
    /// Number of axes.
    pub ndim: i32,
    /// Type of the elements.
    pub dtype: DLDataType,
    /// So many extents.
    pub shape: *mut i64,
    /// So many strides in elements; none of a tensor without gaps, last axis innermost.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`, of capsules named `dltensor`.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// Frees it and this struct.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// `DLManagedTensorVersioned`, of capsules named `dltensor_versioned`.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// By which version of the header it was made.
    pub version: DLPackVersion,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// Frees it and this struct.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// What is said of the tensor: the masks below.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

/// It must not be written.
pub const READ_ONLY: u64 = 1;
/// It is a copy that the producer made for the consumer.
pub const IS_COPIED: u64 = 2;
/// Elements narrower than a byte have a byte each.
pub const SUBBYTE_PADDED: u64 = 4;
