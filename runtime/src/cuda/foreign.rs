//! What belongs to others of the same process: their streams, their memory, their captures.
//!
//! A device is opened on its primary context, which is the one that the CUDA runtime and every
//! framework upon it use; so their streams and addresses mean the same here.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUstreamCaptureMode, CUstreamCaptureStatus};

use super::device::{CudaDevice, DeviceMemory};
use super::driver::{driver_present, failed};
use crate::error::Error;

/// First driver with `cuStreamGetCaptureInfo_v3`.
pub(super) const CAPTURE_INFO_DRIVER: u32 = 12_030;

/// What the next work of a stream that is being captured waits for: arrays of the driver's, which
/// live until the stream's next call.
pub(super) struct Dependencies {
    pub nodes: *const sys::CUgraphNode,
    pub edges: *const sys::CUgraphEdgeData,
    pub count: usize,
}

/// A capture that a stream is in, by the driver's number for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CaptureId(u64);

/// While it lives, calls of this thread that a capture forbids are allowed: what they do is no part
/// of the capture.
pub(super) struct Outside {
    before: CUstreamCaptureMode,
    /// The mode is the thread's.
    _thread: PhantomData<*const ()>,
}

impl Outside {
    /// Steps outside of captures.
    pub fn begin() -> Result<Outside, Error> {
        let mut before = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the driver swaps the thread's mode with the value that it is given, which
        // outlives the call.
        unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut before) }
            .result()
            .map_err(failed("cuThreadExchangeStreamCaptureMode"))?;
        Ok(Outside {
            before,
            _thread: PhantomData,
        })
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // SAFETY: as in `begin`; the mode set is the one that was in force before.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut self.before) };
    }
}

/// The context that was current on this thread, and is again when the value is dropped: a caller
/// who works on several devices finds its own as it was.
#[derive(Debug)]
pub struct Current {
    context: sys::CUcontext,
    /// A context is current on a thread.
    _thread: PhantomData<*const ()>,
}

impl Current {
    /// Remembers the context that is current now.
    ///
    /// # Errors
    /// [`Error::NoDriver`] where there is none, else the driver's error.
    pub fn kept() -> Result<Current, Error> {
        static READY: OnceLock<()> = OnceLock::new();
        if READY.get().is_none() {
            if !driver_present() {
                return Err(Error::NoDriver);
            }
            result::init().map_err(failed("cuInit"))?;
            READY.get_or_init(|| ());
        }
        let mut context = null_mut();
        // SAFETY: the driver is initialized, and writes one handle that outlives the call.
        unsafe { sys::cuCtxGetCurrent(&mut context) }
            .result()
            .map_err(failed("cuCtxGetCurrent"))?;
        Ok(Current {
            context,
            _thread: PhantomData,
        })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        if !self.context.is_null() {
            // SAFETY: the context was current on this thread; one that is gone is answered with an
            // error.
            let _ = unsafe { sys::cuCtxSetCurrent(self.context) };
        }
    }
}

impl CudaDevice {
    /// The GPU whose primary context is current on this thread: that of a framework of the same
    /// process, or of a caller's own.
    ///
    /// # Errors
    /// [`Error::Program`] when none is current, or one that is not a GPU's primary context; else as
    /// [`CudaDevice::open`].
    pub fn current() -> Result<CudaDevice, Error> {
        let current = Current::kept()?;
        if current.context.is_null() {
            let text = "no context is current on this thread: make a primary context current, or \
                        open a device by its ordinal";
            return Err(Error::Program(text.to_owned()));
        }
        let mut ordinal = 0;
        // SAFETY: a context is current; the driver writes one integer that outlives the call.
        unsafe { sys::cuCtxGetDevice(&mut ordinal) }
            .result()
            .map_err(failed("cuCtxGetDevice"))?;
        let device = CudaDevice::open(usize::try_from(ordinal).unwrap_or(usize::MAX))?;
        if device.context.cu_ctx() == current.context {
            return Ok(device);
        }
        Err(Error::Program(format!(
            "the context that is current on this thread is not the primary one of GPU {ordinal}: \
             streams and addresses mean something else there; make the primary context current"
        )))
    }

    /// The same device, whose work goes into a stream of the caller's: `CUstream` or
    /// `cudaStream_t`; null is the default stream.
    ///
    /// # Safety
    /// The stream belongs to the device's primary context and outlives the value and its clones.
    #[must_use]
    pub unsafe fn on_stream(&self, stream: *mut c_void) -> CudaDevice {
        // SAFETY: the caller's promise is the callee's.
        let stream = unsafe { self.context.borrow_stream(stream.cast()) };
        CudaDevice {
            context: self.context.clone(),
            stream: Arc::new(stream),
            info: self.info.clone(),
        }
    }

    /// Memory that belongs to somebody else, who frees it.
    ///
    /// # Safety
    /// The device reaches `bytes` bytes from `address` as long as the value lives and work that was
    /// given it is under way.
    pub unsafe fn borrow(&self, address: u64, bytes: u64) -> DeviceMemory {
        DeviceMemory {
            context: self.context.clone(),
            address,
            bytes,
            owned: false,
        }
    }

    /// The capture that a stream is in.
    ///
    /// # Safety
    /// The stream is one of the device's primary context; null is the default stream.
    pub(super) unsafe fn capture_id(
        &self,
        stream: sys::CUstream,
    ) -> Result<Option<CaptureId>, Error> {
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        if self.info.driver.is_none_or(|has| has < CAPTURE_INFO_DRIVER) {
            // SAFETY: the stream is alive; the driver writes one value that outlives the call.
            unsafe { sys::cuStreamIsCapturing(stream, &mut status) }
                .result()
                .map_err(self.failed("cuStreamIsCapturing"))?;
            // All captures of one stream count as one: their scratch memory is shared.
            return Ok(is_active(status).then_some(CaptureId(0)));
        }
        // SAFETY: the caller's promise is the callee's.
        let (status, id) = unsafe { self.capture_info(stream, None) }?;
        Ok(is_active(status).then_some(CaptureId(id)))
    }

    /// Whether a stream is being captured, the capture's number, and where there is a place for it
    /// what the stream's next work would wait for.
    ///
    /// # Safety
    /// The stream is one of the device's primary context; null is the default stream.
    pub(super) unsafe fn capture_info(
        &self,
        stream: sys::CUstream,
        last: Option<&mut Dependencies>,
    ) -> Result<(CUstreamCaptureStatus, u64), Error> {
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let mut id = 0;
        let places = last.map(|last| -> (*mut _, *mut _, *mut _) {
            (&mut last.nodes, &mut last.edges, &mut last.count)
        });
        let (nodes, edges, count) = places.unwrap_or((null_mut(), null_mut(), null_mut()));
        let call = sys::cuStreamGetCaptureInfo_v3;
        // SAFETY: the stream is alive; the driver writes each value, all of which outlive the call,
        // and leaves out what it is given no place for. Data of edges is asked for with the nodes,
        // as leaving it out is an error where edges have some.
        unsafe {
            call(
                stream,
                &mut status,
                &mut id,
                null_mut(),
                nodes,
                edges,
                count,
            )
        }
        .result()
        .map_err(self.failed("cuStreamGetCaptureInfo"))?;
        Ok((status, id))
    }
}

fn is_active(status: CUstreamCaptureStatus) -> bool {
    status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE
}
