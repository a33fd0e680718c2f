//! The command as a user meets it: exit codes, streams, help texts and the shape of its JSON.
//!
//! Every test runs the binary itself. Goldens lie in `tests/golden` and are rewritten with
//! `BLESS=1`.
#![allow(clippy::unwrap_used, clippy::panic)]

mod session;
mod drawn;
mod help;
mod streams;
mod bundles;
mod packing;
mod shipping;
mod differences;
mod captures;
mod foreign_files;
mod layout;
mod operations;
mod launches;
mod selecting;
mod tuning;
#[cfg(target_os = "linux")]
mod orphans;
#[cfg(feature = "codegen")]
mod specs;
#[cfg(feature = "codegen")]
mod catalogues;
#[cfg(feature = "codegen")]
mod machine_code;
#[cfg(feature = "codegen")]
mod first_specs;
#[cfg(feature = "codegen")]
mod refused_points;
#[cfg(feature = "codegen")]
mod profiles;
#[cfg(feature = "codegen")]
mod explain;
#[cfg(feature = "codegen")]
mod levels;
#[cfg(feature = "codegen")]
mod forms;
#[cfg(target_os = "linux")]
mod profiler;
mod doctor;
mod emulate;
mod findings_drawn;
