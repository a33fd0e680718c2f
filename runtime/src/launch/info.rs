//! What a device says about itself.

use std::fmt;

use tilewright_bundle::TunedDevice;

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
    /// Whether it runs the machine code of bundles alone: see
    /// [`Options::cubin_only`](crate::Options::cubin_only).
    pub cubin_only: bool,
}

impl DeviceInfo {
    /// A GPU of a compute capability, ten times major plus minor, that need not be here: with the
    /// shared memory that every one of them has, and nothing known of its driver.
    pub fn of_capability(sm: u32) -> DeviceInfo {
        DeviceInfo {
            backend: Backend::Cuda,
            name: "any GPU".to_owned(),
            sm: Some(sm),
            sms: 1,
            driver: None,
            max_smem_bytes: max_smem_bytes(sm),
            l2_bytes: 0,
            memory_bytes: 0,
            cubin_only: false,
        }
    }
}

impl From<&TunedDevice> for DeviceInfo {
    /// The device that a table was measured on, as far as the table tells, which need not be here.
    fn from(tuned: &TunedDevice) -> DeviceInfo {
        DeviceInfo {
            backend: match tuned.sm {
                Some(_) => Backend::Cuda,
                None => Backend::Emulator,
            },
            name: tuned.name.clone(),
            sm: tuned.sm,
            sms: tuned.sms,
            ..DeviceInfo::of_capability(tuned.sm.unwrap_or(90))
        }
    }
}

/// Shared memory a CTA may use (CUDA programming guide, compute capabilities); of a capability that
/// is not listed there the least of any.
fn max_smem_bytes(sm: u32) -> u32 {
    let kib = match sm {
        70 | 72 => 96,
        80 | 87 => 163,
        86 | 89 | 120 | 121 => 99,
        90 | 100 | 101 | 103 | 110 => 227,
        _ => 64,
    };
    kib << 10
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sm = self.sm.map(|sm| format!("sm_{sm}"));
        // One stands for any number where the device is not here.
        let sms = (self.sms > 1).then(|| format!("{} SMs", self.sms));
        let parts: Vec<String> = sm.into_iter().chain(sms).collect();
        match parts.is_empty() {
            true => f.write_str(&self.name),
            false => write!(f, "{} ({})", self.name, parts.join(", ")),
        }
    }
}
