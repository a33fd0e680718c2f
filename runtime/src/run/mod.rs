//! Launches that are checked once and run often.
//!
//! - `prepared`: a launch, checked
//! - `on_emulator`: the same on the emulator, enqueued by the same calls
//! - `captured`: the nodes of a graph that it became
//! - `host_launch`: on the emulator, of operands in the caller's memory

pub(crate) mod prepared;
pub(crate) mod on_emulator;
pub(crate) mod captured;
pub(crate) mod host_launch;
