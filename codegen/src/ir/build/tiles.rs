//! The tiles of a kernel: those of its operands in global and shared memory, and what threads hold
//! of them in registers.
//!
//! Register tiles are declared in the order in which their register files are.

use std::sync::Arc;

use crate::atoms::model::{Atom, OperandKind, RegType};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::tile::{
    Bounds, CopyId, Held, Members, Op, Pipe, PipeId, Place, Share, Stage, Start, Team, Tile,
    TileId, View, WHOLE,
};
use crate::plan::model::{Hop, MmaPlan, Plan, Step};
use crate::plan::part::Part;
use crate::plan::partition;
use crate::spec::model::{Operand, Role};

/// The tiles of a kernel under construction.
pub(super) struct Tiles<'p> {
    plan: &'p Plan,
    tiles: Vec<Tile>,
    pipes: Vec<Pipe>,
    teams: Vec<Members>,
}

/// What a product is made of.
pub(super) struct Product {
    /// The factors that pass through registers: a and b, or none where the MMA reads shared memory.
    pub factors: Vec<Factor>,
    /// The accumulators.
    pub acc: TileId,
    /// The output's elements, two to a register, and what makes them of accumulators.
    packed: Option<(TileId, Arc<Atom>)>,
    /// The output's elements, one to a register.
    single: Option<(TileId, Arc<Atom>)>,
}

/// One factor of a product, as it comes through registers.
pub(super) struct Factor {
    /// Which.
    pub role: Role,
    /// On its way from global to shared memory, where it goes that way.
    pub passing: TileId,
    /// As it comes out of shared memory.
    pub loaded: TileId,
    /// As the MMA takes it.
    fragment: TileId,
    /// What makes the one of the other, where they differ.
    widen: Option<Arc<Atom>>,
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
            tiles.declare(&operand.name, operand.dtype, operand, Place::Gmem(number));
        }
        for (number, tile) in plan.smem.iter().enumerate() {
            let operand = plan.operand(&tile.operand);
            let operand = operand.ok_or_else(|| bug(plan, "a tile of no operand"))?;
            tiles.declare(&operand.name, tile.dtype, operand, Place::Smem(number));
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
        let modes = operand.axes.iter().map(|axis| axis.mode.clone());
        let modes = modes.zip(self.plan.tile_of(operand)).collect();
        self.add(name, dtype, modes, place)
    }

    fn add(&mut self, name: &str, dtype: DType, modes: Vec<(String, i64)>, place: Place) -> TileId {
        self.tiles.push(Tile {
            name: name.to_string(),
            dtype,
            modes,
            place,
        });
        TileId(self.tiles.len() - 1)
    }

    fn find(&self, role: Role, is: impl Fn(&Place) -> bool) -> TileId {
        let name = self.plan.named(role);
        let mut tiles = self.tiles.iter();
        let at = tiles.position(|tile| tile.name == name && is(&tile.place));
        TileId(at.unwrap_or(usize::MAX))
    }

    /// The operand's tile in global memory.
    pub fn gmem(&self, role: Role) -> View {
        View::Gmem(self.find(role, |place| matches!(place, Place::Gmem(_))))
    }

    /// A buffer of the operand's tile in shared memory, or a block of it.
    pub fn smem(&self, role: Role, stage: Stage, block: Option<u32>) -> View {
        let tile = self.find(role, |place| matches!(place, Place::Smem(_)));
        View::Smem(tile, stage, block)
    }

    /// Whether vectors of the operand's step are more than one element, which go by themselves at
    /// edges.
    pub fn has_elements(&self, role: Role, hop: Hop) -> bool {
        let step = self.plan.step(self.plan.named(role), hop);
        step.is_some_and(|step| step.element_atom.is_some())
    }

    /// The plan's copy of that operand and hop.
    pub fn step(&self, role: Role, hop: Hop, views: [View; 2], bounds: Bounds) -> Op {
        self.part(role, hop, views, bounds, WHOLE)
    }

    /// A share of it.
    pub fn part(
        &self,
        role: Role,
        hop: Hop,
        [from, to]: [View; 2],
        bounds: Bounds,
        share: Share,
    ) -> Op {
        Op::Copy {
            from,
            to,
            by: self.by(role, hop),
            bounds,
            share,
        }
    }

    fn by(&self, role: Role, hop: Hop) -> CopyId {
        let name = self.plan.named(role);
        let boxes =
            (self.plan.box_copies()).position(|copy| copy.operand == name && copy.hop == hop);
        let is = |step: &Step| step.operand == name && step.hop == hop;
        match boxes {
            Some(number) => CopyId::Boxes(number),
            None => CopyId::Tiled(self.plan.steps.iter().position(is).unwrap_or(usize::MAX)),
        }
    }

    /// What a load of the plan leaves in registers: whole vectors, or single elements.
    pub fn loaded(&mut self, name: &str, role: Role, hop: Hop, by_element: bool) -> Result<View> {
        let plan = self.plan;
        let missing = || bug(plan, &format!("no load {} of {role:?}", hop.name()));
        let operand = plan.operand_as(role).ok_or_else(missing)?;
        let step = plan.step(&operand.name, hop).ok_or_else(missing)?;
        let atom = match by_element {
            true => step.element_atom.as_ref(),
            false => Some(&step.atom),
        };
        let ty = atom.and_then(|atom| written(atom)).ok_or_else(missing)?;
        let held = Held {
            ty,
            tv: partition::of_step(step)?.dst,
            buffers: 1,
        };
        let tile = self.declare(name, operand.dtype, operand, Place::Rmem(held));
        Ok(View::Rmem(tile, 0))
    }

    /// The tiles of the plan's product.
    pub fn product(&mut self, mma: &MmaPlan) -> Result<Product> {
        let plan = self.plan;
        let parts = partition::of_mma(plan, mma)?;
        let facts = mma.atom.mma.as_ref();
        let facts = facts.ok_or_else(|| bug(plan, "an mma without facts"))?;
        let [_, a_type, b_type, acc_type] = facts.types;
        let mut factors = Vec::new();
        if facts.smem != [true; 2] {
            let passing = [Role::A, Role::B].map(|role| self.passing(role));
            let [a, b] = passing;
            let sides = [
                (Role::A, "a", a_type, parts.a, a?),
                (Role::B, "b", b_type, parts.b, b?),
            ];
            for (role, letter, dtype, tv, passing) in sides {
                factors.push(self.factor(mma, role, (letter, dtype), tv, passing)?);
            }
        }
        let output = plan.output().ok_or_else(|| bug(plan, "no output"))?;
        let ty = register(&mma.atom, "d").ok_or_else(|| bug(plan, "an mma without d"))?;
        let mut hold = |name: &str, dtype: DType, ty: RegType| {
            let held = Held {
                ty,
                tv: parts.c.clone(),
                buffers: 1,
            };
            self.declare(name, dtype, output, Place::Rmem(held))
        };
        let acc = hold("acc", acc_type, ty);
        let epilogue = plan.epilogue.as_ref();
        let mut results = |name: &str, atom: Option<&Arc<Atom>>, ty: RegType| {
            atom.map(|atom| (hold(name, output.dtype, ty), atom.clone()))
        };
        let [pack, convert] = [
            epilogue.and_then(|epilogue| epilogue.pack.as_ref()),
            epilogue.and_then(|epilogue| epilogue.convert.as_ref()),
        ];
        Ok(Product {
            factors,
            acc,
            packed: results(&output.name, pack, RegType::B32),
            single: results(&format!("{}_edge", output.name), convert, RegType::B16),
        })
    }

    /// What passes through registers on its way into shared memory.
    fn passing(&mut self, role: Role) -> Result<TileId> {
        let name = format!("{}_stage", self.plan.named(role));
        match self.plan.moves(role, Hop::G2r) {
            true => Ok(self.loaded(&name, role, Hop::G2r, false)?.tile()),
            false => Ok(TileId(usize::MAX)),
        }
    }

    fn factor(
        &mut self,
        mma: &MmaPlan,
        role: Role,
        (letter, dtype): (&str, DType),
        tv: Part<2>,
        passing: TileId,
    ) -> Result<Factor> {
        let plan = self.plan;
        let missing = || bug(plan, &format!("no factor {role:?}"));
        let operand = plan.operand_as(role).ok_or_else(missing)?;
        let ty = register(&mma.atom, letter).ok_or_else(missing)?;
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
        let raw = format!("{}_raw", operand.name);
        let stored = (mma.widen.as_ref()).map(|_| hold(&raw, operand.dtype, RegType::B16));
        let fragment = hold(&operand.name, dtype, ty);
        Ok(Factor {
            role,
            passing,
            loaded: stored.unwrap_or(fragment),
            fragment,
            widen: mma.widen.clone(),
        })
    }
}

impl Product {
    /// Sets the accumulators to zero.
    pub fn clear(&self) -> Op {
        Op::Map {
            to: View::Rmem(self.acc, 0),
            from: None,
            by: None,
            share: WHOLE,
        }
    }

    /// Widens the fragments of a buffer to the MMA's types, where they are stored narrower.
    pub fn widen(&self, buffer: u32) -> impl Iterator<Item = Op> + '_ {
        let widens = |factor: &Factor| factor.widen.is_some();
        let factors = self.factors.iter().filter(move |factor| widens(factor));
        factors.map(move |factor| Op::Map {
            to: View::Rmem(factor.fragment, buffer),
            from: Some(View::Rmem(factor.loaded, buffer)),
            by: factor.widen.clone(),
            share: WHOLE,
        })
    }

    /// Multiplies the fragments of a buffer, or a share of the atoms.
    pub fn multiply(&self, buffer: u32, share: Share) -> Op {
        let fragment = |factor: Option<&Factor>| {
            let tile = factor.map_or(TileId(usize::MAX), |factor| factor.fragment);
            View::Rmem(tile, buffer)
        };
        Op::Mma {
            acc: self.acc,
            a: fragment(self.factors.first()),
            b: fragment(self.factors.get(1)),
            start: Start::Held,
            share,
        }
    }

    /// The output's elements in registers, and the cast that puts a share of them there: two to a
    /// register for whole vectors, each in one of its own otherwise.
    pub fn result(&self, whole: bool, share: Share) -> (Option<Op>, View) {
        let packed = self.packed.as_ref().filter(|_| whole);
        let Some((tile, by)) = packed.or(self.single.as_ref()) else {
            return (None, View::Rmem(self.acc, 0));
        };
        let share = if packed.is_some() { share } else { WHOLE };
        let to = View::Rmem(*tile, 0);
        let cast = Op::Map {
            to,
            from: Some(View::Rmem(self.acc, 0)),
            by: Some(by.clone()),
            share,
        };
        (Some(cast), to)
    }
}

/// Type of the registers that an atom writes.
fn written(atom: &Atom) -> Option<RegType> {
    atom.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::RegsOut { ty, .. } => Some(ty),
        _ => None,
    })
}

/// Type of the registers of an atom's operand.
fn register(atom: &Atom, name: &str) -> Option<RegType> {
    let operand = atom.operands.iter().find(|operand| operand.name == name)?;
    match operand.kind {
        OperandKind::RegsIn { ty, .. }
        | OperandKind::RegsOut { ty, .. }
        | OperandKind::RegsInOut { ty, .. } => Some(ty),
        _ => None,
    }
}

fn bug(plan: &Plan, message: &str) -> Error {
    Error::Bug {
        stage: "tile",
        kernel: plan.id.clone(),
        message: message.to_string(),
        dump: plan.to_string(),
    }
}
