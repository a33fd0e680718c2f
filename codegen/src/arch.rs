//! GPU architectures: what a plan may use of each.
//!
//! Comes in: an architecture name of a spec (`sm_90a`). Goes out: the limits that checks quote.
//! Limits are those of the CUDA C++ Programming Guide, "Compute Capabilities", and of the PTX ISA
//! release notes for the first `.version` that knows a target.

use std::fmt;

/// One architecture a spec may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arch {
    /// PTX target name, such as `sm_90a`.
    pub name: &'static str,
    /// Compute capability times ten: 80 for `sm_80`.
    pub sm: u32,
    /// Whether the target is architecture-specific (`a` suffix): its PTX runs on this capability
    /// only.
    pub exact: bool,
    /// Shared memory one CTA may ask for, static and dynamic together.
    pub smem_max_bytes: u32,
    /// Lowest PTX `.version` that accepts the target, as major * 10 + minor.
    pub min_ptx: u32,
    /// Target ptxas 13.0 assembles the PTX for: the same, or the oldest it still knows.
    pub ptxas_target: &'static str,
    /// Lowest PTX `.version` the LLVM back end accepts for the target, as major * 10 + minor.
    pub llvm_min_ptx: u32,
}

/// Registers one thread may hold.
pub const MAX_REGISTERS_PER_THREAD: u32 = 255;
/// Registers of one SM.
pub const REGISTERS_PER_SM: u32 = 65_536;
/// CTAs a cluster may have on every GPU that has clusters (CUDA C++ Programming Guide, "Thread
/// Block Clusters").
pub const PORTABLE_CLUSTER: i64 = 8;
/// Threads of a warpgroup.
pub const WARPGROUP: u32 = 128;
/// Threads one CTA may have.
pub const MAX_THREADS_PER_CTA: u32 = 1024;

const fn arch(name: &'static str, sm: u32, exact: bool, smem_max_bytes: u32, min_ptx: u32) -> Arch {
    let ptxas_target = if sm < 75 { "sm_75" } else { name };
    Arch {
        name,
        sm,
        exact,
        smem_max_bytes,
        min_ptx,
        ptxas_target,
        llvm_min_ptx: min_ptx,
    }
}

/// Every architecture that specs may name, oldest first.
pub const ARCHES: &[Arch] = &[
    arch("sm_70", 70, false, 98_304, 60),
    arch("sm_75", 75, false, 65_536, 63),
    arch("sm_80", 80, false, 166_912, 70),
    arch("sm_86", 86, false, 101_376, 71),
    arch("sm_89", 89, false, 101_376, 78),
    arch("sm_90", 90, false, 232_448, 78),
    arch("sm_90a", 90, true, 232_448, 80),
];

impl Arch {
    /// Whether `elect.sync` exists (PTX ISA).
    pub fn has_election(&self) -> bool {
        self.sm >= 90
    }

    /// The architecture of that name, if it is known.
    pub fn parse(name: &str) -> Option<Arch> {
        ARCHES.iter().copied().find(|arch| arch.name == name)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
