//! Addresses: a run-time part computed once, a constant part in the instruction's immediate.
//!
//! Global memory: bytes from the operand's pointer, 64-bit. Shared memory: bytes from the start of
//! the ring, 32-bit; the swizzle is split between the two parts. `Sw(base + v) = Sw(base) ^ Sw(v)`
//! holds when no base shares a bit with `v`; of `Sw(v)`, bits that no swizzled base has are added
//! as a constant and the others are exclusive-ored.

use std::collections::BTreeMap;

use crate::atoms::model::Space;
use crate::ir::thread::expr::{add, and, div, int, le, long, lt, mul, sub, widen, xor};
use crate::ir::thread::program::{Address, Base, Expr, IntType, Stmt, VarId};
use crate::ir::tile::{End, Stage};
use crate::lower::builder::Builder;
use crate::plan::copies::thread_digits::{Digit, Part};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Rows, SmemTile};
use crate::plan::work_tiles::SUMMED;
use crate::spec::keys::model::{Axis, Operand, Stride};
use tilewright_layout::Swizzle;

/// Most bytes that one mode adds to the constant part of an address, which has 32 bits.
const MAX_IMMEDIATE: i64 = i32::MAX as i64 / 2;

/// Run-time variables that addresses and predicates refer to.
#[derive(Clone, Debug)]
pub(in crate::lower) struct State {
    /// The CTA's tile along the output's modes, in tiles.
    pub tile: [Expr; 2],
    /// The CTA's coordinate along each outer mode.
    pub outer: Vec<Expr>,
    /// The modes along which the chunk at hand is wholly inside, as tests on the way to it say.
    pub inside: [bool; 2],
    /// Elements along k before the tile to be loaded next, 64-bit.
    pub k_start: VarId,
    /// Elements along k from the tile to be loaded next to the end; negative past it.
    pub k_left: VarId,
    /// Byte offset of the ring's buffer to be read.
    pub read: VarId,
    /// Byte offset of the ring's buffer to be filled.
    pub write: VarId,
}

/// One operand's tile in global memory, as one thread sees it.
pub(in crate::lower) struct GmemTile<'p> {
    operand: &'p Operand,
    /// The plane that it is of, where each has its own.
    plane: Option<i64>,
    /// The axis of the operand that tells them apart.
    plane_axis: Option<&'p Axis>,
    base: crate::ir::thread::program::ParamId,
    offset: Expr,
    moving: Option<Expr>,
    /// Bytes from one row to the next, by axis, where rows' addresses are computed with the tile.
    row_steps: BTreeMap<usize, VarId>,
    /// The coordinate of the thread's first element along each axis of the operand, 64-bit.
    first: Vec<Expr>,
    /// The coordinate of the tile that runs along each axis of the operand by itself; none along
    /// those of outer modes, and along one that a table looks into.
    axes: Vec<Option<usize>>,
    /// Elements from the thread's first element to the end, by coordinate of the tile; none along
    /// those that no axis of the operand runs along by itself.
    pub left: [Option<Expr>; 2],
}

impl<'p> GmemTile<'p> {
    /// The operand's tile that the CTA is at, of that plane where each has its own, for a step
    /// whose thread part is `part`.
    pub(in crate::lower) fn new(
        builder: &mut Builder,
        plan: &Plan,
        (operand, plane): (&'p Operand, Option<i64>),
        (part, axes): (&Part<2>, &[Option<usize>]),
        state: &State,
    ) -> Option<GmemTile<'p>> {
        let (mut offset, mut moving, mut left) = (long(0), None, [None, None]);
        let mut coords = first_coords(plan, (operand, plane), state);
        for (number, axis) in plan.outer_of(operand) {
            let at = state.outer.get(number)?.clone();
            offset = add(offset, steps(builder, operand, widen(at), &axis.stride)?);
        }
        for (axis, coordinate) in axes.iter().enumerate() {
            // Where a table says, each row has an entry of its own, which is tested itself.
            let own = coordinate.filter(|_| operand.axis(axis).table.is_none());
            let Some(coordinate) = own else {
                continue;
            };
            let name = &operand.axis(axis).mode;
            let mode = plan.dim(name)?;
            let thread = builder.thread_sum("coord", &part.digits, coordinate);
            let tile = state.tile.get(mode);
            let (start, rest) = match tile {
                None => {
                    let stride = stride_expr(builder, operand.stride(axis))?;
                    let start = mul(Expr::Var(state.k_start), stride);
                    moving = Some(mul(start, long(i64::from(operand.dtype.bytes()))));
                    (int(0), Expr::Var(state.k_left))
                }
                Some(index) => {
                    let extent = plan.extent(mode);
                    let start = builder.hoist("start", mul(index.clone(), int(extent)));
                    let end = Expr::Param(builder.param(name)?);
                    let rest = builder.hoist("rest", sub(end, start.clone()));
                    (start, rest)
                }
            };
            let first = add(widen(start), widen(thread.clone()));
            move_on(&mut coords, axis, &first);
            offset = add(
                offset,
                steps(builder, operand, first, operand.stride(axis))?,
            );
            let rest = match tile {
                None => sub(rest, thread),
                Some(_) => builder.hoist("left", sub(rest, thread)),
            };
            // A tile begins inside: what all threads have one element of there is. Copies into
            // shared memory say how many elements are left, and test them all.
            let into_smem = plan.mma.is_none() && !plan.smem.is_empty();
            let fixed = |digit: &Digit<2>| digit.strides[coordinate] == 0;
            let first = part.values.iter().all(|value| value[coordinate] == 0);
            let one =
                plan.flow.is_some() && tile.is_some() && part.digits.iter().all(fixed) && first;
            let one = one && !into_smem;
            let inside = one || state.inside.get(mode) == Some(&true);
            *left.get_mut(coordinate)? = (!inside).then_some(rest);
        }
        let bytes = mul(offset, long(i64::from(operand.dtype.bytes())));
        let offset = builder.hoist("offset", bytes);
        let own = axes.iter().enumerate();
        let own = own.map(|(axis, at)| at.filter(|_| operand.looked_into() != Some(axis)));
        Some(GmemTile {
            operand,
            plane,
            plane_axis: plan.plane_axis(operand),
            base: builder.pointer_to(operand.id)?,
            offset,
            moving,
            row_steps: BTreeMap::new(),
            first: coords,
            axes: own.collect(),
            left,
        })
    }

    /// Computes where the tile begins, once for a run, and where the plan says so its rows from
    /// there: addresses that are known before a loop would each hold two registers through it, as
    /// those of several planes along k always would. Nothing of other tiles.
    pub(in crate::lower) fn pin(&mut self, builder: &mut Builder, rows: Rows) -> Option<Vec<Stmt>> {
        let moving = match rows {
            Rows::Held => {
                self.plane?;
                self.moving.take()?
            }
            Rows::Computed => self.moving.take().unwrap_or_else(|| long(0)),
        };
        let start = self.address(builder, [0; 2], None)?;
        self.plane = None;
        self.offset = long(0);
        let start = add(add(start.offset, long(start.imm)), moving);
        let mut out = vec![self.starts_at(builder, start)];
        if rows == Rows::Computed {
            let bytes = i64::from(self.operand.dtype.bytes());
            for axis in 0..self.axes.len() {
                let stride = self.operand.stride(axis);
                if !matches!(stride, Stride::Const(_)) {
                    let stride = whole_stride(builder, self.operand, stride)?;
                    let var = builder.var("row_step", IntType::I64, false);
                    out.push(Stmt::Pin(var, mul(stride, long(bytes))));
                    self.row_steps.insert(axis, var);
                }
            }
        }
        Some(out)
    }

    /// Pins the start of a tile again, if it is pinned: addresses from here on have nothing in
    /// common with those before.
    pub(in crate::lower) fn pin_again(&mut self, builder: &mut Builder) -> Option<Stmt> {
        let start = self.moving.take()?;
        Some(self.starts_at(builder, start))
    }

    fn starts_at(&mut self, builder: &mut Builder, start: Expr) -> Stmt {
        let var = builder.var("plane", IntType::I64, false);
        self.moving = Some(Expr::Var(var));
        Stmt::Pin(var, start)
    }

    /// Whether an entry of a table is a coordinate of the operand.
    pub(in crate::lower) fn takes(&self, builder: &Builder, entry: &Expr) -> Option<Expr> {
        let axis = self.operand.axis(self.operand.looked_into()?);
        let extent = Expr::Param(builder.param(&axis.mode)?);
        Some(and(le(int(0), entry.clone()), lt(entry.clone(), extent)))
    }

    /// The coordinates of the thread's element at that constant distance from its first, at an
    /// entry of a table where one looks into the operand.
    fn coords(&self, value: [i64; 2], entry: Option<&Expr>) -> Vec<Expr> {
        let mut coords = self.first.clone();
        for (coord, at) in coords.iter_mut().zip(&self.axes) {
            let behind = at.and_then(|at| value.get(at)).copied().unwrap_or(0);
            *coord = add(coord.clone(), long(behind));
        }
        let looked_into = self.operand.looked_into();
        if let (Some(entry), Some(axis)) = (entry, looked_into)
            && let Some(coord) = coords.get_mut(axis)
        {
            *coord = widen(entry.clone());
        }
        coords
    }

    /// The address of the thread's element at that constant distance from its first, at an entry of
    /// a table where one looks into the operand.
    pub(in crate::lower) fn address(
        &self,
        builder: &mut Builder,
        value: [i64; 2],
        entry: Option<&Expr>,
    ) -> Option<Address> {
        let bytes = i64::from(self.operand.dtype.bytes());
        let per_byte = i64::from(self.operand.dtype.per_byte());
        let mut offset = self.offset.clone();
        let mut imm = 0;
        let own = self.axes.iter().enumerate();
        let own = own.filter_map(|(axis, at)| Some(((*at)?, axis)));
        let own = own.map(|(at, axis)| {
            let pinned = self.row_steps.get(&axis).copied();
            Some((*value.get(at)?, self.operand.stride(axis), pinned))
        });
        // All threads are as far from the first plane.
        let plane = self.plane.zip(self.plane_axis);
        let plane = plane.map(|(number, axis)| Some((number, &axis.stride, None)));
        for along in plane.into_iter().chain(own) {
            let (number, stride, pinned) = along?;
            match (stride, pinned) {
                (_, Some(step)) => offset = add(offset, mul(Expr::Var(step), long(number))),
                (Stride::Const(stride), None) => match number * stride * bytes / per_byte {
                    near if near.abs() <= MAX_IMMEDIATE => imm += near,
                    far => offset = add(offset, long(far)),
                },
                (Stride::Named(_) | Stride::Product { .. }, None) => {
                    let stride = whole_stride(builder, self.operand, stride)?;
                    let step = builder.hoist("step", mul(stride, long(number * bytes)));
                    offset = add(offset, step);
                }
            }
        }
        let looked_up = match entry {
            Some(entry) => {
                let axis = self.operand.looked_into()?;
                let stride = self.operand.stride(axis);
                // It stands below the test of the entry, where it does not wrap.
                let row = steps(builder, self.operand, widen(entry.clone()), stride)?;
                Some(mul(row, long(bytes)))
            }
            None => None,
        };
        let offset = match &self.moving {
            // One sum a row, made when the tile is loaded: rows of their own would each hold two
            // registers through the loop.
            Some(moving) => add(offset, moving.clone()),
            None => builder.hoist("row", offset),
        };
        let offset = match looked_up {
            Some(bytes) => add(offset, bytes),
            None => offset,
        };
        Some(Address {
            space: Space::Gmem,
            base: Base::Param(self.base),
            offset,
            imm,
            coords: self.coords(value, entry),
        })
    }
}

/// The coordinates of a tile's first element along the axes of its operand, of what all threads
/// share: outer modes, the plane and the tile along k; along the others 0.
pub(in crate::lower) fn first_coords(
    plan: &Plan,
    (operand, plane): (&Operand, Option<i64>),
    state: &State,
) -> Vec<Expr> {
    let of_axis = |axis: &Axis| {
        if plan.is_of_planes(axis) {
            return long(plane.unwrap_or(0));
        }
        let mut outer = plan.outer_of(operand);
        let found = outer.find(|(_, one)| std::ptr::eq(*one, axis));
        let at = found.and_then(|(number, _)| state.outer.get(number));
        match at {
            Some(at) => widen(at.clone()),
            None if plan.mode(SUMMED) == Some(&axis.mode) => Expr::Var(state.k_start),
            None => long(0),
        }
    };
    operand.all_axes().map(of_axis).collect()
}

/// Adds to a coordinate.
fn move_on(coords: &mut [Expr], axis: usize, by: &Expr) {
    if let Some(coord) = coords.get_mut(axis) {
        *coord = add(coord.clone(), by.clone());
    }
}

pub(in crate::lower) fn stride_expr(builder: &Builder, stride: &Stride) -> Option<Expr> {
    match stride {
        Stride::Const(value) => Some(long(*value)),
        Stride::Named(name) | Stride::Product { name, .. } => builder.param(name).map(Expr::Param),
    }
}

/// So many steps of a stride of an operand, in elements; in bytes where these hold several, of
/// which a step along a row is a part and every other stride a multiple.
fn steps(builder: &Builder, operand: &Operand, number: Expr, stride: &Stride) -> Option<Expr> {
    match (operand.dtype.per_byte(), stride) {
        (per_byte @ 2.., Stride::Const(1)) => Some(div(number, long(i64::from(per_byte)))),
        _ => Some(mul(number, whole_stride(builder, operand, stride)?)),
    }
}

/// A stride of an operand in those, where it is no step along a row.
fn whole_stride(builder: &Builder, operand: &Operand, stride: &Stride) -> Option<Expr> {
    let per_byte = i64::from(operand.dtype.per_byte());
    match stride {
        _ if per_byte == 1 => stride_expr(builder, stride),
        Stride::Const(stride) => Some(long(stride / per_byte)),
        Stride::Named(_) | Stride::Product { .. } => {
            Some(div(stride_expr(builder, stride)?, long(per_byte)))
        }
    }
}

/// The address in shared memory of the thread's element `value` elements (before the swizzle) from
/// its first.
pub(in crate::lower) fn smem_address(
    builder: &mut Builder,
    plan: &Plan,
    tile: &SmemTile,
    part: &Part<1>,
    value: i64,
    stage: Stage,
    state: &State,
) -> Address {
    let bytes = i64::from(tile.dtype.bytes());
    let (run_time, constant) = swizzled_offset(builder, plan, tile, part, value);
    let run_time = builder.hoist("smem_offset", mul(run_time, int(bytes)));
    let mut imm = constant * bytes + i64::from(plan.start_of(tile));
    let offset = match stage {
        Stage::Fixed(number) => {
            let slots = plan.arena.find(tile.within);
            imm += i64::from(number) * slots.map_or(0, |slots| i64::from(slots.each));
            run_time
        }
        Stage::Turn => run_time,
        Stage::At(End::Empty) => add(run_time, Expr::Var(state.read)),
        Stage::At(End::Fill) => add(run_time, Expr::Var(state.write)),
    };
    Address {
        space: Space::Smem,
        base: Base::Smem,
        offset,
        imm,
        coords: Vec::new(),
    }
}

/// Run-time and constant part of the element offset, in elements.
fn swizzled_offset(
    builder: &mut Builder,
    plan: &Plan,
    tile: &SmemTile,
    part: &Part<1>,
    value: i64,
) -> (Expr, i64) {
    let base = builder.thread_sum("smem_base", &part.digits, 0);
    let swizzle = &tile.layout.swizzle;
    if swizzle.is_none() {
        return (base, value);
    }
    let mut plain = 0;
    let mut swizzled = 0;
    for thread in 0..i64::from(plan.threads) {
        let [offset] = part.base(thread);
        plain |= offset;
        swizzled |= swizzle.apply(offset);
    }
    if plain & value == 0 {
        let target = swizzle.apply(value);
        let base = swizzle_expr(builder, swizzle, base);
        (
            builder.hoist("smem_xor", xor(base, int(target & swizzled))),
            target & !swizzled,
        )
    } else {
        let offset = builder.hoist("smem_sum", add(base, int(value)));
        (swizzle_expr(builder, swizzle, offset), 0)
    }
}

/// `x ^ ((x & source) >> shift)`, or `<<` for a negative shift.
fn swizzle_expr(builder: &mut Builder, swizzle: &Swizzle, x: Expr) -> Expr {
    let source = and(x.clone(), int(swizzle.source_mask()));
    let power = int(1 << swizzle.shift().unsigned_abs());
    let moved = if swizzle.shift() >= 0 {
        div(source, power)
    } else {
        mul(source, power)
    };
    builder.hoist("swizzled", xor(x, moved))
}
