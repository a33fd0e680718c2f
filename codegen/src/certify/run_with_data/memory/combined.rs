//! Values that are combined with what an output holds: each once, those that are there.

use std::collections::HashSet;

use tilewright_formula::Source;
use tilewright_formula::number::stored;

use super::super::super::pipeline::Machine;
use super::super::grid::is_poison;
use super::registers::OUTSIDE;
use super::{Key, Memory, Mode};
use crate::arch::WARP;
use crate::dtype::DType;
use crate::error::Error;
use crate::ir::tile::{AddUp, Bounds, CombineId, CopyId, Place, Slice, TileId, View};
use crate::plan::copies::partition::{self, Partition};
use crate::plan::data::combining::{Combining, Have, InOrder, fold_of, in_any_order};
use crate::plan::data::moves::Step;
use crate::spec::keys::model::OperandId;

impl<'k> Memory<'k, '_> {
    /// Combines a share of a tile with what an output holds.
    pub(super) fn combine(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        (to, [from, held]): (View, [View; 2]),
        (by, how): (CopyId, CombineId),
        (bounds, share): (Bounds, Slice),
    ) -> Result<(), String> {
        let dtype = self.fits(at, (to, [from, held]), (by, how))?;
        let key = self.in_registers(at, from)?;
        let held = self.in_registers(at, held)?;
        let begun = self.combining.get(&held).copied().unwrap_or(0);
        if begun != share.0 {
            return Err(format!("combines share {} behind {begun} of them", share.0));
        }
        match share.0 + 1 == share.1 {
            true => self.combining.remove(&held),
            false => self.combining.insert(held, share.0 + 1),
        };
        let extents = self.extents(key.1)?;
        let mut start = [0; 2];
        let mut taken = [0; 2];
        for mode in 0..2 {
            let whole = extents[mode] as i64;
            taken[mode] = whole;
            if mode < self.plan.modes().len() {
                start[mode] = self.first(machine, at, Mode::Tile(mode))?;
            }
            if mode < self.plan.modes().len() && whole > 1 {
                taken[mode] = self.taken(machine, at, (mode, whole), bounds)?;
            }
        }
        let Place::Gmem(operand, _) = self.tile(to.tile())?.place else {
            return Err("combines with what is in no output".into());
        };
        let portions = self.portions.get(self.members[at].cta);
        let portion = portions.and_then(|portions| portions.get(machine.agents[at].tile));
        let outer = &portion.ok_or("no work tile has begun")?.outer;
        let slice = self.problem.slice(operand, outer);
        let has = self.problem.output(slice)?.axes.map(|axis| axis.is_some());
        let grid = self.take(key, extents);
        let part = self.members[at].part;
        for run in self.regions.of_registers(key.1, share, part)?.iter() {
            for step in 0..run.len as i64 {
                let here = [run.at[0], run.at[1] + step];
                if here[0] >= taken[0] || here[1] >= taken[1] {
                    continue;
                }
                let value = grid.element(here).ok_or(OUTSIDE)?;
                let value = if is_poison(value) {
                    value
                } else {
                    stored(dtype, value)
                };
                let place = [0, 1].map(|axis| {
                    if has[axis] {
                        start[axis] + here[axis]
                    } else {
                        0
                    }
                });
                self.problem.output(slice)?.store(place, value)?;
            }
        }
        self.held.insert(key, grid);
        match share.0 + 1 == share.1 {
            true => self.note_sum(machine, at, (to, held), how),
            false => Ok(()),
        }
    }

    /// Notes that what threads have folded is to be added up, where its order counts.
    fn note_sum(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        (to, held): (View, Key),
        CombineId(number): CombineId,
    ) -> Result<(), String> {
        let combining = self.plan.combinings().nth(number);
        let Some(sums) = combining.and_then(|combining| combining.in_order.as_ref()) else {
            return Ok(());
        };
        let passed = sums.passed.is_some();
        if passed && !self.held.contains_key(&held) {
            let name = &self.tile(held.1)?.name;
            return Err(format!("goes on with {name}, which holds nothing yet"));
        }
        let due = (passed, machine.agents[at].tile, held.1);
        let before = self.adding.insert((at, number), due);
        match before.is_some_and(|before| before != due || !passed) {
            true => {
                let name = &self.plan.operand(output(self, to)?).name;
                Err(format!("combines {name} before it has added up"))
            }
            false => Ok(()),
        }
    }

    /// Adds up what was combined of a work tile since the last time.
    pub(super) fn add_up(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        sums: &[AddUp],
    ) -> Result<(), String> {
        for sum in sums {
            let output = output(self, sum.to)?;
            let name = &self.plan.operand(output).name;
            let combining = self.plan.combinings().nth(sum.how.0);
            let CopyId::Tiled(copy) = sum.by else {
                return Err("adds up boxes".into());
            };
            let step = self.plan.steps.get(copy).map(|step| step.operand);
            if combining.is_none_or(|one| one.operand != output) || step != Some(output) {
                return Err(format!("adds up {name} as another output"));
            }
            let Some((is_held, tile, held)) = self.adding.remove(&(at, sum.how.0)) else {
                return Err(format!("adds up {name}, of which nothing is combined"));
            };
            let own = match sum.held {
                Some(view) => Some(self.in_registers(at, view)?),
                None => None,
            };
            if let Some(own) = &own {
                self.held.remove(own);
            }
            let own = own.map(|(_, tile, _)| tile);
            if tile != machine.agents[at].tile || own != is_held.then_some(held) {
                return Err(format!("adds up {name} where it was not combined"));
            }
        }
        Ok(())
    }

    /// Whether threads have of an output what the values lie at that they have, and combine them
    /// as the formula does.
    fn fits(
        &self,
        at: usize,
        (to, [from, held]): (View, [View; 2]),
        (by, CombineId(number)): (CopyId, CombineId),
    ) -> Result<DType, String> {
        let combining = self.plan.combinings().nth(number);
        let combining = combining.ok_or_else(|| format!("there is no way to combine {number}"))?;
        let CopyId::Tiled(copy) = by else {
            return Err("combines boxes".into());
        };
        let step = self.plan.steps.get(copy);
        let step = step.ok_or_else(|| format!("there is no tiled copy {copy}"))?;
        let facts = step.atom.copy.as_ref();
        let in_memory = facts.and_then(|facts| Some((facts.reduce?, facts.dtype?)));
        let written = output(self, to)?;
        let (output, [source, parts]) = (self.tile(to.tile())?, [from, held].map(View::tile));
        let types = [source, parts].map(|tile| self.tile(tile).map(|tile| tile.dtype));
        let [source_type, part_type] = [types[0].clone()?, types[1].clone()?];
        let dtype = combining.how.dtype;
        if [output.dtype, source_type, part_type] != [dtype; 3] || written != step.operand {
            return Err(format!(
                "combines {source_type} with {} of {}",
                output.name, output.dtype
            ));
        }
        let formula = &self.plan.computes.formula;
        let written = formula.writer(Source::Operand(written.0));
        let sign = written.map(|at| formula.statements[at].combine);
        let fold = sign.and_then(fold_of);
        let wanted = fold.and_then(|fold| Some((in_any_order(fold, dtype)?, dtype)));
        let in_order = combining.in_order.is_some();
        if fold != Some(combining.how.fold)
            || wanted != in_memory
            || in_order == in_memory.is_some()
        {
            return Err(format!(
                "combines with {} as the formula does not",
                output.name
            ));
        }
        self.in_registers(at, held)?;
        let has = self.extents(source)?.map(|extent| extent > 1);
        self.shared_out(step, combining, ([source, parts], has))?;
        Ok(dtype)
    }

    /// Whether threads have of an output what their values lie at, and each value counts once.
    fn shared_out(
        &self,
        step: &Step,
        combining: &Combining,
        ([source, parts], has): ([TileId; 2], [bool; 2]),
    ) -> Result<(), String> {
        let name = &self.plan.operand(step.operand).name;
        let (old, new) = (self.registers(source)?, self.registers(parts)?);
        let part = |partition: Result<Partition, Error>| match partition {
            Ok(partition) => Ok(partition.src),
            Err(error) => Err(error.to_string()),
        };
        let own = part(partition::of_step(step))?;
        let whole = part(partition::whole_of_step(step))?;
        let kept = old.tv.kept(step.keeps());
        let threads = 0..i64::from(self.plan.threads);
        let base = |thread: i64| [kept.base(thread), own.base(thread)];
        let same = |thread: i64| base(thread) == [new.tv.base(thread); 2];
        let holds = |value: &[i64; 2]| new.tv.values.contains(value) && own.values.contains(value);
        if !kept.values.iter().all(holds) || !threads.clone().all(same) {
            return Err(format!("combines with elements of {name} that others have"));
        }
        for (mode, (has, repeats)) in has.into_iter().zip(combining.repeats).enumerate() {
            let goes = threads.clone().any(|thread| whole.base(thread)[mode] != 0);
            if goes && has == repeats {
                return Err(format!("takes other values for {name} than one of each"));
            }
        }
        let keeps = step.keeps();
        let apart = whole.kept([0, 1].map(|mode| keeps[mode] || combining.repeats[mode]));
        let alike = |bit: i64| {
            let mut threads = threads.clone();
            threads.all(|thread| apart.base(thread) == apart.base(thread ^ bit))
        };
        if let Some(sums) = &combining.in_order {
            self.placed(step, combining, sums)?;
        }
        let bits = (0..).map(|bit| 1 << bit);
        let bits = bits.take_while(|bit| *bit < i64::from(WARP));
        let mut together = bits.filter(|bit| combining.lanes & bit != 0);
        match together.find(|bit| !alike(*bit)) {
            Some(bit) => Err(format!("lanes {bit} apart have other elements of {name}")),
            None => Ok(()),
        }
    }

    /// Whether each place of a tile in shared memory has one part, which one warp has, and all CTAs
    /// that share the tile are waited for.
    fn placed(&self, step: &Step, combining: &Combining, sums: &InOrder) -> Result<(), String> {
        let operand = self.plan.operand(step.operand);
        let name = &operand.name;
        let warp = i64::from(WARP);
        let threads = i64::from(self.plan.threads);
        let has = |mode: &String| operand.axes.iter().any(|axis| axis.mode == *mode);
        let outer: Vec<bool> = self.plan.work.outer().iter().map(has).collect();
        let folds = [0, 1].map(|mode| !step.keeps()[mode] && !combining.repeats[mode]);
        if sums.keeps != step.keeps() || sums.folds != folds || sums.outer != outer {
            return Err(format!(
                "adds up {name} along other modes than its values have"
            ));
        }
        let ctas = i64::from(self.plan.work.shared_by.max(1));
        if sums.ctas.count != ctas {
            let waits = sums.ctas.count;
            return Err(format!(
                "waits for {waits} CTAs of a tile of {name}, not {ctas}"
            ));
        }
        let passed = self.plan.work.chunked().filter(|over| folds[*over]);
        if sums.passed != passed {
            return Err(format!("adds up {name} over other chunks than there are"));
        }
        let part = |partition: Result<Partition, Error>| match partition {
            Ok(partition) => Ok(partition.src),
            Err(error) => Err(error.to_string()),
        };
        let own = part(partition::of_step(step))?;
        let whole = part(partition::whole_of_step(step))?;
        let each = threads / ctas;
        let mut places = HashSet::new();
        for thread in 0..threads {
            let first = whole.base(thread);
            let repeats = (0..2).any(|mode| combining.repeats[mode] && first[mode] != 0);
            if (thread % warp) & combining.lanes != 0 || repeats {
                continue;
            }
            let [here, cta] = [thread % each, thread / each];
            let term = if sums.ctas.have == Have::All { cta } else { 0 };
            let place = [term, sums.part_of(here / warp)];
            for value in &own.values {
                let base = own.base(thread);
                let at = [0, 1].map(|mode| base[mode] + value[mode]);
                let kept = sums.keeps.iter().position(|keeps| *keeps);
                let other = match (sums.ctas.have, kept) {
                    (Have::All, _) => false,
                    (Have::Apart(apart), Some(mode)) if apart > 0 => {
                        at[mode] / apart % sums.ctas.count != cta
                    }
                    (Have::Apart(_), _) => true,
                    (Have::Same, _) => cta > 0,
                };
                if other || !places.insert((place, at)) {
                    return Err(format!("two warps have parts of {name} at one place"));
                }
            }
        }
        let all = sums.ctas.terms() * sums.parts() * sums.elements(self.plan.tile());
        match places.len() as i64 == all {
            true => Ok(()),
            false => Err(format!(
                "{all} places of {name} have {} parts",
                places.len()
            )),
        }
    }
}

/// The operand that the tile of a view in global memory is of.
fn output(memory: &Memory<'_, '_>, view: View) -> Result<OperandId, String> {
    let tile = memory.tile(view.tile())?;
    match tile.place {
        Place::Gmem(operand, _) => Ok(operand),
        Place::Smem(_) | Place::Rmem(_) => Err(format!("{} is no output", tile.name)),
    }
}
