//! Values that are combined with what an output holds: each once, those that are there.

use super::super::super::pipeline::Machine;
use super::super::grid::is_poison;
use super::registers::OUTSIDE;
use super::{Memory, Mode};
use crate::ir::tile::{Bounds, CombineId, CopyId, Place, Share, View};
use crate::plan::partition;
use tilewright_formula::number::stored;

impl<'k> Memory<'k, '_> {
    /// Combines a share of a tile with what an output holds.
    pub(super) fn combine(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        (to, [from, held]): (View, [View; 2]),
        (by, how): (CopyId, CombineId),
        (bounds, share): (Bounds, Share),
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
            if mode < self.plan.modes.len() && whole > 1 {
                start[mode] = self.first(machine, at, Mode::Tile(mode))?;
                taken[mode] = self.taken(machine, at, (mode, whole), bounds)?;
            } else if mode < self.plan.modes.len() {
                start[mode] = self.first(machine, at, Mode::Tile(mode))?;
            }
        }
        let Place::Gmem(operand) = self.tile(to.tile())?.place else {
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
        Ok(())
    }

    /// Whether threads have of an output what the values lie at that they have, and combine them
    /// as the formula does.
    fn fits(
        &self,
        at: usize,
        (to, [from, held]): (View, [View; 2]),
        (by, CombineId(number)): (CopyId, CombineId),
    ) -> Result<crate::dtype::DType, String> {
        let combining = self.plan.combinings().nth(number);
        let combining = combining.ok_or_else(|| format!("there is no way to combine {number}"))?;
        let CopyId::Tiled(copy) = by else {
            return Err("combines boxes".into());
        };
        let step = self.plan.steps.get(copy);
        let step = step.ok_or_else(|| format!("there is no tiled copy {copy}"))?;
        let facts = step.atom.copy.as_ref();
        let in_memory = facts.and_then(|facts| Some((facts.reduce?, facts.dtype?)));
        let (output, [source, parts]) = (self.tile(to.tile())?, [from, held].map(View::tile));
        let types = [source, parts].map(|tile| self.tile(tile).map(|tile| tile.dtype));
        let [source_type, part_type] = [types[0].clone()?, types[1].clone()?];
        let dtype = combining.how.dtype;
        if in_memory.is_none() || in_memory != combining.in_memory() {
            return Err(format!(
                "combines by what does something else: {}",
                step.atom
            ));
        }
        if [output.dtype, source_type, part_type] != [dtype; 3] || output.name != step.operand {
            return Err(format!(
                "combines {source_type} with {} of {}",
                output.name, output.dtype
            ));
        }
        self.in_registers(at, held)?;
        let (old, new) = (self.registers(source)?, self.registers(parts)?);
        let own = partition::of_step(step)
            .map_err(|error| error.to_string())?
            .src;
        let kept = old.tv.kept(step.keeps());
        let threads = 0..i64::from(self.plan.threads);
        let base = |thread: i64| [kept.base(thread), own.base(thread)];
        let same = |thread: i64| base(thread) == [new.tv.base(thread); 2];
        let has = |value: &[i64; 2]| new.tv.values.contains(value) && own.values.contains(value);
        if !kept.values.iter().all(has) || !threads.clone().all(same) {
            return Err(format!(
                "combines with elements of {} that others have",
                output.name
            ));
        }
        let warp = i64::from(crate::arch::WARP);
        let alike = |bit: i64| {
            threads
                .clone()
                .all(|one| own.base(one) == own.base(one ^ bit))
        };
        let bits = (0..).map(|bit| 1 << bit).take_while(|bit| *bit < warp);
        let mut wrong = bits.filter(|bit| combining.lanes & bit != 0 && !alike(*bit));
        match wrong.next() {
            Some(bit) => Err(format!(
                "lanes {bit} apart have other elements of {}",
                output.name
            )),
            None => Ok(dtype),
        }
    }
}
