//! Output tiles cut along k (stream-k), so that all clusters have the same to do.
//!
//! Where the tiles come out even, each cluster makes whole ones. Where they do not, those of the
//! last wave, and of one whole wave before it where it is not full enough, are shared: their tiles
//! along k stand in a row, and each cluster gets a span of that row, all of one length. A span is
//! made of parts of tiles. Whoever has the beginning of a tile stores it and waits for the partial
//! sums of the parts that continue it; those are the first of their clusters' spans, and they wait
//! for nobody. Spans go to clusters in reverse order: a cluster waits only for ones before it in
//! the grid, which have started before it. After its span a cluster makes its whole tiles.
//!
//! Where there are clusters for two parts of each shared tile or more, each tile is cut at the same
//! places, into as many parts as there are clusters for: in step, they load the same of an operand
//! at the same time, out of the second-level cache. What a row has left behind a tile is nobody's.
//!
//! One adding up the sums of many parts takes longer than the parts do. So many parts stand in
//! groups: the first of a group adds up those of the others in it before it gives its own, and
//! whoever begins the tile adds its group's, then what those that lead the others give. They too
//! wait for clusters before them alone.

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

/// Sums that one adds up in about the time that it takes to hand them on twice.
const ADDED_ALONE: i64 = 12 * 128 * 128;
/// Fewer parts are never in groups.
const FEWEST_ALONE: i64 = 4;
/// Parts of a group where there are no more than so many: about their root, so that whoever begins
/// a tile adds as many within its group as of other groups.
const GROUPS: [[i64; 2]; 4] = [[16, 4], [25, 5], [36, 6], [64, 8]];
/// Of a group where there are more.
const LARGEST_GROUP: i64 = 12;
/// More parts than a tile has: all of them are one group.
const NO_GROUPS: i64 = 1 << 20;

/// How shared tiles stand in a row, and how long spans of it are.
#[derive(Clone, Debug)]
struct Row<N> {
    /// From the beginning of a tile to that of the next.
    pitch: N,
    /// Trips of every span.
    span: N,
    /// Trips of a tile.
    tile: N,
    /// Most parts of a tile of which whoever begins it adds up all others itself.
    most_alone: i64,
}

/// What a cluster has to do.
#[derive(Clone, Debug)]
pub struct Assignment<N> {
    /// Parts and whole tiles.
    pub all: N,
    /// All tiles, and those that all clusters share.
    total: N,
    shared: N,
    row: Row<N>,
    /// The cluster's span, and where it starts and ends in the row.
    span: N,
    start: N,
    end: N,
    /// The tile it starts in, and how many parts it has.
    first: N,
    parts: N,
}

/// Who gives a part sums of the parts behind it.
#[derive(Clone, Debug)]
pub struct Givers<N> {
    /// How many do.
    pub all: N,
    /// The span of the part itself.
    span: N,
    /// Those of its own group, which come first.
    near: N,
    group: N,
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
    /// Trips that the cluster makes before it.
    pub before: N,
    /// The span it belongs to.
    span: N,
    row: Row<N>,
}

impl SpanRule {
    /// What the cluster of that number has to do, of so many, of so many tiles with so many steps
    /// along k and so many elements each.
    pub fn assignment<N: Index>(
        self,
        [cluster, clusters]: [N; 2],
        ([total, per_tile], elements): ([N; 2], i64),
        hoist: &mut impl Names<N>,
    ) -> Assignment<N> {
        let shared = self.shared([total.clone(), clusters.clone()], hoist);
        let row = Row::new(
            [shared.clone(), clusters.clone()],
            (per_tile, elements),
            hoist,
        );
        let length = hoist.name("row", N::mul(shared.clone(), row.pitch.clone()));
        let span = N::sub(N::sub(clusters.clone(), N::int(1)), cluster);
        let span = hoist.name("span", span);
        let start = N::min(N::mul(span.clone(), row.span.clone()), length.clone());
        let start = hoist.name("span_start", start);
        let first = hoist.name("span_tile", N::div(start.clone(), row.pitch.clone()));
        let end = N::min(N::add(start.clone(), row.span.clone()), length);
        let end = row.end([&start, &first], end);
        let end = hoist.name("span_end", end);
        let last = N::max(N::sub(end.clone(), N::int(1)), N::int(0));
        let parts = N::sub(N::div(last, row.pitch.clone()), first.clone());
        let parts = N::add(parts, N::int(1));
        let parts = N::select(N::lt(start.clone(), end.clone()), parts, N::int(0));
        let parts = hoist.name("parts", parts);
        let whole = N::div(N::sub(total.clone(), shared.clone()), clusters);
        Assignment {
            all: hoist.name("work_tiles", N::add(parts.clone(), whole)),
            total,
            shared,
            row,
            span,
            start,
            end,
            first,
            parts,
        }
    }

    /// Of so many tiles those that so many clusters share.
    fn shared<N: Index>(self, [total, clusters]: [N; 2], hoist: &mut impl Names<N>) -> N {
        let waves = hoist.name("waves", N::div(total.clone(), clusters.clone()));
        let whole = N::mul(waves.clone(), clusters.clone());
        let rest = hoist.name("rest", N::sub(total, whole));
        let times = N::mul(rest.clone(), N::int(self.alone_from));
        let enough = N::le(clusters.clone(), times);
        let alone = N::or(enough, N::eq(waves, N::int(0)));
        let with_wave = N::add(rest.clone(), N::select(alone, N::int(0), clusters));
        let even = N::eq(rest, N::int(0));
        hoist.name("shared", N::select(even, N::int(0), with_wave))
    }
}

impl<N: Index> Row<N> {
    /// That of so many tiles for so many clusters. Of larger tiles fewer parts are added up by one.
    fn new(
        [shared, clusters]: [N; 2],
        (tile, elements): (N, i64),
        hoist: &mut impl Names<N>,
    ) -> Row<N> {
        let some = N::max(shared.clone(), N::int(1));
        let each = hoist.name("each", N::div(clusters.clone(), some));
        let alike = N::le(N::int(2), each.clone());
        // So many spans for so many trips.
        let spans = N::select(alike.clone(), each.clone(), clusters);
        let trips = N::select(alike.clone(), N::int(1), shared);
        let trips = N::mul(trips, tile.clone());
        let rounded = N::add(trips, N::sub(spans.clone(), N::int(1)));
        let span = N::max(N::div(rounded, spans), N::int(1));
        let span = hoist.name("span_trips", span);
        let apart = N::mul(each, span.clone());
        let pitch = hoist.name("pitch", N::select(alike, apart, tile.clone()));
        Row {
            pitch,
            span,
            tile,
            most_alone: (ADDED_ALONE / elements.max(1)).max(FEWEST_ALONE),
        }
    }

    /// The end of a span that begins there, in that tile: no further than the tile goes, where
    /// something is behind it that is nobody's.
    fn end(&self, [start, first]: [&N; 2], end: N) -> N {
        let begin = N::mul(first.clone(), self.pitch.clone());
        let gap = N::max(N::add(begin, self.tile.clone()), start.clone());
        let has_gap = N::lt(self.tile.clone(), self.pitch.clone());
        N::select(has_gap, N::min(end.clone(), gap), end)
    }

    /// Whether a tile has so many parts that they stand in groups: of tiles that are not cut at the
    /// same places none has. Reckoned where it is wanted, so that nothing is kept for it over the
    /// main loop.
    fn has_groups(&self) -> N::Truth {
        let before_last = N::sub(self.tile.clone(), N::int(1));
        let of_groups = N::div(before_last, N::int(self.most_alone));
        N::le(self.span.clone(), of_groups)
    }

    /// Parts of a tile whose sums one of them adds up.
    fn group(&self, hoist: &mut impl Names<N>) -> N {
        let rounded = N::add(self.tile.clone(), N::sub(self.span.clone(), N::int(1)));
        let parts = hoist.name("parts", N::div(rounded, self.span.clone()));
        let rules = GROUPS.into_iter().rev();
        let root = rules.fold(N::int(LARGEST_GROUP), |more, [most, group]| {
            N::select(N::le(parts.clone(), N::int(most)), N::int(group), more)
        });
        let group = N::select(self.has_groups(), root, N::int(NO_GROUPS));
        hoist.name("group", group)
    }
}

impl<N: Index> Assignment<N> {
    /// The cluster's work tile of that number: a part of its span, or a whole tile behind it.
    pub fn part(
        &self,
        number: N,
        [cluster, clusters]: [N; 2],
        per_tile: N,
        hoist: &mut (impl Names<N> + Names<N::Truth>),
    ) -> Part<N> {
        let [start, end] = [self.start.clone(), self.end.clone()];
        let is_shared = N::lt(number.clone(), self.parts.clone());
        let is_shared = hoist.name("is_shared", is_shared);
        let past = N::sub(number.clone(), self.parts.clone());
        let past = hoist.name("past", past);
        let of_span = hoist.name("of_span", N::add(self.first.clone(), number.clone()));
        let alone = N::add(self.shared.clone(), N::mul(past.clone(), clusters));
        let tile = N::select(is_shared.clone(), of_span.clone(), N::add(alone, cluster));
        // Its number is far to follow where accesses are proved, so that it is bounded.
        let tile = N::min(tile, N::sub(self.total.clone(), N::int(1)));
        let tile = N::max(tile, N::int(0));
        let begin = N::mul(of_span, self.row.pitch.clone());
        let begin = hoist.name("begin", begin);
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
            row: self.row.clone(),
        }
    }
}

impl<N: Index> Part<N> {
    /// A part that a CTA begins with, of a tile that its cluster makes.
    pub fn of_cluster(part: ClusterPart<N>) -> Part<N> {
        Part {
            tile: part.tile,
            from: part.from,
            trips: part.trips,
            is_cut: part.is_cut,
            before: N::int(0),
            span: N::int(0),
            row: Row {
                pitch: N::int(1),
                span: N::int(1),
                tile: N::int(1),
                most_alone: NO_GROUPS,
            },
        }
    }

    /// Whether others may give it sums, of one that ends before its tile does: little to reckon.
    pub fn may_add(&self) -> N::Truth {
        let begins = N::eq(self.from.clone(), N::int(0));
        N::or(begins, self.row.has_groups())
    }

    /// Whose sums are added to its own, in the order of k: none where it ends its tile, or is one
    /// of a group that another leads.
    pub fn givers(&self, hoist: &mut impl Names<N>) -> Givers<N> {
        let group = self.row.group(hoist);
        let Row {
            pitch, span, tile, ..
        } = self.row.clone();
        let end = N::add(N::mul(self.tile.clone(), pitch), tile);
        let rounded = N::add(end, N::sub(span.clone(), N::int(1)));
        let past = hoist.name("past", N::div(rounded, span.clone()));
        let behind = hoist.name("behind", N::sub(past, self.span.clone()));
        let others = N::max(N::sub(behind.clone(), N::int(1)), N::int(0));
        let near = N::min(others, N::sub(group.clone(), N::int(1)));
        let near = hoist.name("near", near);
        // The groups behind its own.
        let rounded = N::add(behind, N::sub(group.clone(), N::int(1)));
        let far = N::max(N::sub(N::div(rounded, group.clone()), N::int(1)), N::int(0));
        // A part that continues a tile within its first span leads nobody.
        let number = N::max(N::div(self.from.clone(), span), N::int(1));
        let leads = N::eq(N::rem(number, group.clone()), N::int(0));
        let continues = N::select(leads, near.clone(), N::int(0));
        let begins = N::eq(self.from.clone(), N::int(0));
        let all = N::select(begins, N::add(near.clone(), far), continues);
        let all = N::select(self.is_cut.clone(), all, N::int(0));
        Givers {
            all: hoist.name("givers", all),
            span: self.span.clone(),
            near,
            group,
        }
    }

    /// The last tile along k of a tile that spans are of.
    pub fn last_of_tile(&self) -> N {
        N::sub(self.row.tile.clone(), N::int(1))
    }

    /// The cluster, of so many, that has that span.
    pub fn cluster_of(span: N, clusters: N) -> N {
        N::sub(N::sub(clusters, N::int(1)), span)
    }
}

impl<N: Index> Givers<N> {
    /// The span of the giver of that number.
    pub fn span(&self, number: N) -> N {
        let near = N::add(number.clone(), N::int(1));
        let groups = N::add(N::sub(number.clone(), self.near.clone()), N::int(1));
        let far = N::mul(groups, self.group.clone());
        let apart = N::select(N::lt(number, self.near.clone()), near, far);
        N::add(self.span.clone(), apart)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;
    use crate::plan::work_tiles::arith::AsItIs;

    /// Elements of a tile: 128x128, of which one adds up twelve parts.
    const ELEMENTS: i64 = 128 * 128;

    /// The parts of each CTA.
    fn parts(total: i64, per_tile: i64, ctas: i64) -> Vec<Vec<Part<i64>>> {
        let of_cta = |cta| {
            let who = [cta, ctas];
            let tiles = ([total, per_tile], ELEMENTS);
            let all = SpanRule::default().assignment(who, tiles, &mut AsItIs);
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
    fn few_tiles_are_cut_at_the_same_places() {
        for (total, per_tile, ctas) in [(3, 40, 7), (2, 9, 16), (5, 7, 66), (4, 20, 13)] {
            let mut cuts: BTreeMap<i64, Vec<[i64; 2]>> = BTreeMap::new();
            for part in parts(total, per_tile, ctas).into_iter().flatten() {
                assert!(part.trips > 0);
                let cut = [part.from, part.trips];
                cuts.entry(part.tile).or_default().push(cut);
            }
            assert_eq!(cuts.len(), total as usize);
            for cut in cuts.values_mut() {
                cut.sort_unstable();
            }
            let first = cuts.get(&0).cloned().unwrap();
            assert!(first.len() > 1 && first.len() as i64 <= ctas / total);
            assert!(cuts.values().all(|cut| *cut == first), "{cuts:?}");
        }
    }

    #[test]
    fn sums_come_from_ctas_before_and_are_those_of_the_rest() {
        for (total, per_tile, ctas) in [
            (3, 4, 2),
            (5, 7, 3),
            (2, 9, 16),
            (4, 4, 3),
            (2, 100, 26),
            (4, 512, 132),
            (1, 300, 132),
        ] {
            let all = parts(total, per_tile, ctas);
            // Where what a CTA gives ends along k.
            let mut given: BTreeMap<i64, i64> = BTreeMap::new();
            let mut asked: BTreeMap<i64, i64> = BTreeMap::new();
            let mut most = 0;
            for (cta, own) in (0..).zip(&all) {
                for part in own {
                    let givers = part.givers(&mut AsItIs);
                    most = most.max(givers.all);
                    let mut end = part.from + part.trips;
                    for number in 0..givers.all {
                        let giver = Part::cluster_of(givers.span(number), ctas);
                        assert!(giver < cta, "{cta} waits for {giver}");
                        let first = &all[giver as usize][0];
                        assert_eq!((first.tile, first.from), (part.tile, end));
                        end = given[&giver];
                        *asked.entry(giver).or_default() += 1;
                    }
                    match part.from {
                        0 => assert_eq!(end, per_tile),
                        _ => assert!(given.insert(cta, end).is_none()),
                    }
                }
            }
            // Whoever continues a tile gives once.
            for (cta, own) in (0..).zip(&all) {
                let gives = own.iter().filter(|part| part.from > 0).count() as i64;
                assert_eq!(asked.get(&cta).copied().unwrap_or(0), gives);
            }
            let of_a_tile = ctas / total;
            let alone = of_a_tile <= ADDED_ALONE / ELEMENTS;
            assert!(alone || most * 2 <= of_a_tile, "{most} of {of_a_tile}");
        }
    }
}
