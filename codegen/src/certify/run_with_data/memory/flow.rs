//! Maps and folds of tiles in registers, element by element.

use tilewright_formula::functions::Meaning;
use tilewright_formula::interpret::{Leaves, plain};
use tilewright_formula::number::{Kind, stored, wrapped};
use tilewright_formula::{Expr, ExprKind};

use super::super::super::pipeline::Machine;
use super::super::grid::{Grid, POISON, is_poison};
use super::registers::OUTSIDE;
use super::{Key, Memory, Mode};
use crate::dtype::DType;
use crate::element::Element;
use crate::ir::tile::{Bounds, FoldId, Held, Place, Slice, TileId, View, WHOLE};
use crate::plan::data::folds::FoldPlan;
use crate::plan::work_tiles::SUMMED;

/// What the leaves of a value are that are no elements of tiles.
struct Ground {
    scalars: Vec<f64>,
    sizes: Vec<i64>,
    /// The first coordinate of the tile, by mode of the formula, and which coordinate of the tile
    /// runs along it.
    starts: Vec<(i64, Option<usize>)>,
}

/// A fold of a tile's elements into another's.
struct Folding<'k> {
    fold: &'k FoldPlan,
    combine: fn(f64, f64) -> f64,
    /// What is folded, and into what.
    tiles: [Key; 2],
    extents: [[usize; 2]; 2],
}

impl<'k> Memory<'k, '_> {
    /// The value of every element, of the same elements of other tiles.
    pub(super) fn map(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        (from, to): (&[View], View),
        (element, share): (&Element, Slice),
    ) -> Result<(), String> {
        let to = self.in_registers(at, to)?;
        let from = from.iter().map(|view| self.in_registers(at, *view));
        let from = from.collect::<Result<Vec<Key>, _>>()?;
        self.alike(&from, to.1, element)?;
        let runs = (self.regions).of_registers(to.1, share, self.members[at].part)?;
        let taken: Vec<Key> = from.iter().fold(Vec::new(), |mut keys, key| {
            if !keys.contains(key) {
                keys.push(*key);
            }
            keys
        });
        let mut sources = Vec::new();
        for key in &taken {
            sources.push(self.take(*key, self.extents(key.1)?));
        }
        // What a share leaves of a tile that is read as well is what it was.
        let own = taken.iter().position(|key| *key == to);
        let mut target = match own.and_then(|at| sources.get(at)) {
            Some(own) => Grid::clone(own),
            None => self.take(to, self.extents(to.1)?),
        };
        let ground = self.ground(machine, at, &element.value)?;
        let round = rounding(element.output.dtype);
        let place = |key: &Key| taken.iter().position(|one| one == key).unwrap_or(0);
        let places: Vec<usize> = from.iter().map(place).collect();
        let mut parameters = vec![POISON; from.len()];
        let mut coordinates = vec![0; ground.starts.len()];
        for run in runs.iter() {
            let new = target.line_mut(run.at, run.len).ok_or(OUTSIDE)?;
            for (column, new) in (run.at[1]..).zip(new) {
                let here = [run.at[0], column];
                for (parameter, source) in parameters.iter_mut().zip(&places) {
                    *parameter = repeated(&sources[*source], here).ok_or(OUTSIDE)?;
                }
                // What nothing was written to gives nothing that could be stored.
                if parameters.iter().copied().any(is_poison) {
                    *new = POISON;
                    continue;
                }
                for (coordinate, (start, along)) in coordinates.iter_mut().zip(&ground.starts) {
                    *coordinate = start + along.map_or(0, |along| here[along]);
                }
                let leaves = Leaves {
                    parameters: &parameters,
                    scalars: &ground.scalars,
                    coordinates: &coordinates,
                    sizes: &ground.sizes,
                };
                *new = round(plain(&element.value, &leaves));
            }
        }
        self.held.extend(taken.into_iter().zip(sources));
        self.held.insert(to, target);
        Ok(())
    }

    /// Whether inputs are of the types that the value is of, and threads have of them what they
    /// have of the result.
    fn alike(&self, from: &[Key], to: TileId, element: &Element) -> Result<(), String> {
        let types = from.iter().map(|key| Ok(self.tile(key.1)?.dtype));
        let types = types.collect::<Result<Vec<DType>, String>>()?;
        let wanted: Vec<DType> = element.inputs.iter().map(|one| one.dtype).collect();
        let result = self.tile(to)?.dtype;
        if types != wanted || result != element.output.dtype {
            return Err(format!(
                "computes {result} of {types:?} by what makes {} of {wanted:?}",
                element.output.dtype
            ));
        }
        // A cast of an element is what its atom does; other code is compared with its value where
        // it is made.
        let facts = match (element.code.calls.as_slice(), &element.value.kind) {
            ([call], ExprKind::Parameter(0)) => call.atom.convert,
            _ => None,
        };
        // Words of tf32 are numbers of f32.
        let read = types.iter().map(|dtype| match dtype {
            DType::TF32 => DType::F32,
            other => *other,
        });
        let read: Vec<DType> = read.collect();
        if facts.is_some_and(|facts| read != [facts.from] || result != facts.to) {
            return Err(format!(
                "casts {types:?} to {result} by what does something else"
            ));
        }
        let new = self.registers(to)?;
        let threads = i64::from(self.plan.threads);
        for key in from {
            let old = self.registers(key.1)?;
            let keeps = self.extents(key.1)?.map(|extent| extent > 1);
            let whole = self.extents(to)?;
            let keeps = [0, 1].map(|at| keeps[at] || whole[at] == 1);
            let own = new.tv.kept(keeps);
            let owns = |thread: i64| old.tv.base(thread) == own.base(thread);
            let extents = self.extents(key.1)?.map(|extent| (extent as i64).max(1));
            let holds = own.values.iter().all(|value| {
                let own = [0, 1].map(|at| value[at] % extents[at]);
                old.tv.values.contains(&own)
            });
            if !holds || !(0..threads).all(owns) {
                let name = &self.tile(key.1)?.name;
                return Err(format!("computes of {name} what other threads hold"));
            }
        }
        Ok(())
    }

    pub(super) fn registers(&self, id: TileId) -> Result<&'k Held, String> {
        let tile = self.tile(id)?;
        match &tile.place {
            Place::Rmem(held) => Ok(held),
            Place::Gmem(..) | Place::Smem(_) => Err(format!("{} is not in registers", tile.name)),
        }
    }

    fn ground(&self, machine: &Machine<'k>, at: usize, value: &Expr) -> Result<Ground, String> {
        let formula = &self.plan.computes.formula;
        let mut named = 0u64;
        value.visit(&mut |one| {
            if let ExprKind::Coordinate(mode) = one.kind {
                named |= 1 << mode;
            }
        });
        let size = |name: &str| self.problem.extent(name).unwrap_or(1);
        let mut starts = Vec::new();
        for (at_mode, mode) in formula.modes.iter().enumerate().filter(|_| named != 0) {
            let is_named = named >> at_mode & 1 == 1;
            let along = (self.plan.dim(&mode.name)).filter(|at| is_named && *at < SUMMED);
            let at_one = self.kernel.work.at_one();
            let outer = at_one.iter().position(|name| *name == mode.name);
            let outer = outer.filter(|_| is_named);
            let start = match along.map(Mode::Tile).or(outer.map(Mode::Outer)) {
                Some(mode) => self.first(machine, at, mode)?,
                None => 0,
            };
            starts.push((start, along));
        }
        Ok(Ground {
            scalars: self.problem.scalars.clone(),
            sizes: formula.modes.iter().map(|mode| size(&mode.name)).collect(),
            starts,
        })
    }

    /// How many of so many elements along a mode take part in a fold, from a tile's first on.
    pub(super) fn taken(
        &self,
        machine: &Machine<'k>,
        at: usize,
        (over, whole): (usize, i64),
        bounds: Bounds,
    ) -> Result<i64, String> {
        let start = self.first(machine, at, Mode::Tile(over))?;
        let mode = self.plan.mode(over).unwrap_or_default();
        let extent = self.problem.extent(mode).unwrap_or(1);
        let inside = (extent - start).clamp(0, whole);
        match bounds {
            Bounds::Inside if inside < whole => Err(format!(
                "folds {whole} elements, of which {inside} are there"
            )),
            Bounds::Inside | Bounds::Vectors | Bounds::Checked => Ok(inside),
        }
    }

    /// The fold of that number, between tiles of a member.
    fn folding(
        &self,
        at: usize,
        views: [View; 2],
        FoldId(number): FoldId,
    ) -> Result<Folding<'k>, String> {
        let flow = self.plan.flow.as_ref();
        let fold = flow.and_then(|flow| flow.folds.get(number));
        let fold = fold.ok_or_else(|| format!("there is no fold {number}"))?;
        let Meaning::Two(combine) = fold.how.op().row().meaning else {
            return Err("folds by what combines no two values".into());
        };
        let [from, to] = views.map(|view| self.in_registers(at, view));
        let tiles = [from?, to?];
        let [from, to] = tiles.map(|key| self.extents(key.1));
        Ok(Folding {
            fold,
            combine,
            tiles,
            extents: [from?, to?],
        })
    }

    /// Combines every element of a tile with what is folded so far of those at its place.
    pub(super) fn accumulate(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        views: [View; 2],
        (number, bounds): (FoldId, Bounds),
    ) -> Result<(), String> {
        let Folding {
            fold,
            combine,
            tiles: [from, to],
            extents,
        } = self.folding(at, views, number)?;
        let [whole, few] = extents.map(|extents| extents[fold.over]);
        let other = 1 - fold.over;
        let fits = few != 0 && whole.is_multiple_of(few);
        if !fits || extents[0][other] != extents[1][other] {
            return Err(format!("folds {:?} into {:?}", extents[0], extents[1]));
        }
        let [whole, few] = [whole, few].map(|extent| extent as i64);
        let taken = self.taken(machine, at, (fold.over, whole), bounds)?;
        let (source, mut target) = (self.take(from, extents[0]), self.take(to, extents[1]));
        let part = self.members[at].part;
        for run in self.regions.of_registers(from.1, WHOLE, part)?.iter() {
            for step in 0..run.len as i64 {
                let here = [run.at[0], run.at[1] + step];
                if here[fold.over] >= taken {
                    continue;
                }
                let mut place = here;
                place[fold.over] %= few;
                let next = source.element(here).ok_or(OUTSIDE)?;
                let so_far = target.element_mut(place).ok_or(OUTSIDE)?;
                *so_far = match is_poison(*so_far) || is_poison(next) {
                    true => POISON,
                    false => held(fold.how.dtype, combine(*so_far, next)),
                };
            }
        }
        self.held.insert(from, source);
        self.held.insert(to, target);
        Ok(())
    }

    /// Whether the threads whose values come together have all of a row of a tile.
    fn meet(&self, fold: &FoldPlan, tile: TileId) -> Result<(), String> {
        let (tv, over) = (&self.registers(tile)?.tv, fold.over);
        let extent = self.extents(tile)?[over];
        let apart = fold.spread.apart;
        let together = apart * (fold.spread.count - 1);
        let threads = i64::from(self.plan.threads);
        for first in (0..threads).filter(|thread| thread & together == 0) {
            let row = tv.base(first)[1 - over];
            let mut has = vec![false; extent];
            for number in 0..fold.spread.count {
                let base = tv.base(first + number * apart);
                let places = tv.values.iter().map(|value| base[over] + value[over]);
                for place in places.filter(|_| base[1 - over] == row) {
                    *has.get_mut(place as usize).ok_or(OUTSIDE)? = true;
                }
            }
            if let Some(missing) = has.iter().position(|has| !has) {
                let name = &self.tile(tile)?.name;
                return Err(format!(
                    "folds {name} without element {missing} of the row of thread {first}"
                ));
            }
        }
        Ok(())
    }

    /// Folds a share of a tile, all of whose rows a member has. What is folded so far is there with
    /// the last share.
    pub(super) fn fold(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        views: [View; 2],
        (number, bounds, share): (FoldId, Bounds, Slice),
    ) -> Result<(), String> {
        let Folding {
            fold,
            combine,
            tiles: [from, to],
            extents,
        } = self.folding(at, views, number)?;
        let mut folded = extents[0];
        folded[fold.over] = 1;
        if extents[1] != folded {
            return Err(format!("folds {:?} to {:?}", extents[0], extents[1]));
        }
        if share.0 == 0 {
            self.meet(fold, from.1)?;
        }
        let whole = extents[0][fold.over] as i64;
        // Of what comes from all chunks, every element is there.
        let taken = match self.plan.work.chunked() == Some(fold.over) {
            true => whole,
            false => self.taken(machine, at, (fold.over, whole), bounds)?,
        };
        let mut so_far = match self.folding.remove(&to) {
            None if share.0 == 0 => vec![fold.how.identity(); folded[0] * folded[1]],
            Some((next, so_far)) if next == share => so_far,
            found => {
                let next = found.map_or(Slice(0, share.1), |(next, _)| next);
                return Err(format!("folds {share:?} in the place of {next:?}"));
            }
        };
        let place = |mut here: [i64; 2]| {
            here[fold.over] = 0;
            here[0] as usize * folded[1] + here[1] as usize
        };
        let part = self.members[at].part;
        let source = self.take(from, extents[0]);
        for run in self.regions.of_registers(from.1, share, part)?.iter() {
            for step in 0..run.len as i64 {
                let here = [run.at[0], run.at[1] + step];
                if here[fold.over] >= taken {
                    continue;
                }
                let next = source.element(here).ok_or(OUTSIDE)?;
                let so_far = so_far.get_mut(place(here)).ok_or(OUTSIDE)?;
                *so_far = match is_poison(*so_far) || is_poison(next) {
                    true => POISON,
                    false => combine(*so_far, next),
                };
            }
        }
        self.held.insert(from, source);
        let mut target = self.take(to, extents[1]);
        let is_done = share.0 + 1 == share.1;
        for run in self.regions.of_registers(to.1, WHOLE, part)?.iter() {
            for step in 0..run.len as i64 {
                let here = [run.at[0], run.at[1] + step];
                let value = so_far.get(place(here)).copied().unwrap_or(POISON);
                *target.element_mut(here).ok_or(OUTSIDE)? = match is_poison(value) || !is_done {
                    true => POISON,
                    false => held(fold.how.dtype, value),
                };
            }
        }
        self.held.insert(to, target);
        if !is_done {
            self.folding
                .insert(to, (Slice(share.0 + 1, share.1), so_far));
        }
        Ok(())
    }
}

/// The element there, which repeats along what a tile has fewer elements of.
pub(super) fn repeated(grid: &Grid, at: [i64; 2]) -> Option<f64> {
    let at = [0, 1].map(|axis| match grid.extents[axis] as i64 {
        extent if at[axis] < extent => at[axis],
        extent => at[axis] % extent.max(1),
    });
    grid.element(at)
}

/// What is held of folded values: those of integers wrap around, as sums in registers do.
fn held(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::S32 => wrapped(value as i64) as f64,
        other => stored(other, value),
    }
}

/// What a type holds of a value; of poison, poison, where casts to integers make a number of NaN.
/// Most values are small integers, which are as they are.
fn rounding(to: DType) -> impl Fn(f64) -> f64 {
    let exact = to.fraction_bits().map_or(0, |bits| 2u64 << bits.min(32));
    // Of these not even 0 is as it is.
    let is_scale = Kind::of(to) == Kind::Scale;
    move |value: f64| {
        let whole = value as i64;
        let is_exact = whole.unsigned_abs() <= exact && whole as f64 == value && !is_scale;
        match is_exact || is_poison(value) {
            true => value,
            false => stored(to, value),
        }
    }
}
