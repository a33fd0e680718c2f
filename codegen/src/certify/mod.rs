//! Certificates: what is proved about a kernel before its PTX is written.
//!
//! One full tile is enumerated: every element is moved exactly once by every tiled copy,
//! shared-memory accesses stay inside their tile and keep vectors whole, fragments are what the MMA
//! demands, and each access's bank-conflict degree and sectors per request are counted. For problem
//! sizes, each global access is shown to stand under a predicate or to carry its count of valid
//! bytes, and each address is shown to be aligned from the assumptions the launch checks.

mod alignment;
mod guards;
mod tile;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::ir::program::Program;
use crate::plan::model::Plan;

/// What one tiled copy costs and covers.
#[derive(Clone, Debug, Serialize)]
pub struct StepCertificate {
    /// Operand and hop: `a.g2s`.
    pub step: String,
    /// Atom id.
    pub atom: String,
    /// Elements of the tile, each moved exactly once (by `owners` threads where an operand is
    /// shared).
    pub elements: u64,
    /// Threads that hold each element.
    pub owners: u64,
    /// Shared-memory cycles of one warp access, most over the tile, over the fewest possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_conflict_degree: Option<f64>,
    /// 32-byte sectors one warp request touches, most over the tile, for row starts aligned to a
    /// sector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sectors_per_request: Option<u32>,
    /// Sectors that many bytes need at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sectors_ideal: Option<u32>,
}

/// What is proved about one kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Certificate {
    /// Each tiled copy.
    pub steps: Vec<StepCertificate>,
    /// Global accesses of the program, all guarded.
    pub global_accesses: u32,
    /// Of these, under a predicate.
    pub guarded_by_predicate: u32,
    /// Of these, by their count of valid bytes.
    pub guarded_by_size: u32,
    /// Addresses shown to be aligned.
    pub aligned_addresses: u32,
    /// What the launch must guarantee for this.
    pub assumptions: Vec<String>,
}

/// Proves the kernel right or refuses it.
///
/// # Errors
/// [`Error::Bug`] with the first thing that does not hold.
pub fn certify(plan: &Plan, program: &Program) -> Result<Certificate> {
    let refuse = |message: String, dump: String| Error::Bug {
        stage: "certificate",
        kernel: plan.id.clone(),
        message,
        dump,
    };
    let steps = tile::check(plan, &refuse)?;
    let guards = guards::check(program).map_err(|message| refuse(message, program.to_string()))?;
    let aligned =
        alignment::check(plan, program).map_err(|message| refuse(message, program.to_string()))?;
    Ok(Certificate {
        steps,
        global_accesses: guards.by_predicate + guards.by_size,
        guarded_by_predicate: guards.by_predicate,
        guarded_by_size: guards.by_size,
        aligned_addresses: aligned,
        assumptions: plan.assumptions.iter().map(ToString::to_string).collect(),
    })
}
