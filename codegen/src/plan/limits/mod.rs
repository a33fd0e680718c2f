//! What a plan may not exceed, and which keys are at fault.
//!
//! - `registers_and_smem`: threads, registers, shared memory, residency
//! - `overlapping_outputs`: outputs whose tiles would share memory
//! - `keys_at_fault`: the keys of a violation

pub(super) mod registers_and_smem;
pub(super) mod overlapping_outputs;
pub(super) mod keys_at_fault;
