//! Memory and barriers: where bytes are, who may touch them when, and what orders them.
//!
//! Accesses are located, counted, judged and reported here; barriers and mbarriers count arrivals
//! and bytes; queued copies are performed. Nothing here executes an instruction or chooses who
//! runs: a barrier that completes counts up, and waiting warps look. Stands on `state`. The modules
//! are listed in layers.

mod spaces;
mod locate;
mod conflicts;
mod global_conflicts;
mod traffic;
mod access_report;
mod addresses;
mod cluster_barrier;
mod cta_barrier;
mod mbarrier;
mod mbarrier_order;
mod elements;
mod reduction;
mod spans;
mod tiles;
mod copy_conflicts;
mod queue;
mod lifetime;

pub(crate) use global_conflicts::{crossing, word_of};
pub(crate) use reduction::combine;
pub(crate) use spaces::space_of;
