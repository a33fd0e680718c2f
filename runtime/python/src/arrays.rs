//! Arrays of the host, which launches on the emulator read and write.

use pyo3::prelude::*;
use tilewright_runtime::HostMemory;

use crate::failure::Error;
use crate::tensor::{Home, Tensor};

/// Refuses arrays that a launch on the host cannot use.
pub(crate) fn check(tensors: &[(String, Tensor)]) -> PyResult<()> {
    for (name, tensor) in tensors {
        if !matches!(tensor.home, Home::Host | Home::Both) {
            let text = format!("`{name}` is on a GPU; the emulator takes arrays of the host");
            return Err(Error::new_err(text));
        }
    }
    Ok(())
}

/// The memory of tensors that passed [`check`], which the caller keeps.
pub(crate) struct Kept;

impl HostMemory for Kept {
    fn read(&self, address: u64, into: &mut [u8]) {
        let start = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: the range is that of tensors which say that it is theirs; they are kept alive,
        // and the problem's fit has shown that extents and strides are positive.
        unsafe { std::ptr::copy(start, into.as_mut_ptr(), into.len()) };
    }

    fn write(&self, address: u64, from: &[u8]) {
        let start = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: the bytes lie inside memory of a tensor that may be written: see `launch::check`.
        // The image is a copy, so the two do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), start, from.len()) };
    }
}

/// The elements of a tensor of the host, last axis innermost.
pub(crate) fn dense(tensor: &Tensor) -> Vec<u8> {
    let mut image = vec![0; usize::try_from(tensor.span_bytes()).unwrap_or(0)];
    Kept.read(tensor.address, &mut image);
    gathered(tensor, &image)
}

/// The elements of a tensor in an image of its memory, last axis innermost.
pub(crate) fn gathered(tensor: &Tensor, image: &[u8]) -> Vec<u8> {
    tensor.place.gather(tensor.dtype, image, 0)
}
