//! What a launch needs, checked without a device.
//!
//! - `host`: memory of the caller's
//! - `problem`: extents, strides, scalars by name
//! - `layout`: extents of operands, and whether they overlap
//! - `info`: what is known of a device
//! - `reorder`: packed operands, from elements to their order in memory and back
//! - `tensor_map`: tensor maps as numbers (TMA)
//! - `work_tiles`: what kernels count beside the grid
//! - `fit`: everything a launch is made of
//! - `tensors`, `reach`: tensors of the caller's as a problem, and where their elements may lie
//! - `request`: all that a caller names, with the memory
//! - `minimal_strides`: the problem of given extents with the smallest strides

pub(crate) mod host;
pub(crate) mod problem;
pub(crate) mod layout;
pub(crate) mod info;
pub(crate) mod reorder;
pub(crate) mod tensor_map;
pub(crate) mod reach;
pub(crate) mod work_tiles;
pub(crate) mod fit;
pub(crate) mod tensors;
pub(crate) mod request;
pub(crate) mod minimal_strides;
