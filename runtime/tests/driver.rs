//! What the runtime asks of a driver, seen from a driver without GPUs: threads and devices, faults
//! and what is left after them, the PTX cache, graphs that are changed, launches that allocate
//! nothing.
#![allow(clippy::unwrap_used, clippy::panic)]
#![cfg(target_os = "linux")]

#[path = "fixture/counting.rs"]
mod counting;

#[path = "fixture/listening.rs"]
mod listening;

#[path = "driver/harness.rs"]
mod harness;

#[path = "driver/faults.rs"]
mod faults;

#[path = "driver/graphs.rs"]
mod graphs;

#[path = "driver/launches.rs"]
mod launches;

#[path = "driver/loading.rs"]
mod loading;

#[path = "driver/machine_code.rs"]
mod machine_code;
