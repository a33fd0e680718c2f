//! Output tiles cut along k (stream-k), so that all CTAs have the same to do.
//!
//! Where the tiles come out even, each CTA makes whole ones. Where they do not, those of the last
//! wave, and of one whole wave before it where it is not half full, are shared: their tiles along k
//! stand in a row, and each CTA gets a span of that row, all of one length. A span is made of
//! parts of tiles. Whoever has the beginning of a tile stores it and waits for the partial sums of
//! the parts that continue it; those are the first of their CTAs' spans, and they wait for nobody.
//! Spans go to CTAs in reverse order: a CTA waits only for CTAs before it in the grid, which have
//! started before it. After its span a CTA makes its whole tiles.

use crate::error::Result;
use crate::ir::thread::expr::{add, div, eq, int, le, lt, max, min, mul, or, rem, select, sub};
use crate::ir::thread::program::{Expr, IntType, Stmt};
use crate::ir::tile::Op;
use crate::lower::{Lowering, bug};

/// A work tile that is a part of an output tile along k, or all of it.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Part {
    /// The output tile.
    pub(super) tile: Expr,
    /// Its first tile along k, and how many it has.
    pub(super) from: Expr,
    pub(super) trips: Expr,
    /// Whether it ends before its output tile does.
    pub(super) is_cut: Expr,
    /// Trips that the CTA makes before it.
    before: Expr,
    /// The span it belongs to, and how long spans are.
    pub(super) span: Expr,
    pub(super) span_trips: Expr,
}

/// What a CTA has to do.
#[derive(Clone, Debug)]
struct Assignment {
    /// Parts and whole tiles.
    all: Expr,
    /// Tiles that all CTAs share.
    shared: Expr,
    /// The CTA's span, the trips of every span, and where it starts and ends in the row.
    span: Expr,
    span_trips: Expr,
    start: Expr,
    end: Expr,
    /// The tile it starts in, and how many parts it has.
    first: Expr,
    parts: Expr,
}

impl Lowering<'_> {
    /// The parts of the CTA's span, then its whole tiles; consumers that take turns make every
    /// so-manieth.
    pub(super) fn for_each_part(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        let assignment = self.assignment()?;
        let (from, step) = match self.takes_turns()? {
            true => (
                self.role()?.warpgroup.clone(),
                i64::from(self.roles_of()?.consumers),
            ),
            false => (int(0), 1),
        };
        let var = self.builder.var("work_tile", IntType::I32, false);
        let scope = self.builder.begin_scope();
        let part = self.part_of(&assignment, Expr::Var(var))?;
        let tiles = self.tiles([1, 1])?;
        self.enter(part.tile.clone(), tiles)?;
        self.part = Some(part);
        let statements = self.ops(body)?;
        self.part = None;
        let mut body = self.builder.end_scope(scope);
        body.extend(statements);
        Ok(vec![Stmt::For {
            var,
            from,
            to: assignment.all,
            step: int(step),
            body,
        }])
    }

    /// What this CTA has to do.
    fn assignment(&mut self) -> Result<Assignment> {
        let [cta, ctas] = self.role()?.cluster.clone();
        let tiles = self.tiles([1, 1])?;
        let per_tile = self.k_tiles()?;
        let mut hoist = |name: &str, expr| self.builder.hoist(name, expr);
        let total = hoist("all_tiles", mul(tiles[0].clone(), tiles[1].clone()));
        let waves = hoist("waves", div(total.clone(), ctas.clone()));
        let rest = hoist("rest", sub(total.clone(), mul(waves.clone(), ctas.clone())));
        // Half a wave and more is shared alone: the less is, the more tiles are made in step, out
        // of the second-level cache. Of less than that the parts would be many.
        let enough = le(ctas.clone(), mul(rest.clone(), int(2)));
        let alone = or(enough, eq(waves, int(0)));
        let with_wave = add(rest.clone(), select(alone, int(0), ctas.clone()));
        let shared = hoist("shared", select(eq(rest, int(0)), int(0), with_wave));
        let row = hoist("row", mul(shared.clone(), per_tile.clone()));
        let rounded = add(row.clone(), sub(ctas.clone(), int(1)));
        let span_trips = hoist("span_trips", div(rounded, ctas.clone()));
        let span = hoist("span", sub(sub(ctas.clone(), int(1)), cta));
        let start = min(mul(span.clone(), span_trips.clone()), row.clone());
        let start = hoist("span_start", start);
        let end = hoist("span_end", min(add(start.clone(), span_trips.clone()), row));
        let first = hoist("span_tile", div(start.clone(), per_tile.clone()));
        let last = div(max(sub(end.clone(), int(1)), int(0)), per_tile);
        let parts = add(sub(last, first.clone()), int(1));
        let parts = select(lt(start.clone(), end.clone()), parts, int(0));
        let parts = hoist("parts", parts);
        let whole = div(sub(total, shared.clone()), ctas);
        Ok(Assignment {
            all: hoist("work_tiles", add(parts.clone(), whole)),
            shared,
            span,
            span_trips,
            start,
            end,
            first,
            parts,
        })
    }

    /// The CTA's work tile of that number: a part of its span, or a whole tile behind it.
    fn part_of(&mut self, of: &Assignment, number: Expr) -> Result<Part> {
        let [cta, ctas] = self.role()?.cluster.clone();
        let per_tile = self.k_tiles()?;
        let [start, end] = [of.start.clone(), of.end.clone()];
        let mut hoist = |name: &str, expr| self.builder.hoist(name, expr);
        let is_shared = hoist("is_shared", lt(number.clone(), of.parts.clone()));
        let past = hoist("past", sub(number.clone(), of.parts.clone()));
        let of_span = hoist("of_span", add(of.first.clone(), number));
        let alone = add(of.shared.clone(), mul(past.clone(), ctas));
        let tile = select(is_shared.clone(), of_span.clone(), add(alone, cta));
        let begin = hoist("begin", mul(of_span, per_tile.clone()));
        let continued = max(sub(start.clone(), begin.clone()), int(0));
        let from = hoist("from", select(is_shared.clone(), continued, int(0)));
        let left = min(sub(end.clone(), begin.clone()), per_tile.clone());
        let to = hoist("to", select(is_shared.clone(), left, per_tile.clone()));
        let in_span = max(sub(begin, start.clone()), int(0));
        let behind = add(sub(end, start), mul(past, per_tile.clone()));
        Ok(Part {
            tile: hoist("tile", tile),
            trips: hoist("trips", sub(to.clone(), from.clone())),
            is_cut: hoist("is_cut", lt(to, per_tile)),
            before: hoist("before", select(is_shared, in_span, behind)),
            from,
            span: of.span.clone(),
            span_trips: of.span_trips.clone(),
        })
    }

    pub(super) fn this_part(&self) -> Result<&Part> {
        let part = self.part.as_ref();
        part.ok_or_else(|| bug(self.plan, "no part of a tile has begun".to_string()))
    }

    /// Goes to the ring's slot in which the work tile begins.
    pub(in crate::lower) fn go_to_part(&mut self) -> Result<Vec<Stmt>> {
        let stages = int(i64::from(self.plan.stages));
        let before = self.this_part()?.before.clone();
        let state = self.role()?;
        let (slot, parity) = (state.ring.slot, state.ring.parity);
        let rounds = div(before.clone(), stages.clone());
        Ok(vec![
            Stmt::Assign(slot, rem(before, stages)),
            Stmt::Assign(parity, rem(rounds, int(2))),
        ])
    }

    pub(in crate::lower) fn if_continues(
        &mut self,
        continues: &[Op],
        begins: &[Op],
    ) -> Result<Vec<Stmt>> {
        let cond = lt(int(0), self.this_part()?.from.clone());
        Ok(vec![Stmt::If {
            cond,
            then: self.branch(continues)?,
            otherwise: self.branch(begins)?,
        }])
    }
}
