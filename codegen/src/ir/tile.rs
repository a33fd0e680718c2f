//! Tile IR: what a CTA does, in tiles. Tensors have layouts, copies and MMAs are tiled atoms of the
//! plan, and no thread is named yet; who does what is computed by `crate::lower`.

use std::sync::Arc;

use crate::atoms::model::{Atom, RegType};
use crate::dtype::Dtype;
use crate::plan::model::Plan;
use crate::plan::part::Part;
use crate::plan::roles::BoxCopy;
use crate::spec::model::Raster;

/// A tile of the kernel: index into [`Kernel::tiles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileId(pub usize);

/// A part of a tensor that the kernel works on as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Its name, the only one at its place.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// What runs along its axes, with extents.
    pub modes: Vec<(String, i64)>,
    /// Where it is.
    pub place: Place,
}

/// Where a tile is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In global memory: the part of the operand of that number that the CTA is at.
    Gmem(usize),
    /// In shared memory: the plan's tile of that number, once for each buffer.
    Smem(usize),
    /// In the registers of the threads that share it out.
    Rmem(Held),
}

/// How threads hold a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Type of a register.
    pub ty: RegType,
    /// Thread and value to coordinates of the tile.
    pub tv: Part<2>,
    /// How many times over.
    pub buffers: u32,
}

/// What moves a tile: a decision of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyId {
    /// The tiled copy of that number.
    Tiled(usize),
    /// The copy by boxes of that number.
    Boxes(usize),
}

impl CopyId {
    /// The plan's copy by boxes, where it is one.
    pub fn boxes(self, plan: &Plan) -> Option<&BoxCopy> {
        match self {
            CopyId::Boxes(number) => plan.box_copies().nth(number),
            CopyId::Tiled(_) => None,
        }
    }
}

/// Which buffer of the shared-memory ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// That buffer.
    Fixed(u32),
    /// The buffer being read; [`Op::NextRead`] steps it.
    Read,
    /// The buffer being filled; [`Op::NextTile`] steps it.
    Write,
    /// The role's slot of the ring; [`Op::Advance`] steps it.
    Slot,
    /// The staging buffers of results.
    Staging,
}

/// A tile, or a part of it, that an operation reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The tile in global memory that the CTA is at.
    Gmem(TileId),
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
            View::Gmem(tile) | View::Smem(tile, ..) | View::Rmem(tile, _) => tile,
        }
    }

    /// The block that it is of its tile.
    pub fn block(self) -> Option<u32> {
        match self {
            View::Smem(_, _, block) => block,
            View::Gmem(_) | View::Rmem(..) => None,
        }
    }
}

/// Part `.0` of `.1` equal shares of an operation's atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(pub u32, pub u32);

/// The operation as a whole.
pub const WHOLE: Share = Share(0, 1);

/// Whether a copy crosses the edge of the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// The whole tile is inside: no predicates.
    Inside,
    /// Elements past the extents are not touched; loads give zeros for them.
    Checked,
}

/// Who runs a role's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Team {
    /// One thread of the last warpgroup; the others have nothing to do.
    Producer,
    /// The other warpgroups, all threads.
    Consumers,
}

/// What some warps of a warp-specialized kernel do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Who.
    pub team: Team,
    /// Registers of a thread from here on.
    pub registers: u32,
    /// Operations in order.
    pub body: Vec<Op>,
}

/// Which slot a consumer gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The one it is at.
    Current,
    /// The one before, which does not exist in a tile's first trip.
    Previous,
}

/// How far a role's place in the ring moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// One slot.
    Slot,
    /// All slots of one output tile.
    Tile,
    /// All slots of the output tiles of the consumers before this one.
    Turns,
    /// To the first slot of this piece of an output tile, wherever the role is.
    Piece,
}

/// One operation of the CTA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Decides which output tile this CTA makes. Starts a section: written again before the
    /// epilogue, it keeps what only the epilogue needs out of the main loop's registers.
    Raster(Raster),
    /// Moves a tile as the plan has it.
    Copy {
        /// Source.
        from: View,
        /// Destination.
        to: View,
        /// The plan's copy.
        by: CopyId,
        /// Predication.
        bounds: Bounds,
        /// Which of its atoms.
        share: Share,
    },
    /// Gives every element of a tile in registers a value: that of the same element of another
    /// tile, cast by an atom, or zero.
    Map {
        /// Destination.
        to: View,
        /// Source; none for zeros.
        from: Option<View>,
        /// The cast.
        by: Option<Arc<Atom>>,
        /// Which of the destination's registers.
        share: Share,
    },
    /// `acc += a · bᵀ`, or a share of its atoms along m: at once where a and b are in registers; as
    /// one group of asynchronous products where they are in shared memory.
    Mma {
        /// The accumulators.
        acc: TileId,
        /// The factor with rows.
        a: View,
        /// The factor with columns.
        b: View,
        /// Which of its atoms.
        share: Share,
    },
    /// Closes a group of asynchronous copies.
    Commit,
    /// Waits until at most that many groups are in flight.
    Wait(u32),
    /// All threads of the CTA meet.
    Barrier,
    /// Steps to the next tile along k and the next buffer to fill.
    NextTile,
    /// Steps to the next buffer to read.
    NextRead,
    /// Runs the body once for each tile along k.
    ForEachKTile(Vec<Op>),
    /// Makes the barriers of the ring, once for the CTA, and meets the other CTAs of the cluster.
    InitBarriers,
    /// Waits until the kernel before in the stream has ended and its memory is there, then lets the
    /// next one be set up.
    FollowGrid,
    /// Every warp runs the role of its team.
    Roles(Vec<Role>),
    /// Runs the first body when the boxes of the tile end where the tensor does, the second
    /// otherwise: the hardware cuts boxes at 16 bytes only.
    IfBoxesEnd(Vec<Op>, Vec<Op>),
    /// Runs the body once for each output tile that is this CTA's, or this consumer's.
    ForEachTile(Vec<Op>),
    /// Runs the body once for each piece of an output tile that is this CTA's, or this consumer's:
    /// its tiles along k are then those of the piece.
    ForEachPiece(Vec<Op>),
    /// Runs the first body when the piece does not begin its tile, the second otherwise.
    IfContinues(Vec<Op>, Vec<Op>),
    /// Hands the accumulators of a piece to the CTA that began its tile.
    GivePiece(TileId),
    /// Adds the pieces of other CTAs to the accumulators, where the tile has any.
    TakePieces(TileId),
    /// Waits until the slot is empty in every CTA that this one writes into.
    Acquire,
    /// Announces the bytes that will make the slot full.
    Arm,
    /// Waits until the slot is full.
    Await,
    /// Tells every CTA that writes into the slot that it is empty.
    Release(Slot),
    /// Steps to another slot.
    Advance(Distance),
    /// Waits until every slot is empty again.
    Drain,
    /// Waits until at most that many groups of products are in flight.
    MmaWait(u32),
    /// Waits for all products; the accumulators may be read after it.
    MmaDone(TileId),
    /// Waits for this consumer's turn at the tensor cores.
    TakeTurn,
    /// Gives the turn to the next consumer.
    PassTurn,
    /// Waits until the next staging buffer has been read, then the consumers of a warpgroup meet.
    StagingFree(u32),
    /// Hands what the warpgroup wrote into a staging buffer to the bulk copies.
    StagingFull,
    /// Waits until all stores have read their staging buffers.
    StagingDrain,
    /// Runs the first body when the CTA's output tile is wholly inside d, the second otherwise.
    IfInside(Vec<Op>, Vec<Op>),
}

/// A kernel in tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name of the point.
    pub id: String,
    /// Every tile.
    pub tiles: Vec<Tile>,
    /// Operations in order.
    pub body: Vec<Op>,
}
