//! What tiles hold, and what operations do to it.

mod moves;

use std::collections::{BTreeMap, HashMap};

use super::super::pipeline::{Machine, Step};
use super::grid::Grid;
use super::problem::Problem;
use super::regions::Regions;
use super::work::Portion;
use crate::ir::tile::{Full, Kernel, Op, PipeId, Place, Share, Start, Sync, TileId, View, WHOLE};
use crate::plan::model::Plan;

/// Who has a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    /// All threads of a CTA.
    Cta(usize),
    /// A member of a team alone.
    Member(usize),
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
            scratch: BTreeMap::new(),
        }
    }

    /// Whether the partial sums are there that a member adds next.
    pub fn is_raised(&self, at: usize) -> bool {
        let Member { giver, part, .. } = self.members[at];
        let partial = self.scratch.get(&(giver, part));
        partial.is_some_and(|(_, raised)| *raised)
    }

    /// What is not as it should be when all have come to their end.
    pub fn at_end(&self) -> Result<(), String> {
        if let Some(((cta, _), _)) = self.scratch.iter().find(|(_, (_, raised))| *raised) {
            return Err(format!("the flag of CTA {cta} is still raised at the end"));
        }
        self.problem.output.at_end()
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
                by: _,
                share,
            } => self.map(at, *to, *from, *share),
            Op::Mma {
                acc,
                a,
                b,
                start,
                share,
            } => {
                let first = machine.agents[at].trip == Some(0);
                let anew = *start == Start::FirstTrip && first;
                self.mma(machine, at, *acc, [*a, *b], (anew, *share))
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
            | Op::ForEachPartial(_)
            | Op::IfInside(..)
            | Op::IfBoxesEnd(..)
            | Op::IfContinues(..)
            | Op::Teams(_) => Ok(()),
        }
    }

    fn is_flag(&self, pipe: PipeId) -> bool {
        let pipe = self.kernel.pipe(pipe);
        pipe.is_some_and(|pipe| pipe.full == Full::Flag)
    }

    /// A tile's extents.
    fn extents(&self, id: TileId) -> Result<[usize; 2], String> {
        let tile = self.kernel.tiles.get(id.0);
        let tile = tile.ok_or_else(|| format!("there is no tile {}", id.0))?;
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
        let View::Rmem(tile, buffer) = view else {
            return Err("a tile is not in registers".into());
        };
        let place = self.kernel.tiles.get(tile.0).map(|tile| &tile.place);
        match place {
            Some(Place::Rmem(held)) if buffer < held.buffers => {
                Ok((Owner::Member(at), tile, buffer))
            }
            Some(Place::Rmem(held)) => Err(format!(
                "there is no buffer {buffer} of {} in registers",
                held.buffers
            )),
            _ => Err("a tile is not in registers".into()),
        }
    }

    /// Zeros, or the elements of another tile, rounded to what the tile holds.
    fn map(&mut self, at: usize, to: View, from: Option<View>, share: Share) -> Result<(), String> {
        let into = self.in_registers(at, to)?;
        let part = self.members[at].part;
        let extents = self.extents(into.1)?;
        let Some(from) = from else {
            let runs = self.regions.of_registers(into.1, share, part)?;
            let mut grid = self.take(into, extents);
            for run in runs.iter() {
                let line = grid.line_mut(run.at, run.len);
                line.ok_or("zeros outside of their tile")?.fill(0.0);
            }
            self.held.insert(into, grid);
            return Ok(());
        };
        let source = self.in_registers(at, from)?;
        let tiles = [source.1, into.1].map(|id| self.kernel.tiles.get(id.0));
        let [Some(old), Some(new)] = tiles else {
            return Err("a cast of no tile".into());
        };
        if let (Place::Rmem(old), Place::Rmem(new)) = (&old.place, &new.place)
            && old.tv != new.tv
        {
            return Err("a cast between threads that hold other elements".into());
        }
        let dtype = super::problem::dtype(new.dtype)?;
        let runs = self.regions.of_registers(into.1, share, part)?;
        let source_grid = self.take(source, extents);
        let mut grid = self.take(into, extents);
        for run in runs.iter() {
            let (old, new) = (
                source_grid.line(run.at, run.len),
                grid.line_mut(run.at, run.len),
            );
            let (old, new) = old.zip(new).ok_or("a cast outside of its tile")?;
            for (old, new) in old.iter().zip(new) {
                *new = match old.is_nan() {
                    true => *old,
                    false => tilewright_formula::number::stored(dtype, *old),
                };
            }
        }
        self.held.insert(source, source_grid);
        self.held.insert(into, grid);
        Ok(())
    }

    /// Products of two tiles, added to the sums or in their place.
    fn mma(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        acc: TileId,
        factors: [View; 2],
        (anew, share): (bool, Share),
    ) -> Result<(), String> {
        let part = self.members[at].part;
        let runs = self.regions.of_products(acc, share, part)?;
        let [a, b] = factors.map(|view| self.key(machine, at, view));
        let (a, b) = (a?, b?);
        let shapes = [acc, a.1, b.1].map(|id| self.extents(id));
        let [of_acc, of_a, of_b] = shapes;
        let (of_acc, of_a, of_b) = (of_acc?, of_a?, of_b?);
        if [of_a[0], of_b[0]] != of_acc || of_a[1] != of_b[1] {
            return Err(format!(
                "products of {of_a:?} and {of_b:?} are not {of_acc:?}"
            ));
        }
        let a_grid = self.take(a, of_a);
        let b_grid = self.take(b, of_b);
        let key = (Owner::Member(at), acc, 0);
        let mut sums = self.take(key, of_acc);
        let mut result = Some(());
        for same in runs.chunk_by(|one, next| one.at[1] == next.at[1] && one.len == next.len) {
            let rows: Vec<usize> = same.iter().map(|run| run.at[0] as usize).collect();
            let first = same.first().map_or(0, |run| run.at[1] as usize);
            let columns = first..first + same.first().map_or(0, |run| run.len);
            let done = sums.multiply([&a_grid, &b_grid], &rows, columns, anew);
            result = result.and(done);
        }
        self.held.insert(a, a_grid);
        self.held.insert(b, b_grid);
        self.held.insert(key, sums);
        result.ok_or_else(|| "products outside of their tiles".into())
    }

    /// Hands a member's sums on.
    fn store_partial(&mut self, at: usize, acc: TileId, pipe: PipeId) -> Result<(), String> {
        let extents = self.extents(acc)?;
        let Member { cta, part, .. } = self.members[at];
        if !self.is_flag(pipe) || self.scratch.get(&(cta, part)).is_some_and(|(_, up)| *up) {
            return Err("writes partial sums where others may still read".into());
        }
        let key = (Owner::Member(at), acc, 0);
        let sums = self.take(key, extents);
        self.scratch.insert((cta, part), (sums.clone(), false));
        self.held.insert(key, sums);
        Ok(())
    }

    /// Adds the sums of the CTA that the member is at.
    fn add_partial(&mut self, at: usize, acc: TileId, pipe: PipeId) -> Result<(), String> {
        let extents = self.extents(acc)?;
        let Member { giver, part, .. } = self.members[at];
        let runs = self.regions.of_registers(acc, WHOLE, part)?;
        let key = (Owner::Member(at), acc, 0);
        let mut sums = self.take(key, extents);
        let partial = self
            .scratch
            .get(&(giver, part))
            .filter(|_| self.is_flag(pipe));
        let (partial, _) = partial.ok_or("adds partial sums of nobody")?;
        for run in runs.iter() {
            let (new, old) = (
                partial.line(run.at, run.len),
                sums.line_mut(run.at, run.len),
            );
            let (new, old) = new.zip(old).ok_or("partial sums of another tile")?;
            for (old, new) in old.iter_mut().zip(new) {
                *old += new;
            }
        }
        self.held.insert(key, sums);
        Ok(())
    }

    /// Raises the member's own flag, or clears that of who gave.
    fn turn_flag(&mut self, at: usize, up: bool) -> Result<(), String> {
        let Member {
            cta, giver, part, ..
        } = self.members[at];
        let whose = if up { cta } else { giver };
        let partial = self.scratch.get_mut(&(whose, part));
        let (_, raised) = partial.ok_or("turns a flag of no partial sums")?;
        *raised = up;
        Ok(())
    }
}
