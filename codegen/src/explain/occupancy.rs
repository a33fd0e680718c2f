//! How many CTAs an SM holds at a time, and what limits it.
//!
//! By the rules of the CUDA C++ Programming Guide, "Compute Capabilities", and of the occupancy
//! calculator: registers are handed out by warp in units of 256, shared memory with what the system
//! keeps of each CTA.

use serde::Serialize;

use crate::arch::REGISTERS_PER_SM;
use crate::plan::data::model::Plan;

/// Registers come by the warp in units of so many.
const REGISTER_UNIT: u32 = 256;
/// Threads of a warp.
const WARP: u32 = 32;

/// One thing that bounds the CTAs of an SM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// What: `registers`.
    pub what: &'static str,
    /// What a CTA takes.
    pub of_cta: u32,
    /// What an SM has.
    pub of_sm: u32,
    /// CTAs that leaves room for.
    pub ctas: u32,
}

/// The CTAs of an SM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Occupancy {
    /// CTAs at a time.
    pub ctas_per_sm: u32,
    /// Warps at a time, and the most an SM could have.
    pub warps: [u32; 2],
    /// Registers of a thread when it starts, as the assembler says; `None` without one.
    pub registers: Option<u32>,
    /// Every bound, the tightest first.
    pub limits: Vec<Limit>,
}

impl Occupancy {
    /// All bounds that allow no more CTAs than there are.
    pub fn limited_by(&self) -> String {
        let tight = self
            .limits
            .iter()
            .filter(|limit| limit.ctas == self.ctas_per_sm);
        let names: Vec<&str> = tight.map(|limit| limit.what).collect();
        names.join(" and ")
    }
}

/// The occupancy of a kernel of that plan whose threads start with so many registers.
pub fn occupancy(plan: &Plan, registers: Option<u32>) -> Occupancy {
    let arch = &plan.arch;
    let threads = plan.cta_threads().max(1);
    let warps = threads.div_ceil(WARP);
    let mut limits = vec![Limit {
        what: "threads",
        of_cta: threads,
        of_sm: arch.sm_threads,
        ctas: arch.sm_threads / threads,
    }];
    limits.push(Limit {
        what: "CTAs",
        of_cta: 1,
        of_sm: arch.sm_ctas,
        ctas: arch.sm_ctas,
    });
    if plan.arena.bytes() > 0 {
        let of_cta = plan.arena.bytes() + arch.smem_reserved_bytes;
        limits.push(Limit {
            what: "bytes of shared memory",
            of_cta,
            of_sm: arch.sm_smem_bytes,
            ctas: arch.sm_smem_bytes / of_cta,
        });
    }
    if let Some(registers) = registers.filter(|registers| *registers > 0) {
        let of_cta = (registers * WARP).next_multiple_of(REGISTER_UNIT) * warps;
        limits.push(Limit {
            what: "registers",
            of_cta,
            of_sm: REGISTERS_PER_SM,
            ctas: REGISTERS_PER_SM / of_cta,
        });
    }
    limits.sort_by_key(|limit| limit.ctas);
    let ctas_per_sm = limits.first().map_or(0, |limit| limit.ctas);
    Occupancy {
        ctas_per_sm,
        warps: [ctas_per_sm * warps, arch.sm_threads / WARP],
        registers,
        limits,
    }
}
