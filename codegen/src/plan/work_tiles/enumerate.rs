//! What each cluster of a launch makes, number by number: the functions of a kernel's own loops,
//! over numbers of this process.

use super::arith::AsItIs;
use super::parts::ClusterPart;
use super::spans::Part;
use super::{Sizes, Source, Work};

/// Part of an output tile that a cluster makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The output tile's number.
    pub tile: i64,
    /// Its first step along k.
    pub from: i64,
    /// How many it has.
    pub trips: i64,
    /// The clusters whose sums are added to its own.
    pub givers: Vec<i64>,
}

impl Work {
    /// Output tiles of clusters, and steps along k that each is made in.
    pub fn all(&self, sizes: &Sizes<i64>) -> [i64; 2] {
        let tiles = self.tiles(sizes, &mut AsItIs);
        [self.count(&tiles, sizes), self.steps(sizes)]
    }

    /// What the cluster of that number, of so many, makes one after another.
    pub fn pieces(&self, sizes: &Sizes<i64>, [number, clusters]: [i64; 2]) -> Vec<Piece> {
        let [tiles, steps] = self.all(sizes);
        let whole = |tile: i64| Piece {
            tile,
            from: 0,
            trips: steps,
            givers: Vec::new(),
        };
        let rule = match self.source {
            Source::Grid => return vec![whole(number)],
            Source::Strided => {
                let own = (number..tiles).step_by(usize::try_from(clusters).unwrap_or(1));
                return own.map(whole).collect();
            }
            Source::Parts(rule) => {
                let part: ClusterPart<i64> = rule.part(number, steps, &mut AsItIs);
                let begins = part.is_cut && part.from == 0;
                let own = Piece {
                    tile: part.tile,
                    from: part.from,
                    trips: part.trips,
                    givers: match begins {
                        true => (number + 1..number + part.parts).collect(),
                        false => Vec::new(),
                    },
                };
                return (0..part.all).map(|_| own.clone()).collect();
            }
            Source::Spans(rule) => rule,
        };
        let who = [number, clusters];
        let assignment = rule.assignment(who, ([tiles, steps], self.elements()), &mut AsItIs);
        let piece = |at: i64| {
            let part = assignment.part(at, who, steps, &mut AsItIs);
            let givers = part.givers(&mut AsItIs);
            let spans = (0..givers.all).map(|number| givers.span(number));
            let givers = spans.map(|span| Part::<i64>::cluster_of(span, clusters));
            Piece {
                tile: part.tile,
                from: part.from,
                trips: part.trips,
                givers: givers.collect(),
            }
        };
        (0..assignment.all).map(piece).collect()
    }
}
