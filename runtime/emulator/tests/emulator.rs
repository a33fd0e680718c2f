//! The emulator from outside: PTX text in, bytes and findings out.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod emulator {
    pub mod kernel;
    pub mod tensor_box;
    mod alternatives;
    mod control;
    mod conversions;
    mod counting;
    mod findings;
    mod global_races;
    mod histories;
    mod hopper;
    mod hostile;
    mod linking;
    mod matrix;
    mod observing;
    mod opcodes;
    mod pipeline;
    mod races;
    mod rare;
    mod refused;
    mod registers;
    mod sanitizer;
    mod scopes;
    mod spinning;
    mod spinning_programs;
    mod tensor_columns;
    mod tensor_core;
    mod tensor_edges;
    mod tensor_pitch;
    mod warp_ops;
    mod wgmma;
    mod wmma;
}
