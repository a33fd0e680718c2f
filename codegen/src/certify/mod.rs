//! Certificates: what is proved about a kernel before its PTX is written.
//!
//! One full tile is enumerated: every element is moved exactly once by every tiled copy,
//! shared-memory accesses stay inside their tile and keep vectors whole, fragments are what the MMA
//! demands, and the wavefronts of all accesses to shared memory and the sectors of requests to
//! global memory are counted. For problem sizes, each global access is shown to stand under a
//! predicate or to carry its count of valid bytes, and each address is shown to be aligned from the
//! assumptions the launch checks.
//!
//! - `coverage`: one full tile, enumerated
//! - `bounds`: each access to global memory inside its operand
//! - `pipeline`: teams and pipes without data, over every length that matters
//! - `run_with_data`: tile IR with numbers, against the formula
//! - `timeline`: the same machine by a clock

pub mod timeline;
mod coverage;
mod bounds;
mod pipeline;
mod run_with_data;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use crate::certify::bounds::Guards;
pub use crate::certify::run_with_data::Computed;
use crate::error::{Error, Result};
use crate::ir::thread::program::Program;
use crate::ir::tile::Kernel;
use crate::plan::data::choices::Choice;
use crate::plan::data::model::Plan;
use crate::plan::smem::bank_conflicts::Wavefronts;
use timeline::Timeline;

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
    /// Wavefronts of its accesses to shared memory over one run, by all warps that take part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<Wavefronts>,
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
    /// Global accesses of the program, all shown to stay inside for every problem.
    pub global_accesses: u32,
    /// Of these, by the tests on their way.
    pub guarded_by_predicate: u32,
    /// Of these, by their count of valid bytes.
    pub guarded_by_size: u32,
    /// Of these, by tensor maps, at whose ends the hardware cuts.
    #[serde(skip_serializing_if = "is_zero")]
    pub guarded_by_map: u32,
    /// Of these, by the size of scratch memory.
    #[serde(skip_serializing_if = "is_zero")]
    pub guarded_by_scratch: u32,
    /// Addresses shown to be aligned.
    pub aligned_addresses: u32,
    /// Runs of the pipes over lengths of the main loop, none with a finding.
    pub pipeline_runs: u32,
    /// Problems on which the kernel in tiles stored what its formula gives.
    pub computed: Vec<Computed>,
    /// What the launch must guarantee for this.
    pub assumptions: Vec<String>,
    /// Keys that the spec leaves to the plan and that have other values than the first that a plan
    /// has, each with why: `min_ctas_per_sm 1: 8 bytes of spill loads at 168 registers …`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The pipeline's run by the clock, for so many output tiles of so many k tiles for each CTA;
/// `None` for a kernel without roles.
///
/// # Errors
/// [`Error::Bug`] when the pipeline does not run.
pub fn timeline(plan: &Plan, kernel: &Kernel, lengths: [u32; 2]) -> Result<Option<Timeline>> {
    let Some(roles) = &plan.roles else {
        return Ok(None);
    };
    let run = pipeline::clock::timeline(plan, roles, kernel, lengths);
    run.map(Some)
        .map_err(|message| Error::bug("timeline", &plan.id, format!("pipeline: {message}"), kernel))
}

/// Shows that every access of the program to global memory stays inside, for every problem: the
/// part of a certificate that a change of one test must not pass.
///
/// # Errors
/// [`Error::Bug`] with the first access that is not shown to.
pub fn guards_of(plan: &Plan, program: &Program) -> Result<Guards> {
    bounds::check(plan, program).map_err(|message| refused(plan, message, program))
}

/// Runs the kernel in tiles with data, on small ragged problems: what it stores is what its formula
/// gives.
///
/// # Errors
/// [`Error::Bug`] with the first element that is stored wrong, or operation that cannot be done.
pub fn computed_of(plan: &Plan, kernel: &Kernel) -> Result<Vec<Computed>> {
    run_with_data::check(plan, kernel)
        .map_err(|message| refused(plan, format!("data: {message}"), kernel))
}

fn refused(plan: &Plan, message: String, dump: impl ToString) -> Error {
    Error::bug("certificate", &plan.id, message, dump)
}

/// Proves the kernel right or refuses it.
///
/// # Errors
/// [`Error::Bug`] with the first thing that does not hold.
pub fn certify(plan: &Plan, kernel: &Kernel, program: &Program) -> Result<Certificate> {
    let refuse = |message: String, dump: String| refused(plan, message, dump);
    let made = coverage::work::check(&kernel.work);
    made.map_err(|message| refuse(format!("work: {message}"), kernel.to_string()))?;
    let mut steps = coverage::tile::check(plan, &refuse)?;
    if let Some(roles) = &plan.roles {
        steps.extend(coverage::boxes::check(plan, roles, &refuse)?);
    }
    let pipeline_runs = pipeline::check(plan, kernel)
        .map_err(|message| refuse(format!("pipeline: {message}"), kernel.to_string()))?;
    let computed = computed_of(plan, kernel)?;
    let guards = guards_of(plan, program)?;
    let aligned = coverage::alignment::check(plan, program)
        .map_err(|message| refuse(message, program.to_string()))?;
    Ok(Certificate {
        steps,
        global_accesses: guards.all(),
        guarded_by_predicate: guards.by_predicate,
        guarded_by_size: guards.by_size,
        guarded_by_map: guards.by_map,
        guarded_by_scratch: guards.by_scratch,
        aligned_addresses: aligned,
        pipeline_runs,
        computed,
        assumptions: plan.asked().collect(),
        taken: plan.taken.iter().map(Choice::told).collect(),
    })
}
