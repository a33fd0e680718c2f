//! What follows from what a kernel computes.
//!
//! - `forms`: what each form of formula is made by
//! - `product_modes`: what a tile has of each mode of a product: rows, columns, batches, planes
//!   (dual GEMM), blocks of columns
//! - `operand`: a tensor argument, and its number
//! - `shape`: operands with their roles, modes that tiles cut
//! - `resolved`: a formula with its form
//! - `tile`: modes of a tile by position, and a tile to begin with

pub(super) mod forms;
pub(super) mod product_modes;
pub(super) mod operand;
pub(super) mod shape;
pub(super) mod resolved;
pub(super) mod tile;
