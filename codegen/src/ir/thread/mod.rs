//! The program of one thread.
//!
//! - `program`: statements, expressions, registers
//! - `expr`: expressions simplified as they are made
//! - `text`: how it prints

pub mod program;
pub mod expr;
pub mod text;
