//! What tiles hold, and what operations do to it.

mod moves;
mod registers;
mod combined;
mod flow;
mod looked;
mod over;

use std::collections::{BTreeMap, HashMap};

use super::super::pipeline::{Machine, Step};
use super::grid::Grid;
use super::output::Output;
use super::problem::Problem;
use super::regions::Regions;
use super::work::Portion;
use crate::ir::tile::{Full, Kernel, Op, PipeId, Place, Slice, Start, Sync, Tile, TileId, View};
use crate::plan::data::model::Plan;

/// Who has a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    /// All threads of a CTA.
    Cta(usize),
    /// A member of a team alone.
    Member(usize),
}

/// A mode by its number: among those of the tile, or among the outer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Tile(usize),
    Outer(usize),
}

/// A buffer of somebody's tile.
type Key = (Owner, TileId, u32);

/// What a member of a team knows of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    cta: usize,
    /// Which part of a tile its threads have.
    part: u32,
    /// Tiles along k that it has stepped on by [`Op::NextTile`].
    stepped: i64,
    /// Whose partial sums it adds.
    giver: usize,
}

/// Partial sums in scratch memory, and whether their flag is raised.
type Partial = (Grid, bool);

/// What tiles hold.
pub(super) struct Memory<'k, 'r> {
    plan: &'k Plan,
    kernel: &'k Kernel,
    problem: Problem,
    portions: Vec<Vec<Portion>>,
    members: Vec<Member>,
    regions: &'r mut Regions<'k>,
    held: HashMap<Key, Grid>,
    /// Shares that have been combined with an output and wait for the others, by what threads fold
    /// them in.
    combining: HashMap<Key, u32>,
    /// What is folded so far, and the share that comes next, by what it is folded into.
    folding: HashMap<Key, (Slice, Vec<f64>)>,
    /// What is to be added up, by member and how it is combined: whether threads still hold it, the
    /// work tile, and what they fold it in.
    adding: BTreeMap<(usize, usize), (bool, usize, TileId)>,
    /// By CTA and part of a tile.
    scratch: BTreeMap<(usize, u32), Partial>,
}

/// Members of teams, told by CTA and number.
pub(super) fn members(plan: &Plan, places: impl Iterator<Item = (usize, u32)>) -> Vec<Member> {
    let of_a_tile = (plan.roles.as_ref()).map_or(1, |roles| roles.consumers_of_a_tile());
    let member = |(cta, number): (usize, u32)| Member {
        cta,
        part: number % of_a_tile.max(1),
        stepped: 0,
        giver: cta,
    };
    places.map(member).collect()
}

impl<'k, 'r> Memory<'k, 'r> {
    /// The memory of members that make those work tiles of their CTAs.
    pub fn new(
        plan: &'k Plan,
        kernel: &'k Kernel,
        problem: Problem,
        regions: &'r mut Regions<'k>,
        (members, portions): (Vec<Member>, Vec<Vec<Portion>>),
    ) -> Memory<'k, 'r> {
        Memory {
            plan,
            kernel,
            problem,
            portions,
            members,
            regions,
            held: HashMap::new(),
            combining: HashMap::new(),
            folding: HashMap::new(),
            adding: BTreeMap::new(),
            scratch: BTreeMap::new(),
        }
    }

    /// The CTA whose partial sums a member adds next, where they are not there.
    pub fn missing(&self, at: usize) -> Option<usize> {
        let Member { giver, part, .. } = self.members[at];
        let partial = self.scratch.get(&(giver, part));
        let raised = partial.is_some_and(|(_, raised)| *raised);
        (!raised).then_some(giver)
    }

    /// What is not as it should be when all have come to their end.
    pub fn at_end(&self) -> Result<(), String> {
        if let Some(((cta, _), _)) = self.scratch.iter().find(|(_, (_, raised))| *raised) {
            return Err(format!("the flag of CTA {cta} is still raised at the end"));
        }
        if let Some(((_, tile, _), _)) = self.combining.iter().next() {
            let name = &self.tile(*tile)?.name;
            return Err(format!("{name} is not handed on at the end"));
        }
        if let Some((_, (_, _, held))) = self.adding.iter().next() {
            let name = &self.tile(*held)?.name;
            return Err(format!("{name} is not added up at the end"));
        }
        if let Some(((_, tile, _), _)) = self.folding.iter().next() {
            let name = &self.tile(*tile)?.name;
            return Err(format!("{name} is not folded to its end"));
        }
        let mut outputs = self.problem.outputs.iter();
        outputs.try_for_each(Output::at_end)
    }

    /// What a step that the machine has taken does to data.
    pub fn step(&mut self, machine: &Machine<'k>, at: usize, step: Step<'k>) -> Result<(), String> {
        let op = match step {
            Step::Op(op) => op,
            Step::Tile(_) => {
                self.members[at].stepped = 0;
                return Ok(());
            }
            Step::Giver(cta) => {
                self.members[at].giver = cta;
                return Ok(());
            }
            Step::Trip(_) => return Ok(()),
        };
        match op {
            Op::Copy {
                from,
                to,
                by,
                bounds,
                share,
            } => self.copy(machine, at, [*from, *to], (*by, *bounds, *share)),
            Op::Map {
                to,
                from,
                element,
                share,
            } => self.map(machine, at, (from, *to), (element, *share)),
            Op::Fold {
                to,
                from,
                by,
                bounds,
                share,
            } => self.fold(machine, at, [*from, *to], (*by, *bounds, *share)),
            Op::Accumulate {
                to,
                from,
                by,
                bounds,
            } => self.accumulate(machine, at, [*from, *to], (*by, *bounds)),
            Op::Combine {
                to,
                from,
                held,
                by,
                how,
                bounds,
                share,
            } => {
                let views = (*to, [*from, *held]);
                self.combine(machine, at, views, (*by, *how), (*bounds, *share))
            }
            Op::AddUp(sums) => self.add_up(machine, at, sums),
            Op::Mma {
                acc,
                a,
                b,
                start,
                share,
            } => {
                let first = machine.agents[at].trip == Some(0);
                let anew = match start {
                    Start::Held => false,
                    Start::FirstTrip => first,
                    Start::EveryTrip => true,
                };
                self.multiply(machine, at, (acc, [*a, *b]), (anew, *share))
            }
            Op::StorePartial(acc, pipe) => self.store_partial(at, *acc, *pipe),
            Op::AddPartial(acc, pipe) => self.add_partial(at, *acc, *pipe),
            Op::Sync(Sync::Commit(pipe)) if self.is_flag(*pipe) => self.turn_flag(at, true),
            Op::Sync(Sync::Release(pipe, _)) if self.is_flag(*pipe) => self.turn_flag(at, false),
            Op::NextTile => {
                self.members[at].stepped += 1;
                Ok(())
            }
            // What is waited for, and when registers are computed, moves no data.
            Op::Sync(_) | Op::Section | Op::InitPipes => Ok(()),
            // The machine unrolls these.
            Op::ForEachWorkTile(_)
            | Op::ForEachKTile(_)
            | Op::ForEachChunk(..)
            | Op::ForEachPartial(_)
            | Op::IfInside(..)
            | Op::IfVectors(..)
            | Op::IfBoxesEnd(..)
            | Op::IfContinues(..)
            | Op::Teams(_) => Ok(()),
        }
    }

    fn is_flag(&self, pipe: PipeId) -> bool {
        let pipe = self.kernel.pipe(pipe);
        pipe.is_some_and(|pipe| pipe.full == Full::Flag)
    }

    fn tile(&self, id: TileId) -> Result<&'k Tile, String> {
        let tile = self.kernel.tiles.get(id.0);
        tile.ok_or_else(|| format!("there is no tile {}", id.0))
    }

    /// A tile's extents.
    fn extents(&self, id: TileId) -> Result<[usize; 2], String> {
        let tile = self.tile(id)?;
        match tile.modes.as_slice() {
            [(_, rows), (_, columns)] => Ok([*rows as usize, *columns as usize]),
            modes => Err(format!("{} has {} modes", tile.name, modes.len())),
        }
    }

    /// Takes a buffer out, to be put back; one that nothing was written to is poison.
    fn take(&mut self, key: Key, extents: [usize; 2]) -> Grid {
        let held = self.held.remove(&key);
        held.unwrap_or_else(|| Grid::poison(extents))
    }

    fn in_registers(&self, at: usize, view: View) -> Result<Key, String> {
        let View::Rmem(id, buffer) = view else {
            return Err("takes for registers what are none".into());
        };
        let tile = self.tile(id)?;
        match &tile.place {
            Place::Rmem(held) if buffer < held.buffers => Ok((Owner::Member(at), id, buffer)),
            Place::Rmem(held) => Err(format!(
                "takes buffer {buffer} of {}, which has {}",
                tile.name, held.buffers
            )),
            Place::Gmem(..) | Place::Smem(_) => Err(format!("{} is not in registers", tile.name)),
        }
    }
}
