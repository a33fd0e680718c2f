//! Every element of a full tile is moved once, by accesses that are aligned.
//!
//! - `alignment`: addresses of the program
//! - `boxes`: copies by tensor maps
//! - `tile`: tiled copies and fragments
//! - `work`: output tiles, as CTAs make them

pub(super) mod alignment;
pub(super) mod boxes;
pub(super) mod tile;
pub(super) mod work;
