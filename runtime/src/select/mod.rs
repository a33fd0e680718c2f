//! Which kernel of a bundle takes a problem.
//!
//! - `functions`: kernels by the function that they compute
//! - `pick`: the first that fits
//! - `accept`: whether a kernel fits, without allocating
//! - `table`: the kernel of the tuning table
//! - `explanation`: why that one, and what the others answer
//! - `candidates`: a bundle's kernels for a device that need not be here

pub(crate) mod functions;
pub(crate) mod pick;
pub(crate) mod accept;
pub(crate) mod table;
pub(crate) mod explanation;
pub(crate) mod candidates;
