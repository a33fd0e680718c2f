//! The primary context of a GPU, and what becomes of everything in it when a kernel faults.
//!
//! A fault takes the context with it: whatever is asked of it later fails, of whoever shares it.
//! The first call that meets the driver's error names the launches that may have faulted; from then
//! on no handle of that context reaches the driver any more, not even to be freed. Nor does the
//! process get another context: after an illegal address and after a trap the driver refused one
//! with the same error, the primary context released or reset and one of its own alike (driver
//! 580.159.04, H200). What goes on is a fresh process.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, CudaStream, DriverError};

use super::driver::{driver_text, failed};
use crate::error::Error;
use crate::observe::watch::Watch;

/// The watch of each context that somebody of this process has open, by ordinal: launches of one
/// runtime may fault at the wait of another.
static WATCHES: Mutex<Vec<(usize, Weak<Watch>)>> = Mutex::new(Vec::new());

/// A context that is watched.
#[derive(Debug)]
pub(crate) struct Context {
    /// Never released when it is lost.
    cuda: ManuallyDrop<Arc<CudaContext>>,
    watch: Arc<Watch>,
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.watch.is_lost() {
            // SAFETY: it is dropped once, here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.cuda) };
        }
    }
}

impl Context {
    /// Opens the primary context of a GPU, with a stream.
    ///
    /// # Errors
    /// [`Error::ProcessLost`] behind a fault.
    pub fn open(ordinal: usize) -> Result<(Arc<Context>, Stream), Error> {
        let mut watches = WATCHES.lock().unwrap_or_else(PoisonError::into_inner);
        let live = |(_, watch): &(usize, Weak<Watch>)| watch.strong_count() > 0;
        watches.retain(live);
        let known = watches.iter().filter(|(of, _)| *of == ordinal);
        let known: Vec<Arc<Watch>> = known.filter_map(|(_, watch)| watch.upgrade()).collect();
        let (cuda, stream) = match attempt(ordinal) {
            Ok(opened) => opened,
            Err(Attempt { call, error }) if is_sticky(error) => {
                return Err(process_lost(ordinal, &known, call, &driver_text(error)));
            }
            Err(Attempt { call, error }) => return Err(failed(call)(error)),
        };
        let watch = known.into_iter().find(|watch| !watch.is_lost());
        let watch = watch.unwrap_or_else(|| {
            let watch = Arc::new(Watch::default());
            watches.push((ordinal, Arc::downgrade(&watch)));
            watch
        });
        let cuda = ManuallyDrop::new(cuda);
        let context = Arc::new(Context { cuda, watch });
        let stream = Stream::new(&context, stream);
        Ok((context, stream))
    }

    /// What is under way in it.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Makes it current on this thread.
    pub fn bind(&self) -> Result<(), Error> {
        self.watch.usable()?;
        self.cuda
            .bind_to_thread()
            .map_err(self.failed("cuCtxSetCurrent"))
    }

    /// Whether what is of another value's context is of this one: the context is the same, and was
    /// not lost meanwhile.
    pub fn is_home_of(&self, other: &Context) -> bool {
        self.cuda.cu_ctx() == other.cuda.cu_ctx() && !other.watch.is_lost()
    }

    /// An error of the driver with the call it came from; of a fault with the launches that may
    /// have done it.
    pub fn failed<'a>(&'a self, call: &'a str) -> impl FnOnce(DriverError) -> Error + 'a {
        move |error| match is_sticky(error) {
            true => self.watch.faulted(call, driver_text(error)),
            false => failed(call)(error),
        }
    }

    /// A stream of its own.
    pub fn new_stream(self: &Arc<Context>) -> Result<Stream, Error> {
        self.bind()?;
        let stream = self.cuda.new_stream();
        let stream = stream.map_err(self.failed("cuStreamCreate"))?;
        Ok(Stream::new(self, stream))
    }

    /// A stream of somebody else's.
    ///
    /// # Safety
    /// It belongs to the context and outlives the value.
    pub unsafe fn borrow_stream(self: &Arc<Context>, stream: sys::CUstream) -> Stream {
        // SAFETY: the caller's promise is the callee's.
        Stream::new(self, unsafe { self.cuda.wrap_borrowed_stream(stream) })
    }
}

impl Deref for Context {
    type Target = CudaContext;

    fn deref(&self) -> &CudaContext {
        &self.cuda
    }
}

/// A value of cudarc's that frees itself in its context, unless that is lost.
#[derive(Debug)]
pub(crate) struct Held<T> {
    value: ManuallyDrop<T>,
    context: Arc<Context>,
}

/// A stream of a context.
pub(crate) type Stream = Held<Arc<CudaStream>>;

impl<T> Held<T> {
    pub fn new(context: &Arc<Context>, value: T) -> Held<T> {
        Held {
            value: ManuallyDrop::new(value),
            context: context.clone(),
        }
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl<T> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        if !self.context.watch.is_lost() {
            // SAFETY: it is dropped once, here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// The call at which a context could not be opened.
struct Attempt {
    call: &'static str,
    error: DriverError,
}

/// Retains the primary context. Making the first stream waits for the context's work, so that a
/// fault of earlier work shows.
fn attempt(ordinal: usize) -> Result<(Arc<CudaContext>, Arc<CudaStream>), Attempt> {
    let at = |call| move |error| Attempt { call, error };
    let cuda = CudaContext::new(ordinal).map_err(at("cuDevicePrimaryCtxRetain"))?;
    let stream = cuda.new_stream().map_err(at("cuStreamCreate"))?;
    Ok((cuda, stream))
}

/// The error of a GPU that this process cannot open any more. Whoever has it open has lost it, and
/// what is known of the fault is told.
fn process_lost(ordinal: usize, known: &[Arc<Watch>], call: &str, text: &str) -> Error {
    for watch in known {
        // Its own work meets the error by itself.
        let _ = watch.faulted(call, text.to_owned());
    }
    let fault = known.iter().find_map(|watch| watch.fault());
    let reason = fault.map_or_else(
        || format!("{call} failed: {text}"),
        |fault| fault.to_string(),
    );
    Error::ProcessLost { ordinal, reason }
}

/// Whether an error of the driver stays for as long as its context lives (driver API, `CUresult`:
/// "leaves the process in an inconsistent state").
fn is_sticky(DriverError(code): DriverError) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTAINED
            | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_TENSOR_MEMORY_LEAK
    )
}
