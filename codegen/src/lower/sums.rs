//! Sums in a fixed order, through scratch memory: the warps of a tile store their terms, each in
//! its own place, and take tickets; who takes the last one adds up what is there.
//!
//! There stand the counters of each sum, zero outside of launches, behind the flags of tiles that
//! are cut; then, behind partial sums of those, its terms. They come place after place, a place
//! with one term for each element of a tile: by tiles of the same elements, then by tiles along
//! what is added up, then by warps. A sum of some tiles takes the place of their first term. Places
//! and counters are tested, which shows that they are inside, whatever the order of tiles.

mod groups;
mod elements;

use crate::arch::WARP;
use crate::atoms::model::Space;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::expr::{add, and, ceil_div, div, eq, int, long, lt, mul, rem, select, widen};
use crate::ir::program::{Address, Arg, Base, Expr, IntType, Reg, Stmt};
use crate::ir::tile::View;
use crate::lower::{Lowering, WORKSPACE, bug};
use crate::plan::combine::Combining;
use crate::plan::model::Step;
use crate::plan::sums::{COUNTERS, InOrder, TERM_BYTES};

use elements::Lanes;

/// Lanes of a warp.
const LANES: i64 = WARP as i64;

/// A sum in a fixed order, under construction.
struct Summing<'p> {
    combining: &'p Combining,
    sums: &'p InOrder,
    step: &'p Step,
    /// Elements of a tile.
    elements: i64,
    /// Which of the tiles of other elements this one is.
    block: Expr,
    /// Which of the tiles of its elements it is, and how many there are.
    tile: Expr,
    tiles: Expr,
    /// Places of a launch.
    places: Expr,
    /// Whether the tile is one of the problem's, which a cluster's last ones need not be.
    is_tile: Option<Expr>,
    /// The first byte of its terms, and of its counters.
    terms_at: Expr,
    counters_at: i64,
}

impl<'p> Lowering<'p> {
    /// Stores what a warp has of elements, each known by its coordinates in the tile.
    pub(super) fn store_terms(
        &mut self,
        (combining, sums, step): (&'p Combining, &'p InOrder, &'p Step),
        held: View,
        terms: &[([i64; 2], Reg)],
    ) -> Result<Vec<Stmt>> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let scope = self.builder.begin_scope();
        let summing = self.summing((combining, sums, step))?;
        let tid = self.builder.tid();
        let warp = self.builder.hoist("warp", div(tid, int(LANES)));
        let mut part = int(0);
        let mut each = 1;
        for digit in &sums.digits {
            let own = rem(div(warp.clone(), int(digit.prefix)), int(digit.extent));
            part = add(part, mul(own, int(each)));
            each *= digit.extent;
        }
        let kept = sums.keeps.iter().position(|keeps| *keeps);
        let element = match kept {
            Some(mode) => {
                let digits = self.fragment(held.tile())?.digits().to_vec();
                self.builder.thread_sum("coord", &digits, mode)
            }
            None => int(0),
        };
        let tile = add(
            mul(summing.block.clone(), summing.tiles.clone()),
            summing.tile.clone(),
        );
        let place = add(mul(tile, long(sums.parts())), widen(part));
        let place = self.builder.hoist("place", place);
        let mut stores = Vec::new();
        for (value, register) in terms {
            let at = kept.map_or(0, |mode| value[mode]);
            let address = self.term(&summing, place.clone(), element.clone(), at)?;
            stores.extend(self.term_to(address, *register)?);
        }
        let mut cond = lt(place, summing.places.clone());
        if let Some(alone) = self.alone(step, &[[0; 2]])? {
            cond = and(cond, alone);
        }
        cond = summing.is_tile.into_iter().fold(cond, and);
        let mut out = self.builder.end_scope(scope);
        out.push(only_if(cond, stores));
        Ok(out)
    }

    /// Takes tickets until somebody else is to come, and adds up what is there; who has all adds it
    /// to what the output holds.
    pub(super) fn add_up(
        &mut self,
        to: View,
        parts: (&'p Combining, &'p InOrder, &'p Step),
    ) -> Result<Vec<Stmt>> {
        let scope = self.builder.begin_scope();
        let summing = self.summing(parts)?;
        let tid = self.builder.tid();
        let lane = self.builder.hoist("lane", rem(tid, int(LANES)));
        let elements = (summing.elements as u64).next_power_of_two() as i64;
        let elements = elements.min(LANES);
        let lanes = Lanes {
            elements,
            shares: LANES / elements,
            own: self.builder.hoist("own", rem(lane.clone(), int(elements))),
            share: self.builder.hoist("share", div(lane, int(elements))),
        };
        let going = self.builder.var("going", IntType::I32, true);
        let goes = match summing.is_tile.clone() {
            Some(is_tile) => select(is_tile, int(1), int(0)),
            None => int(1),
        };
        let mut body = vec![Stmt::Assign(going, goes)];
        for group in self.groups_of(&summing) {
            body.extend(self.group(&summing, &lanes, &group, going)?);
        }
        let inner = self.builder.begin_scope();
        let last = self.add_to_output(to, &summing, &lanes)?;
        let mut then = self.builder.end_scope(inner);
        then.extend(last);
        body.push(only_if(eq(Expr::Var(going), int(1)), then));
        let mut out = self.builder.end_scope(scope);
        out.extend(body);
        Ok(out)
    }

    /// Where the terms of the tile at hand are.
    fn summing(
        &mut self,
        (combining, sums, step): (&'p Combining, &'p InOrder, &'p Step),
    ) -> Result<Summing<'p>> {
        let plan = self.plan;
        let [mut block, mut blocks] = [long(0), long(1)];
        let [mut tile, mut tiles] = [long(0), long(1)];
        let mut is_tile: Option<Expr> = None;
        let mut goes = |this: &mut Self, kept: bool, at: Expr, count: Expr| {
            let count = widen(count);
            let [all, number] = match kept {
                true => [&mut blocks, &mut block],
                false => [&mut tiles, &mut tile],
            };
            let next = add(mul(number.clone(), count.clone()), widen(at));
            *number = this.builder.hoist("among", next);
            *all = this.builder.hoist("all", mul(all.clone(), count));
        };
        for mode in 0..2 {
            if !sums.keeps[mode] && !sums.folds[mode] {
                continue;
            }
            let count = ceil_div(
                self.extent(mode)?,
                plan.cta_tile.get(mode).copied().unwrap_or(1),
            );
            let count = self.builder.hoist("tiles", count);
            let at = self.state.tile[mode].clone();
            if self.kernel.work.cluster().0[mode] > 1 {
                let begins = lt(at.clone(), count.clone());
                is_tile = Some(is_tile.into_iter().fold(begins, and));
            }
            goes(self, sums.keeps[mode], at, count);
        }
        let outer = self.state.outer.clone();
        for (number, (kept, at)) in sums.outer.iter().zip(outer).enumerate() {
            let count = self.outer_extent(number)?;
            goes(self, *kept, at, count);
        }
        let elements = sums.elements(&plan.cta_tile);
        let places = mul(mul(blocks, tiles.clone()), long(sums.parts()));
        let (terms_at, counters_at) = self.regions(&combining.operand)?;
        Ok(Summing {
            combining,
            sums,
            step,
            elements,
            block,
            tile,
            tiles,
            is_tile,
            places: self.builder.hoist("places", places),
            terms_at,
            counters_at,
        })
    }

    /// The first byte of the terms of what is added to an output, and of its counters.
    fn regions(&mut self, operand: &str) -> Result<(Expr, i64)> {
        let plan = self.plan;
        let mut terms = long(i64::from(plan.zero_bytes()));
        if let Some(bytes) = plan.work.partial_bytes() {
            let [_, ctas] = self.role()?.cluster.clone();
            terms = add(terms, mul(widen(ctas), long(bytes)));
        }
        let mut counters = i64::from(plan.work.flag_bytes());
        for (name, sums) in plan.in_order() {
            if name == operand {
                return Ok((self.builder.hoist("terms", terms), counters));
            }
            let mut count = long(sums.parts() * sums.elements(&plan.cta_tile) * TERM_BYTES);
            for mode in (0..2).filter(|mode| sums.keeps[*mode] || sums.folds[*mode]) {
                let tile = plan.cta_tile.get(mode).copied().unwrap_or(1);
                count = mul(count, widen(ceil_div(self.extent(mode)?, tile)));
            }
            for number in 0..sums.outer.len() {
                count = mul(count, widen(self.outer_extent(number)?));
            }
            terms = add(terms, count);
            counters += COUNTERS * TERM_BYTES;
        }
        Err(bug(plan, format!("nothing is added to {operand} in order")))
    }

    /// The address of a term: of an element at a place.
    fn term(
        &self,
        summing: &Summing<'_>,
        place: Expr,
        element: Expr,
        behind: i64,
    ) -> Result<Address> {
        let terms = add(mul(place, long(summing.elements)), widen(element));
        let bytes = add(summing.terms_at.clone(), mul(terms, long(TERM_BYTES)));
        self.scratch_at(bytes, behind * TERM_BYTES)
    }

    fn term_to(&self, address: Address, register: Reg) -> Result<Vec<Stmt>> {
        let args = [
            ("dst", Arg::Address(address)),
            ("src", Arg::Regs(vec![register])),
        ];
        self.sync((Act::StoreTerm, Scope::Gpu, Space::Gmem), args)
    }

    fn term_from(&self, address: Address, register: Reg) -> Result<Vec<Stmt>> {
        let args = [
            ("dst", Arg::Regs(vec![register])),
            ("src", Arg::Address(address)),
        ];
        self.sync((Act::LoadTerm, Scope::Gpu, Space::Gmem), args)
    }

    /// So many bytes behind the start of scratch memory.
    pub(super) fn scratch_at(&self, offset: Expr, imm: i64) -> Result<Address> {
        let param = self.builder.param(WORKSPACE);
        let param = param.ok_or_else(|| bug(self.plan, "no scratch memory".to_string()))?;
        Ok(Address {
            space: Space::Gmem,
            base: Base::Param(param),
            offset,
            imm,
        })
    }
}

fn only_if(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If {
        cond,
        then,
        otherwise: Vec::new(),
    }
}
