//! What of other clusters is ordered before a thread, and what strong accesses left at a location.

use super::known::Known;

/// What is ordered before somebody, and what of it is ordered for the async proxy too.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) seen: Known,
    pub(crate) fenced: Known,
}

impl View {
    /// Whether nothing is known of any cluster.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Whether both are one and the same; two that are not may be equal.
    #[inline]
    pub(crate) fn is(&self, other: &View) -> bool {
        self.seen.is(&other.seen) && self.fenced.is(&other.fenced)
    }

    /// Whether joining the other would change nothing.
    pub(crate) fn covers(&self, other: &View) -> bool {
        self.seen.covers(&other.seen) && self.fenced.covers(&other.fenced)
    }

    /// What the other knows is known too.
    pub(crate) fn join(&mut self, other: &View) {
        self.seen.join(&other.seen);
        self.fenced.join(&other.fenced);
    }

    /// Everything seen is ordered for the async proxy.
    pub(crate) fn fence(&mut self) {
        self.fenced.join(&self.seen);
    }
}

/// What strong accesses of one size left at an address for other clusters.
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    pub(crate) left: View,
    /// The cluster and the thread of the last plain store.
    pub(crate) last: (u32, u32),
}

impl Meeting {
    /// A write leaves what it tells. A store takes the place of others' before it; an atomic reads
    /// them and passes them on, as a thread's later store does after its own release.
    pub(crate) fn leave(&mut self, told: View, by: (u32, u32), atomic: bool) {
        if atomic || self.last == by {
            self.left.join(&told);
        } else {
            (self.left, self.last) = (told, by);
        }
    }
}
