//! Folds: a thread's own values in pairs, then lanes, then warps through shared memory.
//!
//! The order is fixed, and the same for every thread that gets the result, so that all of them get
//! the same bits. Elements past the problem's end take no part.

use std::ops::Range;

use crate::error::Result;
use crate::ir::thread::expr::{int, le, mul, sub};
use crate::ir::thread::program::{Expr, IntType, Reg, Scalar, Stmt};
use crate::ir::tile::{Bounds, FoldId, Slice, TileId, View};
use crate::lower::{Lowering, bug};
use crate::plan::data::folds::{Combination, FoldPlan};
use crate::plan::instructions::casts::bits;

/// A fold on its way: how it is made, and where its parts are.
pub(in crate::lower) struct Folding<'p> {
    pub how: &'p Combination,
    /// Registers for values on their way.
    pub spare: Vec<Reg>,
    pub out: Vec<Stmt>,
}

impl<'p> Lowering<'p> {
    /// Folds a share of a tile; the result of each row goes to the register that holds it in the
    /// destination, from lane to lane with the row's last values.
    pub(in crate::lower) fn fold(
        &mut self,
        [from, to]: [View; 2],
        FoldId(number): FoldId,
        (bounds, share): (Bounds, Slice),
    ) -> Result<Vec<Stmt>> {
        let plan = self.plan;
        let (_, fold) = self.fold_of(number)?;
        let source = self.fragment(from.tile())?.values().to_vec();
        let here = share.of(source.len());
        let rows = self.fragment(to.tile())?.values().to_vec();
        let ty = self.file_type(to.tile())?;
        // A thread combines what it has, later what other warps have.
        let others = usize::try_from(fold.spread.warps()).unwrap_or(0);
        let count = here.len().max(others) + 1;
        let file = self.builder.file("fold", ty, count);
        let spare = (0..count as u32).map(|index| Reg { file, index });
        let mut folding = Folding {
            how: &fold.how,
            spare: spare.collect(),
            out: Vec::new(),
        };
        let over = fold.over;
        let mut results = Vec::new();
        for row in rows {
            let mine = |at: &usize| source[*at][1 - over] == row[1 - over];
            let own: Vec<usize> = (0..source.len()).filter(mine).collect();
            let taken = own.iter().filter(|at| here.contains(at));
            let values: Vec<[i64; 2]> = taken.map(|at| source[*at]).collect();
            if values.is_empty() {
                continue;
            }
            let result = self.single(to.tile(), row)?;
            let [begins, ends] =
                [own.first(), own.last()].map(|at| at.is_some_and(|at| here.contains(at)));
            let parts = (from.tile(), values.as_slice(), number);
            self.fold_row(&mut folding, parts, (result, begins), bounds)?;
            results.extend(ends.then_some(result));
        }
        let spread = fold.spread;
        self.across_lanes(&mut folding, spread.lane_masks(), &results)?;
        match &fold.scratch {
            Some(scratch) if plan.work.shared_by > 1 => {
                self.across_ctas(&mut folding, (number, scratch), spread, &results)?;
            }
            Some(scratch) => {
                self.across_warps(&mut folding, (number, scratch), spread, &results)?;
            }
            None => {}
        }
        Ok(folding.out)
    }

    /// A thread's values of a row, which begin it or go on with what is folded.
    fn fold_row(
        &mut self,
        folding: &mut Folding<'_>,
        (tile, values, number): (TileId, &[[i64; 2]], usize),
        (result, begins): (Reg, bool),
        bounds: Bounds,
    ) -> Result<()> {
        let (vector, fold) = self.fold_of(number)?;
        let over = fold.over;
        let regs = values.iter().map(|value| self.single(tile, *value));
        let regs = regs.collect::<Result<Vec<Reg>>>()?;
        if bounds == Bounds::Inside {
            return match (begins, regs.as_slice()) {
                (true, regs) => self.tree(folding, regs, result),
                (false, [alone]) => self.combine(folding, [result, *alone], result),
                (false, more) => {
                    let part = self.last_spare(folding)?;
                    self.tree(folding, more, part)?;
                    self.combine(folding, [result, part], result)
                }
            };
        }
        // Pinned, so that no predicate is kept for the operations to come.
        let left = self.left_of(tile, over)?;
        let pinned = self.builder.var("left_here", IntType::I32, false);
        folding.out.push(Stmt::Pin(pinned, left));
        let left = Expr::Var(pinned);
        let along = values.iter().map(|value| value[over]).collect();
        let groups = groups(along, (bounds, vector), &left);
        if begins {
            let identity = Scalar::Bits(identity(folding.how));
            folding.out.push(Stmt::Set(result, identity));
        }
        self.guarded(folding, &regs, result, groups)
    }

    fn last_spare(&self, folding: &Folding<'_>) -> Result<Reg> {
        let last = folding.spare.last().copied();
        last.ok_or_else(|| bug(self.plan, "a fold of no values".to_string()))
    }

    /// The fold of that number, and elements of a vector along its mode.
    pub(in crate::lower) fn fold_of(&self, number: usize) -> Result<(i64, &'p FoldPlan)> {
        let flow = self.plan.flow.as_ref();
        let found = flow.and_then(|flow| Some((flow, flow.folds.get(number)?)));
        let (flow, fold) = found.ok_or_else(|| bug(self.plan, format!("no fold {number}")))?;
        Ok((flow.together(fold.over), fold))
    }

    /// Values combined in pairs, and what comes out in pairs again.
    pub(in crate::lower) fn tree(
        &mut self,
        folding: &mut Folding<'_>,
        regs: &[Reg],
        result: Reg,
    ) -> Result<()> {
        let mut level = regs.to_vec();
        while let [first, second, rest @ ..] = level.as_slice() {
            if rest.is_empty() {
                return self.combine(folding, [*first, *second], result);
            }
            if level.len().div_ceil(2) > folding.spare.len() {
                return Err(bug(self.plan, format!("no room to fold {}", level.len())));
            }
            let mut next = Vec::new();
            for (pair, spare) in level.chunks(2).zip(folding.spare.clone()) {
                match pair {
                    [one, other] => {
                        self.combine(folding, [*one, *other], spare)?;
                        next.push(spare);
                    }
                    alone => next.extend(alone),
                }
            }
            level = next;
        }
        // One value alone is folded with what folds begin with.
        let Some(alone) = level.first() else {
            return Err(bug(self.plan, "a fold of no values".to_string()));
        };
        let identity = Scalar::Bits(identity(folding.how));
        folding.out.push(Stmt::Set(result, identity));
        self.combine(folding, [result, *alone], result)
    }

    /// Combines groups of values with what is folded, each where it is inside.
    fn guarded(
        &mut self,
        folding: &mut Folding<'_>,
        regs: &[Reg],
        result: Reg,
        groups: Vec<(Range<usize>, Expr)>,
    ) -> Result<()> {
        let part = self.last_spare(folding)?;
        for (range, cond) in groups {
            let before = std::mem::take(&mut folding.out);
            match &regs[range] {
                [alone] => self.combine(folding, [result, *alone], result)?,
                more => {
                    self.tree(folding, more, part)?;
                    self.combine(folding, [result, part], result)?;
                }
            }
            let then = std::mem::replace(&mut folding.out, before);
            folding.out.push(Stmt::If {
                cond,
                then,
                otherwise: Vec::new(),
            });
        }
        Ok(())
    }

    pub(in crate::lower) fn combine(
        &mut self,
        folding: &mut Folding<'_>,
        pair: [Reg; 2],
        result: Reg,
    ) -> Result<()> {
        let combine = folding.how.code.as_ref();
        let combine = combine.ok_or_else(|| bug(self.plan, "a fold of no code".to_string()))?;
        let inputs = pair.map(|reg| vec![reg]);
        let run = self.run(&combine.code, &inputs, &[result], &|_| None)?;
        folding.out.extend(run);
        Ok(())
    }

    /// The register of a single element.
    pub(in crate::lower) fn single(&self, tile: TileId, element: [i64; 2]) -> Result<Reg> {
        let registers = self.fragment(tile)?.registers(&[element], 0);
        match registers.as_deref() {
            Some([one]) => Ok(*one),
            _ => Err(bug(
                self.plan,
                format!("{element:?} is in no register of its own"),
            )),
        }
    }

    /// Elements from a thread's first to the end of the problem, along a mode of the tile.
    pub(in crate::lower) fn left_of(&mut self, tile: TileId, mode: usize) -> Result<Expr> {
        let digits = self.fragment(tile)?.digits().to_vec();
        let thread = self.builder.thread_sum("coord", &digits, mode);
        let start = self.start_of(mode)?;
        let end = self.extent(mode)?;
        let rest = self.builder.hoist("rest", sub(end, start));
        Ok(self.builder.hoist("left", sub(rest, thread)))
    }

    /// The first coordinate of the CTA's tile along a mode.
    pub(in crate::lower) fn start_of(&mut self, mode: usize) -> Result<Expr> {
        let tile = self.state.tile.get(mode).cloned();
        let tile = tile.ok_or_else(|| bug(self.plan, format!("no tile along mode {mode}")))?;
        let extent = self.plan.extent(mode);
        Ok(self.builder.hoist("start", mul(tile, int(extent))))
    }
}

/// Values that are inside together, by their coordinates, and when they are.
pub(in crate::lower) fn groups(
    along: Vec<i64>,
    (bounds, vector): (Bounds, i64),
    left: &Expr,
) -> Vec<(Range<usize>, Expr)> {
    let together = |first: i64, at: i64| match bounds {
        Bounds::Vectors => first.div_euclid(vector) == at.div_euclid(vector),
        Bounds::Inside | Bounds::Checked => first == at,
    };
    let mut groups = Vec::new();
    let mut begin = 0;
    for end in 1..=along.len() {
        let first = along[begin];
        if end < along.len() && together(first, along[end]) {
            continue;
        }
        let last = along[begin..end].iter().max().copied().unwrap_or(first);
        groups.push((begin..end, le(int(last + 1), left.clone())));
        begin = end;
    }
    groups
}

/// What folds begin with, as bits of a register.
pub(in crate::lower) fn identity(how: &Combination) -> u64 {
    bits(how.identity(), how.dtype)
}
