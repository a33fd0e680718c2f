//! Output tiles cut along k, each into as many parts as a cluster has CTAs along k.
//!
//! A cluster of several tiles has as many groups of CTAs as it cuts each into parts: the group of
//! rank r has the r-th part of each. All parts but the last are of the same length, and those that
//! are left when the tile is at its end have none. Each adds up a share of all sums, in the order
//! of ranks, and the first stores the tile; of two the first adds the other's, which takes less.

use super::arith::{Index, Names};

/// How a tile is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartRule {
    /// CTAs of a cluster along k.
    pub ctas: u32,
}

/// A tile's part.
#[derive(Clone, Debug)]
pub struct ClusterPart<N: Index> {
    /// The group of CTAs in its cluster.
    pub rank: N,
    /// The output tile, or the cluster's tiles.
    pub tile: N,
    /// Its first step along k.
    pub from: N,
    /// How many it has.
    pub trips: N,
    /// 1 where it has any, else 0.
    pub all: N,
    /// Whether it ends before its output tile does.
    pub is_cut: N::Truth,
    /// Parts that the tile has.
    pub parts: N,
}

impl PartRule {
    /// Whether the CTAs share out the sums of a tile among them.
    pub fn shares_sums(self) -> bool {
        self.ctas > 2
    }

    /// What the group of that number of the grid has, of tiles with so many steps along k each.
    pub fn part<N: Index>(
        self,
        group: N,
        steps: N,
        hoist: &mut (impl Names<N> + Names<N::Truth>),
    ) -> ClusterPart<N> {
        let ctas = N::int(i64::from(self.ctas));
        let rank = hoist.name("rank", N::rem(group.clone(), ctas.clone()));
        let tile = hoist.name("tile", N::div(group, ctas.clone()));
        let rounded = N::add(steps.clone(), N::int(i64::from(self.ctas) - 1));
        let each = hoist.name("part_trips", N::div(rounded, ctas));
        let from = hoist.name("from", N::mul(rank.clone(), each.clone()));
        let to = N::min(N::add(from.clone(), each.clone()), steps.clone());
        let to = hoist.name("to", to);
        let some = N::lt(from.clone(), steps.clone());
        let rounded = N::add(steps.clone(), N::sub(each.clone(), N::int(1)));
        ClusterPart {
            rank,
            tile,
            trips: hoist.name("trips", N::sub(to.clone(), from.clone())),
            all: hoist.name("work_tiles", N::select(some, N::int(1), N::int(0))),
            is_cut: hoist.name("is_cut", N::lt(to, steps)),
            parts: hoist.name("parts", N::div(rounded, each)),
            from,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::work_tiles::arith::AsItIs;

    #[test]
    fn parts_are_all_of_a_tile_in_the_order_of_ranks() {
        for (steps, ctas) in [(1, 2), (7, 2), (8, 8), (9, 8), (3, 4), (225, 7)] {
            let rule = PartRule { ctas };
            let mut end = 0;
            for rank in 0..i64::from(ctas) {
                let part = rule.part(5 * i64::from(ctas) + rank, steps, &mut AsItIs);
                assert_eq!(part.tile, 5);
                assert_eq!(part.all == 1, rank < part.parts, "{steps} {ctas} {rank}");
                if part.all == 1 {
                    assert_eq!(part.from, end);
                    assert!(part.trips > 0);
                    end += part.trips;
                    assert_eq!(part.is_cut, end < steps);
                }
            }
            assert_eq!(end, steps, "{steps} by {ctas}");
        }
    }
}
