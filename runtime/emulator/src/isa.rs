//! The instruction set: one table drives the parsing and validation of opcodes and their
//! decoding.
//!
//! An opcode is a base and a *set* of modifiers; compilers write them in any order. A row
//! ([`decoder::Spec`]) lists the groups of modifiers an opcode takes (each at most once) and its
//! types in order; everything else is `unsupported`. Its decode function turns operands into the
//! executable form. Adding an instruction is a row and, if its shape is new, a decode function and
//! an executor.

mod need;
mod operands;
mod decoder;
mod lanes;
mod floating;
mod integer;
mod bits;
mod compare;
mod conversion;
mod memory;
mod atomic;
mod control;
mod warp;
mod matrix;
mod hopper;
mod wgmma;
mod wmma;
mod video;
mod table;
mod least;
mod opcode;
mod link;

pub(crate) use decoder::{Decoder, Form};
pub(crate) use link::link;
pub(crate) use operands::literal_bits;
