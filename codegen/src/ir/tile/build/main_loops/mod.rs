//! The main loops of products: how factors come to the MMA, trip after trip.
//!
//! - `synchronous`: through registers into shared memory, a tile along k at a time
//! - `multistage`: by asynchronous copies, some tiles ahead of their use
//! - `warp_specialized`: by boxes that a producer asks for, while consumers multiply

pub(super) mod synchronous;
pub(super) mod multistage;
pub(super) mod warp_specialized;
