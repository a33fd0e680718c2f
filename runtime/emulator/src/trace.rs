//! What one warp did, instruction by instruction, and what each instruction cost.
//!
//! Both are kept only when [`crate::Options`] asks for them.

use crate::counters::Counters;

/// The warp to be traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceTarget {
    /// Its CTA.
    pub cta: [u32; 3],
    /// Its number within the CTA.
    pub warp: u32,
    /// Steps to keep; later ones are dropped.
    pub most: usize,
}

/// One instruction of the traced warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// The line of the PTX text.
    pub line: u32,
    /// The index of the instruction in the module's code.
    pub pc: u32,
    /// Lanes that came to it.
    pub lanes: u32,
    /// Lanes that executed it: those for which its guard holds.
    pub active: u32,
    /// It could not go on and will run again.
    pub waits: bool,
    /// Its guard first, then the registers it names in the order of the text, with those in
    /// braces behind the others; each once.
    pub operands: Vec<TraceOperand>,
}

/// A register that an instruction names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOperand {
    /// Its name in the PTX text.
    pub name: String,
    /// Its value in each lane before the instruction.
    pub before: [u64; 32],
    /// Its value in each lane after it.
    pub after: [u64; 32],
}

/// What one instruction of the code did in the whole launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineProfile {
    /// The line of the PTX text.
    pub line: u32,
    /// The index of the instruction in the module's code.
    pub pc: u32,
    /// Its share of the report's counters.
    pub counters: Counters,
}
