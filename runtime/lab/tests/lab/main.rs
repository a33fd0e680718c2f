//! The laboratory: kernels verified, tuned and captured, launch files run, on the emulator.
#![allow(clippy::unwrap_used, clippy::panic)]

mod capture;
mod chain;
mod compatibility;
mod emulator;
mod far;
#[path = "../../../tests/fixture/mod.rs"]
mod fixture;
mod formula_kernels;
mod launch_files;
mod lines;
mod planted;
mod records;
mod struct_arguments;
mod tables;
mod tensor_cores;
mod tensor_maps;
mod tune;
mod verify;
