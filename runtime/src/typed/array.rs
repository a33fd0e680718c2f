//! Memory of a device as an array of one type.

use std::marker::PhantomData;

use crate::device::{Buffer, Device};
use crate::error::Error;
use crate::typed::element::Element;

/// An array on a device; it begins at a multiple of 256 bytes.
#[derive(Debug)]
pub struct Array<T> {
    device: Device,
    buffer: Buffer,
    len: usize,
    values: PhantomData<T>,
}

impl<T: Element> Array<T> {
    /// An array of these values.
    ///
    /// # Errors
    /// When there is not enough memory, or the driver fails.
    pub fn from_slice(device: &Device, values: &[T]) -> Result<Array<T>, Error> {
        let buffer = device.alloc_with(bytemuck::cast_slice(values))?;
        Ok(Array {
            device: device.clone(),
            buffer,
            len: values.len(),
            values: PhantomData,
        })
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// As [`Array::from_slice`].
    pub fn zeros(device: &Device, len: usize) -> Result<Array<T>, Error> {
        const CHUNK: usize = 1 << 20;
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let buffer = device.alloc(bytes)?;
        let zeros = vec![0u8; usize::try_from(bytes).unwrap_or(CHUNK).min(CHUNK)];
        let mut at = 0;
        while at < bytes {
            let some = usize::try_from(bytes - at).unwrap_or(CHUNK).min(CHUNK);
            device.upload(&buffer, at, zeros.get(..some).unwrap_or_default())?;
            at += some as u64;
        }
        Ok(Array {
            device: device.clone(),
            buffer,
            len,
            values: PhantomData,
        })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The values, after all launches on the device.
    ///
    /// # Errors
    /// When an earlier launch or the driver fails.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let bytes = self.device.download(&self.buffer)?;
        let values = bytes.chunks_exact(size_of::<T>());
        Ok(values.map(bytemuck::pod_read_unaligned).collect())
    }

    /// Writes the values from that one on.
    ///
    /// # Errors
    /// When they are more than the array has there, or the driver fails.
    pub fn write(&mut self, from: usize, values: &[T]) -> Result<(), Error> {
        let at = (from as u64).saturating_mul(size_of::<T>() as u64);
        self.device
            .upload(&self.buffer, at, bytemuck::cast_slice(values))
    }

    /// The memory itself.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn zeros_are_zeros_and_too_many_are_an_error() {
        let device = Device::emulator();
        for len in [0, 1, 3 << 20] {
            let zeros = Array::<f32>::zeros(&device, len).unwrap();
            let all = zeros.to_vec().unwrap();
            assert_eq!(all.len(), len);
            assert!(all.iter().all(|value| *value == 0.0));
        }
        for len in [1 << 45, usize::MAX / 2] {
            assert!(Array::<f32>::zeros(&device, len).is_err());
        }
    }
}
