//! Copies: one atom call for each instance of the tiled copy, with its addresses, registers and
//! predicate.
//!
//! A checked copy between global memory and registers moves single elements, each under its own
//! predicate; a checked copy into shared memory moves vectors and says how many source bytes are
//! valid, the rest arrive as zeros.

use std::collections::HashMap;
use std::sync::Arc;

use crate::atoms::model::{Atom, OperandKind, Space};
use crate::error::Result;
use crate::ir::thread::expr::{add, and};
use crate::ir::thread::program::{Address, Arg, Expr, IntType, Reg, Stmt};
use crate::ir::tile::{Bounds, CopyId, Full, PipeId, Slice, Stage, TileId, View};
use crate::lower::threads::address::{GmemTile, smem_address};
use crate::lower::threads::bounds::inside;
use crate::lower::threads::gathered::Table;
use crate::lower::{Lowering, bug, call};
use crate::plan::copies::partition::{self, Partition};
use crate::plan::copies::thread_digits::Part;
use crate::plan::data::moves::{BoxPlace, Hop, Rows, SmemTile, Step};
use crate::plan::data::warp_roles::Roles;
use crate::plan::work_tiles::SUMMED;

/// What one side of a copy is made of.
pub(in crate::lower) enum Side<'p> {
    Gmem(GmemTile<'p>),
    Smem {
        tile: &'p SmemTile,
        offsets: Part<1>,
        stage: Stage,
        /// Bytes to the slot that a role is at.
        slot: Option<Expr>,
    },
    Rmem {
        tile: TileId,
        buffer: u32,
    },
}

/// Where one side of one atom call is.
enum Place {
    Address(Address),
    Registers(Vec<Reg>),
}

/// One run of a tiled copy.
pub(in crate::lower) struct Run<'p> {
    pub step: &'p Step,
    pub atom: Arc<Atom>,
    pub parts: Partition,
    pub src: Side<'p>,
    dst: Side<'p>,
    bounds: Bounds,
    /// What one instance is moved in: elements past the edge get a predicate each.
    pieces: usize,
    /// Valid source bytes by distance along the contiguous mode, computed once for the run.
    pub valid: HashMap<i64, Expr>,
    /// Elements left across the contiguous mode, pinned so that the run's predicates do not live
    /// across the loop.
    pub across: Option<Expr>,
    /// The table that says where elements lie in global memory.
    table: Option<Table>,
}

/// Instances of a copy behind a loop whose addresses have a pinned start of their own: those of
/// more have parts in common, which ptxas would hold all at once.
const APART: usize = 16;

impl<'p> Lowering<'p> {
    /// What is computed is stored by predicates of its own, so that those of loads are not kept for
    /// it.
    fn pin_results(&mut self, dst: &mut Side<'p>) -> Vec<Stmt> {
        let mut out = Vec::new();
        let flow = self.plan.flow.as_ref();
        let computes = flow.is_some_and(|flow| !flow.stores_bare_sums());
        if let (true, Side::Gmem(tile)) = (computes, dst) {
            for left in tile.left.iter_mut().flatten() {
                let var = self.builder.var("left_here", IntType::I32, false);
                out.push(Stmt::Pin(var, left.clone()));
                *left = Expr::Var(var);
            }
        }
        out
    }

    pub(in crate::lower) fn copy(
        &mut self,
        by: CopyId,
        [src, dst]: [View; 2],
        bounds: Bounds,
        share: Slice,
    ) -> Result<Vec<Stmt>> {
        let plan = self.plan;
        let (step, parts) = match by {
            CopyId::Tiled(number) => {
                let step = plan.steps.get(number).zip(self.partitions.get(number));
                step.ok_or_else(|| bug(plan, format!("no tiled copy {number}")))?
            }
            CopyId::Boxes(_) => {
                let boxes = by.boxes(plan);
                let boxes = boxes.ok_or_else(|| bug(plan, format!("there is no {by:?}")))?;
                return match src.block() {
                    Some(block) => self.store_box(boxes, dst.tile(), block),
                    None => self.load_boxes(boxes, [src.tile(), dst.tile()]),
                };
            }
        };
        let (hop, parts) = (step.hop, parts.clone());
        let pieces = self.pieces(step, &parts, bounds);
        let table = match (src, dst) {
            (View::Looked(_, table), _) => Some(self.table(table, &parts.src)?),
            (_, View::Looked(_, table)) => Some(self.table(table, &parts.dst)?),
            _ => None,
        };
        let mut run = Run {
            step,
            atom: if pieces > 1 {
                element_atom(self, step)?
            } else {
                step.atom.clone()
            },
            src: self.side(step, &parts.src, src)?,
            dst: self.side(step, &parts.dst, dst)?,
            bounds,
            pieces,
            parts,
            valid: HashMap::new(),
            across: None,
            table,
        };
        let block = src.block().or(dst.block()).map(i64::from);
        let mut out = Vec::new();
        if bounds != Bounds::Inside {
            out.extend(self.pin_results(&mut run.dst));
        }
        for side in [&mut run.src, &mut run.dst] {
            if let Side::Gmem(tile) = side {
                out.extend(tile.pin(&mut self.builder, plan.rows).into_iter().flatten());
            }
        }
        let apart = plan.roles.is_some() && plan.rows == Rows::Computed;
        let instances = run.parts.instances();
        let ends = [share.0, share.0 + 1].map(|end| instances * end as usize / share.1 as usize);
        for instance in ends[0]..ends[1] {
            let element = run.parts.dst.values[instance * run.parts.dst_values];
            if block.is_some_and(|block| self.block_of(hop, element) != block) {
                continue;
            }
            let anew = (instance - ends[0]) % APART == APART - 1;
            if let (true, Side::Gmem(tile)) = (apart && anew, &mut run.dst) {
                out.extend(tile.pin_again(&mut self.builder));
            }
            self.instance(&mut run, instance, &mut out)?;
        }
        out.extend(run.table.into_iter().flat_map(Table::finish));
        Ok(out)
    }

    /// What an instance is moved in: past an edge each element alone, but for those that share a
    /// byte, with which rows end.
    fn pieces(&self, step: &Step, parts: &Partition, bounds: Bounds) -> usize {
        if bounds != Bounds::Checked || step.hop == Hop::G2s {
            return 1;
        }
        let together = self.plan.operand(step.operand).dtype.per_byte() as usize;
        (parts.src_values / together).max(1)
    }

    fn side(&mut self, step: &'p Step, part: &Part<2>, view: View) -> Result<Side<'p>> {
        let plan = self.plan;
        Ok(match view {
            View::Gmem(tile) | View::Looked(tile, _) | View::Next(tile) => {
                let operand = self.operand_of(tile)?;
                let part = (part, step.axes.as_slice());
                let here = self.state.clone();
                if matches!(view, View::Next(_)) {
                    self.step_part()?;
                }
                let tile = GmemTile::new(&mut self.builder, plan, operand, part, &self.state);
                self.state = here;
                let missing = || bug(plan, format!("{} has no parameters", operand.0.name));
                Side::Gmem(tile.ok_or_else(missing)?)
            }
            View::Smem(id, stage, _) => {
                let tile = self.smem_tile(id)?;
                let pipe = self.kernel.pipe_of(id);
                let by_bytes = |id: &PipeId| {
                    let pipe = self.kernel.pipe(*id);
                    pipe.is_some_and(|pipe| matches!(pipe.full, Full::Bytes(_)))
                };
                let pipe = pipe.filter(|id| by_bytes(id) && matches!(stage, Stage::At(_)));
                let slot = pipe.map(|pipe| self.slot_offset(pipe));
                let slot = slot.transpose()?;
                Side::Smem {
                    tile,
                    offsets: partition::smem_offsets(step, tile)?,
                    stage: if slot.is_some() {
                        Stage::Fixed(0)
                    } else {
                        stage
                    },
                    slot,
                }
            }
            View::Rmem(tile, buffer) => {
                let threads = i64::from(plan.threads);
                let fragment = self.fragment(tile)?;
                fragment.check_owner(part, threads, &plan.id)?;
                Side::Rmem { tile, buffer }
            }
        })
    }

    /// Appends the atom calls of one instance.
    fn instance(&mut self, run: &mut Run<'p>, instance: usize, out: &mut Vec<Stmt>) -> Result<()> {
        let pieces = run.pieces;
        for piece in 0..pieces {
            let src_range = range(instance, run.parts.src_values, piece, pieces);
            let dst_range = range(instance, run.parts.dst_values, piece, pieces);
            let entry = match &mut run.table {
                Some(table) => {
                    let elements = &run.parts.dst.values[dst_range.clone()];
                    Some(self.entry(table, elements, out)?)
                }
                None => None,
            };
            let entry = entry.as_ref();
            let (src, dst) = ((&run.src, &run.parts.src), (&run.dst, &run.parts.dst));
            let src = self.place(run.step, src, src_range.clone(), entry)?;
            let dst = self.place(run.step, dst, dst_range.clone(), entry)?;
            let first = |part: &Part<2>, range: &std::ops::Range<usize>| part.values[range.start];
            let bytes = self.valid_bytes(run, first(&run.parts.src, &src_range), out)?;
            let moved = match (&run.src, &run.dst) {
                (Side::Gmem(tile), Side::Rmem { .. }) => Some((tile, &run.parts.src, &src_range)),
                (Side::Rmem { .. }, Side::Gmem(tile)) => Some((tile, &run.parts.dst, &dst_range)),
                _ => None,
            };
            let [of_entry, own] = match moved {
                Some((tile, part, range)) => {
                    self.tests(run, tile, (&part.values[range.clone()], entry))?
                }
                None => [None, None],
            };
            let otherwise = match (&run.dst, &dst) {
                (Side::Rmem { tile, .. }, Place::Registers(registers))
                    if of_entry.is_some() || own.is_some() =>
                {
                    self.outside(*tile, registers)
                }
                _ => Vec::new(),
            };
            let args = self.args(&run.atom, src, dst, bytes)?;
            let statement = call(&run.atom, args);
            let statement = match own {
                Some(cond) => Stmt::If {
                    cond,
                    then: vec![statement],
                    otherwise: Vec::new(),
                },
                None => statement,
            };
            match (&mut run.table, of_entry) {
                (Some(table), Some(test)) => table.push(test, otherwise, statement),
                _ => {
                    out.extend(otherwise);
                    out.push(statement);
                }
            }
        }
        Ok(())
    }

    /// When elements are moved: what all at an entry of a table share, and what is their own.
    fn tests(
        &mut self,
        run: &Run<'p>,
        tile: &GmemTile<'p>,
        (values, entry): (&[[i64; 2]], Option<&Expr>),
    ) -> Result<[Option<Expr>; 2]> {
        let inside = match run.bounds {
            Bounds::Inside => None,
            Bounds::Vectors | Bounds::Checked => inside(tile, values),
        };
        let missing = || bug(self.plan, "a table looks into no extent".to_string());
        let taken = entry.map(|entry| tile.takes(&self.builder, entry).ok_or_else(missing));
        let alone = match run.dst {
            Side::Gmem(_) => self.alone(run.step, values)?,
            Side::Smem { .. } | Side::Rmem { .. } => None,
        };
        let own = [inside, alone].into_iter().flatten().reduce(and);
        Ok([taken.transpose()?, own])
    }

    fn place(
        &mut self,
        step: &Step,
        (side, part): (&Side<'p>, &Part<2>),
        values: std::ops::Range<usize>,
        entry: Option<&Expr>,
    ) -> Result<Place> {
        let plan = self.plan;
        let elements = &part.values[values.clone()];
        match side {
            Side::Gmem(tile) => {
                let address = tile.address(&mut self.builder, elements[0], entry);
                Ok(Place::Address(
                    address.ok_or_else(|| bug(plan, "no stride".to_string()))?,
                ))
            }
            Side::Smem {
                tile,
                offsets,
                stage,
                slot,
            } => {
                let [value] = offsets.values[values.start];
                let state = &self.state;
                let mut address =
                    smem_address(&mut self.builder, plan, tile, offsets, value, *stage, state);
                if let Some(slot) = slot {
                    address.offset = add(address.offset, slot.clone());
                }
                if *stage == Stage::Turn
                    && let Some(set) = self.staging_set()?
                {
                    address.offset = add(address.offset, set);
                }
                Ok(Place::Address(address))
            }
            Side::Rmem { tile, buffer } => {
                let elements = self.block_local(step, elements);
                let registers = self.fragment(*tile)?.registers(&elements, *buffer);
                let name = self.kernel.tiles.get(tile.0).map_or("", |tile| &tile.name);
                let message = || format!("{name}: registers do not hold {elements:?} in order");
                Ok(Place::Registers(
                    registers.ok_or_else(|| bug(plan, message()))?,
                ))
            }
        }
    }

    /// Fragments of a and b hold one k-block: coordinates along k count from the block's start.
    fn block_local(&self, step: &Step, elements: &[[i64; 2]]) -> Vec<[i64; 2]> {
        let is_factor = self.plan.operand(step.operand).factor().is_some();
        if step.hop != Hop::S2r || self.plan.mma.is_none() || !is_factor {
            return elements.to_vec();
        }
        let extent = self.k_block_extent();
        elements.iter().map(|[row, k]| [*row, k % extent]).collect()
    }

    fn args(&self, atom: &Atom, src: Place, dst: Place, bytes: Option<Expr>) -> Result<Vec<Arg>> {
        let mut args = Vec::new();
        for operand in &atom.operands {
            let place = |space: Space| match (&src, &dst) {
                (Place::Address(address), _) if address.space == space => Some(address.clone()),
                (_, Place::Address(address)) if address.space == space => Some(address.clone()),
                _ => None,
            };
            let arg = match (operand.kind, &src, &dst) {
                (OperandKind::RegsIn { .. }, Place::Registers(registers), _)
                | (OperandKind::RegsOut { .. }, _, Place::Registers(registers)) => {
                    Some(Arg::Regs(registers.clone()))
                }
                (OperandKind::Address(space), ..) => place(space).map(Arg::Address),
                (OperandKind::Int, ..) => bytes.clone().map(Arg::Int),
                _ => None,
            };
            let message = || format!("operand {} of {} has no argument", operand.name, atom.id);
            args.push(arg.ok_or_else(|| bug(self.plan, message()))?);
        }
        Ok(args)
    }

    /// Which block of the copy an element is in: of a k-block, or of a staging buffer's load.
    fn block_of(&self, hop: Hop, [row, column]: [i64; 2]) -> i64 {
        match (&self.plan.roles, hop) {
            (
                Some(Roles {
                    store: Some(store), ..
                }),
                Hop::R2s,
            ) => {
                let inside = |place: &BoxPlace| {
                    let [rows, columns] = store.box_extents;
                    let [first_row, first_column] = place.coord;
                    (first_row..first_row + rows).contains(&row)
                        && (first_column..first_column + columns).contains(&column)
                };
                let number = store.places.iter().position(inside);
                number.map_or(-1, |number| number as i64)
            }
            _ => column / self.k_block_extent(),
        }
    }

    /// Extent along k that one MMA of the tiled MMA consumes.
    fn k_block_extent(&self) -> i64 {
        let summed = self.plan.work.dims.get(SUMMED);
        summed.map_or(i64::MAX, |summed| {
            summed.extent() / i64::from(self.plan.k_blocks().max(1))
        })
    }
}

fn range(instance: usize, values: usize, piece: usize, pieces: usize) -> std::ops::Range<usize> {
    let each = values / pieces;
    let start = instance * values + piece * each;
    start..start + each
}

fn element_atom(lowering: &Lowering<'_>, step: &Step) -> Result<Arc<Atom>> {
    let message = || {
        format!(
            "{}.{} has no atom for single elements",
            lowering.plan.operand(step.operand).name,
            step.hop.name()
        )
    };
    step.element_atom
        .clone()
        .ok_or_else(|| bug(lowering.plan, message()))
}
