//! The intermediate forms.
//!
//! - `thread`: the thread program, what one thread does
//! - `tile`: tile IR, what a CTA does

pub mod thread;
pub mod tile;
