//! Who moves what.
//!
//! - `sub_byte`: elements that share a byte
//! - `thread_digits`: thread-value layouts as digits of the thread's index
//! - `tiled_copy`: threads over a tile, and what strides and pointers must be multiples of
//! - `vector_width`: bytes of an access
//! - `partition`: what each thread of a step has
//! - `packed_weights`: operands that are stored in the order of tiles

pub(super) mod sub_byte;
pub mod thread_digits;
pub(super) mod tiled_copy;
pub(super) mod vector_width;
pub mod partition;
pub mod packed_weights;
