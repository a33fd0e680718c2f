//! The order of output tiles: from a tile's number to its place.

use crate::ir::thread::expr::{add, and, div, eq, int, lt, min, mul, rem, select, sub, xor};
use crate::ir::thread::program::Expr;
use crate::spec::keys::model::Raster;

/// Names an expression that is used several times.
pub(super) type Hoist<'a> = dyn FnMut(&str, Expr) -> Expr + 'a;

/// Which output tile has that number, of `tiles` along m and n.
pub(super) fn raster_tile(
    hoist: &mut Hoist<'_>,
    number: Expr,
    tiles: [Expr; 2],
    raster: Raster,
) -> [Expr; 2] {
    let [tiles_m, tiles_n] = tiles.clone();
    match raster {
        Raster::Row => [div(number.clone(), tiles_n.clone()), rem(number, tiles_n)],
        Raster::Column => [rem(number.clone(), tiles_m.clone()), div(number, tiles_m)],
        Raster::Grouped(rows) => {
            let band = Band::of(hoist, number, tiles, rows);
            [
                add(band.first, rem(band.within.clone(), band.height.clone())),
                div(band.within, band.height),
            ]
        }
        Raster::Hilbert(rows) => hilbert(hoist, number, tiles, rows),
    }
}

/// Rows of tiles that are visited together.
struct Band {
    /// Its number.
    index: Expr,
    /// First row.
    first: Expr,
    /// Rows: the last band may have fewer than the others.
    height: Expr,
    /// The tile's number in the band.
    within: Expr,
}

impl Band {
    fn of(hoist: &mut Hoist<'_>, number: Expr, [tiles_m, tiles_n]: [Expr; 2], rows: u32) -> Band {
        let rows = int(i64::from(rows));
        let size = hoist("band", mul(rows.clone(), tiles_n));
        let index = div(number.clone(), size.clone());
        let first = hoist("first", mul(index.clone(), rows.clone()));
        let height = hoist("height", min(sub(tiles_m, first.clone()), rows));
        let within = hoist("within", rem(number, size));
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
fn hilbert(hoist: &mut Hoist<'_>, number: Expr, tiles: [Expr; 2], rows: u32) -> [Expr; 2] {
    let side = i64::from(rows);
    let tiles_n = tiles[1].clone();
    let band = Band::of(hoist, number, tiles, rows);
    let height = band.height.clone();
    let last = sub(mul(height.clone(), tiles_n.clone()), int(1));
    let odd = eq(and(band.index, int(1)), int(1));
    let back = sub(last, band.within.clone());
    let within = hoist("on_the_way", select(odd, back, band.within));
    let squares = hoist("in_squares", mul(div(tiles_n, int(side)), int(side * side)));
    let whole = and(
        select(eq(height.clone(), int(side)), int(1), int(0)),
        select(lt(within.clone(), squares), int(1), int(0)),
    );
    let whole = hoist("in_square", whole);
    let in_square = rem(within.clone(), int(side * side));
    let [row, column] = curve(hoist, in_square, side);
    let square = div(within.clone(), int(side * side));
    let on_curve = [row, add(mul(square, int(side)), column)];
    let along_m = [rem(within.clone(), height.clone()), div(within, height)];
    let [on_curve, along_m] = [on_curve, along_m].map(|[m, n]| [add(band.first.clone(), m), n]);
    let choose = |mode: usize| {
        let cond = eq(whole.clone(), int(1));
        select(cond, on_curve[mode].clone(), along_m[mode].clone())
    };
    [choose(0), choose(1)]
}

/// Row and column of a point of the Hilbert curve that fills a square, from its first corner to the
/// last column of the first row. `side` is a power of two.
fn curve(hoist: &mut Hoist<'_>, mut at: Expr, side: i64) -> [Expr; 2] {
    let (mut row, mut column) = (int(0), int(0));
    let mut scale = 1;
    while scale < side {
        let quarter = hoist("quarter", rem(at.clone(), int(4)));
        let right = div(quarter.clone(), int(2));
        let down = and(xor(quarter, right.clone()), int(1));
        let (right, down) = (hoist("right", right), hoist("down", down));
        let turned = eq(down.clone(), int(0));
        let flipped = eq(right.clone(), int(1));
        let flip = |x: &Expr| select(flipped.clone(), sub(int(scale - 1), x.clone()), x.clone());
        let (new_row, new_column) = (
            select(turned.clone(), flip(&column), row.clone()),
            select(turned, flip(&row), column.clone()),
        );
        row = hoist("row", add(new_row, mul(down, int(scale))));
        column = hoist("column", add(new_column, mul(right, int(scale))));
        at = div(at, int(4));
        scale *= 2;
    }
    [row, column]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of all tiles, by folding constants.
    fn order(raster: Raster, tiles: [i64; 2]) -> Vec<[i64; 2]> {
        let place = |number| {
            let place = raster_tile(&mut |_, expr| expr, int(number), tiles.map(int), raster);
            // What is no number shows as a place that is none.
            place.map(|expr| match expr {
                Expr::Int(value, _) => value,
                _ => -1,
            })
        };
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
