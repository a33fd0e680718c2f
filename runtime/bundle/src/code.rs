//! The code of a kernel: its files, the devices that run them, what they use.

use serde::{Deserialize, Serialize};

use crate::hash::Sha256Hex;

/// A kernel's PTX file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PtxFile {
    /// Path relative to the manifest; set by the writer.
    pub file: String,
    /// Hash of the content; set by the writer.
    pub sha256: Sha256Hex,
    /// The file's `.version`; set by the writer.
    pub version: String,
    /// The file's `.target`, the architecture alone; set by the writer.
    pub target: String,
}

/// A kernel's machine code for one architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CubinFile {
    /// Path relative to the manifest.
    pub file: String,
    /// Hash of the content.
    pub sha256: Sha256Hex,
    /// The architecture it was assembled for, `sm_90a`: it is run on devices of this compute
    /// capability alone.
    pub target: String,
}

/// Which devices run a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// Smallest compute capability, ten times major plus minor: 80, 90.
    pub min_sm: u32,
    /// Whether no other capability will do, as for `sm_90a`.
    pub exact: bool,
}

/// Compute capabilities that NVIDIA's GPUs have, times ten (CUDA C++ Programming Guide, compute
/// capabilities; PTX ISA, .target).
const KNOWN: [u32; 21] = [
    50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121,
];

impl Capability {
    /// The devices of an architecture by its name, `sm_80`, `sm_90a`; none of a word that is no
    /// such name.
    pub fn of_arch(name: &str) -> Option<Capability> {
        let digits = name.strip_prefix("sm_")?;
        let plain = digits.strip_suffix('a');
        let min_sm = plain.unwrap_or(digits).parse().ok()?;
        let exact = plain.is_some();
        KNOWN
            .contains(&min_sm)
            .then_some(Capability { min_sm, exact })
    }

    /// The name of the architecture: `sm_80`, `sm_90a`.
    pub fn arch_name(self) -> String {
        let alone = if self.exact { "a" } else { "" };
        format!("sm_{}{alone}", self.min_sm)
    }

    /// Whether a device of compute capability `sm` (80, 90) runs the kernel.
    pub const fn allows(self, sm: u32) -> bool {
        if self.exact {
            sm == self.min_sm
        } else {
            sm >= self.min_sm
        }
    }
}

/// Which of a kernel's codes a GPU may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// The machine code where it fits the device, else the PTX.
    #[default]
    Ptx,
    /// The machine code alone: compilers of some drivers break the PTX.
    CubinOnly,
}

impl Route {
    pub(crate) fn is_ptx(&self) -> bool {
        *self == Route::Ptx
    }
}

/// What a kernel uses, the most of its launches, as far as it is known; sizes in bytes per CTA or
/// thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Registers of a thread, from `ptxas`: of the machine code, where the kernel has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Shared memory declared in the PTX.
    pub static_smem_bytes: u32,
    /// Shared memory asked for at launch.
    pub dynamic_smem_bytes: u32,
    /// Bytes a thread spills, stores and loads together, from `ptxas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_bytes: Option<u32>,
}
