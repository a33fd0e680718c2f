//! A bundle that is open on a device.
//!
//! - `options`: when code is loaded
//! - `runtime`: opens, loads, launches
//! - `choose`: the choice of a kernel, counted
//! - `check`: whether the device can run what the bundle is for

pub(crate) mod options;
pub(crate) mod runtime;
pub(crate) mod choose;
mod check;
