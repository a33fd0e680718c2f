//! What a plan comes to, for a reader: where everything lies in shared memory, and how many CTAs an
//! SM holds and why no more.

pub mod smem_map;
pub mod occupancy;
#[cfg(test)]
mod tests;
