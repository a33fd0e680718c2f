//! Planning: from a point of a spec to every decision about its kernel.
//!
//! A plan names the atoms, who holds what, the shared-memory map with its swizzles, and what the
//! launch must guarantee. It decides; it emits nothing. All limits a point violates are reported
//! together.
//!
//! - `work_tiles`: grid, order, split along k
//! - `data`: what a plan is
//! - `undecided`: a plan of a point's own values
//! - `instructions`: from facts to an atom
//! - `copies`: who moves what
//! - `smem`: how tiles lie in shared memory
//! - `values`: what is computed of a tile's elements
//! - `limits`: registers, shared memory, threads
//! - `supported`: which formulas have kernels, and how a refusal reads
//! - `elementwise`: maps and reductions
//! - `gemm`: products
//! - `realigned`: inputs that are copied into the workspace first
//! - `attempt`: the straight line: refuse, decide, limit, synchronize
//! - `candidates`: the plans of a point in their order, what else would do, doubts

pub mod work_tiles;
pub mod data;
mod undecided;
pub mod instructions;
pub mod copies;
pub mod smem;
mod values;
mod limits;
mod supported;
mod elementwise;
mod gemm;
mod realigned;
mod attempt;
pub mod candidates;

use crate::atoms;
use crate::error::Result;
use crate::spec::keys::model::Point;
pub use candidates::Plans;
pub use candidates::doubts::doubts;
use data::model::Plan;
pub use supported::limitations::{LIMITS, Limit};

/// Plans a point: the first of its plans.
///
/// # Errors
/// [`Error::Plan`](crate::error::Error::Plan) with every violated limit.
pub fn plan(point: &Point) -> Result<Plan> {
    plans(point).map(|(plan, _)| plan)
}

/// Plans a point, with the plans that are tried in the place of the first where its kernel is
/// refused.
///
/// # Errors
/// As [`plan`].
pub fn plans(point: &Point) -> Result<(Plan, Plans<'static>)> {
    candidates::alternatives::plans(point, atoms::catalogue()?)
}
