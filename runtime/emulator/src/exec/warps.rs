//! Warps: who goes next, one step, and the loop over the warps of a cluster.
//!
//! The one floor that runs anything. Uses all the others.

mod schedule;
mod alternatives;
mod step;
mod observe;
mod run;
mod deadlock;
mod cluster;

pub(crate) use cluster::{Outcome, run_cluster};
