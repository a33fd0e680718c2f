//! A kernel that was passed over.

use super::Refusal;

/// A kernel passed over, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// The kernel's id.
    pub kernel: String,
    /// Every reason.
    pub refusals: Vec<Refusal>,
}

impl Skip {
    /// Whether the problem alone is at fault: the kernel would take another one here.
    pub fn is_request(&self) -> bool {
        self.refusals.iter().all(Refusal::is_request)
    }
}
