//! Launches that are checked once and run often.
//!
//! - `prepared`: a launch, checked
//! - `captured`: the nodes of a graph that it became
//! - `host_launch`: on the emulator, of operands in the caller's memory

pub(crate) mod prepared;
pub(crate) mod captured;
pub(crate) mod host_launch;
