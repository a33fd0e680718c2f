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
    /// Shared memory of an SM that CTAs share out.
    pub sm_smem_bytes: u32,
    /// Shared memory that the system keeps of each CTA.
    pub smem_reserved_bytes: u32,
    /// Threads an SM holds at a time.
    pub sm_threads: u32,
    /// CTAs an SM holds at a time.
    pub sm_ctas: u32,
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
/// Threads of a warp.
pub const WARP: u32 = 32;
/// Bits of a register (CUDA programming guide, compute capabilities).
pub const REGISTER_BITS: i64 = 32;
/// Threads of a warpgroup.
pub const WARPGROUP: u32 = 128;
/// Threads one CTA may have.
pub const MAX_THREADS_PER_CTA: u32 = 1024;

/// An SM's shared memory in KiB, threads and CTAs.
type Sm = [u32; 3];

const fn arch(
    name: &'static str,
    sm: u32,
    smem_max_bytes: u32,
    [smem_kib, sm_threads, sm_ctas]: Sm,
    min_ptx: u32,
) -> Arch {
    let ptxas_target = if sm < 75 { "sm_75" } else { name };
    Arch {
        name,
        sm,
        exact: false,
        smem_max_bytes,
        sm_smem_bytes: smem_kib * 1024,
        smem_reserved_bytes: if sm < 80 { 0 } else { 1024 },
        sm_threads,
        sm_ctas,
        min_ptx,
        ptxas_target,
        llvm_min_ptx: min_ptx,
    }
}

/// Every architecture that specs may name, oldest first.
pub const ARCHES: &[Arch] = &[
    arch("sm_70", 70, 98_304, [96, 2048, 32], 60),
    arch("sm_75", 75, 65_536, [64, 1024, 16], 63),
    arch("sm_80", 80, 166_912, [164, 2048, 32], 70),
    arch("sm_86", 86, 101_376, [100, 1536, 16], 71),
    arch("sm_89", 89, 101_376, [100, 1536, 24], 78),
    arch("sm_90", 90, 232_448, [228, 2048, 32], 78),
    Arch {
        exact: true,
        ..arch("sm_90a", 90, 232_448, [228, 2048, 32], 80)
    },
];

/// GPUs and families by the names that people have for them, with their architecture.
const GPUS: &[(&str, &[&str])] = &[
    ("sm_70", &["volta", "v100", "titanv"]),
    ("sm_75", &["turing", "t4", "rtx2080"]),
    ("sm_80", &["a100", "a30", "a800"]),
    (
        "sm_86",
        &["ampere", "a10", "a40", "a2", "a16", "a6000", "rtx3090"],
    ),
    ("sm_89", &["ada", "l4", "l40", "l40s", "rtx4090"]),
    (
        "sm_90a",
        &["hopper", "h100", "h200", "h800", "h20", "gh200"],
    ),
];

impl Arch {
    /// The architecture of a GPU or a family by its usual name: `H100`, `hopper`.
    pub fn of_gpu(name: &str) -> Option<Arch> {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let name: String = letters.map(|one| one.to_ascii_lowercase()).collect();
        let mut rows = GPUS.iter();
        let (arch, _) = rows.find(|(_, names)| names.contains(&name.as_str()))?;
        Arch::parse(arch)
    }

    /// The architecture of that name, if it is known.
    pub fn parse(name: &str) -> Option<Arch> {
        ARCHES.iter().copied().find(|arch| arch.name == name)
    }

    /// Whether a kernel may be set up while the one before it in the stream ends (PTX ISA,
    /// griddepcontrol).
    pub fn overlaps_launches(&self) -> bool {
        self.sm >= 90
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
