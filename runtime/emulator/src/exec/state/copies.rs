//! Asynchronous copies that were issued and are not complete, and tensor maps that were edited.

use super::site::{Place, Site};
use crate::inst::Reduction;

/// A copy that was issued and not waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingCopy {
    /// Offset in the CTA's shared memory.
    pub(crate) dst: usize,
    pub(crate) src: u64,
    pub(crate) bytes: u32,
    pub(crate) src_bytes: u32,
    /// The group it belongs to: the number committed before it.
    pub(crate) group: u32,
    pub(crate) pc: u32,
    pub(crate) moved: bool,
}

/// Where bytes are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Span {
    Global(u64),
    Shared(Place),
}

/// What a copy does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Contiguous bytes.
    Copy {
        src: Span,
        dst: Vec<Span>,
        bytes: usize,
        reduce: Option<Reduction>,
    },
    /// Bytes that came from registers.
    Write {
        dst: Place,
        data: Vec<u8>,
        reduce: Option<Reduction>,
    },
    /// A tile from the tensor whose map is at a generic address.
    Load {
        map: u64,
        at: TileAt,
        dst: Vec<Place>,
    },
    /// A tile to the tensor.
    Store {
        map: u64,
        at: TileAt,
        src: Place,
        reduce: Option<Reduction>,
    },
}

/// Which tile of a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileAt {
    pub(crate) coords: [i64; 5],
    pub(crate) offsets: [i64; 3],
}

/// How the end of a copy is told.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// Bytes counted by these mbarriers.
    Mbarriers(Vec<Place>, i64),
    /// A bulk group of the issuing lane.
    Group(u32),
}

/// A copy that was issued.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) site: Site,
    pub(crate) work: Work,
    pub(crate) end: End,
    /// The phase of each mbarrier that is told, when the copy was issued.
    pub(crate) phases: Vec<u64>,
}

/// All copies of a cluster that are not complete.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) pending: Vec<Pending>,
}

/// A map in global memory that a thread edited, and who acquired it since.
#[derive(Clone, Debug, Default)]
pub(crate) struct EditedMap {
    pub(crate) acquired_by: Vec<(u32, u32, u32)>,
}

impl EditedMap {
    pub(crate) fn acquired(&self, site: Site) -> bool {
        let mine =
            |by: &(u32, u32, u32)| (by.0, by.1) == (site.rank, site.warp) && by.2 & site.lanes != 0;
        self.acquired_by.iter().any(mine)
    }
}
