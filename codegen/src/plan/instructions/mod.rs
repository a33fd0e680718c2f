//! From facts to an instruction: which atom does what is wanted.
//!
//! - `choose`: the first atom that fits, and why those before it did not
//! - `synchronization`: barriers, fences, waits
//! - `casts`: conversions as element code
//! - `arithmetic`: instructions of element code

pub(super) mod choose;
pub(super) mod synchronization;
pub mod casts;
pub(crate) mod arithmetic;
