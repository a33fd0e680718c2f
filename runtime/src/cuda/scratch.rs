//! Scratch memory of loaded kernels: a piece for each stream, and one for each capture.
//!
//! Launches of one stream follow each other and may share a piece. A captured launch is replayed
//! whenever its owner likes, so what it was given stays as long as the kernel is loaded and goes to
//! nobody else. Pieces are made when they are first needed, outside of captures.

use std::sync::{Mutex, PoisonError};

use cudarc::driver::sys;

use super::device::{CudaDevice, DeviceMemory};
use super::foreign::{CaptureId, Outside};
use crate::error::Error;
use crate::observe::counters::KernelCounts;

/// The pieces of one kernel.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pieces: Mutex<Vec<Piece>>,
}

#[derive(Debug)]
struct Piece {
    /// The stream's handle.
    stream: usize,
    capture: Option<CaptureId>,
    memory: DeviceMemory,
}

impl Scratch {
    /// Address of at least `bytes` of memory, zero at first, for a launch of a kernel on a
    /// stream, counted where it is made.
    ///
    /// # Safety
    /// The stream is one of the device's primary context; null is the default stream.
    pub unsafe fn address(
        &self,
        device: &CudaDevice,
        stream: sys::CUstream,
        kernel: &str,
        counts: &KernelCounts,
        bytes: u64,
    ) -> Result<u64, Error> {
        // SAFETY: the caller's promise is the callee's.
        let capture = unsafe { device.capture_id(stream) }?;
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = stream.addr();
        let is_ours = |piece: &Piece| piece.stream == handle && piece.capture == capture;
        let large = |piece: &&Piece| is_ours(piece) && piece.memory.bytes() >= bytes;
        if let Some(piece) = pieces.iter().find(large) {
            return Ok(piece.memory.address());
        }
        if capture.is_none() {
            // What is too small now is not needed again; freeing it waits for launches on it.
            pieces.retain(|piece| !is_ours(piece));
        }
        // SAFETY: the caller's promise is the callee's; the value is gone when this returns.
        let device = unsafe { device.on_stream(stream.cast()) };
        let memory = device.zeroed(bytes, capture.is_some())?;
        counts.scratch(kernel, bytes, capture.is_some());
        let address = memory.address();
        pieces.push(Piece {
            stream: handle,
            capture,
            memory,
        });
        Ok(address)
    }
}

impl CudaDevice {
    /// Memory of zeros, there when the stream comes to its next work. Filled on a stream of its own
    /// while the device's is being captured.
    fn zeroed(&self, bytes: u64, capturing: bool) -> Result<DeviceMemory, Error> {
        if !capturing {
            let memory = self.alloc(bytes)?;
            self.fill(&memory, 0)?;
            return Ok(memory);
        }
        let _outside = Outside::begin()?;
        let aside = self.aside()?;
        let memory = aside.alloc(bytes)?;
        aside.fill(&memory, 0)?;
        aside.synchronize()?;
        Ok(memory)
    }
}
