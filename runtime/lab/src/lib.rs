//! What is done to kernels of a bundle before they are shipped, and in the laboratory.
//!
//! [`verify`] compares kernels with f64 references on random problems, [`mod@bench`] measures them
//! beside cuBLASLt and memcpy, [`capture`] keeps what one device wrote to compare another with it,
//! [`tune`] finds the fastest of many for [`Runtime::select`], [`launch_file`] runs PTX of any
//! compiler on the emulator. A service links none of it: it opens bundles and launches by
//! `tilewright-runtime`.
//!
//! [`Runtime::select`]: tilewright_runtime::Runtime::select

mod rules;

pub mod verify;

pub mod bench;

mod json_lines;

pub mod capture;

pub mod tune;

pub mod launch_file;

pub use rules::RulesRecord;
