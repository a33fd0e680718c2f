//! Output tiles cut along k (stream-k), so that all CTAs have the same to do.
//!
//! Where the tiles come out even, each CTA makes whole ones. Where they do not, those of the last
//! wave, and of one whole wave before it where it is not half full, are shared: their tiles along k
//! stand in a row, and each CTA gets a span of that row, all of one length. A span is made of
//! pieces of tiles. Whoever has the beginning of a tile stores it and waits for the pieces that
//! continue it; those are the first of their CTAs' spans, and they wait for nobody. Spans go to
//! CTAs in reverse order: a CTA waits only for CTAs before it in the grid, which have started
//! before it. After its span a CTA makes its whole tiles.
//!
//! In scratch memory stand the flags, a line for each CTA with one for each consumer warpgroup,
//! zero outside of launches; then a place for a piece of each CTA: its accumulators, four of a
//! thread next to four of the next thread.

use crate::arch::WARPGROUP;
use crate::atoms::model::Space;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::expr::{
    add, div, eq, int, le, long, lt, max, min, mul, or, rem, select, sub, widen,
};
use crate::ir::program::{Address, Arg, Base, Expr, IntType, Special, Stmt};
use crate::ir::tile::{Op, TileId};
use crate::lower::{Lowering, WORKSPACE, bug};
use crate::plan::roles::FLAG_BYTES;

/// A piece of an output tile.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The output tile.
    tile: Expr,
    /// Its first tile along k, and how many it has.
    from: Expr,
    trips: Expr,
    /// Whether it ends before its tile does.
    is_cut: Expr,
    /// Trips that the CTA makes before it.
    before: Expr,
    /// The span it belongs to, and how long spans are.
    span: Expr,
    span_trips: Expr,
}

/// What a CTA has to do.
#[derive(Clone, Debug)]
struct Work {
    /// Pieces and whole tiles.
    all: Expr,
    /// Tiles that all CTAs share.
    shared: Expr,
    /// The CTA's span, the trips of every span, and where it starts and ends in the row.
    span: Expr,
    span_trips: Expr,
    start: Expr,
    end: Expr,
    /// The tile it starts in, and how many pieces it has.
    first: Expr,
    pieces: Expr,
}

/// Registers of a consumer besides accumulators and what it loads.
const OTHER_REGISTERS: usize = 56;
/// Accumulators that one instruction moves.
const VECTOR: usize = 4;
/// Bytes of them.
const VECTOR_BYTES: i64 = 16;
/// Bytes of a flag.
const FLAG: i64 = 4;

impl Lowering<'_> {
    /// The pieces of the CTA's span, then its whole tiles; consumers that take turns make every
    /// so-manieth.
    pub(super) fn for_each_piece(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        let work = self.work()?;
        let (from, step) = match self.takes_turns()? {
            true => (
                self.role()?.warpgroup.clone(),
                i64::from(self.roles_of()?.consumers),
            ),
            false => (int(0), 1),
        };
        let var = self.builder.var("piece", IntType::I32, false);
        let scope = self.builder.begin_scope();
        let piece = self.piece_of(&work, Expr::Var(var))?;
        let tiles = self.tiles([1, 1])?;
        self.enter_tile(piece.tile.clone(), tiles)?;
        self.set_piece(Some(piece));
        let statements = self.ops(body)?;
        self.set_piece(None);
        let mut body = self.builder.end_scope(scope);
        body.extend(statements);
        Ok(vec![Stmt::For {
            var,
            from,
            to: work.all,
            step: int(step),
            body,
        }])
    }

    /// What this CTA has to do.
    fn work(&mut self) -> Result<Work> {
        let [cta, ctas] = self.role()?.cluster.clone();
        let tiles = self.tiles([1, 1])?;
        let per_tile = self.k_tiles()?;
        let mut hoist = |name: &str, expr| self.builder.hoist(name, expr);
        let total = hoist("all_tiles", mul(tiles[0].clone(), tiles[1].clone()));
        let waves = hoist("waves", div(total.clone(), ctas.clone()));
        let rest = hoist("rest", sub(total.clone(), mul(waves.clone(), ctas.clone())));
        // Half a wave and more is shared alone: the less is, the more tiles are made in step, out
        // of the second-level cache. Of less than that the pieces would be many.
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
        let pieces = add(sub(last, first.clone()), int(1));
        let pieces = select(lt(start.clone(), end.clone()), pieces, int(0));
        let pieces = hoist("pieces", pieces);
        let whole = div(sub(total, shared.clone()), ctas);
        Ok(Work {
            all: hoist("all_pieces", add(pieces.clone(), whole)),
            shared,
            span,
            span_trips,
            start,
            end,
            first,
            pieces,
        })
    }

    /// The CTA's piece of that number: of its span, or a whole tile behind it.
    fn piece_of(&mut self, work: &Work, number: Expr) -> Result<Piece> {
        let [cta, ctas] = self.role()?.cluster.clone();
        let per_tile = self.k_tiles()?;
        let [start, end] = [work.start.clone(), work.end.clone()];
        let mut hoist = |name: &str, expr| self.builder.hoist(name, expr);
        let is_shared = hoist("is_shared", lt(number.clone(), work.pieces.clone()));
        let past = hoist("past", sub(number.clone(), work.pieces.clone()));
        let of_span = hoist("of_span", add(work.first.clone(), number));
        let alone = add(work.shared.clone(), mul(past.clone(), ctas));
        let tile = select(is_shared.clone(), of_span.clone(), add(alone, cta));
        let begin = hoist("begin", mul(of_span, per_tile.clone()));
        let continued = max(sub(start.clone(), begin.clone()), int(0));
        let from = hoist("from", select(is_shared.clone(), continued, int(0)));
        let left = min(sub(end.clone(), begin.clone()), per_tile.clone());
        let to = hoist("to", select(is_shared.clone(), left, per_tile.clone()));
        let in_span = max(sub(begin, start.clone()), int(0));
        let behind = add(sub(end, start), mul(past, per_tile.clone()));
        Ok(Piece {
            tile: hoist("tile", tile),
            trips: hoist("trips", sub(to.clone(), from.clone())),
            is_cut: hoist("is_cut", lt(to, per_tile)),
            before: hoist("before", select(is_shared, in_span, behind)),
            from,
            span: work.span.clone(),
            span_trips: work.span_trips.clone(),
        })
    }

    fn set_piece(&mut self, piece: Option<Piece>) {
        if let Some(state) = &mut self.role_state {
            state.piece = piece;
        }
    }

    fn piece(&self) -> Result<&Piece> {
        let piece = self.role()?.piece.as_ref();
        piece.ok_or_else(|| bug(self.plan, "no piece has begun".to_string()))
    }

    /// Trips of the loop along k: those of the piece, or of the whole tile.
    pub(in crate::lower) fn trips(&mut self) -> Result<Expr> {
        let state = self.role_state.as_ref();
        match state.and_then(|state| state.piece.as_ref()) {
            Some(piece) => Ok(piece.trips.clone()),
            None => self.k_tiles(),
        }
    }

    /// The tile along k of the current trip.
    pub(super) fn k_tile(&self) -> Result<Expr> {
        let state = self.role()?;
        let trip = state.trip.clone();
        Ok(match &state.piece {
            Some(piece) => add(piece.from.clone(), trip),
            None => trip,
        })
    }

    /// Goes to the ring's slot in which the piece begins.
    pub(super) fn go_to_piece(&mut self) -> Result<Vec<Stmt>> {
        let stages = int(i64::from(self.plan.stages));
        let before = self.piece()?.before.clone();
        let state = self.role()?;
        let (slot, parity) = (state.slot, state.parity);
        let rounds = div(before.clone(), stages.clone());
        Ok(vec![
            Stmt::Assign(slot, rem(before, stages)),
            Stmt::Assign(parity, rem(rounds, int(2))),
        ])
    }

    pub(super) fn if_continues(&mut self, continues: &[Op], begins: &[Op]) -> Result<Vec<Stmt>> {
        let cond = lt(int(0), self.piece()?.from.clone());
        Ok(vec![Stmt::If {
            cond,
            then: self.branch(continues)?,
            otherwise: self.branch(begins)?,
        }])
    }

    /// Writes the accumulators into the CTA's place, then raises the warpgroup's flag.
    pub(super) fn give_piece(&mut self, acc: TileId) -> Result<Vec<Stmt>> {
        let [cta, _] = self.role()?.cluster.clone();
        let mut out = Vec::new();
        for (number, registers) in self.buffer(acc, 0)?.chunks(VECTOR).enumerate() {
            let mut place = self.vector(cta.clone())?;
            place.imm = self.vector_at(number)?;
            let args = [
                ("dst", Arg::Address(place)),
                ("src", Arg::Regs(registers.to_vec())),
            ];
            out.extend(self.sync((Act::StorePartial, Scope::Gpu, Space::Gmem), args)?);
        }
        out.extend(self.warpgroup_meets()?);
        let flag = [("flag", Arg::Address(self.flag(cta)?))];
        out.push(Stmt::If {
            cond: self.first_of_warpgroup()?,
            then: self.sync((Act::RaiseFlag, Scope::Gpu, Space::Gmem), flag)?,
            otherwise: Vec::new(),
        });
        Ok(out)
    }

    /// Adds the pieces that continue the tile, in the order of k.
    pub(super) fn take_pieces(&mut self, acc: TileId) -> Result<Vec<Stmt>> {
        let piece = self.piece()?.clone();
        let [_, ctas] = self.role()?.cluster.clone();
        let scope = self.builder.begin_scope();
        let end = mul(add(piece.tile, int(1)), self.k_tiles()?);
        let rounded = add(end, sub(piece.span_trips.clone(), int(1)));
        let past = self.builder.hoist("past", div(rounded, piece.span_trips));
        let var = self.builder.var("span", IntType::I32, false);
        let cta = sub(sub(ctas, int(1)), Expr::Var(var));
        let inner = self.builder.begin_scope();
        let cta = self.builder.hoist("giver", cta);
        let flag = [("flag", Arg::Address(self.flag(cta.clone())?))];
        let waits = (Act::AwaitFlag, Scope::Gpu, Space::Gmem);
        let mut statements = self.sync(waits, flag.clone())?;
        let all = self.buffer(acc, 0)?;
        let at_a_time = self.at_a_time(all.len())?;
        for (number, registers) in all.chunks(at_a_time).enumerate() {
            let vectors = number * at_a_time / VECTOR..(number + 1) * at_a_time / VECTOR;
            let offsets: Result<_> = vectors.map(|vector| self.vector_at(vector)).collect();
            let args = [
                ("acc", Arg::Regs(registers.to_vec())),
                ("src", Arg::Address(self.vector(cta.clone())?)),
                ("offsets", Arg::Imms(offsets?)),
            ];
            statements.extend(self.sync((Act::AddPartial, Scope::Gpu, Space::Gmem), args)?);
        }
        statements.extend(self.warpgroup_meets()?);
        statements.push(Stmt::If {
            cond: self.first_of_warpgroup()?,
            then: self.sync((Act::ClearFlag, Scope::Gpu, Space::Gmem), flag)?,
            otherwise: Vec::new(),
        });
        let mut body = self.builder.end_scope(inner);
        body.extend(statements);
        let mut then = self.builder.end_scope(scope);
        then.push(Stmt::For {
            var,
            from: add(piece.span, int(1)),
            to: past,
            step: int(1),
            body,
        });
        Ok(vec![Stmt::If {
            cond: piece.is_cut,
            then,
            otherwise: Vec::new(),
        }])
    }

    /// Values to be loaded at a time, into registers next to the accumulators: a power of two of
    /// vectors.
    fn at_a_time(&self, accumulators: usize) -> Result<usize> {
        let [_, registers] = self.roles_of()?.registers;
        let free = (registers as usize).saturating_sub(accumulators + OTHER_REGISTERS);
        let fits = |count: &usize| *count <= free && accumulators.is_multiple_of(*count);
        Ok([64, 32, 16, 8].into_iter().find(fits).unwrap_or(VECTOR))
    }

    /// Where the vector of that number is, behind the thread's first.
    fn vector_at(&self, number: usize) -> Result<i64> {
        let threads = i64::from(self.roles_of()?.consumers_of_a_tile() * WARPGROUP);
        Ok(number as i64 * threads * VECTOR_BYTES)
    }

    /// Where a thread's first vector is in the CTA's place.
    fn vector(&mut self, cta: Expr) -> Result<Address> {
        let threads = i64::from(self.roles_of()?.consumers_of_a_tile() * WARPGROUP);
        let thread = rem(Expr::Special(Special::TidX), int(threads));
        let bytes = self.roles_of()?.piece_bytes(&self.plan.cta_tile);
        let bytes = bytes.ok_or_else(|| bug(self.plan, "tiles are not cut".to_string()))?;
        let place = add(
            long(i64::from(self.roles_of()?.flag_bytes())),
            mul(widen(cta), long(bytes)),
        );
        let start = add(place, widen(mul(thread, int(VECTOR_BYTES))));
        let start = self.builder.hoist("vectors", start);
        self.scratch(start, 0)
    }

    /// The flag of this warpgroup's part of a tile, in the CTA's line.
    fn flag(&mut self, cta: Expr) -> Result<Address> {
        let part = mul(self.part()?, int(FLAG));
        let line = mul(cta, int(i64::from(FLAG_BYTES)));
        let start = self.builder.hoist("flag", widen(add(line, part)));
        self.scratch(start, 0)
    }

    fn scratch(&self, offset: Expr, imm: i64) -> Result<Address> {
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
