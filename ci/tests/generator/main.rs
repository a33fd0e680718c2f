//! The generator from end to end, on the shipped specs: its stages as recorded, its PTX locked,
//! assembled by ptxas, run on the emulator and compared with what a GPU wrote, and the plans it
//! refuses.
//!
//! `BLESS=1` rewrites what is recorded: `programs.lock`, `ptx.lock`, `ptxas.lock`,
//! `ci/data/ptxas.lock`, `ci/data/golden`, `ci/data/plans_refused`, `ci/data/counters.txt`. `ALL=1`
//! makes kernels of all shipped points in the place of a sample.
#![allow(clippy::unwrap_used, clippy::panic)]

mod architectures;
mod judged;
mod kept;
mod sample;
mod shipped;
mod locks;
mod assembled;
mod stages;
mod synchronized;
mod refused_plans;
mod realigned;
mod ordinary_tiles;
mod emulated;
mod captured;
mod counted;
mod mutated;
mod guarded;
mod probes;
mod casts;
mod sums;
mod invariant;
mod line_tables;
