//! Sums in a fixed order: the warps of a tile put their parts together in shared memory, in their
//! order; its terms go to scratch memory, and one warp takes a ticket for the tile. Who takes the
//! last one adds up what is there.
//!
//! There stand the counters of each sum, zero outside of launches, behind the flags of tiles that
//! are cut; then, behind partial sums of those, its terms. They come place after place, a place
//! with one term for each element of a tile: by tiles of the same elements, then by tiles along
//! what is added up, then by CTAs that share a tile. A sum of some tiles takes the place of their
//! first term. Places and counters are tested, which shows that they are inside, whatever the order
//! of tiles.

mod elements;
mod groups;
mod parts;

use crate::arch::WARP;
use crate::atoms::model::Space;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{
    add, and, ceil_div, div, eq, int, long, lt, mul, rem, select, widen,
};
use crate::ir::thread::program::{Address, Arg, Base, Expr, IntType, Reg, Stmt};
use crate::ir::tile::{AddUp, CombineId, View};
use crate::lower::{Lowering, bug};
use crate::plan::data::combining::{COUNTERS, Combining, InOrder, TERM_BYTES};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Step;
use crate::spec::WORKSPACE;
use crate::spec::keys::model::OperandId;

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
    /// Adds up what the warps of a tile have of outputs, then what tiles have: takes a ticket for
    /// each output, and as long as it is the last one, adds up what is there; who has all adds it
    /// to what the output holds.
    pub(in crate::lower) fn add_up(&mut self, all: &[AddUp]) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        for one in all {
            let (sums, step) = self.sums_of(one)?;
            if let Some(held) = one.held {
                out.extend(self.hand_on_held(sums, step, held)?);
            }
        }
        out.extend(self.tile_meets()?);
        for one in all {
            let (sums, step) = self.sums_of(one)?;
            let scope = self.builder.begin_scope();
            let summing = self.summing(sums, step)?;
            let term = self.store_terms(&summing)?;
            out.extend(self.builder.end_scope(scope));
            out.extend(term);
        }
        // Terms are stored before the ticket, and parts are read before others take their places.
        out.extend(self.tile_meets()?);
        let warps = self.threads_of_cta() / LANES;
        for (number, one) in (0..).zip(all) {
            let (sums, step) = self.sums_of(one)?;
            let scope = self.builder.begin_scope();
            let warp = self.warp_of_cta();
            let is_own = eq(warp, int(number % warps));
            let head = self.builder.end_scope(scope);
            let scope = self.builder.begin_scope();
            let taken = self.take_tickets(one.to, sums, step)?;
            let mut then = self.builder.end_scope(scope);
            then.extend(taken);
            out.extend(head);
            out.push(only_if(is_own, then));
        }
        Ok(out)
    }

    /// How values are added up, and the step that moves elements of the output.
    fn sums_of(&self, one: &AddUp) -> Result<(&'p Combining, &'p Step)> {
        let CombineId(number) = one.how;
        let combining = self.plan.combinings().nth(number);
        let missing = || bug(self.plan, format!("no way to combine {number}"));
        Ok((combining.ok_or_else(missing)?, self.step_of(one.by)?))
    }

    /// Takes tickets until somebody else is to come, and adds up what is there.
    fn take_tickets(
        &mut self,
        to: View,
        combining: &'p Combining,
        step: &'p Step,
    ) -> Result<Vec<Stmt>> {
        let summing = self.summing(combining, step)?;
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
        Ok(body)
    }

    /// Where the terms of the tile at hand are.
    fn summing(&mut self, combining: &'p Combining, step: &'p Step) -> Result<Summing<'p>> {
        let plan = self.plan;
        let sums = in_order(plan, combining)?;
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
            if !sums.goes(mode) {
                continue;
            }
            let count = ceil_div(self.extent(mode)?, plan.extent(mode));
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
        let elements = self.elements(sums);
        let places = mul(mul(blocks, tiles.clone()), long(sums.ctas.terms()));
        let (terms_at, counters_at) = self.regions(combining.operand)?;
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
    fn regions(&mut self, operand: OperandId) -> Result<(Expr, i64)> {
        let plan = self.plan;
        let mut terms = long(i64::from(plan.zero_bytes()));
        let partials = plan.work.spans().and_then(|_| plan.work.partial_bytes());
        if let Some(bytes) = partials {
            let [_, clusters] = self.standing().cluster;
            let of_cluster = i64::from(plan.work.cluster().size()) * bytes;
            terms = add(terms, mul(widen(clusters), long(of_cluster)));
        }
        let mut counters = i64::from(plan.work.flag_bytes());
        for (output, sums) in plan.in_order() {
            if output == operand {
                return Ok((self.builder.hoist("terms", terms), counters));
            }
            let mut count = long(sums.ctas.terms() * self.elements(sums) * TERM_BYTES);
            for mode in (0..2).filter(|mode| sums.goes(*mode)) {
                let tile = plan.extent(mode);
                count = mul(count, widen(ceil_div(self.extent(mode)?, tile)));
            }
            for number in 0..sums.outer.len() {
                count = mul(count, widen(self.outer_extent(number)?));
            }
            terms = add(terms, count);
            counters += COUNTERS * TERM_BYTES;
        }
        let name = &plan.operand(operand).name;
        Err(bug(plan, format!("nothing is added to {name} in order")))
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

    /// Elements of a tile.
    fn elements(&self, sums: &InOrder) -> i64 {
        sums.elements(self.plan.tile())
    }

    /// So many bytes behind the start of scratch memory.
    pub(in crate::lower) fn scratch_at(&self, offset: Expr, imm: i64) -> Result<Address> {
        let param = self.builder.param(WORKSPACE);
        let param = param.ok_or_else(|| bug(self.plan, "no scratch memory".to_string()))?;
        Ok(Address {
            space: Space::Gmem,
            base: Base::Param(param),
            offset,
            imm,
            coords: Vec::new(),
        })
    }
}

/// How values come together in order.
fn in_order<'p>(plan: &Plan, combining: &'p Combining) -> Result<&'p InOrder> {
    let sums = combining.in_order.as_ref();
    let name = || &plan.operand(combining.operand).name;
    sums.ok_or_else(|| bug(plan, format!("{} has no order", name())))
}

fn only_if(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If {
        cond,
        then,
        otherwise: Vec::new(),
    }
}
