//! What a plan comes to, for a reader: where it computes each part of its formula, where everything
//! lies in shared memory, and how many CTAs an SM holds and why no more.

pub mod sockets;
pub mod smem_map;
pub mod occupancy;
#[cfg(test)]
mod tests;
