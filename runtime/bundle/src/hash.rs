//! SHA-256 as 64 lower-case hexadecimal digits.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A SHA-256 in hexadecimal; empty only in a kernel that is not written yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sha256Hex(String);

impl Sha256Hex {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Sha256Hex {
        let digest = Sha256::digest(bytes);
        Sha256Hex(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// A hash that was written down; see [`Sha256Hex::is_well_formed`].
    pub fn from_text(digits: &str) -> Sha256Hex {
        Sha256Hex(digits.to_owned())
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether these are 64 lower-case hexadecimal digits.
    pub fn is_well_formed(&self) -> bool {
        self.0.len() == 64
            && self
                .0
                .bytes()
                .all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    }
}

impl fmt::Display for Sha256Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
