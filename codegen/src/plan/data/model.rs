//! The data of a plan: every decision about one kernel, printable.

use std::collections::BTreeMap;
use std::sync::Arc;

use tilewright_bundle::Expr;
use tilewright_layout::TiledMma;

use crate::arch::{Arch, MAX_REGISTERS_PER_THREAD, REGISTERS_PER_SM, WARP};
use crate::atoms::model::Atom;
use crate::atoms::sync::SyncFacts;
use crate::dtype::DType;
use crate::error::Result;
use crate::plan::data::arena::{Arena, Holds, Place};
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::choices::Choice;
use crate::plan::data::combining::Combining;
use crate::plan::data::folds::FoldPlan;
use crate::plan::data::moves::{BoxCopy, Hop, Passage, Rows, SmemTile, Step};
use crate::plan::data::teams::{Members, Team};
use crate::plan::data::values::{Does, Flow, Node};
use crate::plan::data::warp_roles::Roles;
use crate::plan::work_tiles::{COLUMNS, Dim, Fate, SUMMED, Work};
use crate::spec::Planes;
use crate::spec::keys::model::{
    Axis, Computes, LaunchKind, Operand, OperandId, Role, modes_along, with_role,
};

/// The tiled MMA of a gemm.
#[derive(Clone, Debug)]
pub struct MmaPlan {
    /// Instruction.
    pub atom: Arc<Atom>,
    /// Atoms over threads and values.
    pub tiled: TiledMma,
    /// Widens a and b fragments to the atom's type before the MMA, where the operand is stored
    /// narrower.
    pub widen: Option<Arc<Atom>>,
    /// Groups of products that a step is made in, one after another along m, with the accumulators
    /// of the group before: more than one where a step is done with them when it ends.
    pub waves: u32,
}

impl MmaPlan {
    /// Whether asynchronous MMAs have a from registers, and read b from its slot.
    pub fn from_registers(&self) -> bool {
        let facts = self.atom.mma.as_ref();
        facts.is_some_and(|facts| facts.smem == [false, true])
    }
}

/// An operand that is copied, and where the copy lies.
#[derive(Clone, Debug)]
pub struct Realigned {
    /// The operand as the launch has it.
    pub operand: Operand,
    /// Where the copy begins in the workspace, in bytes, a multiple of
    /// [`ROW_BYTES`](super::realigned::ROW_BYTES).
    pub at: Expr,
    /// Bytes of the copy, a multiple of that as well.
    pub bytes: Expr,
    /// The kernel that copies it, of one input and one output.
    pub copy: Box<Plan>,
}

impl Realigned {
    /// Bytes of scratch memory up to the end of the copy.
    pub(in crate::plan) fn end(&self) -> Expr {
        match self.at.constant_value() {
            Some(0) => self.bytes.clone(),
            _ => self.at.clone() + self.bytes.clone(),
        }
    }

    /// Whether it is copied behind the kernel, as outputs are.
    pub fn is_behind(&self) -> bool {
        self.operand.is_written()
    }
}

/// Every decision about one kernel.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the point.
    pub id: String,
    /// Name of the spec.
    pub name: String,
    /// PTX entry name.
    pub entry: String,
    /// What it computes.
    pub computes: Arc<Computes>,
    /// Target.
    pub arch: Arch,
    /// Operands in parameter order.
    pub operands: Vec<Operand>,
    /// Type sums are held in.
    pub accumulator: DType,
    /// Threads that share out a tile: of a CTA, of CTAs that share it, or consumers of one tile.
    pub threads: u32,
    /// `.minnctapersm`.
    pub min_ctas_per_sm: Option<u32>,
    /// Whether the kernel is set up while the one before it ends.
    pub launch: LaunchKind,
    /// Buffers of the shared-memory ring; 0 when no operand passes through shared memory.
    pub stages: u32,
    /// What a CTA's tile is, and how output tiles come to CTAs.
    pub work: Work,
    /// Tiles in shared memory.
    pub smem: Vec<SmemTile>,
    /// What lies where in shared memory.
    pub arena: Arena,
    /// Every tiled copy.
    pub steps: Vec<Step>,
    /// Where the addresses of rows are computed.
    pub rows: Rows,
    /// Who does what, where warps differ.
    pub roles: Option<Roles>,
    /// What its threads wait for and tell one another by.
    pub sync: BTreeMap<SyncFacts, Arc<Atom>>,
    /// The arithmetic (gemm).
    pub mma: Option<MmaPlan>,
    /// What is computed of a product's sums, or where there is no product, and where it is stored;
    /// none where elements are copied as they are.
    pub flow: Option<Flow>,
    /// What the launch must guarantee.
    pub assumptions: Vec<Assumption>,
    /// Operands whose place copies take, in the order of their launches.
    pub copies: Vec<Realigned>,
    /// What was chosen among several candidates.
    pub choices: Vec<Choice>,
    /// Keys that the spec leaves to the plan and that have other values than those which the plan
    /// has by itself, as its first does not do; and why that is.
    pub taken: Vec<Choice>,
}

impl Plan {
    /// The mode that a CTA's tile has elements along in that dimension.
    pub fn mode(&self, dim: usize) -> Option<&str> {
        self.work.dims.get(dim).map(Dim::mode)
    }

    /// The modes that a CTA's tile has elements along: the output's, then the summed one.
    pub fn modes(&self) -> impl ExactSizeIterator<Item = &str> {
        self.work.dims.iter().map(Dim::mode)
    }

    /// The dimension of the tile whose elements lie along that mode.
    pub fn dim(&self, mode: &str) -> Option<usize> {
        self.modes().position(|own| own == mode)
    }

    /// Elements of a CTA's tile along that dimension; one along what it has none of.
    pub fn extent(&self, dim: usize) -> i64 {
        self.work.extent(dim)
    }

    /// Elements of a CTA's tile along all of its dimensions, of the output's two always.
    pub fn cta_tile(&self) -> Vec<i64> {
        let dims = 0..self.work.dims.len().max(SUMMED);
        dims.map(|dim| self.extent(dim)).collect()
    }

    /// Elements of a CTA's tile along the output's dimensions.
    pub fn tile(&self) -> [i64; 2] {
        self.work.tile()
    }

    /// Products side by side.
    pub fn planes(&self) -> i64 {
        self.work.dims.get(COLUMNS).map_or(1, Dim::planes)
    }

    /// Whether an axis tells planes apart: its extent is no parameter of launches.
    pub fn is_of_planes(&self, axis: &Axis) -> bool {
        let planes = self.work.unrolled();
        planes.is_some_and(|planes| planes.mode == axis.mode)
    }

    /// The axis that tells an operand's planes apart.
    pub fn plane_axis<'o>(&self, operand: &'o Operand) -> Option<&'o Axis> {
        operand.axes_apart().find(|axis| self.is_of_planes(axis))
    }

    /// Planes of an operand: one unless it has those of several products.
    pub fn plane_count(&self, operand: &Operand) -> i64 {
        self.plane_axis(operand).map_or(1, |_| self.planes())
    }

    /// The extent of an axis in launches.
    pub fn launch_extent(&self, axis: &Axis) -> Expr {
        match self.is_of_planes(axis) {
            true => self.planes().into(),
            false => Expr::named(&axis.mode),
        }
    }

    /// The fate of a mode; none of one that there are extents alone of.
    pub fn fate(&self, mode: &str) -> Option<Fate> {
        let mut fates = self.work.fates().into_iter();
        fates.find(|one| one.mode == mode).map(|one| one.fate)
    }

    /// Registers that a thread may have, where all threads have as many.
    pub fn registers_of_a_thread(&self) -> u32 {
        let ctas = self.min_ctas_per_sm.unwrap_or(1).max(1);
        let threads = self.cta_threads().max(1).saturating_mul(ctas);
        (REGISTERS_PER_SM / threads).min(MAX_REGISTERS_PER_THREAD)
    }

    /// Teams of a CTA's threads: one of all where they are not told apart.
    pub fn teams(&self) -> Vec<Members> {
        let all = || Members {
            team: Team::All,
            count: 1,
            warps: 0..self.cta_threads().div_ceil(WARP),
            registers: None,
        };
        let parted = self.roles.as_ref().map(|roles| roles.teams.clone());
        parted.unwrap_or_else(|| vec![all()])
    }

    /// Threads of a CTA.
    pub fn cta_threads(&self) -> u32 {
        let alike = self.threads / self.work.shared_by.max(1);
        self.roles.as_ref().map_or(alike, Roles::threads)
    }

    /// Notes what launches must guarantee, once.
    pub fn assume(&mut self, assumptions: impl IntoIterator<Item = Assumption>) {
        for assumption in assumptions {
            if !self.assumptions.contains(&assumption) {
                self.assumptions.push(assumption);
            }
        }
    }

    /// Goes on with an operand's way through shared memory.
    pub fn take(&mut self, passage: Passage) {
        self.assume(passage.assumptions);
        self.smem.extend(passage.smem);
        self.steps.extend(passage.steps);
    }

    /// The step of that operand and hop.
    pub fn step(&self, operand: OperandId, hop: Hop) -> Option<&Step> {
        self.steps
            .iter()
            .find(|step| step.operand == operand && step.hop == hop)
    }

    /// Whether the operand of that role makes that hop.
    pub fn moves(&self, role: Role, hop: Hop) -> bool {
        let operand = self.operand_as(role);
        operand.is_some_and(|operand| self.step(operand.id, hop).is_some())
    }

    /// Every copy by boxes.
    pub fn box_copies(&self) -> impl Iterator<Item = &BoxCopy> {
        let roles = self.roles.iter();
        roles.flat_map(|roles| {
            let loads = roles.pipes.iter().flat_map(|pipe| &pipe.loads);
            loads.chain(&roles.store)
        })
    }

    /// The copy by boxes of that operand and hop.
    pub fn boxes(&self, operand: OperandId, hop: Hop) -> Option<&BoxCopy> {
        let mut copies = self.box_copies();
        copies.find(|copy| copy.operand == operand && copy.hop == hop)
    }

    /// The planes of an operand that have tiles of their own, by number; where one tile has all
    /// that there is, one without.
    pub fn planes_of(&self, operand: &Operand) -> Vec<Option<i64>> {
        let by_boxes = self.boxes(operand.id, Hop::G2s).is_some();
        match self.plane_count(operand) {
            // Boxes bring the rows of all planes, one below the other.
            count if count > 1 && !by_boxes => (0..count).map(Some).collect(),
            _ => vec![None],
        }
    }

    /// Bytes of one slot, or set, of tiles that lie in that.
    pub fn slot_bytes(&self, holds: Holds) -> u32 {
        let tiles = self.smem.iter().filter(|tile| tile.within == holds);
        tiles.map(SmemTile::end).max().unwrap_or(0)
    }

    /// First byte of a tile in the first slot of what it lies in.
    pub fn start_of(&self, tile: &SmemTile) -> u32 {
        let place = self.arena.find(tile.within);
        place.map_or(0, |place| place.at.saturating_add(tile.offset_bytes))
    }

    /// What lies in shared memory of what is added up in a fixed order.
    pub fn place_of(&self, combining: &Combining) -> Option<&Place> {
        let mut combinings = self.combinings();
        let number = combinings.position(|one| one.operand == combining.operand);
        self.arena.find(Holds::Sums(number?))
    }

    /// The shared-memory tile of that operand; those of further planes are laid out as the first.
    pub fn smem_tile(&self, operand: OperandId) -> Option<&SmemTile> {
        self.smem.iter().find(|tile| tile.operand == operand)
    }

    /// The name of an operand's tile, of that plane where each has its own.
    pub fn tile_name(&self, operand: OperandId, plane: Option<i64>) -> String {
        let name = &self.operand(operand).name;
        match plane {
            Some(plane) => Planes::name(&self.computes.formula, name, plane),
            None => name.clone(),
        }
    }

    /// The name of the sums of a plane.
    pub fn sum_name(&self, plane: usize) -> &str {
        let mut nodes = self.flow.iter().flat_map(|flow| &flow.nodes);
        let sums = nodes.find(|node| matches!(node.does, Does::Product(_, of) if of == plane));
        sums.map_or("acc", |node| &node.name)
    }

    /// How its folds are made.
    pub fn folds(&self) -> impl Iterator<Item = &FoldPlan> {
        self.flow.iter().flat_map(|flow| &flow.folds)
    }

    /// How values are combined with what outputs hold.
    pub fn combinings(&self) -> impl Iterator<Item = &Combining> {
        self.flow.iter().flat_map(|flow| &flow.combinings)
    }

    /// The operand of that number.
    pub fn operand(&self, id: OperandId) -> &Operand {
        id.of(&self.operands)
    }

    /// The operand that a text names.
    pub fn named_operand(&self, name: &str) -> Option<&Operand> {
        self.operands.iter().find(|operand| operand.name == name)
    }

    /// The operand whose place another one may take.
    pub fn over(&self, operand: &Operand) -> Option<&Operand> {
        self.named_operand(operand.over.as_ref()?)
    }

    /// The operand of that role.
    pub fn operand_as(&self, role: Role) -> Option<&Operand> {
        with_role(&self.operands, role)
    }

    /// The mode along which boxes store results, whose ends they mind by 16 bytes.
    pub fn stored_along(&self) -> usize {
        let store = self.roles.as_ref().and_then(|roles| roles.store.as_ref());
        store.map_or(COLUMNS, |store| store.contiguous)
    }

    /// Whether boxes of results leave where vectors along the columns end alone: where results are
    /// contiguous along the rows, and others are moved or added up by such vectors.
    pub fn boxes_mind_vectors(&self) -> bool {
        let store = self.roles.as_ref().and_then(|roles| roles.store.as_ref());
        let (Some(store), Some(flow)) = (store, &self.flow) else {
            return false;
        };
        let is_other = |node: &&Node| node.stored != Some(store.operand);
        let mut others = flow.nodes.iter().filter(is_other);
        store.contiguous != COLUMNS && others.any(Node::minds_columns)
    }

    /// What the kernel writes.
    pub fn output(&self) -> Option<&Operand> {
        self.operand_as(Role::Output)
    }

    /// Whether an operand is that output.
    pub fn is_output(&self, operand: OperandId) -> bool {
        self.output().is_some_and(|output| output.id == operand)
    }

    /// The tile of the output in shared memory.
    pub fn output_tile(&self) -> Option<&SmemTile> {
        self.smem_tile(self.output()?.id)
    }

    /// The mode of the tile that runs along an axis of an operand, itself or through a table.
    pub fn mode_along(&self, axis: &Axis) -> Option<usize> {
        let along = modes_along(&self.operands, axis);
        self.modes().position(|mode| along.contains(&mode))
    }

    /// The modes of the tile that run along an operand's axes.
    pub fn modes_of(&self, operand: &Operand) -> Vec<usize> {
        let mode = |axis: &Axis| self.mode_along(axis);
        operand.axes.iter().filter_map(mode).collect()
    }

    /// The modes of the tile that run along the coordinates of an operand's tile; none along those
    /// that it has no elements along.
    pub fn places(&self, operand: &Operand) -> [Option<usize>; 2] {
        self.places_by(operand, |_| true)
    }

    /// The same without those that run along an axis through a table alone.
    pub fn own_places(&self, operand: &Operand) -> [Option<usize>; 2] {
        self.places_by(operand, |axis| axis.table.is_none())
    }

    fn places_by(&self, operand: &Operand, takes: impl Fn(&Axis) -> bool) -> [Option<usize>; 2] {
        let mut steps = self.steps.iter();
        let step = steps.find(|step| step.operand == operand.id);
        let mut places = [None; 2];
        let axes = operand.axes.iter().enumerate();
        for (number, axis) in axes.filter(|(_, axis)| takes(axis)) {
            let mode = self.mode_along(axis);
            let coordinate = step.map_or(Some(number), |step| step.coordinate(number));
            if let Some(place) = coordinate.and_then(|at| places.get_mut(at)) {
                *place = mode;
            }
        }
        places
    }

    /// Numbers of the modes that a CTA has one coordinate along at a time and that run along axes
    /// of an operand by themselves, with these.
    pub fn outer_of<'o>(&self, operand: &'o Operand) -> impl Iterator<Item = (usize, &'o Axis)> {
        let at_one = self.work.at_one();
        let own = operand.all_axes().filter(|axis| axis.table.is_none());
        own.filter_map(move |axis| {
            let number = at_one.iter().position(|mode| *mode == axis.mode);
            number.map(|number| (number, axis))
        })
    }

    /// The axes of a tensor along which its boxes have extents, the contiguous one first, each with
    /// the coordinate of the tile that runs along it.
    pub fn box_axes<'o>(&self, copy: &BoxCopy, operand: &'o Operand) -> Vec<(usize, &'o Axis)> {
        let places = self.places(operand);
        let axis = |at: usize| {
            let mut axes = operand.axes.iter();
            let axis =
                axes.find(|axis| places[at].is_some() && self.mode_along(axis) == places[at]);
            axis.map(|axis| (at, axis))
        };
        let inner_first = [copy.contiguous, 1 - copy.contiguous].into_iter();
        inner_first.filter_map(axis).collect()
    }

    /// Extents of an operand's tile along its two coordinates.
    pub fn tile_at(&self, operand: &Operand) -> [i64; 2] {
        self.places(operand)
            .map(|place| place.map_or(1, |dim| self.extent(dim)))
    }

    /// Extents of an operand's tile.
    pub fn tile_of(&self, operand: &Operand) -> Vec<i64> {
        let modes = self.modes_of(operand).into_iter();
        modes.map(|dim| self.extent(dim)).collect()
    }

    /// MMA blocks along k of one tile: what registers hold of a factor at a time.
    pub fn k_blocks(&self) -> u32 {
        let unit = self.mma.as_ref().and_then(|mma| self.k_block(mma).ok());
        u32::try_from(self.extent(SUMMED) / unit.unwrap_or(1).max(1)).unwrap_or(1)
    }

    /// Elements along k of a block: what the tiled MMA takes, or the whole tile where the other
    /// factor stays in its slot.
    pub fn k_block(&self, mma: &MmaPlan) -> Result<i64> {
        match mma.from_registers() {
            true => Ok(self.extent(SUMMED)),
            false => Ok(mma.tiled.tile_mnk()?[2]),
        }
    }
}
