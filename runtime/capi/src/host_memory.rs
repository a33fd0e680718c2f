//! Memory of the caller's that the emulator reads and writes.

use tilewright_runtime::HostMemory;

/// The memory of operands that a caller named.
pub struct Lent(());

impl Lent {
    /// Takes the caller's word for it.
    ///
    /// # Safety
    /// While the value lives, every operand it is used with is there, from its first to behind its
    /// last element, may be written where the kernel writes it, and nobody else writes it.
    pub unsafe fn new() -> Lent {
        Lent(())
    }
}

impl HostMemory for Lent {
    fn read(&self, address: u64, into: &mut [u8]) {
        let from = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: the range is one of operands, which are there: see `Lent::new`; `into` is memory
        // of the runtime's, which no caller was told of.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
    }

    fn write(&self, address: u64, from: &[u8]) {
        let to = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: the range lies in an operand that the kernel writes, as above.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    }
}
