//! What one launch read and wrote, as hashes: enough to tell whether two devices did the same.
//!
//! A hash covers an operand from the aligned address that its offset counts from to the end of its
//! last element: the elements, the gaps between rows, and what lies before them. Red zones that
//! only some devices have are no part of it; a launch that changed one fails and has no trace.

use tilewright_bundle::Sha256Hex;

/// Elements' bytes that are kept as they are.
const HEAD_BYTES: usize = 16;

/// What a launch read and wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Hash over all inputs behind each other, in the kernel's order.
    pub inputs: Sha256Hex,
    /// The outputs, in the kernel's order.
    pub outputs: Vec<Written>,
}

/// What a launch left in one output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The operand's name.
    pub operand: String,
    /// Bytes that the hash covers.
    pub bytes: u64,
    /// The hash.
    pub sha256: Sha256Hex,
    /// The first bytes of its elements, row by row.
    pub head: Vec<u8>,
}

/// Collects a trace, operand by operand.
#[derive(Debug, Default)]
pub(super) struct Tracer {
    inputs: Vec<u8>,
    outputs: Vec<Written>,
}

impl Tracer {
    /// Notes an input.
    pub fn read(&mut self, window: &[u8]) {
        self.inputs.extend_from_slice(window);
    }

    /// Notes an output, and its elements row by row.
    pub fn written(&mut self, operand: &str, window: &[u8], elements: &[u8]) {
        self.outputs.push(Written {
            operand: operand.to_owned(),
            bytes: window.len() as u64,
            sha256: Sha256Hex::of(window),
            head: elements.iter().copied().take(HEAD_BYTES).collect(),
        });
    }

    /// The trace of all operands.
    pub fn finish(self) -> Trace {
        Trace {
            inputs: Sha256Hex::of(&self.inputs),
            outputs: self.outputs,
        }
    }
}
