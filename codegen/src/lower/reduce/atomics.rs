//! Values combined with what an output holds: a thread folds those that it has of one element of
//! the output, share after share; with the last of them lanes put theirs together, and the first
//! lane combines the result with what is in memory.
//!
//! Elements past the problem's end take no part. A thread that has none of an element hands on
//! what folds begin with, which leaves what is there as it is.

use crate::arch::WARP;
use crate::error::Result;
use crate::ir::thread::expr::{and, eq, int, le};
use crate::ir::thread::program::{Expr, IntType, Reg, Scalar, Stmt};
use crate::ir::tile::{Bounds, CombineId, CopyId, Slice, View};
use crate::lower::reduce::fold::{Folding, groups, identity};
use crate::lower::{Lowering, bug};
use crate::plan::data::combining::Combining;
use crate::plan::data::moves::Step;
use crate::spec::keys::model::OperandId;

/// A value on its way: its coordinates, and its register.
type Value = ([i64; 2], Reg);

impl<'p> Lowering<'p> {
    /// How values are combined with what an operand holds.
    pub(in crate::lower) fn combining_of(&self, operand: OperandId) -> Option<&'p Combining> {
        let mut all = self.plan.combinings();
        all.find(|combining| combining.operand == operand)
    }

    /// Whether a thread is the first of the lanes whose indices differ in those bits; nothing
    /// where none do.
    pub(in crate::lower) fn first_of_lanes(&mut self, lanes: i64) -> Option<Expr> {
        (lanes != 0).then(|| {
            let tid = self.builder.tid();
            let own = self.builder.hoist("lanes", and(tid, int(lanes)));
            eq(own, int(0))
        })
    }

    /// A share of a tile's elements.
    pub(in crate::lower) fn combine_with(
        &mut self,
        to: View,
        [from, held]: [View; 2],
        (by, CombineId(number)): (CopyId, CombineId),
        (bounds, share): (Bounds, Slice),
    ) -> Result<Vec<Stmt>> {
        let combining = self.plan.combinings().nth(number);
        let missing = || bug(self.plan, format!("no way to combine {number}"));
        let combining = combining.ok_or_else(missing)?;
        let count = share.1.max(1) as usize;
        let all = self.fragment(from.tile())?.values().to_vec();
        let of_share = |number: u32| {
            let [first, end] = [number, number + 1].map(|end| all.len() * end as usize / count);
            first..end
        };
        let elements = self.fragment(held.tile())?.values().to_vec();
        let ty = self.file_type(held.tile())?;
        let spares = of_share(share.0).len() + 1;
        let file = self.builder.file("combine", ty, spares);
        let spare = (0..spares as u32).map(|index| Reg { file, index });
        let mut folding = Folding {
            how: &combining.how,
            spare: spare.collect(),
            out: Vec::new(),
        };
        let keeps = self.extents_of(held)?.map(|extent| extent > 1);
        let left = self.left_of_folded(from, (keeps, bounds), &mut folding.out)?;
        let sums = combining.in_order.as_ref();
        // What comes together over all chunks is begun before the first, and handed on at the end.
        let passed = sums.is_some_and(|sums| sums.passed.is_some());
        let mut done = Vec::new();
        for (number, element) in elements.iter().enumerate() {
            let is_own = |value: &[i64; 2]| (0..2).all(|at| !keeps[at] || value[at] == element[at]);
            let own: Vec<usize> = (0..all.len()).filter(|at| is_own(&all[*at])).collect();
            let result = self.single(held.tile(), *element)?;
            let [first, last] = [own.first(), own.last()]
                .map(|at| at.is_some_and(|at| of_share(share.0).contains(at)));
            let here = own.iter().filter(|at| of_share(share.0).contains(at));
            let here = here.map(|at| Ok((all[*at], self.single(from.tile(), all[*at])?)));
            let here = here.collect::<Result<Vec<Value>>>()?;
            if first && !passed {
                let begin = Scalar::Bits(identity(&combining.how));
                folding.out.push(Stmt::Set(result, begin));
            }
            self.combine_inside(&mut folding, (&here, result), (bounds, &left))?;
            done.extend((last && !passed).then_some((number, result)));
        }
        let results: Vec<Reg> = done.iter().map(|(_, result)| *result).collect();
        self.across_lanes(&mut folding, lane_masks(combining.lanes), &results)?;
        let mut out = folding.out;
        if sums.is_some() {
            let step = self.step_of(by)?;
            let parts = done
                .iter()
                .map(|(number, result)| (elements[*number], *result));
            let parts: Vec<Value> = parts.collect();
            out.extend(self.hand_parts((combining, step), held, &parts)?);
            return Ok(out);
        }
        for share in shares_of(&done, elements.len()) {
            out.extend(self.copy(by, [held, to], bounds, share)?);
        }
        Ok(out)
    }

    pub(in crate::lower) fn step_of(&self, by: CopyId) -> Result<&'p Step> {
        let step = match by {
            CopyId::Tiled(number) => self.plan.steps.get(number),
            CopyId::Boxes(_) => None,
        };
        step.ok_or_else(|| bug(self.plan, format!("no tiled copy {by:?}")))
    }

    /// Combines the values of one element that are inside along the modes that are folded: rows
    /// apart, so that each has one test, then those of a row that are inside together.
    fn combine_inside(
        &mut self,
        folding: &mut Folding<'_>,
        (values, result): (&[Value], Reg),
        (bounds, left): (Bounds, &[Option<Expr>; 2]),
    ) -> Result<()> {
        let rows = match left {
            [None, None] => return self.combine_all(folding, values, result),
            [None, Some(_)] => vec![values.to_vec()],
            [Some(_), _] => rows_of(values),
        };
        for row in rows {
            let before = std::mem::take(&mut folding.out);
            let mut inside = Vec::new();
            match &left[1] {
                None => {
                    self.combine_all(folding, &row, result)?;
                    inside.append(&mut folding.out);
                }
                Some(left) => {
                    let along = row.iter().map(|(value, _)| value[1]).collect();
                    let flow = self.plan.flow.as_ref();
                    let vector = flow.map_or(1, |flow| flow.together(1));
                    for (range, cond) in groups(along, (bounds, vector), left) {
                        self.combine_all(folding, &row[range], result)?;
                        inside.push(only_if(cond, std::mem::take(&mut folding.out)));
                    }
                }
            }
            folding.out = before;
            match (&left[0], row.first()) {
                (Some(left), Some((first, _))) => {
                    let cond = le(int(first[0] + 1), left.clone());
                    folding.out.push(only_if(cond, inside));
                }
                _ => folding.out.append(&mut inside),
            }
        }
        Ok(())
    }

    /// Elements left along the modes of the tile that are folded, pinned so that no predicate is
    /// kept for the operations to come; none where all elements are inside.
    fn left_of_folded(
        &mut self,
        from: View,
        (keeps, bounds): ([bool; 2], Bounds),
        out: &mut Vec<Stmt>,
    ) -> Result<[Option<Expr>; 2]> {
        let mut pinned = [None, None];
        if bounds == Bounds::Inside {
            return Ok(pinned);
        }
        for mode in (0..2).filter(|mode| !keeps[*mode]) {
            let left = self.left_of(from.tile(), mode)?;
            let here = self.builder.var("left_here", IntType::I32, false);
            out.push(Stmt::Pin(here, left));
            pinned[mode] = Some(Expr::Var(here));
        }
        Ok(pinned)
    }

    /// Combines values with what a register holds.
    fn combine_all(
        &mut self,
        folding: &mut Folding<'_>,
        values: &[Value],
        result: Reg,
    ) -> Result<()> {
        let registers: Vec<Reg> = values.iter().map(|(_, register)| *register).collect();
        match registers.as_slice() {
            [] => Ok(()),
            [alone] => self.combine(folding, [result, *alone], result),
            more => {
                let part = folding.spare.last().copied();
                let part = part.ok_or_else(|| bug(self.plan, "no registers to fold in".into()))?;
                self.tree(folding, more, part)?;
                self.combine(folding, [result, part], result)
            }
        }
    }

    /// The extents of a tile of two modes.
    pub(in crate::lower) fn extents_of(&self, view: View) -> Result<[i64; 2]> {
        let tile = self.kernel.tiles.get(view.tile().0);
        match tile.map(|tile| tile.modes.as_slice()) {
            Some([(_, rows), (_, columns)]) => Ok([*rows, *columns]),
            _ => Err(bug(self.plan, format!("{view:?} has no two modes"))),
        }
    }
}

/// What the indices of lanes differ in that put their parts together, bit after bit, the highest
/// first.
pub(in crate::lower) fn lane_masks(lanes: i64) -> impl Iterator<Item = i64> {
    let bits = (0..).map(|halvings| i64::from(WARP / 2) >> halvings);
    let bits = bits.take_while(|bit| *bit > 0);
    bits.filter(move |bit| lanes & bit != 0)
}

/// Shares of a copy of so many elements that are of those numbers, which go up: one share where
/// they are all, or lie as those of equal shares do; else one of each.
fn shares_of(done: &[(usize, Reg)], all: usize) -> Vec<Slice> {
    let (Some((first, _)), len) = (done.first(), done.len()) else {
        return Vec::new();
    };
    let in_a_row = (*first..).zip(done).all(|(at, (number, _))| at == *number);
    if in_a_row && first % len == 0 && all.is_multiple_of(len) {
        return vec![Slice((first / len) as u32, (all / len) as u32)];
    }
    let each = done
        .iter()
        .map(|(number, _)| Slice(*number as u32, all as u32));
    each.collect()
}

fn only_if(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If {
        cond,
        then,
        otherwise: Vec::new(),
    }
}

/// Values by their rows, in the order in which those come.
fn rows_of(values: &[Value]) -> Vec<Vec<Value>> {
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for value in values {
        let row = |row: &&mut Vec<Value>| row.iter().all(|(other, _)| other[0] == value.0[0]);
        match rows.iter_mut().find(row) {
            Some(row) => row.push(*value),
            None => rows.push(vec![*value]),
        }
    }
    rows
}
