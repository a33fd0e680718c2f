//! Warps: who goes next, one step of a group, a warp's turn, and the loop over a cluster's warps.
//!
//! The one floor that runs anything. Stands on all the others. The modules are listed in layers.

mod schedule;
mod alternatives;
mod step;
mod observe;
mod history;
mod influence;
mod look;
mod spin;
mod run;
mod deadlock;
mod cluster;

pub(crate) use cluster::{Came, Outcome, Running};
