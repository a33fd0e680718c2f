//! Who did something where: the vocabulary of findings and of the race detector.

use crate::inst::{Order, Scope};

/// Who did something, for findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) pc: u32,
    /// The rank of the CTA in its cluster.
    pub(crate) rank: u32,
    pub(crate) warp: u32,
    pub(crate) lanes: u32,
}

/// Which way an access goes, for counters and checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Load,
    Store,
    Atomic(Order),
    AsyncCopy,
    LoadMatrix,
    StoreMatrix,
    /// A volatile, relaxed or acquiring load.
    StrongLoad(Order),
    /// A volatile, relaxed or releasing store.
    StrongStore(Order),
}

impl AccessKind {
    /// How an access that is not weak orders itself.
    pub(crate) fn order(self) -> Option<Order> {
        match self {
            AccessKind::Atomic(order)
            | AccessKind::StrongLoad(order)
            | AccessKind::StrongStore(order) => Some(order),
            _ => None,
        }
    }

    /// The scope of an access that is not weak.
    pub(crate) fn scope(self) -> Option<Scope> {
        self.order().map(|order| order.scope)
    }

    /// Whether it reads memory, and whether it writes.
    pub(crate) fn ways(self) -> (bool, bool) {
        let loads = matches!(
            self,
            AccessKind::Load | AccessKind::StrongLoad(_) | AccessKind::LoadMatrix
        );
        (loads || matches!(self, AccessKind::Atomic(_)), !loads)
    }
}

/// Where an object is: rank and offset.
pub(crate) type Place = (u32, u32);

/// The lanes of a mask.
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}
