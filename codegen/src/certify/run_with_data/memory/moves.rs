//! Copies: between the operands, shared memory and registers, element by element of a tile.

use super::super::super::pipeline::Machine;
use super::super::grid::{Grid, Run};
use super::super::output::Matrix;
use super::super::sizes::GRANULE;
use super::super::work::Portion;
use super::{Key, Memory, Mode, Owner};
use crate::ir::tile::{Bounds, CopyId, Place, Slice, Stage, TileId, View};
use crate::plan::copies::packed_weights::PADDED_ROWS;
use crate::plan::data::moves::{BoxCopy, BoxPlace};
use crate::plan::work_tiles::SUMMED;

/// An entry of a table for what is not there.
const NOWHERE: f64 = -1.0;

impl<'k> Memory<'k, '_> {
    /// Whose buffer a view is of.
    pub(super) fn key(&self, machine: &Machine<'k>, at: usize, view: View) -> Result<Key, String> {
        match view {
            View::Rmem(..) => self.in_registers(at, view),
            View::Gmem(_) | View::Next(_) | View::Looked(..) => {
                Err("an operand has no buffers".into())
            }
            View::Smem(_, stage, _) => {
                let (tile, number) = machine.buffer(at, view)?;
                let owner = match stage {
                    // Staging buffers are a member's own.
                    Stage::Turn => Owner::Member(at),
                    Stage::Fixed(_) | Stage::At(_) => Owner::Cta(self.members[at].cta),
                };
                Ok((owner, tile, number))
            }
        }
    }

    /// Moves a tile, or a part of it.
    pub(super) fn copy(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        [from, to]: [View; 2],
        (by, bounds, share): (CopyId, Bounds, Slice),
    ) -> Result<(), String> {
        let [old, new] = [self.tile(from.tile())?, self.tile(to.tile())?];
        if old.dtype != new.dtype {
            return Err(format!("moves {} to where {} is", old.dtype, new.dtype));
        }
        match by {
            CopyId::Tiled(number) => {
                let block = from.block().or(to.block());
                let part = self.members[at].part;
                let runs = self.regions.of_copy(number, share, block, part)?;
                self.tiled(machine, at, [from, to], bounds, &runs)
            }
            CopyId::Boxes(_) => {
                let boxes = by.boxes(self.plan);
                let boxes = boxes.ok_or_else(|| format!("there is no {by:?}"))?;
                match (from, to) {
                    (View::Gmem(from), View::Smem(..)) => {
                        self.load_boxes(machine, at, boxes, from, to)
                    }
                    (View::Smem(..), View::Gmem(to)) => {
                        self.store_box(machine, at, boxes, from, to)
                    }
                    _ => Err("boxes go between global and shared memory".into()),
                }
            }
        }
    }

    fn tiled(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        [from, to]: [View; 2],
        bounds: Bounds,
        runs: &[Run],
    ) -> Result<(), String> {
        match (from, to) {
            (View::Gmem(_), View::Gmem(_)) => Err("moves a tile to where it is".into()),
            (View::Looked(tile, table), _) => {
                self.gather(machine, at, (tile, table, to), bounds, runs)
            }
            (_, View::Looked(tile, table)) => {
                self.scatter(machine, at, (from, tile, table), bounds, runs)
            }
            (View::Gmem(_) | View::Next(_), _) => {
                let (operand, start) = self.start(machine, at, from, self.members[at].stepped)?;
                let into = self.key(machine, at, to)?;
                let mut grid = self.take(into, self.buffer_extents(to)?);
                let source = self.problem.input(operand)?;
                let nothing = match self.kernel.is_table(to.tile()) {
                    true => NOWHERE,
                    false => 0.0,
                };
                let done = runs.iter().try_for_each(|run| {
                    load(
                        source,
                        moved(run.at, start),
                        &mut grid,
                        run.at,
                        (run.len, bounds, nothing),
                    )
                });
                self.held.insert(into, grid);
                done
            }
            (_, View::Next(_)) => Err("stores to where a later trip is at".into()),
            (_, View::Gmem(_)) => {
                let (operand, start) = self.start(machine, at, to, self.members[at].stepped)?;
                let key = self.key(machine, at, from)?;
                let grid = self.take(key, self.buffer_extents(from)?);
                let done = runs.iter().try_for_each(|run| {
                    self.store(
                        operand,
                        &grid,
                        run.at,
                        moved(run.at, start),
                        (run.len, bounds),
                    )
                });
                self.held.insert(key, grid);
                done
            }
            _ => {
                let keys = [self.key(machine, at, from)?, self.key(machine, at, to)?];
                let origins = [self.origin(at, from)?, self.origin(at, to)?];
                let source = self.take(keys[0], self.buffer_extents(from)?);
                let mut target = self.take(keys[1], self.buffer_extents(to)?);
                let done = runs.iter().try_for_each(|run| {
                    let old = source.line(within(&source, run.at, origins[0]), run.len);
                    let into = within(&target, run.at, origins[1]);
                    let new = target.line_mut(into, run.len);
                    let (old, new) = old.zip(new).ok_or("moves elements out of their tile")?;
                    new.copy_from_slice(old);
                    Ok(())
                });
                self.held.insert(keys[0], source);
                self.held.insert(keys[1], target);
                done
            }
        }
    }

    /// What a tile in global memory is of, and its first element there. Along k that is the
    /// tile of that number, from the first of the work tile on.
    pub(super) fn start(
        &self,
        machine: &Machine<'k>,
        at: usize,
        view: View,
        k_tile: i64,
    ) -> Result<(Matrix, [i64; 2]), String> {
        let tile = self.tile(view.tile())?;
        let Place::Gmem(operand, plane) = tile.place else {
            return Err(format!("{} is not in global memory", tile.name));
        };
        let portions = self.portions.get(self.members[at].cta);
        let portion = portions.and_then(|portions| portions.get(machine.agents[at].tile));
        let portion = portion.ok_or("no work tile has begun")?;
        let part = self.part(machine, at, portion);
        let part = part.map(|part| match view {
            View::Next(_) => (part + 1).min(self.parts() - 1),
            View::Gmem(_) | View::Looked(..) | View::Smem(..) | View::Rmem(..) => part,
        });
        let along = |mode: &str| {
            // An operand's elements repeat along what it has no mode along.
            if mode.is_empty() {
                return Ok(0);
            }
            let dims = &self.kernel.work.dims;
            let number = dims.iter().position(|dim| dim.mode() == mode);
            let number = number.ok_or_else(|| format!("no tile cuts the mode {mode}"))?;
            match portion.start.get(number) {
                Some(_) => self.first(machine, at, Mode::Tile(number)),
                // A part of a sum has all that is summed.
                None if number == SUMMED && part.is_some() => Ok(0),
                None if number == SUMMED => Ok((portion.first + k_tile) * dims[number].extent()),
                None => Err(format!("no place along the mode {mode}")),
            }
        };
        match tile.modes.as_slice() {
            [(rows, _), (columns, _)] => {
                let at: Vec<i64> = portion.outer.iter().copied().chain(part).collect();
                let slice = self.problem.slice(operand, &at);
                let slice = slice.of_plane(plane.unwrap_or(0));
                Ok((slice, [along(rows)?, along(columns)?]))
            }
            modes => Err(format!("{} has {} modes", tile.name, modes.len())),
        }
    }

    /// The part of a sum that a member's trip is at, where there are several.
    fn part(&self, machine: &Machine<'k>, at: usize, portion: &Portion) -> Option<i64> {
        let trip = machine.agents[at].trip.unwrap_or(0);
        let part = self.kernel.work.part();
        part.map(|_| portion.first + i64::from(trip))
    }

    /// Parts that a sum is made of.
    fn parts(&self) -> i64 {
        let part = self.kernel.work.part();
        part.and_then(|part| self.problem.extent(part)).unwrap_or(1)
    }

    /// The first coordinate of a member's work tile along a mode of the tile, or of the chunk that
    /// it is at, or along an outer mode.
    pub(super) fn first(
        &self,
        machine: &Machine<'k>,
        at: usize,
        mode: Mode,
    ) -> Result<i64, String> {
        let portions = self.portions.get(self.members[at].cta);
        let portion = portions.and_then(|portions| portions.get(machine.agents[at].tile));
        let start = portion.and_then(|portion| match mode {
            Mode::Tile(mode) => portion.start.get(mode).copied(),
            Mode::Outer(mode) => {
                let part = self.part(machine, at, portion);
                portion.outer.iter().copied().chain(part).nth(mode)
            }
        });
        let start = start.ok_or_else(|| format!("no place along {mode:?}"))?;
        let Mode::Tile(mode) = mode else {
            return Ok(start);
        };
        let chunk = (machine.agents[at].trip).filter(|_| self.plan.work.chunked() == Some(mode));
        Ok(start + chunk.map_or(0, |chunk| i64::from(chunk) * self.plan.extent(mode)))
    }

    /// The extents of a buffer: of a staging buffer those of a box.
    fn buffer_extents(&self, view: View) -> Result<[usize; 2], String> {
        match view {
            View::Smem(_, Stage::Turn, _) => {
                Ok(self.staging()?.box_extents.map(|extent| extent as usize))
            }
            _ => self.extents(view.tile()),
        }
    }

    fn staging(&self) -> Result<&'k BoxCopy, String> {
        let roles = self.plan.roles.as_ref();
        let store = roles.and_then(|roles| roles.store.as_ref());
        store.ok_or_else(|| "no boxes leave through buffers in turn".into())
    }

    /// The coordinates in its tile of a buffer's first element.
    fn origin(&self, at: usize, view: View) -> Result<[i64; 2], String> {
        match view {
            View::Smem(_, Stage::Turn, Some(number)) => {
                Ok(self.place(at, self.staging()?, number)?.coord)
            }
            _ => Ok([0; 2]),
        }
    }

    /// Where the box of that number of a member's part lies.
    fn place(&self, at: usize, boxes: &BoxCopy, number: u32) -> Result<BoxPlace, String> {
        let place = boxes.places.get(number as usize);
        let place = place.ok_or_else(|| format!("there is no box {number}"))?;
        Ok(place.after(boxes.part_step, i64::from(self.members[at].part)))
    }

    /// A CTA's boxes of a tile, into the slot of every CTA that shares it.
    fn load_boxes(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        boxes: &BoxCopy,
        from: TileId,
        to: View,
    ) -> Result<(), String> {
        let trip = machine.agents[at].trip.map_or(0, i64::from);
        let (operand, mut start) = self.start(machine, at, View::Gmem(from), trip)?;
        if boxes.packed {
            // Of work tiles behind the padded rows the last one is loaded.
            let rows = self.problem.input(operand)?.extents[0] as i64;
            let padded = (rows + PADDED_ROWS - 1) / PADDED_ROWS * PADDED_ROWS;
            start[0] = start[0].min(padded - self.extents(from)?[0] as i64);
        }
        let cta = self.members[at].cta;
        let cluster = self.kernel.work.cluster();
        let rank = cta as u32 % cluster.size();
        let part = match boxes.shared_along {
            Some(0) => rank % cluster.0[0],
            Some(_) => rank / cluster.0[0],
            None => 0,
        };
        let (_, tile, number) = self.key(machine, at, to)?;
        let extents = self.extents(tile)?;
        for other in machine.sharers(cta, boxes) {
            let key = (Owner::Cta(other), tile, number);
            let mut grid = self.take(key, extents);
            for place in &boxes.places {
                let place = place.after(boxes.part_step, i64::from(part));
                let [row, plane] = boxes.row_and_plane(place);
                let source = self.problem.input(operand.of_plane(plane))?;
                let above = [row - place.coord[0], 0];
                for run in lines(boxes, place.coord) {
                    let how = (run.len, Bounds::Checked, 0.0);
                    let from = moved(moved(run.at, above), start);
                    load(source, from, &mut grid, run.at, how)?;
                }
            }
            self.held.insert(key, grid);
        }
        Ok(())
    }

    /// A box out of its staging buffer. Elements past the output's end are left out, but for those
    /// in the granule that the end is in.
    fn store_box(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        boxes: &BoxCopy,
        from: View,
        to: TileId,
    ) -> Result<(), String> {
        let number = from.block().ok_or("a store of no box")?;
        let place = self.place(at, boxes, number)?.coord;
        let (operand, start) = self.start(machine, at, View::Gmem(to), 0)?;
        let key = self.key(machine, at, from)?;
        let grid = self.take(key, self.buffer_extents(from)?);
        let along = boxes.contiguous;
        let granule = (GRANULE / i64::from(boxes.dtype.bytes())).max(1);
        let mut ends = self.problem.output(operand)?.extents;
        ends[along] = (ends[along] + granule - 1) / granule * granule;
        for run in lines(boxes, place) {
            let into = moved(run.at, start);
            let left = (ends[1] - into[1]).clamp(0, run.len as i64) as usize;
            if into[0] < ends[0] {
                let inside = [run.at[0] - place[0], run.at[1] - place[1]];
                self.store(operand, &grid, inside, into, (left, Bounds::Inside))?;
            }
        }
        self.held.insert(key, grid);
        Ok(())
    }

    /// Stores elements of a row.
    fn store(
        &mut self,
        operand: Matrix,
        grid: &Grid,
        from: [i64; 2],
        [row, column]: [i64; 2],
        (len, bounds): (usize, Bounds),
    ) -> Result<(), String> {
        let output = self.problem.output(operand)?;
        let line = grid.line(from, len).ok_or("stores elements of no tile")?;
        let [rows, columns] = output.extents;
        for (value, column) in line.iter().zip(column..) {
            if bounds == Bounds::Inside || row < rows && column < columns {
                output.store([row, column], *value)?;
            }
        }
        self.replace(operand, line, [row, column])
    }
}

/// Loads elements of a row; past the operand's ends what stands for nothing.
fn load(
    source: &Grid,
    [row, column]: [i64; 2],
    grid: &mut Grid,
    into: [i64; 2],
    (len, bounds, nothing): (usize, Bounds, f64),
) -> Result<(), String> {
    let [rows, columns] = source.extents.map(|extent| extent as i64);
    let valid = match row < rows {
        true => (columns - column).clamp(0, len as i64) as usize,
        false => 0,
    };
    if valid < len && bounds == Bounds::Inside {
        return Err(format!(
            "reads past ({rows},{columns}) from ({row},{column}) on without a test"
        ));
    }
    let line = grid.line_mut(into, len).ok_or("loads into no tile")?;
    let (inside, outside) = line.split_at_mut(valid);
    if valid > 0 {
        let old = source.line([row, column], valid);
        inside.copy_from_slice(old.ok_or("loads what is not there")?);
    }
    outside.fill(nothing);
    Ok(())
}

/// The rows of a box that lies there.
fn lines(boxes: &BoxCopy, [row, column]: [i64; 2]) -> impl Iterator<Item = Run> {
    let [rows, columns] = boxes.box_extents;
    (0..rows).map(move |line| Run {
        at: [row + line, column],
        len: columns as usize,
    })
}

pub(super) fn moved([row, column]: [i64; 2], start: [i64; 2]) -> [i64; 2] {
    [row + start[0], column + start[1]]
}

/// Coordinates in a buffer that begins there. Fragments hold one block of a tile: coordinates count
/// from the block's start.
fn within(grid: &Grid, at: [i64; 2], origin: [i64; 2]) -> [i64; 2] {
    std::array::from_fn(|axis| {
        let (at, extent) = (at[axis] - origin[axis], grid.extents[axis] as i64);
        // Mostly it is inside.
        if (0..extent).contains(&at) {
            at
        } else {
            at.rem_euclid(extent.max(1))
        }
    })
}
