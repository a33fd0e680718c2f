//! Code on a GPU: modules, the kernels of them, and what is kept with a kernel.

use std::ffi::CString;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUfunction_attribute as Attribute};
use tilewright_bundle::{Kernel, LaunchAbi};

use super::compiling::Logs;
use super::context::Context;
use super::device::CudaDevice;
use super::driver::failed;
use super::scratch::Scratch;
use crate::error::Error;
use crate::observe::counters::KernelCounts;

/// A loaded module, unloaded when dropped.
pub(super) struct Module {
    context: Arc<Context>,
    handle: sys::CUmodule,
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the handle came from a load in this context and is unloaded once, here.
            let _ = unsafe { result::module::unload(self.handle) };
        }
    }
}

/// A kernel of a loaded module.
pub struct CudaKernel {
    /// The kernel's id.
    pub(super) id: String,
    /// Keeps the functions below alive.
    pub(super) module: Module,
    /// One for each of its launches.
    pub(super) functions: Vec<Function>,
    pub(super) log: String,
    /// Its scratch memory.
    pub(super) scratch: Scratch,
    /// What it does.
    pub(super) counts: Arc<KernelCounts>,
}

/// How many clusters have room on the device at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub smem_bytes: u32,
    pub clusters: u32,
}

/// The code of one launch.
pub(super) struct Function {
    pub handle: sys::CUfunction,
    pub registers: u32,
    /// Dynamic shared memory the function may use so far.
    pub smem_allowed: AtomicU32,
    /// Clusters that have room at once, for the last dynamic shared memory asked about.
    pub room: Mutex<Option<Room>>,
}

// SAFETY: module and function handles may be used from every thread that has made their context
// current, which each call of `CudaDevice` does first; the rest of the struct is thread-safe.
unsafe impl Send for CudaKernel {}
// SAFETY: as above; the driver locks its own state.
unsafe impl Sync for CudaKernel {}

impl std::fmt::Debug for CudaKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CudaKernel")
            .field("registers", &self.registers())
            .finish_non_exhaustive()
    }
}

impl CudaKernel {
    /// Registers of a thread, the most of its launches.
    pub fn registers(&self) -> u32 {
        let registers = self.functions.iter().map(|function| function.registers);
        registers.max().unwrap_or(0)
    }

    /// Where it was loaded.
    pub(super) fn context(&self) -> &Context {
        &self.module.context
    }

    /// What the driver's compiler said; empty for machine code.
    pub fn log(&self) -> &str {
        &self.log
    }
}

impl CudaDevice {
    /// PTX as the driver reads it.
    pub(super) fn terminated(&self, kernel: &Kernel, ptx: &str) -> Result<CString, Error> {
        CString::new(ptx).map_err(|error| Error::Load {
            kernel: kernel.id.clone(),
            reason: error.to_string(),
            log: String::new(),
        })
    }

    /// The function of a launch.
    pub(super) fn entry(&self, abi: &LaunchAbi, module: &Module) -> Result<sys::CUfunction, Error> {
        let name = CString::new(abi.entry.as_str())
            .map_err(|e| Error::Program(format!("entry {:?}: {e}", abi.entry)))?;
        // SAFETY: the module is loaded; who asks keeps it longer than the function.
        unsafe { result::module::get_function(module.handle, name) }
            .map_err(self.failed("cuModuleGetFunction"))
    }

    /// Loads PTX (with its final NUL) or machine code.
    pub(super) fn load_image(
        &self,
        kernel: &Kernel,
        image: &[u8],
    ) -> Result<(Module, String), Error> {
        let mut logs = Logs::new();
        let (mut options, mut values) = logs.options();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the image is NUL-terminated PTX or a whole cubin whose hash was checked; the two
        // arrays have five entries, and the logs they point to have the sizes stated and outlive
        // the call.
        let status = unsafe {
            sys::cuModuleLoadDataEx(
                &mut handle,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        status
            .result()
            .map_err(|error| self.code_refused(kernel, error, &logs))?;
        Ok((
            Module {
                context: self.context().clone(),
                handle,
            },
            logs.info(),
        ))
    }
}

pub(super) fn attribute(function: sys::CUfunction, which: Attribute) -> Result<u32, Error> {
    let mut value = 0;
    // SAFETY: the function is loaded, and the driver writes one integer that outlives the call.
    unsafe { sys::cuFuncGetAttribute(&mut value, which, function) }
        .result()
        .map_err(failed("cuFuncGetAttribute"))?;
    Ok(u32::try_from(value).unwrap_or(0))
}

pub(super) fn set_attribute(
    function: sys::CUfunction,
    which: Attribute,
    value: u32,
) -> Result<(), Error> {
    let value = i32::try_from(value).unwrap_or(i32::MAX);
    // SAFETY: the function is loaded; a value out of range is answered with an error.
    unsafe { sys::cuFuncSetAttribute(function, which, value) }
        .result()
        .map_err(failed("cuFuncSetAttribute"))
}
