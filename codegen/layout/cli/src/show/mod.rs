//! Pictures of layouts: what is in them, and the formats that draw it.
//!
//! In: a value of the algebra. Out: text: a coloured table, SVG, LaTeX, or the cells for JSON.
//!
//! The modules stand in their layering, lowest first.

pub mod colour;
pub mod picture;
pub mod banks;
pub mod draw;
pub mod svg;
pub mod latex;
pub mod table;
