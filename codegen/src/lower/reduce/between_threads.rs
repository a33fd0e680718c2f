//! Folds from thread to thread: lanes exchange registers, warps and CTAs hand values on through
//! shared memory.

use std::sync::Arc;

use crate::arch::WARP;
use crate::atoms::model::{Atom, OperandKind, Space};
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, div, int, le, mul, rem};
use crate::ir::thread::program::{Address, Arg, Base, Expr, Reg, Stmt};
use crate::lower::reduce::fold::Folding;
use crate::lower::{Lowering, bug, call};
use crate::plan::data::arena::Holds;
use crate::plan::data::folds::{Scratch, Spread};

/// Lanes of a warp.
const LANES: i64 = WARP as i64;
/// Bytes of a value that goes from thread to thread.
const VALUE_BYTES: i64 = 4;

impl Lowering<'_> {
    /// Each lane with the one whose index differs in one bit, bit after bit.
    pub(in crate::lower) fn across_lanes(
        &mut self,
        folding: &mut Folding<'_>,
        masks: impl Iterator<Item = i64>,
        results: &[Reg],
    ) -> Result<()> {
        let masks: Vec<i64> = masks.collect();
        let other = folding.spare.first().copied();
        let other = other.ok_or_else(|| bug(self.plan, "a fold of no values".to_string()))?;
        for result in results {
            for mask in &masks {
                let args = [
                    ("dst", Arg::Regs(vec![other])),
                    ("src", Arg::Regs(vec![*result])),
                    ("mask", Arg::Imm(*mask)),
                ];
                let exchanged = self.sync((Act::Exchange, Scope::Warp), args)?;
                folding.out.extend(exchanged);
                self.combine(folding, [*result, other], *result)?;
            }
        }
        Ok(())
    }

    /// One value of each warp, or of each lane that has a row of its own, through shared memory.
    pub(in crate::lower) fn across_warps(
        &mut self,
        folding: &mut Folding<'_>,
        (number, scratch): (usize, &Scratch),
        spread: Spread,
        results: &[Reg],
    ) -> Result<()> {
        let plan = self.plan;
        let tid = self.builder.tid();
        let lane = self.builder.hoist("lane", rem(tid.clone(), int(LANES)));
        let warp = self.builder.hoist("warp", div(tid, int(LANES)));
        let warps = i64::from(plan.threads) / LANES;
        let [rows, step, count] = [spread.rows_of_a_warp(), spread.warp_step(), spread.warps()];
        let values = i64::from(self.lies(Holds::Fold(number))?.at);
        let place = |row: usize, warp: Expr, lane: Expr| {
            let first = add(mul(warp, int(rows)), rem(lane, int(rows)));
            let first = mul(first, int(VALUE_BYTES));
            let imm = values + row as i64 * warps * rows * VALUE_BYTES;
            (first, imm)
        };
        // Lanes that have the same value write it once.
        let mut writes = Vec::new();
        for (row, result) in results.iter().enumerate() {
            let (offset, imm) = place(row, warp.clone(), lane.clone());
            let offset = self.builder.hoist("hand", offset);
            writes.push(hand(&scratch.write, (offset, imm), *result)?);
        }
        folding.out.push(Stmt::If {
            cond: le(add(lane.clone(), int(1)), int(rows)),
            then: writes,
            otherwise: Vec::new(),
        });
        folding.out.extend(self.sync((Act::Meet, Scope::Cta), [])?);
        let inner = rem(warp.clone(), int(step));
        let outer = div(warp, int(step * count));
        let base = add(mul(outer, int(step * count)), inner);
        let base = self.builder.hoist("first_warp", base);
        if rows == 1 {
            // Each lane takes one of the values, and lanes exchange them.
            let own = mul(rem(lane.clone(), int(count)), int(step));
            for (row, result) in results.iter().enumerate() {
                let (offset, imm) = place(row, add(base.clone(), own.clone()), lane.clone());
                let offset = self.builder.hoist("take", offset);
                folding
                    .out
                    .push(hand(&scratch.read, (offset, imm), *result)?);
            }
            let masks = (0..).map(|bit| 1 << bit).take_while(|mask| *mask < count);
            return self.across_lanes(folding, masks, results);
        }
        let spare = folding.spare.clone();
        for (row, result) in results.iter().enumerate() {
            let (offset, imm) = place(row, base.clone(), lane.clone());
            let offset = self.builder.hoist("take", offset);
            let mut taken = Vec::new();
            for (number, reg) in (0..count).zip(self.spares(&spare, count)?) {
                let imm = imm + number * step * rows * VALUE_BYTES;
                let read = hand(&scratch.read, (offset.clone(), imm), reg)?;
                folding.out.push(read);
                taken.push(reg);
            }
            self.tree(folding, &taken, *result)?;
        }
        Ok(())
    }

    /// One value of each warp of a cluster, which every CTA gets in its own shared memory: each
    /// lane writes it into another CTA's.
    pub(in crate::lower) fn across_ctas(
        &mut self,
        folding: &mut Folding<'_>,
        (number, scratch): (usize, &Scratch),
        spread: Spread,
        results: &[Reg],
    ) -> Result<()> {
        let ctas = i64::from(self.plan.work.shared_by);
        let tid = self.builder.tid();
        let lane = self.builder.hoist("lane", rem(tid.clone(), int(LANES)));
        let warp = self.builder.hoist("warp", div(tid, int(LANES)));
        let warps = spread.warps();
        let values = i64::from(self.lies(Holds::Fold(number))?.at);
        let imm = |row: usize| values + row as i64 * warps * VALUE_BYTES;
        // Nobody writes before all CTAs of the cluster have begun.
        if number == 0 {
            folding.out.extend(self.meet_cluster()?);
        }
        let mut writes = Vec::new();
        for (row, result) in results.iter().enumerate() {
            let own = add(mul(warp.clone(), int(VALUE_BYTES)), int(imm(row)));
            let args = [
                ("place", Arg::Int(add(Expr::Smem, own))),
                ("cta", Arg::Int(lane.clone())),
                ("src", Arg::Regs(vec![*result])),
            ];
            writes.extend(self.sync((Act::StoreRemote, Scope::Cluster, Space::Smem), args)?);
        }
        folding.out.push(Stmt::If {
            cond: le(add(lane.clone(), int(1)), int(ctas)),
            then: writes,
            otherwise: Vec::new(),
        });
        folding.out.extend(self.meet_cluster()?);
        let each = (warps / LANES).max(1);
        let own = mul(rem(lane, int(warps)), int(VALUE_BYTES));
        let own = self.builder.hoist("take", own);
        let spare = folding.spare.clone();
        for (row, result) in results.iter().enumerate() {
            let mut taken = Vec::new();
            for (part, reg) in (0..each).zip(self.spares(&spare, each)?) {
                let imm = imm(row) + part * LANES * VALUE_BYTES;
                folding
                    .out
                    .push(hand(&scratch.read, (own.clone(), imm), reg)?);
                taken.push(reg);
            }
            self.tree(folding, &taken, *result)?;
        }
        let masks = (0..).map(|bit| 1 << bit);
        let masks = masks.take_while(|mask| *mask < warps.min(LANES));
        self.across_lanes(folding, masks, results)
    }

    /// All threads of a cluster wait for one another, and see what they have written.
    pub(in crate::lower) fn meet_cluster(&mut self) -> Result<Vec<Stmt>> {
        let mut out = self.sync((Act::Arrive, Scope::Cluster), [])?;
        out.extend(self.sync((Act::Await, Scope::Cluster), [])?);
        Ok(out)
    }

    /// One register more for each value that is taken from shared memory.
    fn spares(&mut self, spare: &[Reg], count: i64) -> Result<Vec<Reg>> {
        let reg = spare.first();
        let reg = reg.ok_or_else(|| bug(self.plan, "a fold of no values".to_string()))?;
        let ty = self.builder.file_type(reg.file);
        let file = self.builder.file("taken", ty, count as usize);
        Ok((0..count as u32).map(|index| Reg { file, index }).collect())
    }
}

/// A register to a place in shared memory, or from there.
fn hand(atom: &Arc<Atom>, (offset, imm): (Expr, i64), reg: Reg) -> Result<Stmt> {
    let address = Address {
        space: Space::Smem,
        base: Base::Smem,
        offset,
        imm,
        coords: Vec::new(),
    };
    let args = atom.operands.iter().map(|operand| match operand.kind {
        OperandKind::Address(_) => Arg::Address(address.clone()),
        _ => Arg::Regs(vec![reg]),
    });
    Ok(call(atom, args.collect()))
}
