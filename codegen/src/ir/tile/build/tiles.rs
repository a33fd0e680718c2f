//! The tiles of a kernel: those of its operands in global and shared memory, and what threads hold
//! of them in registers.
//!
//! Register tiles are declared in the order in which their register files are.

use std::sync::Arc;

use crate::atoms::model::RegType;
use crate::dtype::DType;
use crate::element::{Element, Packing};
use crate::error::Result;
use crate::ir::tile::build::bug;
use crate::ir::tile::build::product::{Factor, Product};
use crate::ir::tile::build::values::FlowTiles;
use crate::ir::tile::{
    Bounds, CopyId, Held, Members, Op, Pipe, PipeId, Place, Slice, Stage, Team, Tile, TileId, View,
    WHOLE,
};
use crate::plan::copies::partition::{self, MmaParts};
use crate::plan::copies::thread_digits::Part;
use crate::plan::data::model::{MmaPlan, Plan};
use crate::plan::data::moves::{Hop, Step};
use crate::plan::data::values::{Does, Flow};
use crate::plan::instructions::casts::{cast, zero};
use crate::spec::keys::model::Operand;

/// The tiles of a kernel under construction.
pub(super) struct Tiles<'p> {
    plan: &'p Plan,
    tiles: Vec<Tile>,
    pipes: Vec<Pipe>,
    teams: Vec<Members>,
}

impl<'p> Tiles<'p> {
    /// The operands' tiles in global and shared memory.
    pub fn of(plan: &'p Plan) -> Result<Tiles<'p>> {
        let mut tiles = Tiles {
            plan,
            tiles: Vec::new(),
            pipes: Vec::new(),
            teams: Vec::new(),
        };
        for (number, operand) in plan.operands.iter().enumerate() {
            for plane in plan.planes_of(operand) {
                let name = plan.tile_name(&operand.name, plane);
                tiles.declare(&name, operand.dtype, operand, Place::Gmem(number, plane));
            }
        }
        for (number, tile) in plan.smem.iter().enumerate() {
            let operand = plan.operand(&tile.operand);
            let operand = operand.ok_or_else(|| bug(plan, "a tile of no operand"))?;
            let name = plan.tile_name(&operand.name, tile.plane);
            tiles.declare(&name, tile.dtype, operand, Place::Smem(number));
        }
        Ok(tiles)
    }

    /// The plan.
    pub fn plan(&self) -> &'p Plan {
        self.plan
    }

    /// Every tile, every pipe, every team: one of all threads where they are not told apart.
    pub fn finish(self) -> (Vec<Tile>, Vec<Pipe>, Vec<Members>) {
        let all = Members {
            team: Team::All,
            count: 1,
            registers: None,
        };
        let teams = match self.teams.is_empty() {
            true => vec![all],
            false => self.teams,
        };
        (self.tiles, self.pipes, teams)
    }

    /// Adds a pipe.
    pub fn pipe(&mut self, pipe: Pipe) -> PipeId {
        self.pipes.push(pipe);
        PipeId(self.pipes.len() - 1)
    }

    /// Adds a team.
    pub fn team(&mut self, members: Members) {
        self.teams.push(members);
    }

    /// A tile with the modes of an operand.
    fn declare(&mut self, name: &str, dtype: DType, operand: &Operand, place: Place) -> TileId {
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

    fn find(&self, name: &str, is: impl Fn(&Place) -> bool) -> Result<TileId> {
        let mut tiles = self.tiles.iter();
        let at = tiles.position(|tile| tile.name == name && is(&tile.place));
        let missing = || bug(self.plan, &format!("no tile of {name} in memory"));
        at.map(TileId).ok_or_else(missing)
    }

    /// The tile of that name in global memory: the operand's, or that of one of its planes.
    pub fn gmem_of(&self, name: &str) -> Result<View> {
        let tile = self.find(name, |place| matches!(place, Place::Gmem(..)))?;
        Ok(View::Gmem(tile))
    }

    /// The tile of that name in shared memory.
    pub fn smem_of(&self, name: &str) -> Result<TileId> {
        self.find(name, |place| matches!(place, Place::Smem(_)))
    }

    /// A buffer of the tile of that name in shared memory, or a block of it.
    pub fn smem(&self, name: &str, stage: Stage, block: Option<u32>) -> Result<View> {
        Ok(View::Smem(self.smem_of(name)?, stage, block))
    }

    /// Whether vectors of the operand's step are more than one element, which go by themselves at
    /// edges.
    pub fn has_elements(&self, name: &str, hop: Hop) -> bool {
        let step = self.plan.step(name, hop);
        step.is_some_and(|step| step.element_atom.is_some())
    }

    /// The copy of the operand of that name.
    pub fn step_of(&self, name: &str, hop: Hop, views: [View; 2], bounds: Bounds) -> Result<Op> {
        self.part(name, hop, views, bounds, WHOLE)
    }

    /// A share of it.
    pub fn part(
        &self,
        name: &str,
        hop: Hop,
        [from, to]: [View; 2],
        bounds: Bounds,
        share: Slice,
    ) -> Result<Op> {
        Ok(Op::Copy {
            from,
            to,
            by: self.by(name, hop)?,
            bounds,
            share,
        })
    }

    fn by(&self, name: &str, hop: Hop) -> Result<CopyId> {
        let boxes =
            (self.plan.box_copies()).position(|copy| copy.operand == name && copy.hop == hop);
        let is = |step: &Step| step.operand == name && step.hop == hop;
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
    pub fn loaded(&mut self, name: &str, of: &str, hop: Hop, by_element: bool) -> Result<View> {
        let plan = self.plan;
        let missing = || bug(plan, &format!("no load {} of {of}", hop.name()));
        let operand = plan.operand(of).ok_or_else(missing)?;
        let step = plan.step(&operand.name, hop).ok_or_else(missing)?;
        let atom = match by_element {
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

    /// The tiles of the plan's product.
    pub fn product(&mut self, mma: &MmaPlan, flow: &'p Flow) -> Result<Product<'p>> {
        let plan = self.plan;
        let of = flow.factors();
        let of = of.ok_or_else(|| bug(plan, "a product of nothing"))?;
        let parts = partition::of_mma(plan, mma)?;
        let facts = mma.atom.mma.as_ref();
        let facts = facts.ok_or_else(|| bug(plan, "an mma without facts"))?;
        let [_, a_type, b_type, acc_type] = facts.types;
        let factors = match facts.smem {
            [true, true] => Vec::new(),
            _ => self.factors((mma, of.map(|(_, name)| name)), [a_type, b_type], &parts)?,
        };
        let output = plan.output().ok_or_else(|| bug(plan, "no output"))?;
        let ty = mma
            .atom
            .register_type("d")
            .ok_or_else(|| bug(plan, "an mma without d"))?;
        let mut hold = |name: &str, dtype: DType, ty: RegType| {
            let held = Held {
                ty,
                tv: parts.c.clone(),
                buffers: 1,
            };
            self.declare(name, dtype, output, Place::Rmem(held))
        };
        let planes = 0..plan.planes() as usize;
        let acc: Vec<TileId> = planes
            .map(|plane| hold(plan.sum_name(plane), acc_type, ty))
            .collect();
        self.cut_rows(&acc, mma.waves)?;
        // Of a factor, what the MMA reads of its first plane.
        let read = of.map(|(_, name)| {
            let own = factors
                .iter()
                .find(|factor: &&Factor| factor.operand == name);
            own.map_or_else(|| self.smem_of(name), |factor| Ok(factor.fragment))
        });
        let [a, b] = read;
        let read = [a?, b?];
        let of_product = |at: usize| match flow.nodes[at].does {
            Does::Product(_, plane) => acc.get(plane).copied(),
            _ => (of.iter().zip(read)).find_map(|((node, _), tile)| (*node == at).then_some(tile)),
        };
        Ok(Product {
            values: parts.c.values.len(),
            flow: FlowTiles::declare(self, flow, &parts.c, &of_product)?,
            factors,
            of,
            acc,
            zero: Arc::new(zero(Packing {
                dtype: acc_type,
                ty,
            })),
        })
    }

    /// Leaves accumulators the rows of one of so many groups of products.
    fn cut_rows(&mut self, acc: &[TileId], waves: u32) -> Result<()> {
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

    /// The factors that pass through registers: a, then b of each plane. What is on its way comes
    /// before the fragments.
    fn factors(
        &mut self,
        (mma, [a, b]): (&MmaPlan, [&str; 2]),
        [a_type, b_type]: [DType; 2],
        parts: &MmaParts,
    ) -> Result<Vec<Factor>> {
        let plan = self.plan;
        let sides = [(a, ("a", a_type), &parts.a), (b, ("b", b_type), &parts.b)];
        let (mut planned, mut factors) = (Vec::new(), Vec::new());
        for (name, value, tv) in sides {
            let missing = || bug(plan, &format!("no factor {name}"));
            let operand = plan.operand(name).ok_or_else(missing)?;
            for plane in plan.planes_of(operand) {
                let name = plan.tile_name(&operand.name, plane);
                let passing = self.passing(operand, &name)?;
                planned.push((operand, name, value, tv, passing));
            }
        }
        for (operand, name, value, tv, passing) in planned {
            let (loaded, fragment, widen) = self.fragments(mma, (operand, &name), value, tv)?;
            factors.push(Factor {
                operand: operand.name.clone(),
                gmem: self.gmem_of(&name)?,
                smem: self.smem_of(&name)?,
                passing,
                loaded,
                fragment,
                widen,
            });
        }
        Ok(factors)
    }

    /// What passes through registers on its way into shared memory, into the tile of that name.
    fn passing(&mut self, operand: &Operand, name: &str) -> Result<Option<TileId>> {
        if self.plan.step(&operand.name, Hop::G2r).is_none() {
            return Ok(None);
        }
        let name = format!("{name}_stage");
        let loaded = self.loaded(&name, &operand.name, Hop::G2r, false)?;
        Ok(Some(loaded.tile()))
    }

    /// The fragments of a factor's tile of that name: as they come out of shared memory, as the MMA
    /// takes them, and what makes the one of the other, where they differ.
    fn fragments(
        &mut self,
        mma: &MmaPlan,
        (operand, name): (&Operand, &str),
        (letter, dtype): (&str, DType),
        tv: &Part<2>,
    ) -> Result<(TileId, TileId, Option<Arc<Element>>)> {
        let plan = self.plan;
        let missing = || bug(plan, &format!("an mma without {letter}"));
        let ty = mma.atom.register_type(letter).ok_or_else(missing)?;
        let buffers = if plan.stages > 1 { 2 } else { 1 };
        let [_, _, block] = mma.tiled.tile_mnk()?;
        let modes: Vec<_> = (operand.axes.iter().map(|axis| axis.mode.clone()))
            .zip(plan.tile_of(operand))
            .enumerate()
            .map(|(axis, (mode, extent))| (mode, if axis == 1 { block } else { extent }))
            .collect();
        let mut hold = |name: &str, dtype: DType, ty: RegType| {
            let held = Held {
                ty,
                tv: tv.clone(),
                buffers,
            };
            self.add(name, dtype, modes.clone(), Place::Rmem(held))
        };
        let raw = format!("{name}_raw");
        let stored = (mma.widen.as_ref()).map(|_| hold(&raw, operand.dtype, RegType::B16));
        let fragment = hold(name, dtype, ty);
        let held = |dtype: DType, ty: RegType| Packing { dtype, ty };
        let types = [held(operand.dtype, RegType::B16), held(dtype, ty)];
        let widen = (mma.widen.as_ref()).map(|atom| Arc::new(cast(atom, types)));
        Ok((stored.unwrap_or(fragment), fragment, widen))
    }
}
