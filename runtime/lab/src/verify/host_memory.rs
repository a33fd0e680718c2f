//! What one trial takes of the host's memory at once, asked for before any of it is taken.

use tilewright_bundle::Kernel;

use super::problems::Case;
use tilewright_runtime::Backend;
use tilewright_runtime::Device;
use tilewright_runtime::Error;
use tilewright_runtime::operand_bytes;
use tilewright_runtime::parts::check_host_memory;

/// Copies of an operand on the emulator, besides the image: the buffer, the memory of the launch
/// with its marks, and what is read back.
const EMULATED: u128 = 4;

/// Refuses a case that the host has no memory for.
///
/// # Errors
/// [`Error::HostMemory`].
pub(super) fn check(device: &Device, kernel: &Kernel, case: &Case) -> Result<(), Error> {
    let bytes = bytes(device, kernel, case);
    check_host_memory(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Bytes of all images, elements, values and references of a case.
fn bytes(device: &Device, kernel: &Kernel, case: &Case) -> u128 {
    let copies = match device.info().backend {
        Backend::Emulator => 1 + EMULATED,
        Backend::Cuda => 1,
    };
    let operands = kernel.semantics.operands.iter().zip(&case.fit.operands);
    let of_one = operands.map(|(operand, extents)| {
        let size = u128::from(operand.dtype.bytes());
        let elems = u128::try_from(extents.elems()).unwrap_or_default();
        let span = operand_bytes(operand, extents).map_or(u64::MAX.into(), u128::from);
        // In f64: the values of an input and their weights; an output's, and what is expected.
        let values = if operand.role.is_written() { 24 } else { 16 };
        // Elements as they were made, as the kernel has them, and as they were read.
        span * copies + elems.saturating_mul(3 * size + values)
    });
    of_one.fold(0, u128::saturating_add)
}
