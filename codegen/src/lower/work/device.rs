//! Work reckoned on the device: its arithmetic is that of expressions.

use crate::ir::thread::expr;
use crate::ir::thread::program::Expr;
use crate::lower::builder::Builder;
use crate::plan::work_tiles::arith::{Count, Index, Names};

impl Count for Expr {
    fn int(value: i64) -> Expr {
        expr::int(value)
    }

    fn mul(a: Expr, b: Expr) -> Expr {
        expr::mul(a, b)
    }

    fn ceil_div(a: Expr, by: i64) -> Expr {
        expr::ceil_div(a, by)
    }
}

impl Index for Expr {
    type Truth = Expr;

    fn add(a: Expr, b: Expr) -> Expr {
        expr::add(a, b)
    }

    fn sub(a: Expr, b: Expr) -> Expr {
        expr::sub(a, b)
    }

    fn div(a: Expr, b: Expr) -> Expr {
        expr::div(a, b)
    }

    fn rem(a: Expr, b: Expr) -> Expr {
        expr::rem(a, b)
    }

    fn min(a: Expr, b: Expr) -> Expr {
        expr::min(a, b)
    }

    fn max(a: Expr, b: Expr) -> Expr {
        expr::max(a, b)
    }

    fn and(a: Expr, b: Expr) -> Expr {
        expr::and(a, b)
    }

    fn xor(a: Expr, b: Expr) -> Expr {
        expr::xor(a, b)
    }

    fn eq(a: Expr, b: Expr) -> Expr {
        expr::eq(a, b)
    }

    fn lt(a: Expr, b: Expr) -> Expr {
        expr::lt(a, b)
    }

    fn le(a: Expr, b: Expr) -> Expr {
        expr::le(a, b)
    }

    fn or(a: Expr, b: Expr) -> Expr {
        expr::or(a, b)
    }

    fn select(cond: Expr, a: Expr, b: Expr) -> Expr {
        expr::select(cond, a, b)
    }
}

/// What is used several times is computed once, into a register.
impl Names<Expr> for Builder {
    fn name(&mut self, name: &str, value: Expr) -> Expr {
        self.hoist(name, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::thread::expr::int;
    use crate::plan::work_tiles::arith::AsItIs;
    use crate::plan::work_tiles::raster::raster_tile;
    use crate::plan::work_tiles::spans::SpanRule;
    use crate::spec::keys::model::Raster;

    /// The number that an expression without names is; none of any other.
    fn number(expr: &Expr) -> Option<i64> {
        match expr {
            Expr::Int(value, _) => Some(*value),
            _ => None,
        }
    }

    /// The device's numbers are this process' own.
    #[test]
    fn places_are_the_same_on_the_device() {
        for raster in [
            Raster::Row,
            Raster::Column,
            Raster::Grouped(3),
            Raster::Hilbert(4),
        ] {
            for tiles in [[1i64, 1], [5, 7], [8, 12], [9, 3]] {
                for at in 0..tiles[0] * tiles[1] {
                    let own = raster_tile(&mut AsItIs, at, tiles, raster);
                    let device = raster_tile(&mut AsItIs, int(at), tiles.map(int), raster);
                    assert_eq!(
                        device.each_ref().map(number),
                        own.map(Some),
                        "{raster} {tiles:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn spans_are_the_same_on_the_device() {
        const ELEMENTS: i64 = 128 * 128;
        let rule = SpanRule::default();
        for (total, per_tile, ctas) in [(7, 5, 4), (4, 4, 3), (2, 9, 16), (12, 3, 5)] {
            for cta in 0..ctas {
                let work = [total, per_tile];
                let own = rule.assignment([cta, ctas], (work, ELEMENTS), &mut AsItIs);
                let work = (work.map(int), ELEMENTS);
                let device = rule.assignment([cta, ctas].map(int), work, &mut AsItIs);
                assert_eq!(number(&device.all), Some(own.all));
                for at in 0..own.all {
                    let own = own.part(at, [cta, ctas], per_tile, &mut AsItIs);
                    let who = [cta, ctas].map(int);
                    let device = device.part(int(at), who, int(per_tile), &mut AsItIs);
                    let numbers = [device.tile, device.from, device.trips, device.before];
                    let own = [own.tile, own.from, own.trips, own.before];
                    assert_eq!(numbers.each_ref().map(number), own.map(Some));
                }
            }
        }
    }
}
