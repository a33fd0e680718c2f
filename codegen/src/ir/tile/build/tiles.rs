//! The tiles of a kernel: those of its operands in global and shared memory, and what threads hold
//! of them in registers.
//!
//! Register tiles are declared in the order in which their register files are.

use crate::dtype::DType;
use crate::error::Result;
use crate::ir::tile::build::bug;
use crate::ir::tile::{
    Bounds, CopyId, Held, Op, Pipe, PipeId, Place, Slice, Stage, Tile, TileId, View, WHOLE,
};
use crate::plan::copies::partition;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Hop, SmemTile, Step};
use crate::spec::keys::model::{Operand, OperandId};

/// The tiles of a kernel under construction.
pub(super) struct Tiles<'p> {
    plan: &'p Plan,
    tiles: Vec<Tile>,
    pipes: Vec<Pipe>,
}

impl<'p> Tiles<'p> {
    /// The operands' tiles in global and shared memory.
    pub fn of(plan: &'p Plan) -> Result<Tiles<'p>> {
        let mut tiles = Tiles {
            plan,
            tiles: Vec::new(),
            pipes: Vec::new(),
        };
        for operand in &plan.operands {
            for plane in plan.planes_of(operand) {
                let name = plan.tile_name(operand.id, plane);
                let place = Place::Gmem(operand.id, plane);
                tiles.declare(&name, operand.dtype, operand, place);
            }
        }
        for (number, tile) in plan.smem.iter().enumerate() {
            let operand = plan.operand(tile.operand);
            let name = plan.tile_name(operand.id, tile.plane);
            tiles.declare(&name, tile.dtype, operand, Place::Smem(number));
        }
        Ok(tiles)
    }

    /// The plan.
    pub fn plan(&self) -> &'p Plan {
        self.plan
    }

    /// Every tile and every pipe.
    pub fn finish(self) -> (Vec<Tile>, Vec<Pipe>) {
        (self.tiles, self.pipes)
    }

    /// Adds a pipe.
    pub fn pipe(&mut self, pipe: Pipe) -> PipeId {
        self.pipes.push(pipe);
        PipeId(self.pipes.len() - 1)
    }

    /// A tile with the modes of an operand.
    pub fn declare(&mut self, name: &str, dtype: DType, operand: &Operand, place: Place) -> TileId {
        let plan = self.plan;
        let mut modes = plan.places(operand).map(|place| match place {
            Some(dim) => (
                plan.mode(dim).unwrap_or_default().to_owned(),
                plan.extent(dim),
            ),
            None => (String::new(), 1),
        });
        let planes = plan.planes_of(operand);
        if let (Place::Smem(_), [None]) = (&place, planes.as_slice()) {
            modes[0].1 *= plan.plane_count(operand);
        }
        self.add(name, dtype, modes.to_vec(), place)
    }

    /// A tile of those modes.
    pub fn add(
        &mut self,
        name: &str,
        dtype: DType,
        modes: Vec<(String, i64)>,
        place: Place,
    ) -> TileId {
        self.tiles.push(Tile {
            name: name.to_string(),
            dtype,
            modes,
            place,
        });
        TileId(self.tiles.len() - 1)
    }

    /// How threads hold a tile; none of what is in memory.
    pub fn held(&self, tile: TileId) -> Option<&Held> {
        match &self.tiles.get(tile.0)?.place {
            Place::Rmem(held) => Some(held),
            Place::Gmem(..) | Place::Smem(_) => None,
        }
    }

    fn find(&self, operand: OperandId, is: impl Fn(&Place) -> bool) -> Result<TileId> {
        let at = self.tiles.iter().position(|tile| is(&tile.place));
        let name = &self.plan.operand(operand).name;
        let missing = || bug(self.plan, &format!("no tile of {name} in memory"));
        at.map(TileId).ok_or_else(missing)
    }

    /// An operand's tile in global memory, of that plane where each has its own.
    pub fn gmem_of(&self, operand: OperandId, plane: Option<i64>) -> Result<View> {
        let tile = self.find(operand, |place| *place == Place::Gmem(operand, plane))?;
        Ok(View::Gmem(tile))
    }

    /// The same in shared memory.
    pub fn smem_of(&self, operand: OperandId, plane: Option<i64>) -> Result<TileId> {
        let own = |tile: &SmemTile| tile.operand == operand && tile.plane == plane;
        let all = &self.plan.smem;
        self.find(operand, |place| match place {
            Place::Smem(number) => all.get(*number).is_some_and(own),
            Place::Gmem(..) | Place::Rmem(_) => false,
        })
    }

    /// A buffer of an operand's tile in shared memory, or a block of it.
    pub fn smem(&self, operand: OperandId, stage: Stage, block: Option<u32>) -> Result<View> {
        Ok(View::Smem(self.smem_of(operand, None)?, stage, block))
    }

    /// Whether vectors of the operand's step are more than one element, which go by themselves at
    /// edges.
    pub fn has_elements(&self, operand: OperandId, hop: Hop) -> bool {
        let step = self.plan.step(operand, hop);
        step.is_some_and(|step| step.element_atom.is_some())
    }

    /// The copy of an operand.
    pub fn step_of(&self, of: OperandId, hop: Hop, views: [View; 2], bounds: Bounds) -> Result<Op> {
        self.part(of, hop, views, bounds, WHOLE)
    }

    /// A share of it.
    pub fn part(
        &self,
        of: OperandId,
        hop: Hop,
        [from, to]: [View; 2],
        bounds: Bounds,
        share: Slice,
    ) -> Result<Op> {
        Ok(Op::Copy {
            from,
            to,
            by: self.by(of, hop)?,
            bounds,
            share,
        })
    }

    fn by(&self, of: OperandId, hop: Hop) -> Result<CopyId> {
        let mut boxes = self.plan.box_copies();
        let boxes = boxes.position(|copy| copy.operand == of && copy.hop == hop);
        let is = |step: &Step| step.operand == of && step.hop == hop;
        let name = &self.plan.operand(of).name;
        let missing = || bug(self.plan, &format!("no copy {} of {name}", hop.name()));
        match boxes {
            Some(number) => Ok(CopyId::Boxes(number)),
            None => {
                let number = self.plan.steps.iter().position(is);
                Ok(CopyId::Tiled(number.ok_or_else(missing)?))
            }
        }
    }

    /// What a load of the plan leaves of an operand in registers: whole vectors, or elements.
    pub fn loaded(&mut self, name: &str, of: OperandId, hop: Hop, alone: bool) -> Result<View> {
        let plan = self.plan;
        let operand = plan.operand(of);
        let missing = || bug(plan, &format!("no load {} of {}", hop.name(), operand.name));
        let step = plan.step(of, hop).ok_or_else(missing)?;
        let atom = match alone {
            true => step.element_atom.as_ref(),
            false => Some(&step.atom),
        };
        let ty = atom.and_then(|atom| atom.moved()).ok_or_else(missing)?;
        let held = Held {
            ty,
            tv: partition::of_step(step)?.dst,
            buffers: 1,
        };
        let tile = self.declare(name, operand.dtype, operand, Place::Rmem(held));
        Ok(View::Rmem(tile, 0))
    }

    /// Leaves accumulators the rows of one of so many groups of products.
    pub fn cut_rows(&mut self, acc: &[TileId], waves: u32) -> Result<()> {
        let plan = self.plan;
        for acc in acc.iter().filter(|_| waves > 1) {
            let tile = self.tiles.get_mut(acc.0);
            let missing = || bug(plan, "accumulators that groups of rows do not share");
            let tile = tile.ok_or_else(missing)?;
            let (Place::Rmem(held), Some(rows)) = (&mut tile.place, tile.modes.first_mut()) else {
                return Err(missing());
            };
            let each = held.tv.places(0).len() as i64 / i64::from(waves);
            let (tv, extent) = held.tv.first(0, each).ok_or_else(missing)?;
            (held.tv, rows.1) = (tv, extent);
        }
        Ok(())
    }
}
