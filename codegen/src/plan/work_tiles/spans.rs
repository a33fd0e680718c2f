//! Output tiles cut along k (stream-k), so that all CTAs have the same to do.
//!
//! Where the tiles come out even, each CTA makes whole ones. Where they do not, those of the last
//! wave, and of one whole wave before it where it is not full enough, are shared: their tiles along
//! k stand in a row, and each CTA gets a span of that row, all of one length. A span is made of
//! parts of tiles. Whoever has the beginning of a tile stores it and waits for the partial sums of
//! the parts that continue it; those are the first of their CTAs' spans, and they wait for nobody.
//! Spans go to CTAs in reverse order: a CTA waits only for CTAs before it in the grid, which have
//! started before it. After its span a CTA makes its whole tiles.

use super::arith::{Index, Names};
use super::parts::ClusterPart;

/// Which tiles are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanRule {
    /// A last wave is shared alone where so many times its tiles are a wave or more: the less is
    /// shared, the more tiles are made in step, out of the second-level cache. Of less than that
    /// the parts would be many.
    pub alone_from: i64,
}

impl Default for SpanRule {
    /// Half a wave and more is shared alone.
    fn default() -> SpanRule {
        SpanRule { alone_from: 2 }
    }
}

/// What a CTA has to do.
#[derive(Clone, Debug)]
pub struct Assignment<N> {
    /// Parts and whole tiles.
    pub all: N,
    /// Tiles that all CTAs share.
    shared: N,
    /// The CTA's span, the trips of every span, and where it starts and ends in the row.
    span: N,
    span_trips: N,
    start: N,
    end: N,
    /// The tile it starts in, and how many parts it has.
    first: N,
    parts: N,
}

/// A work tile that is a part of an output tile along k, or all of it.
#[derive(Clone, Debug)]
pub struct Part<N: Index> {
    /// The output tile.
    pub tile: N,
    /// Its first tile along k.
    pub from: N,
    /// How many it has.
    pub trips: N,
    /// Whether it ends before its output tile does.
    pub is_cut: N::Truth,
    /// Trips that the CTA makes before it.
    pub before: N,
    /// The span it belongs to, and how long spans are.
    span: N,
    span_trips: N,
}

impl SpanRule {
    /// What the CTA of that number has to do, of so many, of so many tiles with so many steps along
    /// k each.
    pub fn assignment<N: Index>(
        self,
        [cta, ctas]: [N; 2],
        [total, per_tile]: [N; 2],
        hoist: &mut impl Names<N>,
    ) -> Assignment<N> {
        let waves = hoist.name("waves", N::div(total.clone(), ctas.clone()));
        let whole = N::mul(waves.clone(), ctas.clone());
        let rest = hoist.name("rest", N::sub(total.clone(), whole));
        let times = N::mul(rest.clone(), N::int(self.alone_from));
        let enough = N::le(ctas.clone(), times);
        let alone = N::or(enough, N::eq(waves, N::int(0)));
        let with_wave = N::add(rest.clone(), N::select(alone, N::int(0), ctas.clone()));
        let even = N::eq(rest, N::int(0));
        let shared = hoist.name("shared", N::select(even, N::int(0), with_wave));
        let row = hoist.name("row", N::mul(shared.clone(), per_tile.clone()));
        let rounded = N::add(row.clone(), N::sub(ctas.clone(), N::int(1)));
        let span_trips = hoist.name("span_trips", N::div(rounded, ctas.clone()));
        let span = hoist.name("span", N::sub(N::sub(ctas.clone(), N::int(1)), cta));
        let start = N::min(N::mul(span.clone(), span_trips.clone()), row.clone());
        let start = hoist.name("span_start", start);
        let end = N::min(N::add(start.clone(), span_trips.clone()), row);
        let end = hoist.name("span_end", end);
        let first = hoist.name("span_tile", N::div(start.clone(), per_tile.clone()));
        let last = N::max(N::sub(end.clone(), N::int(1)), N::int(0));
        let parts = N::sub(N::div(last, per_tile), first.clone());
        let parts = N::add(parts, N::int(1));
        let parts = N::select(N::lt(start.clone(), end.clone()), parts, N::int(0));
        let parts = hoist.name("parts", parts);
        let whole = N::div(N::sub(total, shared.clone()), ctas);
        Assignment {
            all: hoist.name("work_tiles", N::add(parts.clone(), whole)),
            shared,
            span,
            span_trips,
            start,
            end,
            first,
            parts,
        }
    }
}

impl<N: Index> Assignment<N> {
    /// The CTA's work tile of that number: a part of its span, or a whole tile behind it.
    pub fn part(
        &self,
        number: N,
        [cta, ctas]: [N; 2],
        per_tile: N,
        hoist: &mut (impl Names<N> + Names<N::Truth>),
    ) -> Part<N> {
        let [start, end] = [self.start.clone(), self.end.clone()];
        let is_shared = N::lt(number.clone(), self.parts.clone());
        let is_shared = hoist.name("is_shared", is_shared);
        let past = N::sub(number.clone(), self.parts.clone());
        let past = hoist.name("past", past);
        let of_span = hoist.name("of_span", N::add(self.first.clone(), number.clone()));
        let alone = N::add(self.shared.clone(), N::mul(past.clone(), ctas));
        let tile = N::select(is_shared.clone(), of_span.clone(), N::add(alone, cta));
        let begin = hoist.name("begin", N::mul(of_span, per_tile.clone()));
        let continued = N::max(N::sub(start.clone(), begin.clone()), N::int(0));
        let from = hoist.name("from", N::select(is_shared.clone(), continued, N::int(0)));
        let left = N::min(N::sub(end.clone(), begin.clone()), per_tile.clone());
        let to = hoist.name("to", N::select(is_shared.clone(), left, per_tile.clone()));
        let in_span = N::max(N::sub(begin, start.clone()), N::int(0));
        let behind = N::add(N::sub(end, start), N::mul(past, per_tile.clone()));
        Part {
            tile: hoist.name("tile", tile),
            trips: hoist.name("trips", N::sub(to.clone(), from.clone())),
            is_cut: hoist.name("is_cut", N::lt(to, per_tile)),
            before: hoist.name("before", N::select(is_shared, in_span, behind)),
            from,
            span: self.span.clone(),
            span_trips: self.span_trips.clone(),
        }
    }
}

impl<N: Index> Part<N> {
    /// A part that the CTA begins with, of a tile that its cluster makes.
    pub fn of_cluster(part: ClusterPart<N>) -> Part<N> {
        Part {
            tile: part.tile,
            from: part.from,
            trips: part.trips,
            is_cut: part.is_cut,
            before: N::int(0),
            span: N::int(0),
            span_trips: N::int(1),
        }
    }

    /// The spans whose first parts continue the output tile of one that begins it, in the order of
    /// k: from the first one to where they end.
    pub fn continued_by(&self, per_tile: N, hoist: &mut impl Names<N>) -> [N; 2] {
        let end = N::mul(N::add(self.tile.clone(), N::int(1)), per_tile);
        let rounded = N::sub(self.span_trips.clone(), N::int(1));
        let rounded = N::add(end, rounded);
        let past = hoist.name("past", N::div(rounded, self.span_trips.clone()));
        [N::add(self.span.clone(), N::int(1)), past]
    }

    /// The CTA, of so many, that has that span.
    pub fn cta_of(span: N, ctas: N) -> N {
        N::sub(N::sub(ctas, N::int(1)), span)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::plan::work_tiles::arith::AsItIs;

    /// The parts of each CTA.
    fn parts(total: i64, per_tile: i64, ctas: i64) -> Vec<Vec<Part<i64>>> {
        let of_cta = |cta| {
            let who = [cta, ctas];
            let all = SpanRule::default().assignment(who, [total, per_tile], &mut AsItIs);
            let part = |number| all.part(number, who, per_tile, &mut AsItIs);
            (0..all.all).map(part).collect()
        };
        (0..ctas).map(of_cta).collect()
    }

    #[test]
    fn ctas_have_the_same_to_do_but_for_a_rest() {
        for (total, per_tile, ctas) in [(7, 5, 4), (9, 8, 4), (3, 40, 7), (12, 3, 5)] {
            let all = parts(total, per_tile, ctas);
            let trips = all
                .iter()
                .map(|own| own.iter().map(|part| part.trips).sum());
            let trips: Vec<i64> = trips.collect();
            let most = trips.iter().copied().max().unwrap_or_default();
            let row = total * per_tile;
            assert_eq!(trips.iter().sum::<i64>(), row, "{total} {per_tile} {ctas}");
            assert!(
                most <= row / ctas + per_tile,
                "{trips:?} of {row} by {ctas}"
            );
        }
    }

    #[test]
    fn what_begins_a_tile_waits_for_ctas_before_it_that_have_the_rest() {
        for (total, per_tile, ctas) in [(3, 4, 2), (5, 7, 3), (2, 9, 16), (4, 4, 3)] {
            let all = parts(total, per_tile, ctas);
            let mut waited: BTreeMap<i64, i64> = BTreeMap::new();
            for (cta, own) in (0..).zip(&all) {
                for part in own.iter().filter(|part| part.is_cut && part.from == 0) {
                    let [from, past] = part.continued_by(per_tile, &mut AsItIs);
                    let mut end = part.trips;
                    for span in from..past {
                        let giver = Part::cta_of(span, ctas);
                        assert!(giver < cta, "{cta} waits for {giver}");
                        let given = &all[giver as usize][0];
                        assert_eq!((given.tile, given.from), (part.tile, end));
                        end += given.trips;
                        *waited.entry(giver).or_default() += 1;
                    }
                    assert_eq!(end, per_tile);
                }
            }
            // Whoever continues a tile gives once.
            for (cta, own) in (0..).zip(&all) {
                let gives = own.iter().filter(|part| part.from > 0).count() as i64;
                assert_eq!(waited.get(&cta).copied().unwrap_or(0), gives);
            }
        }
    }
}
