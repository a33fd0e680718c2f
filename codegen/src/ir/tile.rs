//! Tile IR: what a CTA does, in tiles. Tensors have layouts, copies and MMAs are tiled atoms of the
//! plan, and no thread is named yet; who does what is computed by `crate::lower`.

use std::fmt;

use crate::plan::model::Hop;
use crate::spec::model::Raster;

/// Which tile of a global-memory tensor along one mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileIndex {
    /// The CTA's tile along m.
    M,
    /// The CTA's tile along n.
    N,
    /// The next tile along k to be loaded; [`Op::NextTile`] steps it.
    K,
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

/// One side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// A tile of an operand in global memory.
    Gmem([TileIndex; 2]),
    /// A tile of the ring, or one k-block of it; one buffer's load of the staging buffers.
    Smem(Stage, Option<u32>),
    /// The fragment buffer of that number.
    Rmem(u32),
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
    /// Runs the plan's tiled copy of that operand and hop.
    Copy {
        /// Operand.
        operand: &'static str,
        /// Hop of the plan.
        hop: Hop,
        /// Source.
        src: View,
        /// Destination.
        dst: View,
        /// Predication.
        bounds: Bounds,
        /// Which of its atoms.
        share: Share,
    },
    /// Sets the accumulators to zero.
    ClearAccumulators,
    /// Widens the fragments of that buffer to the MMA's types.
    Widen(u32),
    /// `acc += a · bᵀ` over the fragments of that buffer, or a share of its atoms.
    Mma(u32, Share),
    /// Rounds a share of the accumulators to d's type; for a checked store, each into a register of
    /// its own.
    Convert(Bounds, Share),
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
    GivePiece,
    /// Adds the pieces of other CTAs to the accumulators, where the tile has any.
    TakePieces,
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
    /// Starts the products of a whole k tile in the slot, as one group.
    MmaSlot,
    /// Waits until at most that many groups of products are in flight.
    MmaWait(u32),
    /// Waits for all products; the accumulators may be read after it.
    MmaDone,
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
    /// Operations in order.
    pub body: Vec<Op>,
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tile {} {{", self.id)?;
        write_ops(f, &self.body, 1)?;
        writeln!(f, "}}")
    }
}

fn write_ops(f: &mut fmt::Formatter<'_>, ops: &[Op], depth: usize) -> fmt::Result {
    let pad = "  ".repeat(depth);
    for op in ops {
        match op {
            Op::Raster(raster) => writeln!(f, "{pad}(tile_m, tile_n) = raster {raster}")?,
            Op::Copy {
                operand,
                hop,
                src,
                dst,
                bounds,
                share,
            } => {
                let checked = if *bounds == Bounds::Checked {
                    " checked"
                } else {
                    ""
                };
                let hop = hop.name();
                writeln!(
                    f,
                    "{pad}copy {operand}.{hop} {src} -> {dst}{checked}{share}"
                )?;
            }
            Op::ClearAccumulators => writeln!(f, "{pad}acc = 0")?,
            Op::Widen(buffer) => writeln!(f, "{pad}widen r[{buffer}]")?,
            Op::Mma(buffer, share) => {
                writeln!(f, "{pad}acc += a.r[{buffer}] * b.r[{buffer}]{share}")?;
            }
            Op::Convert(Bounds::Inside, share) => {
                writeln!(f, "{pad}d.r[0] = convert acc{share}")?;
            }
            Op::Convert(Bounds::Checked, share) => {
                writeln!(f, "{pad}d.r[0] = convert acc, each element{share}")?;
            }
            Op::Commit => writeln!(f, "{pad}commit")?,
            Op::Wait(groups) => writeln!(f, "{pad}wait {groups}")?,
            Op::Barrier => writeln!(f, "{pad}barrier")?,
            Op::NextTile => writeln!(f, "{pad}next tile_k, stage_write")?,
            Op::NextRead => writeln!(f, "{pad}next stage_read")?,
            Op::InitBarriers => writeln!(f, "{pad}init barriers")?,
            Op::FollowGrid => writeln!(f, "{pad}follow the kernel before")?,
            Op::Roles(roles) => {
                for role in roles {
                    let (team, registers) = (role.team, role.registers);
                    writeln!(f, "{pad}{team} with {registers} registers {{")?;
                    write_ops(f, &role.body, depth + 1)?;
                    writeln!(f, "{pad}}}")?;
                }
            }
            Op::ForEachTile(body) => {
                writeln!(f, "{pad}for each tile {{")?;
                write_ops(f, body, depth + 1)?;
                writeln!(f, "{pad}}}")?;
            }
            Op::IfBoxesEnd(boxes, elements) => {
                writeln!(f, "{pad}if boxes end at the edge {{")?;
                write_ops(f, boxes, depth + 1)?;
                writeln!(f, "{pad}}} else {{")?;
                write_ops(f, elements, depth + 1)?;
                writeln!(f, "{pad}}}")?;
            }
            Op::ForEachPiece(body) => {
                writeln!(f, "{pad}for each piece of a tile {{")?;
                write_ops(f, body, depth + 1)?;
                writeln!(f, "{pad}}}")?;
            }
            Op::IfContinues(continues, begins) => {
                writeln!(f, "{pad}if the piece continues a tile {{")?;
                write_ops(f, continues, depth + 1)?;
                writeln!(f, "{pad}}} else {{")?;
                write_ops(f, begins, depth + 1)?;
                writeln!(f, "{pad}}}")?;
            }
            Op::GivePiece => writeln!(f, "{pad}give piece")?,
            Op::TakePieces => writeln!(f, "{pad}acc += pieces of other CTAs")?,
            Op::Acquire => writeln!(f, "{pad}acquire slot")?,
            Op::Arm => writeln!(f, "{pad}arm slot")?,
            Op::Await => writeln!(f, "{pad}await slot")?,
            Op::Release(Slot::Current) => writeln!(f, "{pad}release slot")?,
            Op::Release(Slot::Previous) => writeln!(f, "{pad}release previous slot")?,
            Op::Advance(Distance::Slot) => writeln!(f, "{pad}next slot")?,
            Op::Advance(Distance::Tile) => writeln!(f, "{pad}skip the slots of a tile")?,
            Op::Advance(Distance::Piece) => writeln!(f, "{pad}to the slots of the piece")?,
            Op::Advance(Distance::Turns) => writeln!(f, "{pad}skip the slots of earlier turns")?,
            Op::Drain => writeln!(f, "{pad}drain slots")?,
            Op::MmaSlot => writeln!(f, "{pad}acc += a.s[slot] * b.s[slot]")?,
            Op::MmaWait(groups) => writeln!(f, "{pad}wait mma {groups}")?,
            Op::MmaDone => writeln!(f, "{pad}wait mma, acc ready")?,
            Op::TakeTurn => writeln!(f, "{pad}take turn")?,
            Op::PassTurn => writeln!(f, "{pad}pass turn")?,
            Op::StagingFree(stores) => writeln!(f, "{pad}staging free, {stores} in flight")?,
            Op::StagingFull => writeln!(f, "{pad}staging full")?,
            Op::StagingDrain => writeln!(f, "{pad}staging drain")?,
            Op::ForEachKTile(body) => {
                writeln!(f, "{pad}for each k tile {{")?;
                write_ops(f, body, depth + 1)?;
                writeln!(f, "{pad}}}")?;
            }
            Op::IfInside(inside, edge) => {
                writeln!(f, "{pad}if inside {{")?;
                write_ops(f, inside, depth + 1)?;
                writeln!(f, "{pad}}} else {{")?;
                write_ops(f, edge, depth + 1)?;
                writeln!(f, "{pad}}}")?;
            }
        }
    }
    Ok(())
}

impl fmt::Display for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Team::Producer => "producer",
            Team::Consumers => "consumers",
        })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share(_, 1) => Ok(()),
            Share(part, parts) => write!(f, ", share {part} of {parts}"),
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tile = |index: &TileIndex| match index {
            TileIndex::M => "tile_m",
            TileIndex::N => "tile_n",
            TileIndex::K => "tile_k",
        };
        match self {
            View::Gmem([row, column]) => write!(f, "g({}, {})", tile(row), tile(column)),
            View::Smem(stage, block) => {
                match stage {
                    Stage::Fixed(number) => write!(f, "s[{number}]")?,
                    Stage::Read => write!(f, "s[stage_read]")?,
                    Stage::Write => write!(f, "s[stage_write]")?,
                    Stage::Slot => write!(f, "s[slot]")?,
                    Stage::Staging => write!(f, "staging")?,
                }
                match block {
                    Some(block) => write!(f, "(_, k block {block})"),
                    None => Ok(()),
                }
            }
            View::Rmem(buffer) => write!(f, "r[{buffer}]"),
        }
    }
}
