//! What was lent, owned: read with bounds on everything, given back once.

use std::ptr::NonNull;

use tilewright_runtime::bundle::MAX_AXES;

use crate::header::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::judged::{Code, Flat, Problem, Problems, Tensor};

/// The version to ask producers for: the first with 8-bit and 4-bit floats.
pub const VERSION: (u32, u32) = (1, 1);

/// A tensor that was lent; its deleter is called when this is dropped.
#[derive(Debug)]
pub struct Managed(Lent);

#[derive(Debug)]
enum Lent {
    Legacy(NonNull<DLManagedTensor>),
    Versioned(NonNull<DLManagedTensorVersioned>),
}

// SAFETY: the struct is read when it is judged and given back once; a deleter may be called by any
// thread, as frameworks free tensors on any.
unsafe impl Send for Managed {}
// SAFETY: a shared reference reads alone.
unsafe impl Sync for Managed {}

impl Managed {
    /// Takes over what a capsule named `dltensor` held.
    ///
    /// # Safety
    /// The pointer is that of a live `DLManagedTensor` that nobody else gives back. If its number
    /// of axes is 0 to [`MAX_AXES`], its shape and strides are null, misaligned, or have as many.
    pub unsafe fn legacy(lent: NonNull<DLManagedTensor>) -> Managed {
        Managed(Lent::Legacy(lent))
    }

    /// Takes over what a capsule named `dltensor_versioned` held.
    ///
    /// # Safety
    /// The pointer is that of a live `DLManagedTensorVersioned` that nobody else gives back. If its
    /// major version is 1, the same holds as of [`Managed::legacy`]; of another one the struct need
    /// have no more than version, context and deleter.
    pub unsafe fn versioned(lent: NonNull<DLManagedTensorVersioned>) -> Managed {
        Managed(Lent::Versioned(lent))
    }

    /// The tensor, if it may be used.
    ///
    /// # Errors
    /// Every problem with it.
    pub fn judged(&self) -> Result<Tensor, Problems> {
        let (tensor, flags) = self.tensor().map_err(|problem| Problems(vec![problem]))?;
        // SAFETY: the tensor is a copy of a live one, as whoever made `self` has promised.
        let flat = unsafe { flat(&tensor, flags) };
        flat.map_err(|problem| Problems(vec![problem]))?.judged()
    }

    /// A copy of the tensor and its flags.
    fn tensor(&self) -> Result<(DLTensor, u64), Problem> {
        match &self.0 {
            // SAFETY: the pointer is live until `self` is dropped.
            Lent::Legacy(lent) => Ok((unsafe { (*lent.as_ptr()).dl_tensor }, 0)),
            Lent::Versioned(lent) => {
                let lent = lent.as_ptr();
                // SAFETY: as above; every version begins with its version.
                let version = unsafe { (*lent).version };
                if version.major != VERSION.0 {
                    let (major, minor) = (version.major, version.minor);
                    return Err(Problem::Version { major, minor });
                }
                // SAFETY: as above; of this major version the struct is whole.
                Ok(unsafe { ((*lent).dl_tensor, (*lent).flags) })
            }
        }
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        match &self.0 {
            Lent::Legacy(lent) => {
                // SAFETY: the pointer is live until now, and nobody else gives it back.
                unsafe {
                    if let Some(deleter) = (*lent.as_ptr()).deleter {
                        deleter(lent.as_ptr());
                    }
                }
            }
            Lent::Versioned(lent) => {
                // SAFETY: as above; every version has its deleter at this place.
                unsafe {
                    if let Some(deleter) = (*lent.as_ptr()).deleter {
                        deleter(lent.as_ptr());
                    }
                }
            }
        }
    }
}

/// The numbers of a tensor.
///
/// # Safety
/// If its number of axes is 0 to [`MAX_AXES`], its shape and strides are null, misaligned, or live
/// arrays of as many.
unsafe fn flat(tensor: &DLTensor, flags: u64) -> Result<Flat, Problem> {
    let axes = usize::try_from(tensor.ndim).ok();
    let Some(axes) = axes.filter(|axes| *axes <= MAX_AXES) else {
        return Err(Problem::Rank(tensor.ndim));
    };
    let array = |array: &'static str, at: *mut i64| {
        if axes > 0 && (at.is_null() || !at.is_aligned()) {
            return Err(Problem::Array {
                array,
                axes: tensor.ndim,
                address: at.addr() as u64,
            });
        }
        // SAFETY: neither null nor misaligned; so many entries are there, by the promise above.
        Ok((0..axes).map(|axis| unsafe { *at.add(axis) }).collect())
    };
    Ok(Flat {
        data: tensor.data.expose_provenance() as u64,
        byte_offset: tensor.byte_offset,
        device: (tensor.device.device_type, tensor.device.device_id),
        code: Code {
            code: tensor.dtype.code,
            bits: tensor.dtype.bits,
            lanes: tensor.dtype.lanes,
        },
        shape: array("shape", tensor.shape)?,
        strides: match tensor.strides.is_null() {
            true => None,
            false => Some(array("strides", tensor.strides)?),
        },
        flags,
    })
}

#[cfg(test)]
mod tests;
