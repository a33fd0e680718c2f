//! Copies of elements that lie where the entries of a table say: gathers and scatters.

use super::super::super::pipeline::Machine;
use super::super::grid::{Grid, Run, is_poison};
use super::super::output::Matrix;
use super::flow::repeated;
use super::moves::moved;
use super::registers::OUTSIDE;
use super::{Key, Memory};
use crate::ir::tile::{Bounds, TileId, View};

/// What a copy of such elements is on.
struct Looking<'g> {
    /// The operand, at the first entry.
    slice: Matrix,
    /// The tile's first element, and how far the modes of the tile go.
    start: [i64; 2],
    ends: [i64; 2],
    /// Along which coordinates of the tile the operand has elements of its own.
    own: [bool; 2],
    entries: &'g Grid,
    bounds: Bounds,
}

impl<'k> Memory<'k, '_> {
    /// Loads elements; zeros of those that lie outside.
    pub(super) fn gather(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        (tile, table, to): (TileId, TileId, View),
        bounds: Bounds,
        runs: &[Run],
    ) -> Result<(), String> {
        let (entries_key, into) = (self.table_key(at, table)?, self.key(machine, at, to)?);
        let entries = self.take(entries_key, self.extents(table)?);
        let mut grid = self.take(into, self.extents(to.tile())?);
        let looking = self.looking(machine, at, tile, (&entries, bounds))?;
        for run in runs {
            for step in 0..run.len as i64 {
                let here = [run.at[0], run.at[1] + step];
                let value = match self.looked_up(&looking, here)? {
                    Some((slice, place)) => {
                        let element = self.problem.input(slice)?.element(place);
                        element.ok_or(OUTSIDE)?
                    }
                    None => 0.0,
                };
                *grid.element_mut(here).ok_or(OUTSIDE)? = value;
            }
        }
        self.held.insert(into, grid);
        self.held.insert(entries_key, entries);
        Ok(())
    }

    /// Stores elements, but for those that lie outside.
    pub(super) fn scatter(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        (from, tile, table): (View, TileId, TileId),
        bounds: Bounds,
        runs: &[Run],
    ) -> Result<(), String> {
        let (entries_key, key) = (self.table_key(at, table)?, self.key(machine, at, from)?);
        let entries = self.take(entries_key, self.extents(table)?);
        let grid = self.take(key, self.extents(from.tile())?);
        let looking = self.looking(machine, at, tile, (&entries, bounds))?;
        for run in runs {
            for step in 0..run.len as i64 {
                let here = [run.at[0], run.at[1] + step];
                let Some((slice, place)) = self.looked_up(&looking, here)? else {
                    continue;
                };
                let value = grid.element(here).ok_or(OUTSIDE)?;
                self.problem.output(slice)?.store(place, value)?;
            }
        }
        self.held.insert(key, grid);
        self.held.insert(entries_key, entries);
        Ok(())
    }

    fn table_key(&self, at: usize, table: TileId) -> Result<Key, String> {
        self.in_registers(at, View::Rmem(table, 0))
    }

    fn looking<'g>(
        &self,
        machine: &Machine<'k>,
        at: usize,
        tile: TileId,
        (entries, bounds): (&'g Grid, Bounds),
    ) -> Result<Looking<'g>, String> {
        let (slice, start) = self.start(machine, at, View::Gmem(tile), 0)?;
        let operand = self.plan.operand(slice.operand);
        let modes = self.plan.places(operand);
        let named = modes.map(|mode| mode.and_then(|mode| self.plan.mode(mode)));
        Ok(Looking {
            slice,
            start,
            ends: named.map(|name| name.and_then(|name| self.problem.extent(name)).unwrap_or(1)),
            own: self.plan.own_places(operand).map(|mode| mode.is_some()),
            entries,
            bounds,
        })
    }

    /// The slice and the place in it of an element of the tile; none where it lies outside.
    fn looked_up(
        &self,
        looking: &Looking<'_>,
        here: [i64; 2],
    ) -> Result<Option<(Matrix, [i64; 2])>, String> {
        let place = moved(here, looking.start);
        // Of rows that are not there entries tell.
        if (0..2).any(|axis| looking.own[axis] && place[axis] >= looking.ends[axis]) {
            let [row, column] = place;
            return match looking.bounds {
                Bounds::Inside => Err(format!("takes ({row},{column}) without a test")),
                Bounds::Vectors | Bounds::Checked => Ok(None),
            };
        }
        let entry = repeated(looking.entries, here).ok_or(OUTSIDE)?;
        if is_poison(entry) {
            return Err("looks up what nothing was written to".into());
        }
        let slice = self.problem.looked_up(looking.slice, entry);
        let own = [0, 1].map(|axis| if looking.own[axis] { place[axis] } else { 0 });
        Ok(slice.map(|slice| (slice, own)))
    }
}
