//! Values that come together.
//!
//! - `fold`: of a thread
//! - `between_threads`: of lanes and warps (shuffles, shared memory)
//! - `atomics`: with what an output holds
//! - `deterministic_sums`: of CTAs, in a fixed order
//! - `chunked_rows`: of rows longer than a tile, pass after pass

pub(super) mod fold;
mod between_threads;
mod atomics;
mod deterministic_sums;
mod chunked_rows;
