//! Work tiles: which output tiles, or parts of them, come to a CTA one after another.
//!
//! In: [`crate::plan::work_tiles::Work`]. Out: the loop over work tiles; in its body the place of
//! the output tile and the range along k that the operations to come belong to.

mod raster;
mod stream_k;
mod partials;

use crate::error::Result;
use crate::ir::thread::expr::{add, ceil_div, div, int, max, min, mul, rem, sub};
use crate::ir::thread::program::{Expr, IntType, Stmt};
use crate::ir::tile::{Op, Team};
use crate::lower::Lowering;
use crate::plan::work_tiles::SUMMED;
use crate::spec::keys::model::{Raster, Schedule};
use raster::raster_tile;

pub(super) use stream_k::Part;

impl Lowering<'_> {
    /// The loop over the CTA's work tiles, or over those of one member of a team.
    pub(super) fn for_each_work_tile(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        if self.kernel.work.cluster.is_none() {
            return self.own_tile(body);
        }
        match self.kernel.work.cuts_tiles() {
            true => self.for_each_part(body),
            false => self.for_each_output_tile(body),
        }
    }

    /// The output tile whose number is the CTA's. Each section computes its place again.
    fn own_tile(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        for (number, section) in body.split(|op| *op == Op::Section).enumerate() {
            if number > 0 {
                self.last_op = self.builder.next_op(self.last_op);
                self.builder.begin_section();
            }
            let cta = self.builder.cta();
            let tiles = self.tiles([1, 1])?;
            let number = self.enter_outer(cta, &tiles)?;
            self.enter(number, tiles)?;
            let statements = self.ops(section)?;
            out.extend(self.builder.end_section());
            out.extend(statements);
        }
        Ok(out)
    }

    /// Names the coordinates along outer modes of the output tile of that number, which come one
    /// after another, the last mode fastest, each with all its tiles. Its number among these.
    fn enter_outer(&mut self, number: Expr, tiles: &[Expr; 2]) -> Result<Expr> {
        let count = self.kernel.work.apart().len();
        if count == 0 {
            return Ok(number);
        }
        let all = mul(tiles[0].clone(), tiles[1].clone());
        let all = self.builder.hoist("all_tiles", all);
        let within = (self.builder).hoist("within", rem(number.clone(), all.clone()));
        let mut rest = self.builder.hoist("beyond", div(number, all));
        let mut outer = Vec::new();
        for mode in (1..count).rev() {
            let extent = self.outer_extent(mode)?;
            let at = rem(rest.clone(), extent.clone());
            outer.push(self.builder.hoist("outer", at));
            rest = self.builder.hoist("beyond", div(rest, extent));
        }
        outer.push(rest);
        outer.reverse();
        self.state.outer = outer;
        Ok(within)
    }

    /// Output tiles come to clusters in turn; in a cluster each CTA has its place.
    fn for_each_output_tile(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        let state = self.role()?.clone();
        let [cluster, clusters] = state.cluster;
        let tiles = self.tiles(self.kernel.work.cluster().0)?;
        let total = mul(tiles[0].clone(), tiles[1].clone());
        let total = self.builder.hoist("all_tiles", total);
        let (from, step) = if self.takes_turns()? {
            let consumers = int(i64::from(self.roles_of()?.consumers));
            let first = add(cluster, mul(state.warpgroup.clone(), clusters.clone()));
            (first, mul(clusters, consumers))
        } else {
            (cluster, clusters)
        };
        let from = self.builder.hoist("first_tile", from);
        let step = self.builder.hoist("tile_step", step);
        let var = self.builder.var("tile", IntType::I32, false);
        let scope = self.builder.begin_scope();
        self.enter(Expr::Var(var), tiles)?;
        let statements = self.ops(body)?;
        let mut body = self.builder.end_scope(scope);
        body.extend(statements);
        Ok(vec![Stmt::For {
            var,
            from,
            to: total,
            step,
            body,
        }])
    }

    /// Whether the role's members make work tiles in turns.
    fn takes_turns(&self) -> Result<bool> {
        let schedule = self.roles_of()?.schedule;
        Ok(schedule == Schedule::Pingpong && self.team == Some(Team::Consumers))
    }

    /// Names the output tile of that number, of so many along m and n, that the operations to come
    /// belong to: the cluster's, and in it the CTA's.
    fn enter(&mut self, number: Expr, tiles: [Expr; 2]) -> Result<()> {
        let raster = self.kernel.work.raster;
        let mut hoist = |name: &str, expr| self.builder.hoist(name, expr);
        let mut at = raster_tile(&mut hoist, number, tiles.clone(), raster);
        // What a tile begins with is not tested: where its number is far to follow, it is bounded
        // here by the tiles that there are.
        if self.role_state.is_none() && matches!(raster, Raster::Hilbert(_)) {
            for (at, tiles) in at.iter_mut().zip(tiles) {
                let inside = max(at.clone(), int(0));
                *at = hoist("bounded", min(inside, sub(tiles, int(1))));
            }
        }
        if let Some(cluster) = self.kernel.work.cluster {
            let place = self.role()?.place.clone();
            at = std::array::from_fn(|mode| {
                let first = mul(at[mode].clone(), int(i64::from(cluster.0[mode])));
                add(first, place[mode].clone())
            });
        }
        let [m, n] = at;
        let m = self.builder.hoist("tile_m", m);
        let n = self.builder.hoist("tile_n", n);
        self.state.tile = match self.kernel.work.in_blocks {
            true => {
                self.state.outer = vec![self.block(n, raster)?];
                [m, int(0)]
            }
            false => [m, n],
        };
        Ok(())
    }

    /// The block of columns of that number. Nothing tests it where results are stored: where its
    /// number is far to follow, it is bounded here by the blocks that there are.
    fn block(&mut self, number: Expr, raster: Raster) -> Result<Expr> {
        let is_far = self.kernel.work.cuts_tiles() || matches!(raster, Raster::Hilbert(_));
        if !is_far {
            return Ok(number);
        }
        let last = sub(self.outer_extent(0)?, int(1));
        Ok(self.builder.hoist("block", min(number, last)))
    }

    /// Output tiles of the problem along m and n, so many tiles of the CTA counted as one.
    fn tiles(&mut self, each: [u32; 2]) -> Result<[Expr; 2]> {
        let mut tiles = [int(1), int(1)];
        for (mode, tiles) in tiles.iter_mut().enumerate() {
            if self.kernel.work.holds(mode) {
                continue;
            }
            let count = match self.kernel.work.blocks_along(mode) {
                Some(blocks) => ceil_div(self.outer_extent(blocks)?, i64::from(each[mode])),
                None => {
                    let extent = self.plan.cta_tile[mode] * i64::from(each[mode]);
                    ceil_div(self.extent(mode)?, extent)
                }
            };
            *tiles = self.builder.hoist("tiles", count);
        }
        Ok(tiles)
    }

    /// Tiles along k of an output tile.
    pub(super) fn k_tiles(&mut self) -> Result<Expr> {
        let k = self.extent(SUMMED)?;
        let tiles = ceil_div(k, self.tile_k()?);
        Ok(self.builder.hoist("k_tiles", tiles))
    }

    /// Trips of the loop along k: those of the part, or of the whole tile.
    pub(super) fn trips(&mut self) -> Result<Expr> {
        match &self.part {
            Some(part) => Ok(part.trips.clone()),
            None => self.k_tiles(),
        }
    }

    /// The tile along k of the current trip.
    pub(super) fn k_tile(&self) -> Result<Expr> {
        let trip = self.role()?.trip.clone();
        Ok(match &self.part {
            Some(part) => add(part.from.clone(), trip),
            None => trip,
        })
    }
}
