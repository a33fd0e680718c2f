//! The driver itself: whether it is there, its version, and its errors in words.

use cudarc::driver::{DriverError, sys};

use crate::error::Error;

/// Whether a CUDA driver library can be loaded on this machine.
pub fn driver_present() -> bool {
    // SAFETY: loads the driver library if it exists; its initializers are NVIDIA's own and have no
    // requirements on the caller.
    unsafe { sys::is_culib_present() }
}

/// Its version, as 12080 of CUDA 12.8.
pub(super) fn driver_version() -> Result<u32, Error> {
    let mut version = 0;
    // SAFETY: the driver is loaded, and writes one integer that outlives the call.
    unsafe { sys::cuDriverGetVersion(&mut version) }
        .result()
        .map_err(failed("cuDriverGetVersion"))?;
    Ok(u32::try_from(version).unwrap_or(0))
}

/// An error of the driver with the call it came from.
pub(super) fn failed(call: &str) -> impl FnOnce(DriverError) -> Error + '_ {
    move |error| Error::Cuda {
        call: call.to_owned(),
        reason: driver_text(error),
    }
}

/// The code's name and the driver's sentence for it.
pub(super) fn driver_text(error: DriverError) -> String {
    let text = |r: Result<&std::ffi::CStr, DriverError>| {
        r.map(|c| c.to_string_lossy().into_owned())
            .unwrap_or_else(|_| "unknown".to_owned())
    };
    format!(
        "{} ({})",
        text(error.error_name()),
        text(error.error_string())
    )
}
