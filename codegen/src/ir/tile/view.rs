//! Which part of which tile an operation reads or writes.

use super::{CombineId, CopyId, End, TileId};

/// Which buffer of a tile in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// That buffer.
    Fixed(u32),
    /// The one that an end of its pipe is at; [`super::Sync::Skip`] steps it.
    At(End),
    /// The one that the block of the view goes through: blocks take turns.
    Turn,
}

/// A tile, or a part of it, that an operation reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The tile in global memory that the CTA is at.
    Gmem(TileId),
    /// What it is at in the next trip of the main loop; in the last one, where that is at.
    Next(TileId),
    /// What it is at where entries of a table, a tile in registers, say where along an axis its
    /// elements lie; those with an entry outside are not there.
    Looked(TileId, TileId),
    /// A buffer of a tile in shared memory, or one block of it: a k-block of the ring's, a buffer's
    /// load of the staging buffers.
    Smem(TileId, Stage, Option<u32>),
    /// The buffer of that number of a tile in registers.
    Rmem(TileId, u32),
}

impl View {
    /// The tile.
    pub fn tile(self) -> TileId {
        match self {
            View::Gmem(tile)
            | View::Next(tile)
            | View::Looked(tile, _)
            | View::Smem(tile, ..)
            | View::Rmem(tile, _) => tile,
        }
    }

    /// The block that it is of its tile.
    pub fn block(self) -> Option<u32> {
        match self {
            View::Smem(_, _, block) => block,
            View::Gmem(_) | View::Next(_) | View::Looked(..) | View::Rmem(..) => None,
        }
    }
}

/// Values of a work tile that are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddUp {
    /// The output.
    pub to: View,
    /// What each thread still holds, of all chunks of its work tile; none where it has handed that
    /// on.
    pub held: Option<View>,
    /// The plan's copy that moves elements of the output.
    pub by: CopyId,
    /// How values are combined.
    pub how: CombineId,
}

/// Part `.0` of `.1` equal shares of an operation's atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice(pub u32, pub u32);

impl Slice {
    /// Which of so many it takes.
    pub fn of(self, count: usize) -> std::ops::Range<usize> {
        let Slice(part, parts) = self;
        let [from, to] = [part, part + 1].map(|end| count * end as usize / parts.max(1) as usize);
        from..to
    }
}

/// The operation as a whole.
pub const WHOLE: Slice = Slice(0, 1);
