//! The levels of a kernel for a reader: problem, CTA tile, warps, lanes, registers, operand by
//! operand.
//!
//! In: the levels of a plan. Out: tables for a terminal, and an SVG drawing, which say the same.
//!
//! The modules stand in their layering, lowest first.

mod shown;
pub mod text;
pub mod svg;
