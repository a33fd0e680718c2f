//! What a device says about itself, and by whose arithmetic the emulator stood in for one.

use std::fmt;

use serde::Serialize;
use tilewright_emulator::tensor_core::Rules;

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

/// The arithmetic that tensor cores were emulated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RulesRecord {
    /// The architecture.
    pub name: &'static str,
    /// Whether it equals the hardware to the bit; else it is a model from public sources.
    pub proved: bool,
}

impl From<&Rules> for RulesRecord {
    fn from(rules: &Rules) -> RulesRecord {
        RulesRecord {
            name: rules.name(),
            proved: rules.proved(),
        }
    }
}

impl fmt::Display for RulesRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proved = if self.proved { "proved" } else { "unproved" };
        write!(f, "tensor cores of {}: {proved}", self.name)
    }
}
