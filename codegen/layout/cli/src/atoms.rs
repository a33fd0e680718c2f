//! Instructions as values, by their ids: what knows a catalogue of them says.
//!
//! In: an id such as `sm80_mma_16x8x16_f32_bf16_bf16`. Out: the atom's layouts.

use super::value::Value;

/// A catalogue of instructions.
pub trait Atoms {
    /// The atom of that id, if there is one with layouts.
    fn find(&self, id: &str) -> Option<Value>;

    /// Why there is none.
    fn unknown(&self, id: &str) -> String;
}

/// No catalogue.
#[derive(Clone, Copy, Debug)]
pub struct NoAtoms;

impl Atoms for NoAtoms {
    fn find(&self, _: &str) -> Option<Value> {
        None
    }

    fn unknown(&self, id: &str) -> String {
        format!("this build has no catalogue to look `{id}` up in: write it as mma_atom(…)")
    }
}
