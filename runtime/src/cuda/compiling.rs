//! The driver's compiler: PTX to machine code that can be kept, with what it says.

use std::ffi::{CStr, c_void};

use cudarc::driver::DriverError;
use cudarc::driver::sys::{self, CUjit_option as Jit, CUjitInputType};
use tilewright_bundle::Kernel;

use super::device::CudaDevice;
use super::driver::driver_text;
use crate::error::Error;

/// Bytes of each log of the driver's compiler.
const LOG_BYTES: usize = 16 << 10;

/// What the compiler says, and where it writes it.
pub(super) struct Logs {
    info: Vec<u8>,
    errors: Vec<u8>,
}

impl Logs {
    pub fn new() -> Logs {
        Logs {
            info: vec![0; LOG_BYTES],
            errors: vec![0; LOG_BYTES],
        }
    }

    /// The compiler's options, which lead to the logs: these must outlive their use.
    pub fn options(&mut self) -> ([Jit; 5], [*mut c_void; 5]) {
        let options = [
            Jit::CU_JIT_INFO_LOG_BUFFER,
            Jit::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            Jit::CU_JIT_ERROR_LOG_BUFFER,
            Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            Jit::CU_JIT_LOG_VERBOSE,
        ];
        // Sizes and flags travel in the pointer itself (driver API, cuModuleLoadDataEx).
        let values = [
            self.info.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(LOG_BYTES),
            self.errors.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(LOG_BYTES),
            std::ptr::without_provenance_mut(1),
        ];
        (options, values)
    }

    /// What it says of code that it took.
    pub fn info(&self) -> String {
        text_of(&self.info)
    }

    /// What it says of code that it refused.
    pub fn errors(&self) -> String {
        text_of(&self.errors)
    }
}

/// The text of a log buffer up to its NUL.
fn text_of(log: &[u8]) -> String {
    let end = log.iter().position(|c| *c == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

/// A run of the driver's linker, which owns what it makes.
struct Linker(sys::CUlinkState);

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: made by `cuLinkCreate`, destroyed once, here.
        let _ = unsafe { sys::cuLinkDestroy(self.0) };
    }
}

impl CudaDevice {
    /// Compiles PTX for this device without loading it.
    ///
    /// # Errors
    /// [`Error::Load`] with the compiler's log when it refuses the text.
    pub(super) fn compile(&self, kernel: &Kernel, ptx: &CStr) -> Result<Vec<u8>, Error> {
        let text = ptx.to_bytes_with_nul();
        let mut logs = Logs::new();
        let (mut options, mut values) = logs.options();
        let refused = |error: DriverError, logs: &Logs| self.code_refused(kernel, error, logs);
        let mut state = std::ptr::null_mut();
        let count = options.len() as u32;
        let (names, places) = (options.as_mut_ptr(), values.as_mut_ptr());
        // SAFETY: the arrays have `count` entries; they and the logs they point to live until the
        // linker is destroyed, at the end of this function.
        unsafe { sys::cuLinkCreate_v2(count, names, places, &mut state) }
            .result()
            .map_err(|error| refused(error, &logs))?;
        let linker = Linker(state);
        let data = text.as_ptr().cast_mut().cast();
        let (kind, none) = (CUjitInputType::CU_JIT_INPUT_PTX, std::ptr::null_mut());
        let name = c"kernel.ptx".as_ptr();
        // SAFETY: the text is NUL-terminated and outlives the call, which copies what it needs; no
        // options are given.
        unsafe {
            let none_either = std::ptr::null_mut();
            sys::cuLinkAddData_v2(linker.0, kind, data, text.len(), name, 0, none, none_either)
        }
        .result()
        .map_err(|error| refused(error, &logs))?;
        let (mut code, mut bytes) = (std::ptr::null_mut(), 0);
        // SAFETY: the driver writes an address and a size, which outlive the call.
        unsafe { sys::cuLinkComplete(linker.0, &mut code, &mut bytes) }
            .result()
            .map_err(|error| refused(error, &logs))?;
        // SAFETY: the machine code is the linker's, `bytes` long, and lives as long as it.
        let code = unsafe { std::slice::from_raw_parts(code.cast::<u8>(), bytes) }.to_vec();
        drop(linker);
        Ok(code)
    }

    /// The error of code that the driver's compiler or loader refused.
    pub(super) fn code_refused(&self, kernel: &Kernel, error: DriverError, logs: &Logs) -> Error {
        match self.failed("cuModuleLoadDataEx")(error) {
            Error::Cuda { .. } => Error::Load {
                kernel: kernel.id.clone(),
                reason: driver_text(error),
                log: logs.errors(),
            },
            lost => lost,
        }
    }
}
