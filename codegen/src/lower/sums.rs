//! Sums in a fixed order, through scratch memory: the warps of a tile store their terms, each in
//! its own place, and take tickets; who takes the last one adds up what is there.
//!
//! There stand the counters of each sum, zero outside of launches, behind the flags of tiles that
//! are cut; then, behind partial sums of those, its terms, place after place with one term for each element of a tile: by tiles of the same elements, then by tiles
//! along what is added up, then by warps. A sum of some tiles takes the place of their first term.
//! Places and counters are tested, which shows that they are inside, whatever the order of tiles.

use std::sync::Arc;

use crate::arch::WARP;
use crate::atoms::model::{Atom, OperandKind, RegType, Space};
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::expr::widen;
use crate::ir::expr::{add, and, ceil_div, div, eq, int, long, lt, min, mul, rem, select, sub};
use crate::ir::program::{Address, Arg, Base, Expr, IntType, Reg, Scalar, Stmt, VarId};
use crate::ir::tile::View;
use crate::lower::address::stride_expr;
use crate::lower::fold::{Folding, identity};
use crate::lower::{Lowering, WORKSPACE, bug, call};
use crate::plan::combine::Combining;
use crate::plan::model::Step;
use crate::plan::sums::{COUNTERS, InOrder, TERM_BYTES};

/// Lanes of a warp.
const LANES: i64 = WARP as i64;
/// Terms that a lane loads at a time.
const AT_A_TIME: i64 = 4;
/// A ticket that nobody takes last.
const NO_TICKET: u64 = u32::MAX as u64;

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

/// Some of the terms that come together.
struct Group {
    /// The place of the first.
    first: Expr,
    /// From one to the next, in places.
    apart: i64,
    /// How many there are.
    count: Expr,
    /// Who takes tickets for it.
    takers: Expr,
    /// Its counter.
    counter: Expr,
    /// Whether terms come together there.
    exists: Option<Expr>,
}

/// Lanes that share out elements, and the terms of an element.
struct Lanes {
    /// Elements side by side.
    elements: i64,
    /// Lanes with terms of one element.
    shares: i64,
    own: Expr,
    share: Expr,
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
        let [terms_at, counters_at] = self.regions(&combining.operand)?;
        let Expr::Int(counters_at, _) = counters_at else {
            return Err(bug(plan, "counters begin nowhere".to_string()));
        };
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
    fn regions(&mut self, operand: &str) -> Result<[Expr; 2]> {
        let plan = self.plan;
        let mut terms = long(i64::from(plan.zero_bytes()));
        if let Some(bytes) = plan.work.partial_bytes() {
            let [_, ctas] = self.role()?.cluster.clone();
            terms = add(terms, mul(widen(ctas), long(bytes)));
        }
        let mut counters = i64::from(plan.work.flag_bytes());
        for (name, sums) in plan.in_order() {
            if name == operand {
                return Ok([self.builder.hoist("terms", terms), long(counters)]);
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

    /// The groups whose terms come together, one behind the other: of warps and tiles, of sums of
    /// these, and of what is left.
    fn groups_of(&mut self, summing: &Summing<'_>) -> [Group; 3] {
        let sums = summing.sums;
        let mut hoist = |name: &str, expr: Expr| self.builder.hoist(name, expr);
        let (first, next) = (sums.first_tiles(), sums.next_sums());
        let up = |count: Expr, by: i64| div(add(count, long(by - 1)), long(by));
        let [tile, tiles] = [summing.tile.clone(), summing.tiles.clone()];
        let before = hoist("before", mul(summing.block.clone(), tiles.clone()));
        let [firsts, seconds] = [up(tiles.clone(), first), up(tiles.clone(), first * next)];
        let [firsts, seconds] = [hoist("firsts", firsts), hoist("seconds", seconds)];
        let counters = mul(summing.block.clone(), mul(firsts.clone(), long(2)));
        let counters = hoist("counters", counters);
        let place = |tile: Expr| mul(add(before.clone(), tile), long(sums.parts()));
        let group = hoist("group", div(tile.clone(), long(first)));
        let of_tiles = min(long(first), sub(tiles, mul(group.clone(), long(first))));
        let of_tiles = hoist("of_tiles", of_tiles);
        let second = hoist("second", div(tile, long(first * next)));
        let of_sums = sub(firsts.clone(), mul(second.clone(), long(next)));
        let of_sums = hoist("of_sums", min(long(next), of_sums));
        let counter = |number: Expr| add(counters.clone(), number);
        [
            Group {
                first: place(mul(group.clone(), long(first))),
                apart: 1,
                count: mul(of_tiles.clone(), long(sums.parts())),
                takers: mul(of_tiles, long(sums.warps)),
                counter: counter(group),
                exists: None,
            },
            Group {
                first: place(mul(second.clone(), long(first * next))),
                apart: first * sums.parts(),
                count: of_sums.clone(),
                takers: of_sums,
                counter: counter(add(firsts.clone(), second)),
                exists: Some(lt(long(1), firsts.clone())),
            },
            Group {
                first: place(long(0)),
                apart: first * next * sums.parts(),
                count: seconds.clone(),
                takers: seconds.clone(),
                counter: counter(sub(mul(firsts, long(2)), long(1))),
                exists: Some(lt(long(1), seconds)),
            },
        ]
    }

    /// Takes a ticket of a group; the last one adds up its terms.
    fn group(
        &mut self,
        summing: &Summing<'p>,
        lanes: &Lanes,
        group: &Group,
        going: VarId,
    ) -> Result<Vec<Stmt>> {
        let mut cond = eq(Expr::Var(going), int(1));
        if let Some(exists) = &group.exists {
            cond = and(cond, exists.clone());
        }
        cond = and(cond, lt(group.first.clone(), summing.places.clone()));
        cond = and(cond, lt(group.counter.clone(), long(COUNTERS)));
        let scope = self.builder.begin_scope();
        let file = self.builder.file("ticket", RegType::B32, 1);
        let register = Reg { file, index: 0 };
        let last = sub(group.takers.clone(), long(1));
        let last = self
            .builder
            .hoist("last", Expr::Convert(IntType::I32, last.into()));
        let bytes = mul(group.counter.clone(), long(TERM_BYTES));
        let counter = self.scratch_at(add(bytes, long(summing.counters_at)), 0)?;
        let args = [
            ("ticket", Arg::Regs(vec![register])),
            ("counter", Arg::Address(counter)),
            ("last", Arg::Int(last.clone())),
        ];
        // What the lanes have written comes before the ticket.
        let mut body = self.sync((Act::Meet, Scope::Warp), [])?;
        body.push(Stmt::Set(register, Scalar::Bits(NO_TICKET)));
        let first_lane = eq(add(lanes.own.clone(), lanes.share.clone()), int(0));
        let taken = self.sync((Act::TakeTicket, Scope::Gpu, Space::Gmem), args)?;
        body.push(only_if(first_lane, taken));
        let [own, ticket] =
            ["own_ticket", "ticket"].map(|name| self.builder.var(name, IntType::I32, false));
        body.push(Stmt::Get(own, register));
        body.push(Stmt::Uniform(ticket, Expr::Var(own)));
        let is_last = eq(Expr::Var(ticket), last);
        body.push(Stmt::Assign(going, select(is_last.clone(), int(1), int(0))));
        let mut added = self.sync((Act::Meet, Scope::Warp), [])?;
        let inner = self.builder.begin_scope();
        let sums = self.add_group(summing, lanes, group)?;
        added.extend(self.builder.end_scope(inner));
        added.extend(sums);
        body.push(only_if(is_last, added));
        let mut then = self.builder.end_scope(scope);
        then.extend(body);
        Ok(vec![only_if(cond, then)])
    }

    /// Adds up the terms of a group, element after element: a lane some of them, then the lanes
    /// theirs.
    fn add_group(
        &mut self,
        summing: &Summing<'p>,
        lanes: &Lanes,
        group: &Group,
    ) -> Result<Vec<Stmt>> {
        let file = self
            .builder
            .file("term", RegType::F32, AT_A_TIME as usize + 2);
        let mut registers = (0..).map(|index| Reg { file, index });
        let [sum, spare] =
            [registers.next(), registers.next()].map(|one| one.unwrap_or(Reg { file, index: 0 }));
        let loaded: Vec<Reg> = registers.take(AT_A_TIME as usize).collect();
        let mut folding = Folding {
            how: &summing.combining.how,
            spare: vec![spare],
            out: Vec::new(),
        };
        self.for_elements(summing, lanes, |this, element, inside| {
            let begin = Scalar::Bits(identity(&summing.combining.how));
            let mut out = vec![Stmt::Set(sum, begin.clone())];
            let var = this.builder.var("trip", IntType::I64, false);
            let each = lanes.shares * AT_A_TIME;
            let trips = div(add(group.count.clone(), long(each - 1)), long(each));
            let mut body = Vec::new();
            for (number, register) in (0..).zip(&loaded) {
                let before = mul(
                    add(mul(Expr::Var(var), long(AT_A_TIME)), long(number)),
                    long(lanes.shares),
                );
                let index = add(before, widen(lanes.share.clone()));
                let place = add(group.first.clone(), mul(index.clone(), long(group.apart)));
                let is_one = lt(index, group.count.clone());
                let is_inside = lt(place.clone(), summing.places.clone());
                let there = and(is_one, is_inside);
                let there = inside.iter().cloned().fold(there, and);
                let address = this.term(summing, place, element.clone(), 0)?;
                body.push(Stmt::Set(*register, begin.clone()));
                body.push(only_if(there, this.term_from(address, *register)?));
            }
            for register in &loaded {
                this.combine(&mut folding, [sum, *register], sum)?;
            }
            body.append(&mut folding.out);
            out.push(Stmt::For {
                var,
                from: long(0),
                to: trips,
                step: long(1),
                body,
            });
            let masks = (0..).map(|halvings| (LANES / 2) >> halvings);
            let masks = masks.take_while(|mask| *mask >= lanes.elements && *mask > 0);
            this.across_lanes(&mut folding, masks, &[sum])?;
            out.append(&mut folding.out);
            let address = this.term(summing, group.first.clone(), element, 0)?;
            let mut cond = eq(lanes.share.clone(), int(0));
            if let Some(inside) = inside {
                cond = and(cond, inside);
            }
            out.push(only_if(cond, this.term_to(address, sum)?));
            Ok(out)
        })
    }

    /// Adds the sum of all terms to what the output holds.
    fn add_to_output(
        &mut self,
        to: View,
        summing: &Summing<'p>,
        lanes: &Lanes,
    ) -> Result<Vec<Stmt>> {
        let file = self.builder.file("whole", RegType::F32, 2);
        let [sum, there] = [0, 1].map(|index| Reg { file, index });
        let first = mul(
            mul(summing.block.clone(), summing.tiles.clone()),
            long(summing.sums.parts()),
        );
        let first = self.builder.hoist("first", first);
        let cond = lt(first.clone(), summing.places.clone());
        let body = self.for_elements(summing, lanes, |this, element, inside| {
            let mut folding = Folding {
                how: &summing.combining.how,
                spare: Vec::new(),
                out: Vec::new(),
            };
            let address = this.term(summing, first.clone(), element.clone(), 0)?;
            let (output, is_inside) = this.output_at(to, summing, element)?;
            let mut out = this.term_from(address, sum)?;
            out.push(moved(&summing.sums.held, &output, there));
            this.combine(&mut folding, [there, sum], sum)?;
            out.append(&mut folding.out);
            out.push(moved(&summing.step.atom, &output, sum));
            let mut cond = eq(lanes.share.clone(), int(0));
            for more in [inside, is_inside].into_iter().flatten() {
                cond = and(cond, more);
            }
            Ok(vec![only_if(cond, out)])
        })?;
        Ok(vec![only_if(cond, body)])
    }

    /// The body for each element that a lane has, and the test that it is one of the tile's.
    fn for_elements(
        &mut self,
        summing: &Summing<'_>,
        lanes: &Lanes,
        mut body: impl FnMut(&mut Self, Expr, Option<Expr>) -> Result<Vec<Stmt>>,
    ) -> Result<Vec<Stmt>> {
        let all = summing.elements;
        let var = self.builder.var("element", IntType::I32, false);
        let element = match all > lanes.elements {
            true => add(mul(Expr::Var(var), int(lanes.elements)), lanes.own.clone()),
            false => lanes.own.clone(),
        };
        let scope = self.builder.begin_scope();
        let is_cut = all % lanes.elements != 0;
        let inside = is_cut.then(|| lt(element.clone(), int(all)));
        let statements = body(self, element, inside)?;
        let mut out = self.builder.end_scope(scope);
        out.extend(statements);
        Ok(match all > lanes.elements {
            true => vec![Stmt::For {
                var,
                from: int(0),
                to: ceil_div(int(all), lanes.elements),
                step: int(1),
                body: out,
            }],
            false => out,
        })
    }

    /// Where the output has an element of the tile, and the test that it has.
    fn output_at(
        &mut self,
        to: View,
        summing: &Summing<'_>,
        element: Expr,
    ) -> Result<(Address, Option<Expr>)> {
        let plan = self.plan;
        let (operand, _) = self.operand_of(to.tile())?;
        let missing = || bug(plan, format!("{} has no parameters", operand.name));
        let bytes = long(i64::from(operand.dtype.bytes()));
        let mut offset = long(0);
        for (number, axis) in plan.outer_of(operand) {
            let stride = stride_expr(&self.builder, &axis.stride).ok_or_else(missing)?;
            let at = self.state.outer.get(number).cloned().ok_or_else(missing)?;
            offset = add(offset, mul(widen(at), stride));
        }
        let mut inside = None;
        for (axis, coordinate) in summing.step.axes.iter().enumerate() {
            let Some(mode) = *coordinate else { continue };
            let stride = stride_expr(&self.builder, operand.stride(axis)).ok_or_else(missing)?;
            let at = add(self.start_of(mode)?, element.clone());
            inside = Some(lt(at.clone(), self.extent(mode)?));
            offset = add(offset, mul(widen(at), stride));
        }
        let base = self.builder.param(&operand.name).ok_or_else(missing)?;
        let address = Address {
            space: Space::Gmem,
            base: Base::Param(base),
            offset: mul(offset, bytes),
            imm: 0,
        };
        Ok((address, inside))
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

/// A register to a place in memory, or from there.
fn moved(atom: &Arc<Atom>, address: &Address, register: Reg) -> Stmt {
    let args = atom.operands.iter().map(|operand| match operand.kind {
        OperandKind::Address(_) => Arg::Address(address.clone()),
        _ => Arg::Regs(vec![register]),
    });
    call(atom, args.collect())
}

fn only_if(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If {
        cond,
        then,
        otherwise: Vec::new(),
    }
}
