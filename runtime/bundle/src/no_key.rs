//! What stands for keys where the feature `signatures` is off: types that nothing is of. A policy
//! of no keys opens nothing, so that no program takes what it could not check.

use crate::hash::Sha256Hex;

/// A key that signatures are checked with, of which there is none without the feature `signatures`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKey {}

impl PublicKey {
    /// What the key is called.
    pub fn id(&self) -> Sha256Hex {
        match *self {}
    }

    pub(crate) fn verifies(&self, _: &[u8], _: &[u8; 64]) -> bool {
        match *self {}
    }
}
