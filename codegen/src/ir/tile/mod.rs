//! Tile IR: what a CTA does, in tiles. Tensors have layouts, copies and MMAs are tiled atoms of the
//! plan, and no thread is named yet; who does what is computed by `crate::lower`.

mod view;
mod walk;
mod value_text;
mod text;
pub mod build;

use std::sync::Arc;

use crate::atoms::model::RegType;
use crate::dtype::DType;
use crate::element::Element;
use crate::plan::copies::thread_digits::Part;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::BoxCopy;
use crate::plan::data::teams::{Members, Team};
pub use crate::plan::data::values::Every;
use crate::plan::data::values::Order;
use crate::plan::data::warp_roles::Ring;
use crate::plan::work_tiles::Work;
use crate::spec::keys::model::OperandId;
pub use view::{AddUp, Slice, Stage, View, WHOLE};

/// A tile of the kernel: index into [`Kernel::tiles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileId(pub usize);

/// A part of a tensor that the kernel works on as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Its name, the only one at its place.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// What runs along its axes, with extents.
    pub modes: Vec<(String, i64)>,
    /// Where it is.
    pub place: Place,
}

/// Where a tile is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In global memory: what the CTA is at of the operand of that number, or of one of its planes.
    Gmem(OperandId, Option<i64>),
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

/// A fold of the plan: index into its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FoldId(pub usize);

/// A way of the plan to combine values with what an output holds: index into its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CombineId(pub usize);

/// A pipe of the kernel: index into [`Kernel::pipes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PipeId(pub usize);

/// Slots in which some threads hand work on to others, or to an engine that works beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipe {
    /// Its name, the only one of the kernel.
    pub name: &'static str,
    /// Slots.
    pub slots: u32,
    /// The tiles whose buffers are its slots.
    pub tiles: Vec<TileId>,
    /// Who fills slots.
    pub fill: Team,
    /// Who empties them.
    pub empty: Team,
    /// What counts as full.
    pub full: Full,
    /// What a slot is filled for.
    pub every: Every,
    /// How far apart those are who share it.
    pub across: Across,
}

/// What counts as a full slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// An mbarrier has its arrivals, and the bytes that were announced; another one counts those
    /// who are done with the slot.
    Bytes(Ring),
    /// An mbarrier has one arrival: there is one for each member of the team that waits.
    Arrivals,
    /// The group of asynchronous work is done, which its own threads wait for.
    Group(Engine),
    /// A flag in scratch memory is raised: there is one slot for each CTA, which it fills.
    Flag,
}

/// What works beside the threads that start it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Asynchronous copies into shared memory (cp.async).
    Copies,
    /// Asynchronous products (wgmma): their slots are the groups in flight.
    Products,
    /// Stores of boxes out of shared memory (bulk copies).
    Stores,
}

/// How far apart the threads are that share a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Across {
    /// In a warpgroup.
    Warpgroup,
    /// In a CTA.
    Cta,
    /// In a cluster.
    Cluster,
    /// In a grid, whose CTAs may run one after another.
    Grid,
}

/// An end of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Where slots are filled.
    Fill,
    /// Where they are emptied.
    Empty,
}

/// Where sums of products begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At what the accumulators hold.
    Held,
    /// At zero in the first trip along k of a work tile, then at what the accumulators hold.
    FirstTrip,
    /// At zero in every trip.
    EveryTrip,
}

/// Whether a copy crosses the edge of the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// The whole tile is inside: no predicates.
    Inside,
    /// The tensor ends where vectors do: those past it are not touched; loads give zeros for them.
    Vectors,
    /// Elements past the extents are not touched; loads give zeros for them.
    Checked,
}

/// How far a team's place in a pipe moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trips {
    /// One slot.
    One,
    /// All slots of one output tile: as many as it has of what they are filled for.
    Tile,
    /// All slots of the output tiles of the members before this one.
    Turns,
    /// To the first slot of this work tile, wherever the team is.
    WorkTile,
}

/// Synchronization: what orders reads behind writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Waits until the slot may be filled: in every CTA that this one writes into; for products,
    /// until registers are as the threads left them.
    Acquire(PipeId),
    /// Announces the bytes that will make the slot full.
    Arm(PipeId),
    /// Says that all is there that fills the slot: closes a group, or tells whose turn it is.
    Commit(PipeId),
    /// Waits until the slot is full; of groups, until no more than so many are not done.
    Await(PipeId, u32),
    /// Tells every CTA that fills the slot that it is empty: the one so many before the current,
    /// which does not exist in the first trips of a tile.
    Release(PipeId, u32),
    /// Moves the team's place at an end of the pipe.
    Skip(PipeId, End, Trips),
    /// Waits until every slot is empty again, every group done.
    Drain(PipeId),
    /// Goes on with the first slot at both ends; what was filled and not read is dropped.
    Restart(PipeId),
    /// All threads of the CTA meet.
    Meet,
    /// Waits until the kernel before in the stream has ended and its memory is there, then lets the
    /// next one be set up.
    Follow,
}

/// One operation of the CTA.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Runs the body once for each work tile that is this CTA's, or this team member's: an output
    /// tile, or a part of one along k. Its tiles along k are then those of the part.
    ForEachWorkTile(Vec<Op>),
    /// Starts a section of a work tile: before the epilogue it keeps what only the epilogue needs
    /// out of the main loop's registers.
    Section,
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
        share: Slice,
    },
    /// Gives every element of a tile in registers a value: computed of the same elements of other
    /// tiles, which repeat along modes that they have one element of.
    Map {
        /// Destination.
        to: View,
        /// Sources, in the order of the element's parameters.
        from: Vec<View>,
        /// What is computed.
        element: Arc<Element>,
        /// Which of the destination's registers.
        share: Slice,
    },
    /// Folds a tile along the mode that the destination has one element of, for all its threads:
    /// each thread its own values, share after share, and hands on what it has with the last.
    Fold {
        /// Destination.
        to: View,
        /// Source.
        from: View,
        /// Which of the plan's folds: how values are combined and handed on.
        by: FoldId,
        /// Elements past the extents take no part.
        bounds: Bounds,
        /// Which of the source's registers.
        share: Slice,
    },
    /// Combines every element of a tile with what is folded so far of those at its place.
    Accumulate {
        /// What is folded so far; it goes along the source as often as it fits.
        to: View,
        /// Source.
        from: View,
        /// Which of the plan's folds.
        by: FoldId,
        /// Elements past the extents take no part.
        bounds: Bounds,
    },
    /// Combines every element of a tile with what an output holds at its place: each thread folds
    /// those that it has of one element of the output, share after share, and hands them on with
    /// the last of them: to memory, or where they are added up in a fixed order, to its CTA.
    Combine {
        /// The output.
        to: View,
        /// Source.
        from: View,
        /// What each thread has folded so far, of the elements of the output.
        held: View,
        /// The plan's copy that combines with what is there.
        by: CopyId,
        /// How values are combined.
        how: CombineId,
        /// Elements past the extents take no part.
        bounds: Bounds,
        /// Which of the source's registers.
        share: Slice,
    },
    /// Adds up in a fixed order what threads have handed on, or still hold, of elements of outputs:
    /// the warps of a tile, then the tiles, whose last one adds the sums to what the outputs hold.
    AddUp(Vec<AddUp>),
    /// `acc += a · bᵀ`, or a share of its atoms along m: at once where a and b are in registers; as
    /// one group of asynchronous products where they are in shared memory.
    Mma {
        /// The accumulators: of as many columns of b each as they have, one after another.
        acc: Vec<TileId>,
        /// The factor with rows.
        a: View,
        /// The factor with columns.
        b: View,
        /// Where the sums begin.
        start: Start,
        /// Which of its atoms; of products of shared memory, which rows of a, where accumulators
        /// have so many parts of them.
        share: Slice,
    },
    /// Orders what the threads and engines do.
    Sync(Sync),
    /// Steps to the next tile along k to be loaded.
    NextTile,
    /// Runs the body once for each tile along k.
    ForEachKTile(Vec<Op>),
    /// Runs the first body for each chunk, of a tile's extent, of the mode that the work tile has
    /// all of, and the second one for what is less than a chunk, if there is such a rest.
    ForEachChunk(Order, Vec<Op>, Vec<Op>),
    /// Makes the barriers of all pipes, once for the CTA, and meets the other CTAs of the cluster.
    InitPipes,
    /// Every warp runs the operations of its team.
    Teams(Vec<(Team, Vec<Op>)>),
    /// Runs the first body when the boxes of the tile end where the tensor does, the second
    /// otherwise: the hardware cuts boxes at 16 bytes only.
    IfBoxesEnd(Vec<Op>, Vec<Op>),
    /// Runs the first body when the work tile does not begin its output tile, the second otherwise.
    IfContinues(Vec<Op>, Vec<Op>),
    /// Fix-up: runs the body once for each part of the output tile that other CTAs make, in the
    /// order of k. Lowering may wait for all of them first.
    ForEachPartial(Vec<Op>),
    /// Writes accumulators into the CTA's slot of that pipe, as partial sums.
    StorePartial(TileId, PipeId),
    /// Adds the partial sums in the slot that the fix-up is at to accumulators.
    AddPartial(TileId, PipeId),
    /// Runs the first body when the CTA's output tile is wholly inside d, the second otherwise.
    IfInside(Vec<Op>, Vec<Op>),
    /// Runs the first body when the problem ends where vectors do, the second otherwise.
    IfVectors(Vec<Op>, Vec<Op>),
}

/// A kernel in tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Name of the point.
    pub id: String,
    /// How output tiles come to CTAs.
    pub work: Work,
    /// Every tile.
    pub tiles: Vec<Tile>,
    /// Every pipe.
    pub pipes: Vec<Pipe>,
    /// Every team.
    pub teams: Vec<Members>,
    /// Operations in order.
    pub body: Vec<Op>,
}
