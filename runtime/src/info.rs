//! What a device says about itself.

/// The byte that fresh memory is filled with.
pub const POISON: u8 = 0xCD;

/// Which backend a device belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// A GPU behind the CUDA driver.
    Cuda,
    /// The PTX emulator on the CPU.
    Emulator,
}

impl Backend {
    /// The spelling on command lines.
    pub const fn text(self) -> &'static str {
        match self {
            Backend::Cuda => "cuda",
            Backend::Emulator => "emulator",
        }
    }
}

/// What a device says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its backend.
    pub backend: Backend,
    /// Its name: `NVIDIA H200`, `emulator`.
    pub name: String,
    /// Compute capability, ten times major plus minor; `None` runs kernels of every one.
    pub sm: Option<u32>,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// The CUDA version of the driver, as `cuDriverGetVersion` counts; `None` without a driver.
    pub driver: Option<u32>,
    /// Shared memory a CTA may use, static and dynamic together.
    pub max_smem_bytes: u32,
    /// Second-level cache.
    pub l2_bytes: u64,
    /// Global memory.
    pub memory_bytes: u64,
}
