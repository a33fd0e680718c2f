//! Tickets, and terms that come together: of tiles, then sums of these, then what is left. Who
//! takes the last ticket of a group adds up what the group has, in the order of places.

use super::elements::Lanes;
use super::{LANES, Summing, only_if};
use crate::atoms::model::{RegType, Space};
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, and, div, eq, int, long, lt, min, mul, select, sub, widen};
use crate::ir::thread::program::{Arg, Expr, IntType, Reg, Scalar, Stmt, VarId};
use crate::lower::Lowering;
use crate::lower::reduce::fold::{Folding, identity};
use crate::plan::data::combining::{COUNTERS, TERM_BYTES, TOGETHER};

/// Most terms that a lane loads at a time: one wait for them all.
const AT_A_TIME: i64 = 16;
/// A ticket that nobody takes last.
const NO_TICKET: u64 = u32::MAX as u64;

/// Some of the terms that come together.
pub(super) struct Group {
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

impl<'p> Lowering<'p> {
    /// The groups whose terms come together, one behind the other: of tiles, of sums of these, and
    /// of what is left.
    pub(super) fn groups_of(&mut self, summing: &Summing<'_>) -> [Group; 3] {
        let sums = summing.sums;
        let mut hoist = |name: &str, expr: Expr| self.builder.hoist(name, expr);
        let (first, next) = (TOGETHER, TOGETHER);
        let terms = sums.ctas.terms();
        let up = |count: Expr, by: i64| div(add(count, long(by - 1)), long(by));
        let [tile, tiles] = [summing.tile.clone(), summing.tiles.clone()];
        let before = hoist("before", mul(summing.block.clone(), tiles.clone()));
        let [firsts, seconds] = [up(tiles.clone(), first), up(tiles.clone(), first * next)];
        let [firsts, seconds] = [hoist("firsts", firsts), hoist("seconds", seconds)];
        let counters = mul(summing.block.clone(), mul(firsts.clone(), long(2)));
        let counters = hoist("counters", counters);
        let place = |tile: Expr| mul(add(before.clone(), tile), long(terms));
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
                count: mul(of_tiles.clone(), long(terms)),
                takers: mul(of_tiles, long(sums.ctas.count)),
                counter: counter(group),
                exists: None,
            },
            Group {
                first: place(mul(second.clone(), long(first * next))),
                apart: first * terms,
                count: of_sums.clone(),
                takers: of_sums,
                counter: counter(add(firsts.clone(), second)),
                exists: Some(lt(long(1), firsts.clone())),
            },
            Group {
                first: place(long(0)),
                apart: first * next * terms,
                count: seconds.clone(),
                takers: seconds.clone(),
                counter: counter(sub(mul(firsts, long(2)), long(1))),
                exists: Some(lt(long(1), seconds)),
            },
        ]
    }

    /// Takes a ticket of a group; the last one adds up its terms.
    pub(super) fn group(
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
        let at_a_time = (TOGETHER / lanes.shares).clamp(1, AT_A_TIME);
        let count = at_a_time as usize;
        let file = self.builder.file("term", RegType::F32, count + 2);
        let mut registers = (0..).map(|index| Reg { file, index });
        let [sum, spare] =
            [registers.next(), registers.next()].map(|one| one.unwrap_or(Reg { file, index: 0 }));
        let loaded: Vec<Reg> = registers.take(count).collect();
        let mut folding = Folding {
            how: &summing.combining.how,
            spare: vec![spare],
            out: Vec::new(),
        };
        self.for_elements(summing, lanes, |this, element, inside| {
            let begin = Scalar::Bits(identity(&summing.combining.how));
            let mut out = vec![Stmt::Set(sum, begin.clone())];
            let var = this.builder.var("trip", IntType::I64, false);
            let each = lanes.shares * at_a_time;
            let trips = div(add(group.count.clone(), long(each - 1)), long(each));
            let mut body = Vec::new();
            for (number, register) in (0..).zip(&loaded) {
                let before = mul(
                    add(mul(Expr::Var(var), long(at_a_time)), long(number)),
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
}
