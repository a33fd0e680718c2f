//! What is told to whoever operates a service.
//!
//! - `nvtx`: ranges for profilers
//! - `counters`: what a service exports
//! - `watch`: launches under way, to which a fault is laid

pub(crate) mod nvtx;
pub(crate) mod counters;
pub(crate) mod watch;
