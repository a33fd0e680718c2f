//! What a plan comes to, for a reader: where it computes each part of its formula, where everything
//! lies in shared memory, how many CTAs an SM holds and why no more, and who has which elements.

pub mod sockets;
pub mod smem_map;
pub mod occupancy;
pub mod ownership;
pub mod levels;
#[cfg(test)]
mod tests;
