//! The order of output tiles: from a tile's number to its place.

use super::arith::{Index, Names};
use crate::spec::keys::model::Raster;

/// Which output tile has that number, of `tiles` along m and n.
pub fn raster_tile<N: Index>(
    hoist: &mut impl Names<N>,
    number: N,
    tiles: [N; 2],
    raster: Raster,
) -> [N; 2] {
    let [tiles_m, tiles_n] = tiles.clone();
    match raster {
        Raster::Row => [
            N::div(number.clone(), tiles_n.clone()),
            N::rem(number, tiles_n),
        ],
        Raster::Column => [
            N::rem(number.clone(), tiles_m.clone()),
            N::div(number, tiles_m),
        ],
        Raster::Grouped(rows) => {
            let band = Band::of(hoist, number, tiles, rows);
            [
                N::add(band.first, N::rem(band.within.clone(), band.height.clone())),
                N::div(band.within, band.height),
            ]
        }
        Raster::Hilbert(rows) => hilbert(hoist, number, tiles, rows),
    }
}

/// Rows of tiles that are visited together.
struct Band<N> {
    /// Its number.
    index: N,
    /// First row.
    first: N,
    /// Rows: the last band may have fewer than the others.
    height: N,
    /// The tile's number in the band.
    within: N,
}

impl<N: Index> Band<N> {
    fn of(hoist: &mut impl Names<N>, number: N, [tiles_m, tiles_n]: [N; 2], rows: u32) -> Band<N> {
        let rows = N::int(i64::from(rows));
        let size = hoist.name("band", N::mul(rows.clone(), tiles_n));
        let index = N::div(number.clone(), size.clone());
        let first = hoist.name("first", N::mul(index.clone(), rows.clone()));
        let height = hoist.name("height", N::min(N::sub(tiles_m, first.clone()), rows));
        let within = hoist.name("within", N::rem(number, size));
        Band {
            index,
            first,
            height,
            within,
        }
    }
}

/// Whole squares of a whole band are filled by Hilbert curves, one beside the other; what is left
/// of the band, and a band of fewer rows, go along m. Odd bands are visited backwards.
fn hilbert<N: Index>(hoist: &mut impl Names<N>, number: N, tiles: [N; 2], rows: u32) -> [N; 2] {
    let side = i64::from(rows);
    let tiles_n = tiles[1].clone();
    let band = Band::of(hoist, number, tiles, rows);
    let height = band.height.clone();
    let last = N::sub(N::mul(height.clone(), tiles_n.clone()), N::int(1));
    let odd = N::eq(N::and(band.index, N::int(1)), N::int(1));
    let back = N::sub(last, band.within.clone());
    let within = hoist.name("on_the_way", N::select(odd, back, band.within));
    let squares = hoist.name(
        "in_squares",
        N::mul(N::div(tiles_n, N::int(side)), N::int(side * side)),
    );
    let whole = N::and(
        N::select(N::eq(height.clone(), N::int(side)), N::int(1), N::int(0)),
        N::select(N::lt(within.clone(), squares), N::int(1), N::int(0)),
    );
    let whole = hoist.name("in_square", whole);
    let in_square = N::rem(within.clone(), N::int(side * side));
    let [row, column] = curve(hoist, in_square, side);
    let square = N::div(within.clone(), N::int(side * side));
    let on_curve = [row, N::add(N::mul(square, N::int(side)), column)];
    let along_m = [
        N::rem(within.clone(), height.clone()),
        N::div(within, height),
    ];
    let [on_curve, along_m] = [on_curve, along_m].map(|[m, n]| [N::add(band.first.clone(), m), n]);
    let choose = |mode: usize| {
        let cond = N::eq(whole.clone(), N::int(1));
        N::select(cond, on_curve[mode].clone(), along_m[mode].clone())
    };
    [choose(0), choose(1)]
}

/// Row and column of a point of the Hilbert curve that fills a square, from its first corner to the
/// last column of the first row. `side` is a power of two.
fn curve<N: Index>(hoist: &mut impl Names<N>, mut at: N, side: i64) -> [N; 2] {
    let (mut row, mut column) = (N::int(0), N::int(0));
    let mut scale = 1;
    while scale < side {
        let quarter = hoist.name("quarter", N::rem(at.clone(), N::int(4)));
        let right = N::div(quarter.clone(), N::int(2));
        let down = N::and(N::xor(quarter, right.clone()), N::int(1));
        let (right, down) = (hoist.name("right", right), hoist.name("down", down));
        let transposed = N::eq(down.clone(), N::int(0));
        let flipped = N::eq(right.clone(), N::int(1));
        let flip = |x: &N| {
            N::select(
                flipped.clone(),
                N::sub(N::int(scale - 1), x.clone()),
                x.clone(),
            )
        };
        let (new_row, new_column) = (
            N::select(transposed.clone(), flip(&column), row.clone()),
            N::select(transposed, flip(&row), column.clone()),
        );
        row = hoist.name("row", N::add(new_row, N::mul(down, N::int(scale))));
        column = hoist.name("column", N::add(new_column, N::mul(right, N::int(scale))));
        at = N::div(at, N::int(4));
        scale *= 2;
    }
    [row, column]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::work_tiles::arith::AsItIs;

    /// The order of all tiles, by number.
    fn order(raster: Raster, tiles: [i64; 2]) -> Vec<[i64; 2]> {
        let place = |number| raster_tile(&mut AsItIs, number, tiles, raster);
        (0..tiles[0] * tiles[1]).map(place).collect()
    }

    #[test]
    fn every_raster_visits_every_tile_once() {
        let rasters = [
            Raster::Row,
            Raster::Column,
            Raster::Grouped(3),
            Raster::Grouped(8),
        ];
        let hilberts = [1, 2, 4, 8, 16].map(Raster::Hilbert);
        for raster in rasters.into_iter().chain(hilberts) {
            for tiles in [
                [1, 1],
                [1, 9],
                [9, 1],
                [7, 5],
                [8, 8],
                [16, 24],
                [17, 33],
                [40, 3],
            ] {
                let mut visited = order(raster, tiles);
                visited.sort_unstable();
                let all: Vec<_> = (0..tiles[0])
                    .flat_map(|m| (0..tiles[1]).map(move |n| [m, n]))
                    .collect();
                assert_eq!(visited, all, "{raster} of {tiles:?}");
            }
        }
    }

    #[test]
    fn successive_tiles_on_a_hilbert_curve_are_neighbours() {
        let visited = order(Raster::Hilbert(8), [8, 24]);
        let apart = |pair: &[[i64; 2]]| -> i64 {
            (0..2)
                .map(|mode| (pair[0][mode] - pair[1][mode]).abs())
                .sum()
        };
        assert!(visited.windows(2).all(|pair| apart(pair) == 1));
        assert_eq!([visited[0], visited[191]], [[0, 0], [0, 23]]);
    }

    #[test]
    fn odd_bands_of_a_hilbert_raster_go_back() {
        let visited = order(Raster::Hilbert(4), [8, 8]);
        assert_eq!([visited[31], visited[32]], [[0, 7], [4, 7]]);
        assert_eq!(visited[63], [4, 0]);
    }
}
