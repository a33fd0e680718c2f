//! How operands are moved: hop after hop, by tiled copies and by boxes of tensor maps.

use std::sync::Arc;

use tilewright_layout::{ComposedLayout, TiledCopy};

use crate::atoms::model::{Atom, Space};
use crate::dtype::DType;
use crate::plan::data::arena::Holds;
use crate::plan::data::assumptions::Assumption;
use crate::spec::keys::model::{Auto, CopyPath, OperandId};

/// One hop of an operand's way, from one memory space to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hop {
    /// Global to shared memory.
    G2s,
    /// Shared memory to registers.
    S2r,
    /// Registers to shared memory.
    R2s,
    /// Global memory to registers.
    G2r,
    /// Global memory to registers, in the last of several passes.
    G2rLast,
    /// Registers to global memory.
    R2g,
    /// Shared to global memory.
    S2g,
}

impl Hop {
    /// All of them.
    pub(in crate::plan) const ALL: [Self; 7] = [
        Self::G2s,
        Self::S2r,
        Self::R2s,
        Self::G2r,
        Self::G2rLast,
        Self::R2g,
        Self::S2g,
    ];

    /// The key used in specs: `g2s`.
    pub fn name(self) -> &'static str {
        match self {
            Hop::G2s => "g2s",
            Hop::S2r => "s2r",
            Hop::R2s => "r2s",
            Hop::G2r => "g2r",
            Hop::G2rLast => "g2r_last",
            Hop::R2g => "r2g",
            Hop::S2g => "s2g",
        }
    }

    /// The dotted key of a spec that names its atom for that operand: `copy.a.g2s`.
    pub fn key(self, operand: &str) -> String {
        format!("copy.{operand}.{}", self.name())
    }

    /// The atom that a way of data gives for it; none where the way does not take it.
    pub fn atom_of(self, path: &CopyPath) -> Option<&Auto<String>> {
        let atom = match self {
            Hop::G2s => &path.g2s,
            Hop::S2r => &path.s2r,
            Hop::R2s => &path.r2s,
            Hop::G2r => &path.g2r,
            Hop::G2rLast => &path.g2r_last,
            Hop::R2g => &path.r2g,
            Hop::S2g => &path.s2g,
        };
        atom.as_ref()
    }

    /// Where it begins and where it ends.
    pub fn spaces(self) -> (Space, Space) {
        match self {
            Hop::G2s => (Space::Gmem, Space::Smem),
            Hop::S2r => (Space::Smem, Space::Rmem),
            Hop::R2s => (Space::Rmem, Space::Smem),
            Hop::G2r | Hop::G2rLast => (Space::Gmem, Space::Rmem),
            Hop::R2g => (Space::Rmem, Space::Gmem),
            Hop::S2g => (Space::Smem, Space::Gmem),
        }
    }
}

/// Where the addresses of the rows of tiles in global memory are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rows {
    /// Before the loop that loads them: each holds registers through it.
    #[default]
    Held,
    /// Where they are loaded or stored, of the tile's address and its strides.
    Computed,
}

/// One tiled copy of one operand.
#[derive(Clone, Debug)]
pub struct Step {
    /// Operand moved.
    pub operand: OperandId,
    /// From where to where.
    pub hop: Hop,
    /// Instruction of whole vectors.
    pub atom: Arc<Atom>,
    /// Instruction of single elements, for vectors cut by an edge (hops between global memory and
    /// registers).
    pub element_atom: Option<Arc<Atom>>,
    /// Who moves what: (thread, value) to coordinates of `tile`.
    pub tiled: TiledCopy,
    /// Extents of the tile that one run of the step moves.
    pub tile: [i64; 2],
    /// Which of the tile's coordinates runs along each axis of the operand, none along those of
    /// outer modes. Along a coordinate that runs along no axis its elements repeat: each is moved
    /// once.
    pub axes: Vec<Option<usize>>,
}

impl Step {
    /// Along which of the tile's coordinates the operand has elements.
    pub fn keeps(&self) -> [bool; 2] {
        [0, 1].map(|coordinate| self.axes.contains(&Some(coordinate)))
    }

    /// The coordinate of the tile that runs along an axis of the operand.
    pub fn coordinate(&self, axis: usize) -> Option<usize> {
        self.axes.get(axis).copied().flatten()
    }
}

/// One operand's tile in shared memory.
#[derive(Clone, Debug)]
pub struct SmemTile {
    /// Operand kept there.
    pub operand: OperandId,
    /// The plane that it is of, where each has a tile of its own.
    pub plane: Option<i64>,
    /// Element type.
    pub dtype: DType,
    /// Coordinates of the tile to elements, swizzled.
    pub layout: ComposedLayout,
    /// What it lies in.
    pub within: Holds,
    /// Start inside one slot, or set, of that.
    pub offset_bytes: u32,
    /// Its size in one of them.
    pub size_bytes: u32,
}

impl SmemTile {
    /// The byte behind it in one slot, or set.
    pub fn end(&self) -> u32 {
        self.offset_bytes.saturating_add(self.size_bytes)
    }
}

/// What a plan has more where an operand passes through shared memory.
#[derive(Clone, Debug, Default)]
pub struct Passage {
    /// Its copies.
    pub steps: Vec<Step>,
    /// Its tiles in shared memory.
    pub smem: Vec<SmemTile>,
    /// What launches must guarantee for it.
    pub assumptions: Vec<Assumption>,
}

/// Bytes of the rows of the widest swizzle of tensor maps.
pub const WIDEST_ROWS: u32 = 128;

/// A copy of an operand's tile by boxes of a tensor map.
#[derive(Clone, Debug)]
pub struct BoxCopy {
    /// Operand moved.
    pub operand: OperandId,
    /// From where to where.
    pub hop: Hop,
    /// Instruction.
    pub atom: Arc<Atom>,
    /// Element type.
    pub dtype: DType,
    /// Axis that is contiguous in global memory.
    pub contiguous: usize,
    /// Rows of one plane, where its tile has those of several one after another: the tensor then
    /// has a third mode, of which each box has one.
    pub plane_rows: Option<i64>,
    /// Whether its tiles lie in global memory as in shared memory, one after another: each box is
    /// then as many bytes in a row, brought by a bulk copy without a tensor map.
    pub packed: bool,
    /// The mode of the cluster along which all CTAs get the same tile, each loading a part of it.
    pub shared_along: Option<usize>,
    /// Extents of a box along the operand's two modes.
    pub box_extents: [i64; 2],
    /// Bytes of the rows of the tensor map's swizzle pattern: 128, 64 or 32; 16 without one.
    pub swizzle_bytes: u32,
    /// Boxes of part 0.
    pub places: Vec<BoxPlace>,
    /// CTAs of the cluster that load a part each, for all of them.
    pub parts: u32,
    /// What the next part adds to each place.
    pub part_step: BoxPlace,
}

/// Where a box lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BoxPlace {
    /// Coordinates of its first element in the CTA's tile.
    pub coord: [i64; 2],
    /// Its first byte in the tile's shared memory.
    pub offset_bytes: i64,
}

impl BoxPlace {
    /// This place, that many parts on.
    pub fn after(self, step: BoxPlace, parts: i64) -> BoxPlace {
        BoxPlace {
            coord: std::array::from_fn(|mode| self.coord[mode] + parts * step.coord[mode]),
            offset_bytes: self.offset_bytes + parts * step.offset_bytes,
        }
    }
}

impl BoxCopy {
    /// Bytes of the rows in which a tensor map brings the tile; none of what is packed.
    pub fn row_bytes(&self) -> Option<u32> {
        (!self.packed).then_some(self.swizzle_bytes)
    }

    /// Bytes of one box in shared memory.
    pub fn box_bytes(&self) -> i64 {
        self.box_extents[0] * self.box_extents[1] * i64::from(self.dtype.bytes())
    }

    /// Whether no two boxes of the tile, of whichever part, hold the same rows.
    pub fn is_one_box_of_a_row(&self) -> bool {
        let along = |place: BoxPlace| place.coord[self.contiguous];
        let mut places = self.all_places().map(along);
        places
            .next()
            .is_none_or(|first| places.all(|at| at == first))
    }

    /// The row of a box in its plane, and that plane.
    pub fn row_and_plane(&self, place: BoxPlace) -> [i64; 2] {
        let rows = self.plane_rows.unwrap_or(i64::MAX);
        [place.coord[0] % rows, place.coord[0] / rows]
    }

    /// Every box of the tile, over all parts.
    pub fn all_places(&self) -> impl Iterator<Item = BoxPlace> + '_ {
        (0..i64::from(self.parts)).flat_map(|part| {
            let step = self.part_step;
            self.places.iter().map(move |place| place.after(step, part))
        })
    }
}
