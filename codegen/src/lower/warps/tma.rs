//! Boxes of tensor maps: loads into the ring's slots, stores out of the staging buffers.

use crate::arch::WARPGROUP;
use crate::atoms::model::Space;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, ceil_div, eq, int, long, min, mul, rem, shl, sub, widen};
use crate::ir::thread::program::{Address, Arg, Base, Expr, ParamId, Special, Stmt};
use crate::ir::tile::{PipeId, TileId};
use crate::lower::warps::ring::smem;
use crate::lower::{Lowering, bug, call};
use crate::plan::copies::packed_weights::{PADDED_ROWS, PATTERN_ROWS, Patterns};
use crate::plan::data::arena::Holds;
use crate::plan::data::moves::{BoxCopy, BoxPlace};
use crate::spec::keys::model::KernelSchedule;

/// What boxes are read from.
enum Source {
    /// A tensor.
    Map(ParamId),
    /// A packed operand.
    Packed(PackedTile),
}

/// The tile of a packed operand.
struct PackedTile {
    /// Its first byte.
    start: Address,
    /// Bytes from the patterns of some columns to those of the next.
    step: Expr,
    /// Columns of a pattern.
    columns: i64,
    /// Bytes of a row of a pattern.
    row_bytes: i64,
}

impl PackedTile {
    /// Where a box lies in it.
    fn at(&self, copy: &BoxCopy, place: BoxPlace, part: &Expr) -> Address {
        let [rows, columns] = place.coord;
        let beside = mul(self.step.clone(), long(columns / self.columns));
        let below = copy.part_step.coord[0] * self.row_bytes;
        let below = widen(mul(part.clone(), int(below)));
        Address {
            offset: add(add(self.start.offset.clone(), beside), below),
            imm: rows * self.row_bytes,
            ..self.start.clone()
        }
    }
}

impl Lowering<'_> {
    /// The loads of an operand's tile of the next trip along k, or of the work tile, into that one
    /// in shared memory.
    pub(in crate::lower) fn load_boxes(
        &mut self,
        copy: &BoxCopy,
        [from, to]: [TileId; 2],
    ) -> Result<Vec<Stmt>> {
        let plan = self.plan;
        let tile = self.smem_tile(to)?;
        let pipe = self.kernel.pipe_of(to);
        let pipe = pipe.ok_or_else(|| bug(plan, "boxes fill slots of no pipe".to_string()))?;
        let shared = copy.shared_along.unwrap_or_default();
        let state = self.role()?.clone();
        let part = state.standing.place[shared].clone();
        let starts = self.starts(from)?;
        let slot = self.slot_offset(pipe)?;
        let source = match copy.packed {
            true => Source::Packed(self.packed_tile(copy, from)?),
            false => Source::Map(self.map(copy)?),
        };
        let mut out = Vec::new();
        for place in &copy.places {
            let offset = add(
                slot.clone(),
                mul(part.clone(), int(copy.part_step.offset_bytes)),
            );
            let dst = smem(offset, place.offset_bytes + i64::from(plan.start_of(tile)));
            let coord = self.coordinates(copy, *place, &starts, &part)?;
            let barrier = self.slot_full(pipe)?;
            let args = copy
                .atom
                .operands
                .iter()
                .map(|operand| match operand.name.as_str() {
                    "dst" => Ok(Arg::Address(dst.clone())),
                    "x" => self.along(&coord, 0),
                    "y" => self.along(&coord, 1),
                    "coord" => Ok(Arg::Ints(coord.clone())),
                    "bytes" => Ok(Arg::Int(int(copy.box_bytes()))),
                    "barrier" => Ok(Arg::Address(barrier.clone())),
                    "ctas" => self.sharers(shared).map(Arg::Int),
                    other => match (other, &source) {
                        ("map", Source::Map(map)) => Ok(Arg::TensorMap(*map)),
                        ("src", Source::Packed(tile)) => {
                            Ok(Arg::Address(tile.at(copy, *place, &part)))
                        }
                        _ => Err(bug(
                            plan,
                            format!("{} has an operand {other}", copy.atom.id),
                        )),
                    },
                })
                .collect::<Result<_>>()?;
            out.push(call(&copy.atom, args));
        }
        Ok(out)
    }

    /// Bytes from a pipe's first slot to the one that the role is at.
    pub(in crate::lower) fn slot_offset(&self, id: PipeId) -> Result<Expr> {
        let slot = Expr::Var(self.at(id)?.slot);
        Ok(mul(slot, int(i64::from(self.slots(id)?.each))))
    }

    /// A bit for each CTA of the cluster along that mode from this one.
    fn sharers(&self, along: usize) -> Result<Expr> {
        let [along_m, along_n] = self.kernel.work.cluster().0.map(i64::from);
        let [place_m, place_n] = self.role()?.standing.place.clone();
        let in_front = self.ranks_in_front();
        Ok(if along == 1 {
            let row: i64 = (0..along_n).map(|n| 1 << (n * along_m)).sum();
            shl(int(row), add(in_front, place_m))
        } else {
            let column = (1 << along_m) - 1;
            shl(int(column), add(in_front, mul(place_n, int(along_m))))
        })
    }

    /// Coordinates of a box in the tensor, innermost first: along the tile's, the plane where there
    /// are several, and those along which a tile has one.
    fn coordinates(
        &self,
        copy: &BoxCopy,
        place: BoxPlace,
        starts: &[Expr; 2],
        part: &Expr,
    ) -> Result<Vec<Expr>> {
        let operand = self.plan.operand(copy.operand);
        let [row, plane] = copy.row_and_plane(place);
        let own = [row, place.coord[1]];
        let axes = self.plan.box_axes(copy, operand);
        let coordinate = |(at, _): &(usize, _)| {
            let moved = mul(part.clone(), int(copy.part_step.coord[*at]));
            add(add(starts[*at].clone(), moved), int(own[*at]))
        };
        let mut coord: Vec<Expr> = axes.iter().map(coordinate).collect();
        coord.extend(copy.plane_rows.map(|_| int(plane)));
        for (number, _) in self.plan.outer_of(operand) {
            let at = self.state.outer.get(number).cloned();
            coord.push(at.ok_or_else(|| bug(self.plan, "no block has begun".to_string()))?);
        }
        Ok(coord)
    }

    /// A coordinate of a box, by number.
    fn along(&self, coord: &[Expr], number: usize) -> Result<Arg> {
        let at = coord.get(number).cloned();
        let missing = || bug(self.plan, format!("boxes of {} axes", coord.len()));
        at.map(Arg::Int).ok_or_else(missing)
    }

    /// The first element of the CTA's tile along each coordinate of an operand's.
    fn starts(&mut self, tile: TileId) -> Result<[Expr; 2]> {
        let plan = self.plan;
        let (operand, _) = self.operand_of(tile)?;
        let mut starts = [int(0), int(0)];
        let places = plan.places(operand).into_iter().zip(plan.tile_at(operand));
        for (start, (mode, extent)) in starts.iter_mut().zip(places) {
            let Some(mode) = mode else { continue };
            *start = match self.state.tile.get(mode).cloned() {
                Some(tile) => self.builder.hoist("start", mul(tile, int(extent))),
                // A part of a sum has all that is summed.
                None if self.kernel.work.part().is_some() => int(0),
                None => mul(self.k_tile()?, int(extent)),
            };
        }
        Ok(starts)
    }

    /// Where the tile of a packed operand begins that the role is at. A CTA of a cluster may have a
    /// work tile behind the operand's end, of which nothing is stored: it loads the last one.
    fn packed_tile(&mut self, copy: &BoxCopy, tile: TileId) -> Result<PackedTile> {
        let plan = self.plan;
        let (operand, _) = self.operand_of(tile)?;
        let misfit = || bug(plan, format!("no tile of packed {} is here", operand.name));
        let [across, _] = plan.modes_of(operand)[..] else {
            return Err(misfit());
        };
        let number = self.state.tile.get(across).cloned().ok_or_else(misfit)?;
        let [rows, columns] = plan.tile_of(operand)[..] else {
            return Err(misfit());
        };
        let patterns = Patterns::of(copy);
        let padded = ceil_div(self.extent(across)?, PADDED_ROWS);
        let padded = self.builder.hoist("padded", padded);
        let last = sub(mul(padded.clone(), int(PADDED_ROWS / rows)), int(1));
        let number = self.builder.hoist("packed_tile", min(number, last));
        let bytes = patterns.bytes / PATTERN_ROWS;
        let row = mul(widen(number), long(rows * bytes));
        let row = self.builder.hoist("packed_row", row);
        // From the patterns of some columns to those of the next.
        let step = mul(widen(padded), long(PADDED_ROWS * bytes));
        let step = self.builder.hoist("packed_step", step);
        let each = mul(widen(self.k_tile()?), long(columns / patterns.columns));
        let param = self.builder.pointer_to(operand.id).ok_or_else(misfit)?;
        Ok(PackedTile {
            start: Address {
                space: Space::Gmem,
                base: Base::Param(param),
                offset: add(row, mul(each, step.clone())),
                imm: 0,
                coords: Vec::new(),
            },
            step,
            columns: patterns.columns,
            row_bytes: bytes,
        })
    }

    fn map(&self, copy: &BoxCopy) -> Result<ParamId> {
        let name = &self.plan.operand(copy.operand).name;
        let map = self.builder.map_of(copy.operand);
        map.ok_or_else(|| bug(self.plan, format!("no tensor map of {name}")))
    }

    /// The store of one staging buffer, by one thread of the warpgroup.
    pub(in crate::lower) fn store_box(
        &mut self,
        copy: &BoxCopy,
        to: TileId,
        number: u32,
    ) -> Result<Vec<Stmt>> {
        let plan = self.plan;
        let place = copy.places.get(number as usize).copied();
        let place = place.ok_or_else(|| bug(plan, format!("there is no box {number}")))?;
        let part = self.part()?;
        let starts = self.starts(to)?;
        let coord = self.coordinates(copy, place, &starts, &part)?;
        let mut offset = mul(part, int(copy.part_step.offset_bytes));
        if let Some(set) = self.staging_set()? {
            offset = add(offset, set);
        }
        let staging = self.lies(Holds::Staging)?.at;
        let src = smem(offset, place.offset_bytes + i64::from(staging));
        let map = self.map(copy)?;
        let args = copy
            .atom
            .operands
            .iter()
            .map(|operand| match operand.name.as_str() {
                "map" => Ok(Arg::TensorMap(map)),
                "x" => self.along(&coord, 0),
                "y" => self.along(&coord, 1),
                "coord" => Ok(Arg::Ints(coord.clone())),
                "src" => Ok(Arg::Address(src.clone())),
                other => Err(bug(
                    plan,
                    format!("{} has an operand {other}", copy.atom.id),
                )),
            })
            .collect::<Result<_>>()?;
        let mut then = vec![call(&copy.atom, args)];
        then.extend(self.sync((Act::CommitBulk, Scope::Thread), [])?);
        Ok(vec![Stmt::If {
            cond: self.first_of_warpgroup()?,
            then,
            otherwise: Vec::new(),
        }])
    }

    /// Which part of the tile this consumer has.
    pub(in crate::lower) fn part(&self) -> Result<Expr> {
        Ok(match &self.plan.roles {
            Some(roles) if roles.schedule != KernelSchedule::Pingpong => {
                self.role()?.warpgroup.clone()
            }
            _ => int(0),
        })
    }

    /// Where this consumer's own set of staging buffers starts, when each consumer has a tile of
    /// its own.
    pub(in crate::lower) fn staging_set(&self) -> Result<Option<Expr>> {
        let sets = self.lies(Holds::Staging)?;
        let own = || {
            Ok(mul(
                self.role()?.warpgroup.clone(),
                int(i64::from(sets.each)),
            ))
        };
        (sets.count > 1).then(own).transpose()
    }

    /// The thread that stores for its warpgroup.
    pub(in crate::lower) fn first_of_warpgroup(&mut self) -> Result<Expr> {
        let index = rem(Expr::Special(Special::TidX), int(i64::from(WARPGROUP)));
        let index = self.builder.hoist("in_warpgroup", index);
        Ok(eq(index, int(0)))
    }

    /// All threads of the warpgroup meet, at a barrier of its own.
    pub(in crate::lower) fn warpgroup_meets(&self) -> Result<Vec<Stmt>> {
        let id = add(self.role()?.warpgroup.clone(), int(1));
        let threads = Arg::Imm(i64::from(WARPGROUP));
        let args = [("id", Arg::Int(id)), ("threads", threads)];
        self.sync((Act::Meet, Scope::Warps), args)
    }

    pub(in crate::lower) fn staging_free(&mut self, stores: u32) -> Result<Vec<Stmt>> {
        let mut out = self.stores_read(stores)?;
        out.extend(self.warpgroup_meets()?);
        Ok(out)
    }

    pub(in crate::lower) fn staging_full(&mut self) -> Result<Vec<Stmt>> {
        let mut out = self.sync((Act::FenceAsyncProxy, Scope::Cta, Space::Smem), [])?;
        out.extend(self.warpgroup_meets()?);
        Ok(out)
    }

    pub(in crate::lower) fn staging_drain(&mut self) -> Result<Vec<Stmt>> {
        self.stores_read(0)
    }

    /// The storing thread waits until at most so many stores still read their staging buffers.
    fn stores_read(&mut self, stores: u32) -> Result<Vec<Stmt>> {
        let groups = [("groups", Arg::Imm(i64::from(stores)))];
        Ok(vec![Stmt::If {
            cond: self.first_of_warpgroup()?,
            then: self.sync((Act::AwaitBulkReads, Scope::Thread), groups)?,
            otherwise: Vec::new(),
        }])
    }
}
