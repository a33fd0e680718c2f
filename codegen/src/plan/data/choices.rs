//! What a plan chose among several candidates, and why the others were left out.

use crate::error::Violation;

/// A decision among several candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Key of the spec that decides it as well, `copy.a.s2r`; where none does, what it is for.
    pub key: String,
    /// What was taken.
    pub taken: String,
    /// What would have been taken before it, had anything of this not been wrong with it.
    pub left_out: Vec<LeftOut>,
}

impl Choice {
    /// On one line: the key, what was taken, and what is wrong with what was not.
    pub fn told(&self) -> String {
        let reasons = self.left_out.iter().flat_map(|one| &one.reasons);
        let reasons: Vec<String> = reasons.map(ToString::to_string).collect();
        format!("{} {}: {}", self.key, self.taken, reasons.join("; "))
    }
}

/// A candidate that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub candidate: String,
    /// What it would violate.
    pub reasons: Vec<Violation>,
}
