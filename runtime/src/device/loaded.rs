//! A kernel whose code is on a device.

use std::fmt;
use std::sync::Arc;

use tilewright_bundle::Kernel;

use crate::cuda;
use crate::emulated::EmulatedKernel;
use crate::error::Error;
use crate::launch::info::Backend;
use crate::observe::counters::KernelCounts;

/// A kernel loaded on a device.
pub struct LoadedKernel {
    pub(super) kernel: Kernel,
    pub(super) code: Code,
    pub(super) counts: Arc<KernelCounts>,
}

impl fmt::Debug for LoadedKernel {
    /// Which kernel it is, and on what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = match self.code {
            Code::Cuda(_) => Backend::Cuda,
            Code::Emulated(_) => Backend::Emulator,
        };
        f.debug_struct("LoadedKernel")
            .field("kernel", &self.kernel.id)
            .field("on", &on)
            .finish_non_exhaustive()
    }
}

/// The code on either backend.
pub(super) enum Code {
    Cuda(cuda::CudaKernel),
    Emulated(EmulatedKernel),
}

impl LoadedKernel {
    /// The kernel's entry in the manifest.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Registers of a thread, the most of its launches, as the driver reports; `None` on the
    /// emulator.
    pub fn registers(&self) -> Option<u32> {
        match &self.code {
            Code::Cuda(code) => Some(code.registers()),
            Code::Emulated(_) => None,
        }
    }

    /// What the driver's compiler said while it loaded the kernel; empty where it had no say.
    pub fn log(&self) -> &str {
        match &self.code {
            Code::Cuda(code) => code.log(),
            Code::Emulated(_) => "",
        }
    }

    /// Counts a launch of it that was refused.
    pub(crate) fn counted<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Refused { .. }) = &result {
            self.counts.refuse();
        }
        result
    }

    #[doc(hidden)]
    pub fn cuda(&self) -> Option<&cuda::CudaKernel> {
        match &self.code {
            Code::Cuda(code) => Some(code),
            Code::Emulated(_) => None,
        }
    }
}
